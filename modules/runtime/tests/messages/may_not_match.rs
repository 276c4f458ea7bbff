use graphmap_runtime::{Input, Output, Select, select};

pub async fn process(mut a: Input<&'static str>, mut b: Input<u32>, mut out: Output<u32>, mut requests: Select<u8>) {
    loop {
        //~v non-exhaustive patterns: `Some(OneOf::A((_, None)))` not covered: pattern `Some(OneOf::A((_, None)))` not covered
        select! {
            (member, Some(token)) = requests.read_or_end() => drop((member, token)),
            else => break,
        }
    }
}
