//! `--emit x.mapped.dot`: the command reads the drawing again, and finds the same mapping.

use crate::common::Test;

#[test]
fn a_mapped_drawing_is_read_with_its_mapping() {
    for name in ["farm", "sort", "stencil"] {
        let graph =
            std::fs::read_to_string(format!("{}/graphs/{name}.dot", env!("CARGO_MANIFEST_DIR")))
                .unwrap();
        for how in ["-n 3", "--hosts hosts=2:cores=2 --strategy round-robin"] {
            let (first, again) = (format!("g.dot {how}"), how.split(" --strategy").next());
            let test = Test::new().file("g.dot", &graph);
            let test = test.args(&format!(
                "{first} --emit g.mapped.dot --emit a/mapping.json"
            ));
            test.run().status(0);
            let again = again.unwrap_or_default();
            let test = test.args(&format!("g.mapped.dot {again} --emit b/mapping.json"));
            test.run().status(0);
            let [a, b] = ["a", "b"].map(|folder| {
                let text = test.read(&format!("{folder}/mapping.json"));
                let json: serde_json::Value = serde_json::from_str(&text).unwrap();
                (json["processes"].clone(), json["os_processes"].clone())
            });
            assert_eq!(a, b, "{name} {how}");
        }
    }
}
