use graphmap_runtime::{Input, Output, Select, select};

pub async fn process(mut a: Input<&'static str>, mut b: Input<u32>, mut out: Output<u32>, mut requests: Select<u8>) {
    loop {
        select! {
            //~v mismatched types: expected `str`, found `Option<_>`
            Some(word) = a => drop::<u8>(word),
            _ = b => {},
            else => break,
        }
    }
}
