//! Compares the header with the one of MPICH, which has the same ABI.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use graphmap_testing::{Need, skip};

/// Returns the names that a header defines: constants, types and functions.
fn names(header: &str) -> [BTreeSet<String>; 3] {
    let [mut constants, mut types, mut functions]: [BTreeSet<String>; 3] = Default::default();
    let word = |text: &str| {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let text = text.trim();
        let start = text.rfind(|c: char| !is_word(c)).map_or(0, |at| at + 1);
        let word = &text[start..];
        let is_ours = word.starts_with("MPI_") || word.starts_with("MPIX_");
        (is_ours && !word.contains("_ABI_") && !word.ends_with("_ABI")).then(|| word.to_string())
    };
    for line in header.lines() {
        let line = line.split("/*").next().unwrap().trim();
        if let Some(definition) = line.strip_prefix("#define ") {
            let name = definition.split_whitespace().next().unwrap();
            if !name.contains('(') && name.len() < definition.trim().len() {
                constants.extend(word(name));
            }
        } else if let Some(definition) = line.strip_prefix("typedef ") {
            let end = definition.find(['(', ';']).unwrap_or(0);
            types.extend(word(&definition[..end]));
        } else if let Some(name) = line.strip_prefix('}') {
            types.extend(word(name.trim_end_matches(';')));
        } else if let Some((before, _)) = line.split_once('(')
            && line.ends_with(");")
        {
            functions.extend(word(before));
        } else if let Some((name, _)) = line.split_once('=') {
            constants.extend(word(name));
        }
    }
    [constants, types, functions]
}

/// Compiles and runs a program in C++ that prints the values and types of names.
fn print(header: &Path, [constants, types, functions]: &[BTreeSet<String>; 3]) -> String {
    let mut source = format!(
        "#include <cstdio>\n#include <typeinfo>\n#include \"{}\"\nint main() {{\n",
        header.display()
    );
    for name in constants {
        let value = format!("(long long)({name}), typeid(+({name})).name()");
        writeln!(source, "printf(\"{name} %lld %s\\n\", {value});").unwrap();
    }
    for name in types {
        writeln!(source, "printf(\"{name} %s\\n\", typeid({name}).name());").unwrap();
    }
    for name in functions {
        writeln!(
            source,
            "printf(\"{name} %s\\n\", typeid(decltype({name})).name());"
        )
        .unwrap();
    }
    source.push_str("}\n");
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("header-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (file, program) = (folder.join("print.cpp"), folder.join("print"));
    fs::write(&file, source).unwrap();
    let compiled = Command::new("c++")
        .args(["-w", "-o"])
        .arg(&program)
        .arg(&file)
        .output();
    let compiled = compiled.unwrap();
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let output = Command::new(&program).output().unwrap();
    assert!(output.status.success());
    fs::remove_dir_all(&folder).unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn constants_types_and_functions_are_those_of_mpich() {
    let Some(launcher) = std::env::var_os("MPICH_MPIEXEC") else {
        return skip(Need::LaterMpich, "MPICH_MPIEXEC is not set");
    };
    let folder = PathBuf::from(&launcher);
    let theirs = folder.parent().unwrap().with_file_name("include");
    let theirs = theirs.join("mpi_abi.h");
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/mpi.h");
    let names = names(&fs::read_to_string(&theirs).unwrap());
    assert!(
        names.iter().all(|names| names.len() > 20),
        "{:?}",
        names.each_ref().map(BTreeSet::len)
    );
    let (expected, printed) = (print(&theirs, &names), print(&ours, &names));
    let different = printed.lines().zip(expected.lines());
    let different: Vec<_> = different.filter(|(ours, theirs)| ours != theirs).collect();
    assert!(different.is_empty(), "{different:#?}");
}
