use graphmap_runtime::{Input, Output, Select, select};

pub async fn process(mut a: Input<&'static str>, mut b: Input<u32>, mut out: Output<u32>, mut requests: Select<u8>) {
    loop {
        //~v the body of the arm of `word` in `select!` needs a comma after it, or braces around it
        select! {
            word = a => drop(word)
            number = b => drop(number),
            else => break,
        }
    }
}
