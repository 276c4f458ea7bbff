//! Compares the exported functions of the library with the declarations of its header.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use object::{Object, ObjectSymbol};

/// Returns the functions of the header: the second argument of each use of its macro.
fn declared(header: &str) -> BTreeSet<String> {
    let uses = header.lines().filter_map(|line| {
        let arguments = line.strip_prefix("GRAPHMAP_MPI(")?;
        arguments.split(", ").nth(1).map(str::to_string)
    });
    uses.collect()
}

#[test]
fn the_functions_of_the_header_are_exported() {
    let header = concat!(env!("CARGO_MANIFEST_DIR"), "/src/mpi.h");
    let functions = declared(&fs::read_to_string(header).unwrap());
    // Those of MPI-5.0, and ten that MPI-3.0 removed.
    assert_eq!(functions.len(), 667 + 10);
    let profiled = functions.iter().map(|name| format!("P{name}"));
    let expected: BTreeSet<String> = profiled.chain(functions.iter().cloned()).collect();

    let host = Path::new(env!("CARGO_BIN_EXE_graphmap-mpi"));
    let library = fs::read(host.with_file_name("libmpi_abi.so")).unwrap();
    let library = object::File::parse(&*library).unwrap();
    let symbols = library.dynamic_symbols();
    let exported: BTreeSet<String> = symbols
        .filter(|symbol| symbol.is_definition())
        .filter_map(|symbol| symbol.name().ok().map(str::to_string))
        .filter(|name| ["MPI", "PMPI"].iter().any(|start| name.starts_with(start)))
        .collect();

    let missing: Vec<&String> = expected.difference(&exported).collect();
    assert!(missing.is_empty(), "not exported: {missing:?}");
    let unknown: Vec<&String> = exported.difference(&expected).collect();
    assert!(unknown.is_empty(), "not in the header: {unknown:?}");
}
