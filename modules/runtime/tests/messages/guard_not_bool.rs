use graphmap_runtime::{Input, Output, Select, select};

pub async fn process(mut a: Input<&'static str>, mut b: Input<u32>, mut out: Output<u32>, mut requests: Select<u8>) {
    loop {
        select! {
            //~v mismatched types: expected `bool`, found integer
            word = a, if 3 => drop(word),
            else => break,
        }
    }
}
