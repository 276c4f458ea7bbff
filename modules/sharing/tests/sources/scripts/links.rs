fn main() {
    println!("cargo::rustc-link-lib=static={}", "solve");
}
