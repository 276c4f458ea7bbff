use graphmap_runtime::{Input, Output, Select, select};

pub async fn process(mut a: Input<&'static str>, mut b: Input<u32>, mut out: Output<u32>, mut requests: Select<u8>) {
    loop {
        //~v `else => ..` must be the last arm of `select!`, with one body and no condition
        select! {
            word = a => drop(word),
            else => break,
            number = b => drop(number),
        }
    }
}
