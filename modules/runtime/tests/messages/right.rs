//! Valid forms, without any diagnostics.

use graphmap_runtime::{Gather, Input, Output, Select, select};

pub async fn process(
    mut a: Input<&'static str>,
    b: &mut Input<u32>,
    mut rows: Gather<u8>,
    mut requests: Select<u8>,
    mut out: Output<u32>,
) -> Option<usize> {
    // One port, and a value.
    let length = select! { word = a => word.len(), else => return None };
    loop {
        select! {
            // A port behind a reference, a condition, a body in braces without a comma.
            number = *b, if length > 3 => { out.write(number).await.ok()?; }
            // The same with a comma, and a pattern in parentheses after braces.
            row = rows => { drop(row); },
            (_, Some(1) | None) | (_, Some(_)) = requests.read_or_end() => {}
            () = out.stopped() => return Some(length),
            else => break
        }
    }
    select! {
        word = a => { Some(word.len()) }
        number = &mut *b => number.try_into().ok(),
        else => None
    }
}
