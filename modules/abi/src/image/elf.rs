//! Reading an ELF file and changing what prevents its copies from being loaded.

use std::fmt;
use std::path::{Path, PathBuf};

use object::read::elf::{Dyn, FileHeader, ProgramHeader, Sym};
use object::{Endianness, elf};

type Header = elf::FileHeader64<Endianness>;

/// Reason why a program cannot be loaded.
#[derive(Debug)]
pub(crate) enum Refused {
    Unreadable(std::io::Error),
    NotElf(String),
    /// The file is linked statically.
    Static,
    /// The file is not position-independent.
    Fixed,
    /// The executable has thread-local variables at fixed offsets.
    ThreadLocal,
    /// The program was compiled for another MPI.
    OtherMpi(String),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Unreadable(error) => write!(f, "cannot read the program: {error}"),
            Refused::NotElf(why) => write!(f, "not an ELF program for this machine: {why}"),
            Refused::Static => f.write_str("the program is linked statically"),
            Refused::Fixed => f.write_str("the program is not position-independent"),
            Refused::ThreadLocal => {
                f.write_str("the thread-local variables of the program cannot be made private")
            }
            Refused::OtherMpi(name) => {
                write!(
                    f,
                    "the program needs {name}, which has another binary interface"
                )
            }
        }
    }
}

/// A program that can be loaded, with the bytes of its copies.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    /// Contents of a copy, without what is not loaded.
    pub(crate) bytes: Vec<u8>,
    /// Offset of the first instruction from the load address.
    pub(crate) entry: u64,
}

impl Program {
    /// Reads a program, and changes it so that copies of it can be loaded.
    pub(crate) fn read(path: &Path) -> Result<Self, Refused> {
        let bytes = std::fs::read(path).map_err(Refused::Unreadable)?;
        Program::of(path, bytes)
    }

    fn of(path: &Path, mut bytes: Vec<u8>) -> Result<Self, Refused> {
        let wrong = |error: object::read::Error| Refused::NotElf(error.to_string());
        let header = Header::parse(&*bytes).map_err(wrong)?;
        let endian = header.endian().map_err(wrong)?;
        let machine = match cfg!(target_arch = "x86_64") {
            true => elf::EM_X86_64,
            false => elf::EM_AARCH64,
        };
        if header.e_machine(endian) != machine {
            return Err(Refused::NotElf("it is for another processor".to_string()));
        }
        match header.e_type(endian) {
            elf::ET_DYN => {}
            elf::ET_EXEC => {
                let segments = header.program_headers(endian, &*bytes).map_err(wrong)?;
                let mut types = segments.iter().map(|segment| segment.p_type(endian));
                return Err(match types.any(|kind| kind == elf::PT_INTERP) {
                    true => Refused::Fixed,
                    false => Refused::Static,
                });
            }
            _ => return Err(Refused::NotElf("it is not a program".to_string())),
        }
        let entry = header.e_entry(endian);
        let segments = header.program_headers(endian, &*bytes).map_err(wrong)?;
        let mut end = 0;
        let mut has_thread_locals = false;
        let mut interpreter = false;
        let mut dynamic = None;
        for segment in segments {
            let file = segment.p_offset(endian) + segment.p_filesz(endian);
            match segment.p_type(endian) {
                elf::PT_LOAD => end = end.max(file),
                elf::PT_TLS => has_thread_locals = segment.p_memsz(endian) > 0,
                elf::PT_INTERP => interpreter = true,
                elf::PT_DYNAMIC => dynamic = segment.dynamic(endian, &*bytes).map_err(wrong)?,
                _ => {}
            }
        }
        let Some(dynamic) = dynamic else {
            return Err(Refused::Static);
        };
        if !interpreter
            && dynamic
                .iter()
                .all(|entry| entry.tag32(endian) != Some(elf::DT_NEEDED))
        {
            return Err(Refused::Static);
        }
        let start = bytes.as_ptr() as usize;
        let place = |entry: &elf::Dyn64<Endianness>| std::ptr::from_ref(entry) as usize - start;
        let flags = dynamic
            .iter()
            .find(|entry| entry.tag32(endian) == Some(elf::DT_FLAGS_1))
            .map(|entry| (place(entry), entry.d_val(endian)));
        let is_executable = flags.is_some_and(|(_, flags)| flags & u64::from(elf::DF_1_PIE) != 0);
        if is_executable && has_thread_locals {
            return Err(Refused::ThreadLocal);
        }
        let unique = unique_symbols(header, endian, &bytes).map_err(wrong)?;
        // `dlopen` refuses executables.
        if let Some((at, flags)) = flags {
            let flags = flags & !u64::from(elf::DF_1_PIE);
            bytes[at + 8..at + 16].copy_from_slice(&flags.to_ne_bytes());
        }
        // All copies would share symbols that are unique in the OS process.
        for at in unique {
            bytes[at] = elf::STB_GLOBAL << 4 | bytes[at] & 0xf;
        }
        bytes.truncate(usize::try_from(end).unwrap_or(usize::MAX));
        Ok(Program {
            path: path.to_path_buf(),
            bytes,
            entry,
        })
    }
}

/// Returns the offsets in the file of the `st_info` of all symbols with the binding
/// `STB_GNU_UNIQUE`, which C++ compilers give to inline variables.
fn unique_symbols(
    header: &Header,
    endian: Endianness,
    bytes: &[u8],
) -> object::read::Result<Vec<usize>> {
    let sections = header.sections(endian, bytes)?;
    let symbols = sections.symbols(endian, bytes, elf::SHT_DYNSYM)?;
    let start = bytes.as_ptr() as usize;
    let unique = symbols
        .iter()
        .filter(|symbol| symbol.st_bind() == elf::STB_GNU_UNIQUE)
        // `st_info` is behind `st_name`, which has four bytes.
        .map(|symbol| std::ptr::from_ref(symbol) as usize - start + 4);
    Ok(unique.collect())
}
