use graphmap_runtime::{Input, Output, Select, select};

pub async fn process(mut a: Input<&'static str>, mut b: Input<u32>, mut out: Output<u32>, mut requests: Select<u8>) {
    loop {
        //~v `select!` has no `else` arm, which runs when all ports have ended: add one at the end, such as `else => break,`
        select! {
            Some(word) = a.read() => { drop(word); }
            Some(number) = b.read() => { drop(number); }
        }
    }
}
