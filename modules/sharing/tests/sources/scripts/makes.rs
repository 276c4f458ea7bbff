fn main() {
    let out = std::env::var("OUT_DIR").unwrap();
    std::fs::write(out + "/table.rs", "static A: u8 = 1;").unwrap();
    println!("cargo:rerun-if-changed=build.rs");
}
