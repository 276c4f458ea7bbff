use graphmap_runtime::{Input, Output, Select, select};

pub async fn process(mut a: Input<&'static str>, mut b: Input<u32>, mut out: Output<u32>, mut requests: Select<u8>) {
    //~v `select!` has no arm for a port: expected arms such as `token = p.input => ..,` and then `else => ..`
    select! {}
}
