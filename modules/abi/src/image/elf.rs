//! Reading an ELF file and changing what prevents its copies from being loaded.

use std::collections::HashSet;

use object::read::elf::{Dyn, FileHeader, ProgramHeader, SectionHeader, Sym};
use object::{Endianness, elf};

use super::refused::Refused;

type Header = elf::FileHeader64<Endianness>;

/// A file whose copies can be loaded.
#[derive(Debug)]
pub(super) struct Copied {
    /// Contents of a copy, without what is not loaded.
    pub(super) bytes: Vec<u8>,
    /// Offset of the first instruction from the load address.
    pub(super) entry: u64,
    /// Whether the dynamic linker loads libraries for the file.
    pub(super) is_dynamic: bool,
    /// Whether the file has copies of variables of libraries.
    pub(super) has_copies: bool,
    /// Whether the file states its name as a library.
    pub(super) has_name: bool,
    /// Whether the file opens libraries.
    pub(super) opens_libraries: bool,
    /// Names of private libraries in the contents, which each copy replaces.
    pub(super) names: Vec<Name>,
    /// Number of memory mappings of a copy. This is an estimate that is not too low.
    pub(super) mappings: usize,
    /// Numbers of the symbols that a library may find in the program, in ascending order.
    pub(super) unresolved: Vec<usize>,
    /// Numbers of the symbols of a library that the program defines, in ascending order.
    pub(super) preempted: Vec<usize>,
    /// Names of the symbols that the file defines.
    pub(super) defined: HashSet<Vec<u8>>,
    /// Constructors, which the dynamic linker does not see.
    pub(super) constructors: Constructors,
}

/// Constructors of a file: offsets from the load address.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Constructors {
    /// A function that is called first, or 0.
    pub(super) first: u64,
    /// Address of an array of functions, and its size in bytes.
    pub(super) array: u64,
    pub(super) size: u64,
}

/// Kind of relocations that copy a variable of a library into the program.
pub(super) const COPY: u32 = match cfg!(target_arch = "x86_64") {
    true => elf::R_X86_64_COPY,
    false => elf::R_AARCH64_COPY,
};

/// A tag that the dynamic linker ignores, in the range of operating systems.
const IGNORED: u64 = 0x6000_1000;

/// Name of a private library in the contents of a file.
#[derive(Debug)]
pub(super) struct Name {
    /// Offset of the first byte.
    pub(super) at: usize,
    pub(super) length: usize,
    /// Index of the library.
    pub(super) library: usize,
}

impl Copied {
    /// Checks a file and changes it so that copies of it can be loaded. `private` are the names of
    /// the private libraries. `program` is the program of a library.
    pub(super) fn of(
        mut bytes: Vec<u8>,
        private: &[String],
        program: Option<&Copied>,
    ) -> Result<Self, Refused> {
        let wrong = |error: object::read::Error| Refused::NotElf(error.to_string());
        if !bytes.starts_with(&elf::ELFMAG) {
            return Err(Refused::NotElf("it is not an ELF file".to_string()));
        }
        let header = Header::parse(&*bytes).map_err(wrong)?;
        let endian = header.endian().map_err(wrong)?;
        let machine = match cfg!(target_arch = "x86_64") {
            true => elf::EM_X86_64,
            false => elf::EM_AARCH64,
        };
        if header.e_machine(endian) != machine {
            return Err(Refused::NotElf("it is for another processor".to_string()));
        }
        let entry = header.e_entry(endian);
        let segments = header.program_headers(endian, &*bytes).map_err(wrong)?;
        let has_interpreter = segments
            .iter()
            .any(|segment| segment.p_type(endian) == elf::PT_INTERP);
        match header.e_type(endian) {
            elf::ET_DYN => {}
            elf::ET_EXEC if has_interpreter => return Err(Refused::Fixed),
            elf::ET_EXEC => return Err(Refused::Static),
            _ => return Err(Refused::NotElf("it is an object file".to_string())),
        }
        let (mut end, mut mappings) = (0, 0);
        let mut has_thread_locals = false;
        let mut dynamic = None;
        for segment in segments {
            let file = segment
                .p_offset(endian)
                .saturating_add(segment.p_filesz(endian));
            match segment.p_type(endian) {
                elf::PT_LOAD => {
                    end = end.max(file);
                    let memory = segment.p_memsz(endian) > segment.p_filesz(endian);
                    mappings += 1 + usize::from(memory);
                }
                elf::PT_GNU_RELRO => mappings += usize::from(segment.p_memsz(endian) > PAGE),
                elf::PT_TLS => has_thread_locals = segment.p_memsz(endian) > 0,
                elf::PT_DYNAMIC => dynamic = segment.dynamic(endian, &*bytes).map_err(wrong)?,
                _ => {}
            }
        }
        let dynamic = dynamic.ok_or(Refused::Static)?;
        let is_needed =
            |entry: &elf::Dyn64<Endianness>| entry.tag32(endian) == Some(elf::DT_NEEDED);
        let is_dynamic = has_interpreter || dynamic.iter().any(is_needed);
        let start = bytes.as_ptr() as usize;
        let flags = dynamic
            .iter()
            .find(|entry| entry.tag32(endian) == Some(elf::DT_FLAGS_1))
            .map(|entry| {
                (
                    std::ptr::from_ref(entry) as usize - start,
                    entry.d_val(endian),
                )
            });
        let is_executable = flags.is_some_and(|(_, flags)| flags & u64::from(elf::DF_1_PIE) != 0);
        if is_executable && is_dynamic && has_thread_locals {
            return Err(Refused::ThreadLocal);
        }
        let sections = header.sections(endian, &*bytes).map_err(wrong)?;
        let symbols = sections
            .symbols(endian, &*bytes, elf::SHT_DYNSYM)
            .map_err(wrong)?;
        // All copies would share symbols that are unique in the OS process, as C++ compilers make
        // inline variables. `st_info` is behind `st_name`, which has four bytes.
        let unique: Vec<usize> = symbols
            .iter()
            .filter(|symbol| symbol.st_bind() == elf::STB_GNU_UNIQUE)
            .map(|symbol| std::ptr::from_ref(symbol) as usize - start + 4)
            .collect();
        for symbol in symbols.iter() {
            let name = symbol.name(endian, symbols.strings()).map_err(wrong)?;
            if let Some((_, option)) = SANITIZERS.iter().find(|(init, _)| *init == name) {
                return Err(Refused::Sanitizer(option));
            }
        }
        let is_open = |symbol: &elf::Sym64<Endianness>| {
            symbol.st_shndx(endian) == elf::SHN_UNDEF && symbol.st_bind() == elf::STB_GLOBAL
        };
        // The dynamic linker does not search the program for symbols of a library, because the
        // program is private. It accepts weak symbols that do not exist.
        let open = symbols.enumerate();
        let open = open.filter(|(_, symbol)| program.is_some() && is_open(symbol));
        let (unresolved, weak): (Vec<usize>, Vec<usize>) = open
            .map(|(index, symbol)| (index.0, std::ptr::from_ref(symbol) as usize - start + 4))
            .unzip();
        // The program comes first for symbols that a library defines, too.
        let (mut preempted, mut defined) = (Vec::new(), HashSet::new());
        for (index, symbol) in symbols.enumerate() {
            let name = symbol.name(endian, symbols.strings()).map_err(wrong)?;
            if program.is_some_and(|program| program.defined.contains(name)) {
                preempted.push(index.0);
            }
            if symbol.st_shndx(endian) != elf::SHN_UNDEF && !name.is_empty() {
                defined.insert(name.to_vec());
            }
        }
        let mut has_copies = false;
        for section in sections.iter() {
            if let Some((entries, _)) = section.rela(endian, &*bytes).map_err(wrong)? {
                let is_copy = |entry: &elf::Rela64<Endianness>| entry.r_type(endian, false) == COPY;
                has_copies |= entries.iter().any(is_copy);
            }
        }
        let opens_libraries = symbols.iter().any(|symbol| {
            let name = symbol.name(endian, symbols.strings());
            symbol.st_shndx(endian) == elf::SHN_UNDEF && name.is_ok_and(|name| name == b"dlopen")
        });
        let mut names = Vec::new();
        let mut has_name = false;
        let mut constructors = Constructors::default();
        let mut hidden = Vec::new();
        for entry in dynamic {
            let value = match entry.tag32(endian) {
                Some(elf::DT_INIT) => Some(&mut constructors.first),
                Some(elf::DT_INIT_ARRAY) => Some(&mut constructors.array),
                Some(elf::DT_INIT_ARRAYSZ) => Some(&mut constructors.size),
                _ => None,
            };
            if let Some(value) = value {
                *value = entry.d_val(endian);
                hidden.push(std::ptr::from_ref(entry) as usize - start);
            }
            if !matches!(entry.tag32(endian), Some(elf::DT_NEEDED | elf::DT_SONAME)) {
                continue;
            }
            has_name |= entry.tag32(endian) == Some(elf::DT_SONAME);
            let name = entry.string(endian, symbols.strings()).map_err(wrong)?;
            if other_mpi(name) {
                return Err(Refused::OtherMpi(
                    String::from_utf8_lossy(name).into_owned(),
                ));
            }
            if let Some(library) = private.iter().position(|other| other.as_bytes() == name) {
                names.push(Name {
                    at: name.as_ptr() as usize - start,
                    length: name.len(),
                    library,
                });
            }
        }
        // `dlopen` refuses executables.
        if let Some((at, flags)) = flags {
            let flags = flags & !u64::from(elf::DF_1_PIE);
            bytes[at + 8..at + 16].copy_from_slice(&flags.to_ne_bytes());
        }
        // Constructors run when the functions of the C library are replaced.
        for at in hidden {
            bytes[at..at + 8].copy_from_slice(&IGNORED.to_ne_bytes());
        }
        for at in unique {
            bytes[at] = elf::STB_GLOBAL << 4 | bytes[at] & 0xf;
        }
        for at in weak {
            bytes[at] = elf::STB_WEAK << 4 | bytes[at] & 0xf;
        }
        bytes.truncate(usize::try_from(end).unwrap_or(usize::MAX));
        Ok(Copied {
            bytes,
            entry,
            is_dynamic,
            has_copies,
            has_name,
            opens_libraries,
            names,
            mappings,
            unresolved,
            preempted,
            defined,
            constructors,
        })
    }
}

/// Names of the symbols that a library defines, and names that another file must define.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    pub(super) defined: HashSet<Vec<u8>>,
    pub(super) needed: Vec<Vec<u8>>,
}

impl Symbols {
    /// Returns the symbols of a file.
    ///
    /// # Errors
    /// The reason why the file is not an ELF file for this processor.
    pub(super) fn of(bytes: &[u8]) -> object::read::Result<Self> {
        let header = Header::parse(bytes)?;
        let endian = header.endian()?;
        let sections = header.sections(endian, bytes)?;
        let symbols = sections.symbols(endian, bytes, elf::SHT_DYNSYM)?;
        let mut all = Symbols::default();
        for symbol in symbols.iter() {
            let name = symbol.name(endian, symbols.strings())?.to_vec();
            if symbol.st_shndx(endian) != elf::SHN_UNDEF {
                all.defined.insert(name);
            } else if symbol.st_bind() == elf::STB_GLOBAL {
                all.needed.push(name);
            }
        }
        Ok(all)
    }
}

/// Size of a page, at least.
const PAGE: u64 = 4096;

/// Functions that start sanitizers, with the options of the compiler. The library of each must be
/// the first of an OS process.
const SANITIZERS: [(&[u8], &str); 4] = [
    (b"__asan_init", "-fsanitize=address"),
    (b"__hwasan_init", "-fsanitize=hwaddress"),
    (b"__msan_init", "-fsanitize=memory"),
    (b"__tsan_init", "-fsanitize=thread"),
];

/// Returns true if a library is an MPI with the binary interface of MPICH or of Open MPI.
fn other_mpi(name: &[u8]) -> bool {
    let names: [&[u8]; 4] = [b"libmpi.so", b"libmpich.so", b"libmpi_mpi", b"libmpicxx.so"];
    names.iter().any(|other| name.starts_with(other))
}
