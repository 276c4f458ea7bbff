fn main() {
    println!("cargo:rerun-if-changed=src/solve.c");
    cc::Build::new().file("src/solve.c").compile("solve");
}
