// Generates the wiring of `squares.dot`. `tests/suite/embedding.rs` includes this file.

use std::env;
use std::path::PathBuf;

fn main() -> Result<(), graphmap::Error> {
    println!("cargo::rerun-if-changed=squares.dot");
    let network = graphmap::check(graphmap::read("squares.dot")?)?;
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    let wiring = graphmap::emit(&graphmap::collocate(network), folder.join("wiring.rs"))?;
    graphmap::write(&wiring)?;
    Ok(())
}
