use graphmap_runtime::{Input, Output, Select, select};

pub async fn process(mut a: Input<&'static str>, mut b: Input<u32>, mut out: Output<u32>, mut requests: Select<u8>) {
    loop {
        //~v `select!` cannot wait for `graphmap_runtime::Read<'_, &'static str>`
        //~v `select!` cannot wait for `graphmap_runtime::Read<'_, u32>`
        select! {
            Some(word) = a.read() => { drop(word); }
            number = b.read() => drop(number),
            else => break,
        }
    }
}
