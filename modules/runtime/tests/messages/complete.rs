use graphmap_runtime::{Input, Output, Select, select};

pub async fn process(mut a: Input<&'static str>, mut b: Input<u32>, mut out: Output<u32>, mut requests: Select<u8>) {
    loop {
        //~v `select!` does not understand the arm that begins with `complete`: an arm is `token = p.input => ..,` or `token = p.input, if condition => ..,`, and the last is `else => ..`
        select! {
            word = a => drop(word),
            complete => break,
        }
    }
}
