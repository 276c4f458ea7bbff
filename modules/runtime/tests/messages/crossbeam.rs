use graphmap_runtime::{Input, Output, Select, select};

pub async fn process(mut a: Input<&'static str>, mut b: Input<u32>, mut out: Output<u32>, mut requests: Select<u8>) {
    //~v `select!` cannot parse the arm that begins with `recv`: expected `token = p.input => ..,` or `token = p.input, if condition => ..,`, and `else => ..` as the last arm
    select! {
        recv(a) -> word => drop(word),
        recv(b) -> number => drop(number),
        default => {},
    }
}
