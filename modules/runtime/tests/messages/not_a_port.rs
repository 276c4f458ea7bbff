use graphmap_runtime::{Input, Output, Select, select};

pub async fn process(mut a: Input<&'static str>, mut b: Input<u32>, mut out: Output<u32>, mut requests: Select<u8>) {
    loop {
        //~v `select!` cannot wait for `std::future::Ready<()>`
        select! {
            () = std::future::ready(()) => {},
            word = a => drop(word),
            else => break,
        }
    }
}
