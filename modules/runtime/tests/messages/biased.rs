use graphmap_runtime::{Input, Output, Select, select};

pub async fn process(mut a: Input<&'static str>, mut b: Input<u32>, mut out: Output<u32>, mut requests: Select<u8>) {
    loop {
        //~v `select!` knows no `biased;`: ports that have something at once take turns
        select! {
            biased;
            word = a => drop(word),
            else => break,
        }
    }
}
