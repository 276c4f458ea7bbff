use graphmap_runtime::{Input, Output, Select, select};

pub async fn process(mut a: Input<&'static str>, mut b: Input<u32>, mut out: Output<u32>, mut requests: Select<u8>) {
    loop {
        select! {
            //~v refutable pattern in local binding: pattern `(_, None)` not covered
            (member, Some(token)) = requests.read_or_end() => drop((member, token)),
            else => break,
        }
    }
}
