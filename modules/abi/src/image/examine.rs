//! Report on a program before it runs: its state, the functions that it lacks, and the number of
//! ranks that fit.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use object::read::elf::{FileHeader, ProgramHeader, Sym};
use object::{Endianness, elf};

use super::libc_calls;
use super::limit;
use super::program::Program;
use super::refused::{FORK, Refused};
use crate::unimplemented;

/// Functions of the C library with state that all ranks of the OS process share.
const SHARED: [&str; 28] = [
    "alarm",
    "chdir",
    "clearenv",
    "crypt",
    "dup2",
    "ecvt",
    "fchdir",
    "fcvt",
    "getgrnam",
    "gethostbyname",
    "getlogin",
    "getpwnam",
    "getpwuid",
    "hcreate",
    "hsearch",
    "inet_ntoa",
    "localeconv",
    "putenv",
    "setenv",
    "setitimer",
    "setlocale",
    "setrlimit",
    "sigaction",
    "signal",
    "tmpnam",
    "ttyname",
    "umask",
    "unsetenv",
];

/// Returns a report on a program, or the reason why it cannot be loaded.
pub(crate) fn examine(path: &Path) -> Result<String, Refused> {
    let wrong = |error: object::read::Error| Refused::NotElf(error.to_string());
    let program = Program::read(path, &[])?;
    let bytes = fs::read(path).map_err(Refused::Unreadable)?;
    let header = elf::FileHeader64::<Endianness>::parse(&*bytes).map_err(wrong)?;
    let endian = header.endian().map_err(wrong)?;
    let segments = header.program_headers(endian, &*bytes).map_err(wrong)?;
    let (mut globals, mut thread_locals) = (0, 0);
    for segment in segments {
        match segment.p_type(endian) {
            elf::PT_LOAD if segment.p_flags(endian) & elf::PF_W != 0 => {
                globals += segment.p_memsz(endian);
            }
            elf::PT_TLS => thread_locals = segment.p_memsz(endian),
            _ => {}
        }
    }
    let sections = header.sections(endian, &*bytes).map_err(wrong)?;
    let all = sections
        .symbols(endian, &*bytes, elf::SHT_SYMTAB)
        .map_err(wrong)?;
    let mut variables = Vec::new();
    for symbol in all.iter() {
        let is_variable = symbol.st_type() == elf::STT_OBJECT && symbol.st_size(endian) > 0;
        let section = sections.section(object::SectionIndex(symbol.st_shndx(endian).into()));
        let is_writable = section.is_ok_and(|section| {
            use object::read::elf::SectionHeader;
            let flags = section.sh_flags(endian);
            flags & u64::from(elf::SHF_WRITE) != 0 && flags & u64::from(elf::SHF_TLS) == 0
        });
        if is_variable && is_writable {
            let name = symbol.name(endian, all.strings()).map_err(wrong)?;
            let name = String::from_utf8_lossy(name).into_owned();
            if !name.starts_with("__") && !name.starts_with("completed.") {
                variables.push((symbol.st_size(endian), name));
            }
        }
    }
    variables.sort_by(|a, b| b.cmp(a));
    let dynamic = sections
        .symbols(endian, &*bytes, elf::SHT_DYNSYM)
        .map_err(wrong)?;
    let (mut missing, mut shared, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    for symbol in dynamic.iter() {
        if symbol.st_shndx(endian) != elf::SHN_UNDEF {
            continue;
        }
        let name = symbol.name(endian, dynamic.strings()).map_err(wrong)?;
        let name = String::from_utf8_lossy(name).into_owned();
        if unimplemented::is_unimplemented(name.strip_prefix('P').unwrap_or(&name)) {
            missing.push(name);
        } else if SHARED.contains(&&*name) {
            shared.push(name);
        } else if libc_calls::refused(name.as_bytes()).is_some() {
            refused.push(name);
        }
    }
    let mut text = String::new();
    let list = |names: &[String]| match names {
        [] => "none".to_string(),
        names => names.join(", "),
    };
    let largest = variables.iter().take(10);
    let largest: Vec<String> = largest
        .map(|(size, name)| format!("{name} ({size} bytes)"))
        .collect();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "globals of a rank: {globals} bytes, private");
    let _ = writeln!(text, "  largest variables: {}", list(&largest));
    let _ = writeln!(
        text,
        "thread-locals of a rank: {thread_locals} bytes, private"
    );
    let _ = writeln!(
        text,
        "calls of MPI that are not supported: {}",
        list(&missing)
    );
    let _ = writeln!(
        text,
        "functions of the C library with state of all ranks: {}",
        list(&shared)
    );
    if !refused.is_empty() {
        let names = refused.join(", ");
        let _ = writeln!(
            text,
            "functions that end a rank that calls them ({FORK}): {names}"
        );
    }
    if let Some(most) = limit::most(program.mappings()) {
        let _ = writeln!(text, "ranks that fit: about {most}");
    }
    Ok(text)
}
