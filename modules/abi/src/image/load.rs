//! Loading a copy of the program, and starting it.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fs::{self, File};
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use object::elf;

use super::elf::{COPY, Constructors, Copied};
use super::program::Program;
use super::variables::Variables;
use super::{exceptions, iostreams, wide};
use crate::rank::{Part as _, Rank};

/// Returns the function that replaces a function of the C library, or `None` if it is not replaced.
pub(crate) type Replacement = fn(&CStr) -> Option<usize>;

/// Arguments of constructors: the number of arguments, the arguments, and the environment.
pub(crate) type Arguments = (c_int, *const *mut c_char, *const *mut c_char);

/// A loaded copy of the program.
///
/// It is never unloaded, because pointers into the copy may be anywhere.
pub(crate) struct Image {
    file: Arc<Program>,
    /// Number of this copy.
    copy: usize,
    replacement: Replacement,
    program: Loaded,
    /// Private libraries of the program. A library is behind the libraries it needs.
    libraries: Vec<Loaded>,
    /// Private libraries that the program has opened, with their paths.
    plugins: RefCell<Vec<(PathBuf, Loaded)>>,
}

impl Image {
    /// Loads a copy of the program for a rank. It calls the functions of `replacement` and uses the
    /// variables of the rank. Its constructors do not run.
    ///
    /// # Errors
    /// The error of the dynamic linker or of the system.
    pub(crate) fn load(
        file: &Arc<Program>,
        rank: &Rank,
        replacement: Replacement,
    ) -> Result<Self, String> {
        static COPIES: AtomicUsize = AtomicUsize::new(1);
        let copy = COPIES.fetch_add(1, Ordering::Relaxed);
        let count = file.libraries.len();
        // Shared libraries are loaded before the program.
        let shared = file.shared();
        // The program names the copies of libraries that are loaded here.
        let libraries = file.libraries.iter();
        let libraries = libraries.map(|library| open(library, copy, count));
        let image = Image {
            file: Arc::clone(file),
            copy,
            replacement,
            libraries: libraries.collect::<Result<_, _>>()?,
            program: open(&file.file, copy, count)?,
            plugins: RefCell::default(),
        };
        replace_in_shared()?;
        // SAFETY: the program was just loaded.
        unsafe { image.copy_variables(rank, shared)? };
        // SAFETY: the files were just loaded, and no code of them has run.
        unsafe {
            let program = &image.program;
            program.use_exceptions();
            program.replace(|name| image.find(rank, name, program.handle))?;
            for (file, library) in file.libraries.iter().zip(&image.libraries) {
                image.connect(rank, file, library)?;
            }
        }
        Ok(image)
    }

    /// Gives the variables of libraries that the program has copied their initial values. The
    /// dynamic linker does that only for the program that was started.
    ///
    /// # Safety
    /// No code of the program may have run.
    unsafe fn copy_variables(
        &self,
        rank: &Rank,
        shared: impl Iterator<Item = *mut c_void>,
    ) -> Result<(), String> {
        let mut pages = Pages::default();
        let copies = self.program.copies();
        let private = self.libraries.iter().map(|library| library.handle);
        let handles: Vec<*mut c_void> = private.chain(shared).collect();
        for copy in &copies {
            let size = copy.symbol.size as usize;
            pages.open(copy.address, size)?;
            // SAFETY: the handles are valid.
            let find = |&handle: &_| unsafe { libc::dlsym(handle, copy.name.as_ptr()) };
            let found = handles.iter().map(find).find(|address| !address.is_null());
            // SAFETY: the program has room for the variable, whose definition has the same size.
            unsafe {
                if let Some(found) = found {
                    std::ptr::copy(found.cast(), copy.address as *mut u8, size);
                }
                Variables::of(rank).place(copy.name, copy.address, size);
                iostreams::place(rank, copy.name, copy.address);
            }
        }
        for copy in &copies {
            // This constructs the streams of C++.
            self.find(rank, copy.name, self.program.handle);
        }
        Ok(())
    }

    /// Returns the address that replaces a function or a variable of the libraries of C and C++,
    /// for a file with this handle.
    pub(super) fn find(&self, rank: &Rank, name: &CStr, handle: *mut c_void) -> Option<usize> {
        // SAFETY: the handle is valid.
        let symbol = |name: &CStr| unsafe { symbol(handle, name) };
        (self.replacement)(name)
            .or_else(|| Variables::of(rank).find(name))
            // SAFETY: the names belong to the C++ library. The copies of streams in the program
            // have the sizes of the streams.
            .or_else(|| unsafe { iostreams::find(rank, name, &symbol) })
    }

    /// Makes a private library use the functions and variables of the rank and of the program.
    ///
    /// # Safety
    /// No code of the library may have run.
    unsafe fn connect(&self, rank: &Rank, file: &Copied, library: &Loaded) -> Result<(), String> {
        // SAFETY: guaranteed by the caller.
        unsafe {
            library.use_exceptions();
            library.replace(|name| self.find(rank, name, library.handle))?;
            library.use_variables_of(&self.program)?;
            library.resolve(file, self.program.handle)
        }
    }

    /// Opens a private copy of a library for the program. Returns its handle, and the library if
    /// its constructors must run. Returns `None` if the library is not private.
    ///
    /// # Errors
    /// The error of the dynamic linker, or the reason why the library cannot be loaded.
    pub(super) fn open_plugin(
        &self,
        rank: &Rank,
        path: &Path,
    ) -> Result<Option<(*mut c_void, Option<Plugin>)>, String> {
        if !self.file.is_plugin(path) {
            return Ok(None);
        }
        let path = fs::canonicalize(path).map_err(|error| error.to_string())?;
        let mut plugins = self.plugins.borrow_mut();
        if let Some((_, plugin)) = plugins.iter().find(|(other, _)| *other == path) {
            return Ok(Some((plugin.handle, None)));
        }
        let file = self.file.plugin(&path);
        let file = file.map_err(|why| why.message(&path.display().to_string()))?;
        let plugin = open(&file, self.copy, self.libraries.len())?;
        // SAFETY: the library was just loaded, and no code of it has run.
        unsafe { self.connect(rank, &file, &plugin)? };
        plugins.push((path, plugin));
        Ok(Some((plugin.handle, Some(Plugin(plugin)))))
    }

    /// Returns true if the handle belongs to a private library that the program has opened.
    pub(super) fn is_plugin(&self, handle: *mut c_void) -> bool {
        let plugins = self.plugins.borrow();
        plugins.iter().any(|(_, plugin)| plugin.handle == handle)
    }

    /// Runs the constructors of the private libraries and of the program.
    ///
    /// # Safety
    /// The caller must be on the stack of the rank of this program, and must have no values to
    /// drop, because a constructor may end the rank. It must be called once.
    pub(crate) unsafe fn construct(&self, arguments: Arguments) {
        for file in self.libraries.iter().chain([&self.program]) {
            // SAFETY: guaranteed by the caller.
            unsafe { file.construct(arguments) };
        }
    }

    /// Returns the address of a symbol that the program defines, or null.
    ///
    /// # Safety
    /// The name must be a string.
    pub(super) unsafe fn symbol(&self, name: *const c_char) -> *mut c_void {
        // SAFETY: the handle is valid. `Dl_info` consists of pointers.
        unsafe {
            let mut found: libc::Dl_info = std::mem::zeroed();
            let address = libc::dlsym(self.program.handle, name);
            let is_known = !address.is_null() && libc::dladdr(address, &mut found) != 0;
            match is_known && found.dli_fbase as usize == self.program.base {
                true => address,
                false => std::ptr::null_mut(),
            }
        }
    }

    /// Returns the handle of the program, as `dlopen` returned it.
    pub(super) fn handle(&self) -> *mut c_void {
        self.program.handle
    }

    /// Returns the difference between addresses of the program in memory and in its file.
    pub(crate) fn base(&self) -> usize {
        self.program.base
    }

    /// Returns the entry point of the program.
    pub(crate) fn entry_point(&self) -> EntryPoint {
        EntryPoint(self.program.base + self.file.file.entry as usize)
    }

    /// Runs the destructors of static objects of the program and of its private libraries, and the
    /// functions that it has passed to `atexit`.
    ///
    /// # Safety
    /// The caller must be on the stack of the rank of this program, and must have no values to
    /// drop, because a destructor may end the rank.
    pub(crate) unsafe fn destruct(&self) {
        // The destructors run without a borrow, because one may end the rank.
        let last = || self.plugins.borrow_mut().pop();
        // SAFETY: guaranteed by the caller.
        unsafe {
            self.program.destruct();
            while let Some((_, plugin)) = last() {
                plugin.destruct();
            }
            for library in self.libraries.iter().rev() {
                library.destruct();
            }
        }
    }
}

/// A file that is loaded.
#[derive(Clone, Copy)]
struct Loaded {
    /// Difference between addresses in memory and in the file.
    base: usize,
    dynamic: *const Dynamic,
    handle: *mut c_void,
    constructors: Constructors,
}

/// `link_map` of the C library, as far as it is public.
#[repr(C)]
struct LinkMap {
    base: usize,
    name: *const c_char,
    dynamic: *const Dynamic,
}

/// Entry of the dynamic section in memory.
#[repr(C)]
#[derive(Clone, Copy)]
struct Dynamic {
    tag: u64,
    value: usize,
}

/// Relocation with an addend.
#[repr(C)]
struct Relocation {
    offset: usize,
    info: u64,
    addend: i64,
}

/// Entry of the symbol table.
#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: usize,
    size: u64,
}

/// A relocation that names a symbol.
struct Reference {
    /// Address of the word, or of the variable for a copy.
    address: usize,
    kind: u32,
    addend: usize,
    /// Number of the symbol.
    number: usize,
    symbol: &'static Symbol,
    name: &'static CStr,
}

impl Reference {
    /// Makes the word refer to another address.
    ///
    /// # Safety
    /// The reference must not be a copy, and nothing else may use the word meanwhile.
    unsafe fn set(&self, address: usize, pages: &mut Pages) -> Result<(), String> {
        // SAFETY: guaranteed by the caller.
        unsafe { pages.write(self.address, address.wrapping_add(self.addend)) }
    }
}

/// Kinds of relocations that store the address of a function or of a variable.
const ADDRESSES: [u32; 3] = match cfg!(target_arch = "x86_64") {
    true => [
        elf::R_X86_64_GLOB_DAT,
        elf::R_X86_64_JUMP_SLOT,
        elf::R_X86_64_64,
    ],
    false => [
        elf::R_AARCH64_GLOB_DAT,
        elf::R_AARCH64_JUMP_SLOT,
        elf::R_AARCH64_ABS64,
    ],
};

/// A private library whose constructors have not run.
pub(super) struct Plugin(Loaded);

impl Plugin {
    /// Runs the constructors.
    ///
    /// # Safety
    /// As for [`Image::construct`].
    pub(super) unsafe fn construct(&self, arguments: Arguments) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.0.construct(arguments) };
    }
}

impl Loaded {
    /// Returns the value of an entry of the dynamic section.
    fn dynamic(&self, tag: u32) -> Option<usize> {
        let mut at = self.dynamic;
        loop {
            // SAFETY: the dynamic section ends with a null tag.
            let entry = unsafe { *at };
            match entry.tag {
                0 => return None,
                found if found == u64::from(tag) => return Some(entry.value),
                // SAFETY: there is a further entry.
                _ => at = unsafe { at.add(1) },
            }
        }
    }

    /// Returns the address in memory of an address of the dynamic section. The dynamic linker makes
    /// only some of them absolute.
    fn absolute(&self, address: usize) -> usize {
        match address < self.base {
            true => self.base + address,
            false => address,
        }
    }

    /// Exchanges exceptions of C++ when ranks are switched, if the file uses a shared library for
    /// them.
    fn use_exceptions(&self) {
        // SAFETY: the handle is valid.
        let function = unsafe { symbol(self.handle, exceptions::RUNTIME) };
        if let Some(function) = function
            && !exceptions::is_used(function)
            && !is_in_copy(function)
        {
            // SAFETY: the function has this name.
            unsafe { exceptions::use_runtime(function) };
        }
    }

    /// Returns the relocations that name a symbol.
    fn references(&self) -> Vec<Reference> {
        let mut references = Vec::new();
        let (Some(strings), Some(symbols)) =
            (self.dynamic(elf::DT_STRTAB), self.dynamic(elf::DT_SYMTAB))
        else {
            return references;
        };
        let (strings, symbols) = (self.absolute(strings), self.absolute(symbols));
        let tables = [
            (elf::DT_RELA, elf::DT_RELASZ),
            (elf::DT_JMPREL, elf::DT_PLTRELSZ),
        ];
        for (table, size) in tables {
            let (Some(table), Some(size)) = (self.dynamic(table), self.dynamic(size)) else {
                continue;
            };
            let count = size / size_of::<Relocation>();
            // SAFETY: the dynamic section describes the table, which stays loaded.
            let relocations: &'static [Relocation] =
                unsafe { std::slice::from_raw_parts(self.absolute(table) as *const _, count) };
            for relocation in relocations {
                let number = (relocation.info >> 32) as usize;
                if number == 0 {
                    continue;
                }
                // SAFETY: a relocation names a symbol of the table, which stays loaded. The name of
                // a symbol is in the table of strings.
                let (symbol, name) = unsafe {
                    let symbol = &*(symbols as *const Symbol).add(number);
                    let name = CStr::from_ptr((strings + symbol.name as usize) as *const c_char);
                    (symbol, name)
                };
                references.push(Reference {
                    address: self.base + relocation.offset,
                    kind: relocation.info as u32,
                    addend: relocation.addend as usize,
                    number,
                    symbol,
                    name,
                });
            }
        }
        references
    }

    /// Returns the references to variables of libraries that the file has copied.
    fn copies(&self) -> Vec<Reference> {
        let mut copies = self.references();
        copies.retain(|reference| reference.kind == COPY);
        copies
    }

    /// Makes the file use the addresses that `find` returns, and not the C library.
    ///
    /// # Safety
    /// No code of the file may run meanwhile.
    unsafe fn replace(&self, find: impl Fn(&CStr) -> Option<usize>) -> Result<(), String> {
        let mut pages = Pages::default();
        for reference in self.references() {
            let is_undefined = reference.symbol.section == elf::SHN_UNDEF;
            if is_undefined && let Some(address) = find(reference.name) {
                // SAFETY: the relocation is for a word of the file.
                unsafe { reference.set(address, &mut pages)? };
            }
        }
        Ok(())
    }

    /// Makes this library use the variables of the program, which has copies of variables of
    /// libraries (`R_X86_64_COPY`).
    ///
    /// # Safety
    /// No code of both files may run meanwhile.
    unsafe fn use_variables_of(&self, program: &Loaded) -> Result<(), String> {
        let mut copies = program.copies();
        // The C++ library would construct its own streams there.
        copies.retain(|copy| !iostreams::is_stream(copy.name));
        if copies.is_empty() {
            return Ok(());
        }
        let mut pages = Pages::default();
        for reference in self.references() {
            let copy = copies.iter().find(|copy| copy.name == reference.name);
            if reference.kind != COPY
                && let Some(copy) = copy
            {
                // SAFETY: the relocation is for a word of the library.
                unsafe { reference.set(copy.address, &mut pages)? };
            }
        }
        Ok(())
    }

    /// Makes a library use symbols of the program, if the dynamic linker has not found them, or if
    /// both define them.
    ///
    /// # Errors
    /// The name of a symbol that does not exist.
    ///
    /// # Safety
    /// No code of the library may run meanwhile, and `program` must be a handle of `dlopen`.
    unsafe fn resolve(&self, file: &Copied, program: *mut c_void) -> Result<(), String> {
        let mut pages = Pages::default();
        for reference in self.references() {
            if !ADDRESSES.contains(&reference.kind) {
                continue;
            }
            let is_in = |numbers: &[usize]| numbers.binary_search(&reference.number).is_ok();
            // SAFETY: the relocation is for a word of the file.
            let word = unsafe { (reference.address as *const usize).read_unaligned() };
            let is_open = is_in(&file.unresolved) && word.wrapping_sub(reference.addend) == 0;
            let is_stream = iostreams::is_stream(reference.name);
            if !is_open && (is_stream || !is_in(&file.preempted)) {
                continue;
            }
            // SAFETY: the handle is valid.
            let Some(address) = (unsafe { symbol(program, reference.name) }) else {
                let name = reference.name.to_string_lossy();
                return Err(format!("undefined symbol: {name}"));
            };
            // SAFETY: as above.
            unsafe { reference.set(address, &mut pages)? };
        }
        Ok(())
    }

    /// Runs the constructors of the file.
    ///
    /// # Safety
    /// As for [`Image::construct`].
    unsafe fn construct(&self, (count, arguments, environment): Arguments) {
        type Constructor = unsafe extern "C" fn(c_int, *const *mut c_char, *const *mut c_char);
        let Constructors { first, array, size } = self.constructors;
        let count_of_array = size as usize / size_of::<usize>();
        let array = self.base + array as usize;
        let functions = (0..count_of_array)
            // SAFETY: the dynamic section describes the array.
            .map(|index| unsafe { *(array as *const usize).add(index) });
        let first = (first != 0).then(|| self.base + first as usize);
        for function in first.into_iter().chain(functions) {
            if function != 0 && function != usize::MAX {
                // SAFETY: the dynamic linker passes these arguments, too.
                unsafe {
                    let function = std::mem::transmute::<usize, Constructor>(function);
                    function(count, arguments, environment);
                }
            }
        }
    }

    /// Runs the destructors of the file.
    ///
    /// # Safety
    /// As for [`Image::destruct`].
    unsafe fn destruct(&self) {
        type Destructor = unsafe extern "C" fn();
        let array = self.dynamic(elf::DT_FINI_ARRAY);
        let size = self.dynamic(elf::DT_FINI_ARRAYSZ);
        if let (Some(array), Some(size)) = (array, size) {
            let array = self.absolute(array);
            for index in (0..size / size_of::<usize>()).rev() {
                // SAFETY: the dynamic section describes the array.
                let function = unsafe { *(array as *const usize).add(index) };
                if function != 0 && function != usize::MAX {
                    // SAFETY: the entries are functions without arguments.
                    unsafe { std::mem::transmute::<usize, Destructor>(function)() };
                }
            }
        }
        if let Some(function) = self.dynamic(elf::DT_FINI) {
            let function = self.absolute(function);
            // SAFETY: the entry is a function without arguments.
            unsafe { std::mem::transmute::<usize, Destructor>(function)() };
        }
    }
}

/// Loads a copy of a file. `copy` is the number of the copy, in which the names of `libraries`
/// private libraries are replaced.
fn open(file: &Copied, copy: usize, libraries: usize) -> Result<Loaded, String> {
    // SAFETY: the name is a string.
    let descriptor = unsafe { libc::memfd_create(c"graphmap".as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(std::io::Error::last_os_error().to_string());
    }
    // SAFETY: the descriptor was just created.
    let mut memory = unsafe { File::from_raw_fd(descriptor) };
    let mut write = || {
        memory.write_all(&file.bytes)?;
        for name in &file.names {
            let text = private_name(copy * libraries + name.library, name.length);
            memory.write_all_at(text.as_bytes(), name.at as u64)?;
        }
        Ok(())
    };
    write().map_err(|error: std::io::Error| error.to_string())?;
    let name = unique_name(memory.as_raw_fd());
    // SAFETY: the constructors of shared libraries run, as if the program was started.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        // SAFETY: `dlerror` returns a string after an error.
        let error = unsafe { CStr::from_ptr(libc::dlerror()) };
        return Err(error.to_string_lossy().into_owned());
    }
    let mut map: *const LinkMap = std::ptr::null();
    // SAFETY: the handle is valid, and this request writes a pointer.
    let status = unsafe { libc::dlinfo(handle, libc::RTLD_DI_LINKMAP, (&raw mut map).cast()) };
    if status != 0 || map.is_null() {
        return Err("the dynamic linker does not describe the program".to_string());
    }
    // SAFETY: the link map is valid while the file is loaded.
    let map = unsafe { &*map };
    Ok(Loaded {
        base: map.base,
        dynamic: map.dynamic,
        handle,
        constructors: file.constructors,
    })
}

/// Address of the first instruction of a loaded program.
#[derive(Clone, Copy)]
pub(crate) struct EntryPoint(usize);

impl EntryPoint {
    /// Jumps to the first instruction of the program, on the stack of the caller. The program calls
    /// `__libc_start_main`, which does not return.
    ///
    /// # Safety
    /// The caller must be on the stack of a rank, and must have no values to drop. The arguments
    /// must end with a null pointer and be valid as long as the program runs.
    pub(crate) unsafe fn start(self, arguments: &[*mut c_char], environment: &[*mut c_char]) -> ! {
        // The words that the kernel puts on the stack of a program: the number of arguments, the
        // arguments, the environment, and an empty auxiliary vector.
        let mut words = vec![arguments.len() - 1];
        words.extend(arguments.iter().map(|&argument| argument as usize));
        words.extend(environment.iter().map(|&variable| variable as usize));
        words.extend([0, 0]);
        if words.len() % 2 == 1 {
            words.push(0);
        }
        let (count, words) = (words.len(), words.leak());
        // SAFETY: the words are copied below the stack pointer, which stays aligned to 16 bytes.
        // The entry point of a program expects them there, and no function to call at its end.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            std::arch::asm!(
                "and rsp, -16",
                "lea rax, [rcx * 8]",
                "sub rsp, rax",
                "mov rdi, rsp",
                "rep movsq",
                "xor edx, edx",
                "xor ebp, ebp",
                "jmp r8",
                in("rcx") count,
                in("rsi") words.as_ptr(),
                in("r8") self.0,
                options(noreturn),
            );
            #[cfg(target_arch = "aarch64")]
            std::arch::asm!(
                "sub sp, sp, x1, lsl #3",
                "mov x3, sp",
                "2: ldr x4, [x2], #8",
                "str x4, [x3], #8",
                "subs x1, x1, #1",
                "b.ne 2b",
                "mov x0, xzr",
                "mov x29, xzr",
                "mov x30, xzr",
                "br x5",
                in("x1") count,
                in("x2") words.as_ptr(),
                in("x5") self.0,
                options(noreturn),
            );
        }
    }
}

/// Returns the name of a copy of a private library: its number, in a text of the given length that
/// no library has as its name.
fn private_name(number: usize, length: usize) -> String {
    let digits = format!("{number:x}");
    let digits = &digits[digits.len().saturating_sub(length)..];
    format!("{digits:@>length$}")
}

/// Returns the address of a symbol of a file or of the libraries that it needs, if it exists.
///
/// # Safety
/// The handle must be one of `dlopen`.
unsafe fn symbol(handle: *mut c_void, name: &CStr) -> Option<usize> {
    // SAFETY: guaranteed by the caller.
    let address = unsafe { libc::dlsym(handle, name.as_ptr()) };
    (!address.is_null()).then_some(address as usize)
}

/// Returns true if an address belongs to a copy that only one rank uses.
fn is_in_copy(address: usize) -> bool {
    // SAFETY: `Dl_info` consists of pointers, and the name of an object is a string.
    unsafe {
        let mut found: libc::Dl_info = std::mem::zeroed();
        libc::dladdr(address as *const c_void, &mut found) != 0
            && CStr::from_ptr(found.dli_fname)
                .to_bytes()
                .starts_with(COPIES.as_bytes())
    }
}

/// Replaces functions in the shared libraries of the first program, because they do not work on the
/// standard streams of ranks.
fn replace_in_shared() -> Result<(), String> {
    static DONE: OnceLock<Result<(), String>> = OnceLock::new();
    let replace = || {
        let find = |name: &CStr| {
            let name = name.to_bytes();
            let function = wide::replacement(name).or_else(|| iostreams::replacement(name))?;
            Some(function as usize)
        };
        for library in shared_libraries() {
            // SAFETY: the functions have the same types and work for all threads. A word is changed
            // by one instruction.
            unsafe { library.replace(find)? };
        }
        Ok(())
    };
    DONE.get_or_init(replace).clone()
}

/// Returns the files that are loaded, except for copies and for this library.
fn shared_libraries() -> Vec<Loaded> {
    /// Adds a file to a `Vec<Loaded>`.
    unsafe extern "C" fn add(
        file: *mut libc::dl_phdr_info,
        _size: usize,
        files: *mut c_void,
    ) -> c_int {
        // SAFETY: the dynamic linker describes a file, whose name is a string. The last argument
        // comes from the function below.
        unsafe {
            let (file, files) = (&*file, &mut *files.cast::<Vec<Loaded>>());
            let segments = std::slice::from_raw_parts(file.dlpi_phdr, file.dlpi_phnum.into());
            let base = file.dlpi_addr as usize;
            let own = shared_libraries as *const () as usize;
            let is_own = segments.iter().any(|segment| {
                let start = base.wrapping_add(segment.p_vaddr as usize);
                segment.p_type == elf::PT_LOAD
                    && (start..start + segment.p_memsz as usize).contains(&own)
            });
            let is_copy = CStr::from_ptr(file.dlpi_name)
                .to_bytes()
                .starts_with(COPIES.as_bytes());
            let dynamic = segments
                .iter()
                .find(|segment| segment.p_type == elf::PT_DYNAMIC);
            if let (false, Some(dynamic)) = (is_own || is_copy, dynamic) {
                files.push(Loaded {
                    base,
                    dynamic: (base + dynamic.p_vaddr as usize) as *const Dynamic,
                    handle: std::ptr::null_mut(),
                    constructors: Constructors::default(),
                });
            }
        }
        0
    }
    let mut files = Vec::new();
    // SAFETY: the function has the expected type, and gets the vector.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut files).cast()) };
    files
}

/// Start of the names of copies.
const COPIES: &str = "/proc/self/fd";

/// Returns a name of an open file that no other library has had. The path has a component `.` for
/// each bit of a number, so that names differ although descriptors are reused.
fn unique_name(descriptor: c_int) -> CString {
    static NUMBER: AtomicU32 = AtomicU32::new(1);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let bits = (0..u32::BITS - number.leading_zeros()).map(|bit| match number >> bit & 1 {
        0 => "/",
        _ => "/.",
    });
    let mut name = String::from(COPIES);
    name.extend(bits);
    name.push_str(&format!("/{descriptor}"));
    CString::new(name).unwrap_or_default()
}

/// Pages of a file that were made writable.
#[derive(Default)]
struct Pages(Vec<usize>);

impl Pages {
    /// Makes the pages of a variable of the program writable. Most programs are linked with `-z
    /// relro`, and their tables are read-only after the program was loaded.
    fn open(&mut self, address: usize, size: usize) -> Result<(), String> {
        const PAGE: usize = 4096;
        for page in (address & !(PAGE - 1)..address + size).step_by(PAGE) {
            if self.0.contains(&page) {
                continue;
            }
            let flags = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: the page belongs to the program.
            if unsafe { libc::mprotect(page as *mut c_void, PAGE, flags) } != 0 {
                return Err(std::io::Error::last_os_error().to_string());
            }
            self.0.push(page);
        }
        Ok(())
    }

    /// Writes a word of the program.
    ///
    /// # Safety
    /// A word of the program that nothing else uses meanwhile must be at the address.
    unsafe fn write(&mut self, address: usize, value: usize) -> Result<(), String> {
        self.open(address, size_of::<usize>())?;
        // SAFETY: the caller passes a word of the program.
        unsafe { (address as *mut usize).write_unaligned(value) };
        Ok(())
    }
}
