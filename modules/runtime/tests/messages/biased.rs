use graphmap_runtime::{Input, Output, Select, select};

pub async fn process(mut a: Input<&'static str>, mut b: Input<u32>, mut out: Output<u32>, mut requests: Select<u8>) {
    loop {
        //~v `select!` does not support `biased;`: it is always fair to ports that are ready at the same time
        select! {
            biased;
            word = a => drop(word),
            else => break,
        }
    }
}
