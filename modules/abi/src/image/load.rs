//! Loading a copy of the program, and starting it.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::elf::Program;
use super::{exceptions, libc_calls, limit};

/// A loaded copy of the program.
pub(crate) struct Image {
    /// Handle of `dlopen`. It is never closed, because pointers into the copy may be anywhere.
    _handle: *mut c_void,
    /// Difference between addresses in memory and in the file.
    pub(crate) base: usize,
    /// Address of the first instruction.
    entry: usize,
    dynamic: *const Dynamic,
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
pub(super) struct Dynamic {
    pub(super) tag: u64,
    pub(super) value: usize,
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

const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_RELA: u64 = 7;
const DT_RELASZ: u64 = 8;
const DT_PLTRELSZ: u64 = 2;
const DT_JMPREL: u64 = 23;
const DT_FINI: u64 = 13;
const DT_FINI_ARRAY: u64 = 26;
const DT_FINI_ARRAYSZ: u64 = 28;

impl Image {
    /// Loads a copy of the program for one of `ranks` ranks, and runs its constructors.
    ///
    /// # Errors
    /// The error of the dynamic linker or of the system, or a description if there are too many
    /// ranks.
    pub(crate) fn load(program: &Program, ranks: usize) -> Result<Self, String> {
        static IS_FIRST: AtomicBool = AtomicBool::new(true);
        if !IS_FIRST.swap(false, Ordering::Relaxed) {
            return Image::load_copy(program);
        }
        let before = limit::mappings();
        let image = Image::load_copy(program)?;
        limit::check(before, ranks)?;
        Ok(image)
    }

    fn load_copy(program: &Program) -> Result<Self, String> {
        // SAFETY: the name is a string.
        let descriptor = unsafe { libc::memfd_create(c"graphmap".as_ptr(), libc::MFD_CLOEXEC) };
        if descriptor < 0 {
            return Err(std::io::Error::last_os_error().to_string());
        }
        // SAFETY: the descriptor was just created.
        let mut file = unsafe { File::from_raw_fd(descriptor) };
        file.write_all(&program.bytes)
            .map_err(|error| error.to_string())?;
        let name = unique_name(file.as_raw_fd());
        // SAFETY: the constructors of the program run, as if it was started.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            // SAFETY: `dlerror` returns null or a string.
            let error = unsafe { libc::dlerror() };
            let text = match error.is_null() {
                true => "unknown error".into(),
                // SAFETY: the pointer is not null.
                false => unsafe { CStr::from_ptr(error) }
                    .to_string_lossy()
                    .into_owned(),
            };
            return Err(text);
        }
        // SAFETY: the handle is valid.
        unsafe { exceptions::find_runtime(handle) };
        let mut map: *const LinkMap = std::ptr::null();
        // SAFETY: the handle is valid, and this request writes a pointer.
        let status = unsafe { libc::dlinfo(handle, libc::RTLD_DI_LINKMAP, (&raw mut map).cast()) };
        if status != 0 || map.is_null() {
            return Err("the dynamic linker does not describe the program".to_string());
        }
        // SAFETY: the link map is valid while the program is loaded.
        let map = unsafe { &*map };
        let image = Image {
            _handle: handle,
            base: map.base,
            entry: map.base + program.entry as usize,
            dynamic: map.dynamic,
        };
        // SAFETY: the program was just loaded, and only its constructors have run.
        unsafe { image.replace_libc_calls() }?;
        Ok(image)
    }

    /// Returns the value of an entry of the dynamic section. The dynamic linker has made addresses
    /// absolute.
    fn dynamic(&self, tag: u64) -> Option<usize> {
        let mut at = self.dynamic;
        loop {
            // SAFETY: the dynamic section ends with a null tag.
            let entry = unsafe { *at };
            match entry.tag {
                0 => return None,
                found if found == tag => return Some(entry.value),
                // SAFETY: there is a further entry.
                _ => at = unsafe { at.add(1) },
            }
        }
    }

    /// Makes the program call functions of this library instead of those of the C library that
    /// would end or duplicate the OS process.
    ///
    /// # Safety
    /// No code of the program may run meanwhile.
    unsafe fn replace_libc_calls(&self) -> Result<(), String> {
        let (Some(strings), Some(symbols)) = (self.dynamic(DT_STRTAB), self.dynamic(DT_SYMTAB))
        else {
            return Ok(());
        };
        let tables = [(DT_RELA, DT_RELASZ), (DT_JMPREL, DT_PLTRELSZ)];
        for (table, size) in tables {
            let (Some(table), Some(size)) = (self.dynamic(table), self.dynamic(size)) else {
                continue;
            };
            let count = size / size_of::<Relocation>();
            // SAFETY: the dynamic section describes the table.
            let relocations =
                unsafe { std::slice::from_raw_parts(table as *const Relocation, count) };
            for relocation in relocations {
                let symbol = (relocation.info >> 32) as usize;
                if symbol == 0 {
                    continue;
                }
                // SAFETY: a relocation names a symbol of the table.
                let symbol = unsafe { &*(symbols as *const Symbol).add(symbol) };
                if symbol.section != 0 {
                    continue;
                }
                // SAFETY: the name of a symbol is a string in the table of strings.
                let name =
                    unsafe { CStr::from_ptr((strings + symbol.name as usize) as *const c_char) };
                if let Some(function) = libc_calls::replacement(name) {
                    // SAFETY: the relocation is for a word of the program.
                    unsafe { write_word(self.base + relocation.offset, function)? };
                }
            }
        }
        Ok(())
    }

    /// Returns the entry point of the program.
    pub(crate) fn entry_point(&self) -> EntryPoint {
        EntryPoint(self.entry)
    }

    /// Runs the destructors of the program: those of static objects, and the functions that it has
    /// passed to `atexit`.
    ///
    /// # Safety
    /// The caller must be on the stack of the rank of this program, and must have no values to
    /// drop, because a destructor may end the rank.
    pub(crate) unsafe fn destruct(&self) {
        type Destructor = unsafe extern "C" fn();
        if let (Some(array), Some(size)) =
            (self.dynamic(DT_FINI_ARRAY), self.dynamic(DT_FINI_ARRAYSZ))
        {
            // The dynamic linker makes only some entries absolute.
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
        if let Some(function) = self.dynamic(DT_FINI) {
            let function = self.absolute(function);
            // SAFETY: the entry is a function without arguments.
            unsafe { std::mem::transmute::<usize, Destructor>(function)() };
        }
    }

    /// Returns the address in memory of an address of the dynamic section, which may be one in the
    /// file.
    fn absolute(&self, address: usize) -> usize {
        match address < self.base {
            true => self.base + address,
            false => address,
        }
    }
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

/// Returns a name of an open file that no other library has had. The path has a component `.` for
/// each bit of a number, so that names differ although descriptors are reused.
fn unique_name(descriptor: c_int) -> CString {
    static NUMBER: AtomicU32 = AtomicU32::new(1);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let bits = (0..u32::BITS - number.leading_zeros()).map(|bit| match number >> bit & 1 {
        0 => "/",
        _ => "/.",
    });
    let mut name = String::from("/proc/self/fd");
    name.extend(bits);
    name.push_str(&format!("/{descriptor}"));
    CString::new(name).unwrap_or_default()
}

/// Writes a word of the program, whose page may be read-only.
///
/// # Safety
/// The address must be that of a word of the program that nothing else uses meanwhile.
unsafe fn write_word(address: usize, value: usize) -> Result<(), String> {
    const PAGE: usize = 4096;
    let page = address & !(PAGE - 1);
    let size = address + size_of::<usize>() - page;
    let protect = |flags| {
        // SAFETY: the pages belong to the program.
        match unsafe { libc::mprotect(page as *mut c_void, size, flags) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error().to_string()),
        }
    };
    // SAFETY: the caller passes a word of the program.
    unsafe {
        let word = address as *mut usize;
        // Most programs are linked with `-z relro`, and their table is read-only now.
        protect(libc::PROT_READ | libc::PROT_WRITE)?;
        word.write_unaligned(value);
    }
    Ok(())
}
