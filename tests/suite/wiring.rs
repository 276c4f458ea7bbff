//! The committed wiring of the example networks is what their graphs say now.

use std::path::Path;

#[test]
fn wiring_of_the_examples_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut stale = Vec::new();
    for entry in std::fs::read_dir(root.join("graphs")).unwrap() {
        let graph = entry.unwrap().path();
        let wiring = graph.with_extension("").join("src/wiring.rs");
        if graph.extension().is_none_or(|e| e != "dot") || !wiring.exists() {
            continue;
        }
        let output = crate::common::graphmap()
            .arg(&graph)
            .arg("--emit")
            .arg(format!("wiring={}", wiring.display()))
            .arg("--check")
            .output()
            .unwrap();
        if !output.status.success() {
            stale.push(String::from_utf8_lossy(&output.stderr).into_owned());
        }
    }
    assert!(
        stale.is_empty(),
        "`graphmap run GRAPH --no-run` writes them anew: {stale:#?}"
    );
}
