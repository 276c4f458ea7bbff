//! Checks that any text, in each format of graph files, gives either a graph or errors with valid
//! positions. A graph must survive printing and reading.
#![no_main]

use graphmap_graphfile::{Format, print, read};
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::source::SourceMap;

libfuzzer_sys::fuzz_target!(|text: &str| {
    for format in Format::ALL {
        let (mut sources, mut out) = (SourceMap::new(), Diagnostics::new());
        sources
            .add("before", "another text")
            .expect("less than 4 GiB");
        let source = sources.add("graph", text).expect("less than 4 GiB");
        let file = read(&source, format, &mut out);
        assert_eq!(file.is_none(), out.has_errors());
        for label in out
            .iter()
            .flat_map(|d| d.primary.iter().chain(&d.secondary))
        {
            let (found, range) = sources.range(label.span).expect("a place in the text");
            assert!(found.name() == "graph" && found.text().get(range).is_some());
        }
        let Some(file) = file else { continue };
        let again = sources
            .add("again", print(&file.graph, format))
            .expect("less than 4 GiB");
        let again = read(&again, format, &mut out).expect("what was printed");
        // The order of neighbours may differ.
        let edges = |graph: &graphmap_partition::Graph| {
            let vertices = 0..graph.vertices() as u32;
            let rows = vertices.map(|v| {
                let mut row: Vec<_> = graph.neighbours(v).collect();
                row.sort_unstable();
                (graph.load(v), row)
            });
            rows.collect::<Vec<_>>()
        };
        assert_eq!(edges(&again.graph), edges(&file.graph));
    }
});
