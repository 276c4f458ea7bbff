use graphmap_runtime::{Input, Output, Select, select};

pub async fn process(mut a: Input<&'static str>, mut b: Input<u32>, mut out: Output<u32>, mut requests: Select<u8>) {
    //~v `select!` waits for at most eight ports
    select! {
        _ = a => {} _ = a => {} _ = a => {} _ = a => {} _ = a => {}
        _ = a => {} _ = a => {} _ = a => {} _ = a => {}
        else => {}
    }
}
