use graphmap_runtime::{Input, Select, select};

pub async fn process(mut a: Input<&'static str>, mut b: Input<u32>, mut requests: Select<u8>) -> usize {
    let n = select! {
        word = a => word.len(),
        //~v `match` arms have incompatible types: expected `usize`, found `u32`
        number = b => number,
        else => 0,
    };
    let text: String = select! {
        word = a => word.to_string(),
        number = b => number.to_string(),
        //~v mismatched types: expected `String`, found `&str`
        else => "the end",
    };
    select! {
        //~v mismatched types: expected `str`, found `(_, _)`
        (member, word) = a => n + text.len(),
        //~v mismatched types: expected `usize`, found `u8`
        (_, token) = requests => token,
        else => 0,
    }
}
