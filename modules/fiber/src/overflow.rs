//! Who has overflowed a stack is told by name.
//!
//! The kernel tells by `SIGSEGV` that a guard was touched. The handler runs on a stack of its own, as there is no room on the one that
//! has overflowed, and says whose stack it was. Then the signal does what it does by default: the program ends by it (a shell
//! says 139), with a core where these are kept. What is not about a guard goes to the handler before, which in Rust tells
//! overflows of threads.
//!
//! All that runs in the handler is reading memory, `write` and `sigaction`.

use std::ffi::{c_int, c_void};
use std::io;
use std::mem::{self, MaybeUninit};
use std::process;
use std::ptr;
use std::sync::OnceLock;

use crate::alternate;
use crate::label::Label;
use crate::registry::{self, Met};
use crate::shape::Shape;

/// The signals by which kernels tell that a page may not be touched.
const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// What was done for each of them before.
static EARLIER: OnceLock<[libc::sigaction; 2]> = OnceLock::new();

/// From now on overflows are told, also on this thread.
pub(crate) fn watch() -> io::Result<()> {
    static WATCHES: OnceLock<Result<(), i32>> = OnceLock::new();
    alternate::provide()?;
    let code = |error: io::Error| error.raw_os_error().unwrap_or(0);
    let watches = WATCHES.get_or_init(|| install().map_err(code));
    watches.map_err(io::Error::from_raw_os_error)
}

fn install() -> io::Result<()> {
    // They are known before a handler of ours may ask for them.
    let mut earlier = [default(), default()];
    for (signal, earlier) in SIGNALS.into_iter().zip(&mut earlier) {
        // SAFETY: it is told what there is, and changes nothing.
        done(unsafe { libc::sigaction(signal, ptr::null(), earlier) })?;
    }
    let _ = EARLIER.set(earlier);
    let mut action = default();
    action.sa_sigaction = handle as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    for signal in SIGNALS {
        // SAFETY: the handler does what one may do.
        done(unsafe { libc::sigaction(signal, &action, ptr::null_mut()) })?;
    }
    Ok(())
}

/// What the kernel does by itself.
fn default() -> libc::sigaction {
    // SAFETY: numbers and null pointers, of which zero is the default, no flags and no signals.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = libc::SIG_DFL;
    action
}

fn done(code: c_int) -> io::Result<()> {
    match code {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel gives what it knows of the signal; who sends one has no address.
    let (by_kernel, address) = unsafe { ((*info).si_code > 0, (*info).si_addr().addr()) };
    if by_kernel {
        let met = registry::met(address).filter(|met| uses(context, met));
        if let Some(met) = met {
            tell(&met.label, met.shape.usable());
            end_by(signal);
            // The access that has failed is made again, and ends the program.
            return;
        }
    }
    pass_on(signal, info, context, by_kernel);
}

/// Whether the thread that was interrupted is on that stack; a stray pointer may lead to a guard, too.
fn uses(context: *mut c_void, met: &Met) -> bool {
    // Room for what is pushed before the stack pointer is looked at.
    let stack = met.limit.saturating_sub(met.shape.stride)..met.limit + met.shape.stride;
    pointer(context).is_none_or(|pointer| stack.contains(&pointer))
}

/// Where the stack of the thread ended that was interrupted.
fn pointer(context: *mut c_void) -> Option<usize> {
    let context: *const libc::ucontext_t = context.cast();
    // SAFETY: what the kernel gives a handler.
    #[cfg(target_arch = "x86_64")]
    let pointer = unsafe { (*context).uc_mcontext.gregs[libc::REG_RSP as usize] as usize };
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    let pointer = unsafe { (*context).uc_mcontext.sp as usize };
    Some(pointer)
}

/// From now on the signal does what the kernel does by itself.
fn end_by(signal: c_int) {
    // SAFETY: no handler is set.
    unsafe { libc::sigaction(signal, &default(), ptr::null_mut()) };
}

/// Does what was done for the signal before.
fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void, by_kernel: bool) {
    let which = SIGNALS.iter().position(|s| *s == signal);
    let earlier = EARLIER.get().zip(which).map(|(all, which)| all[which]);
    let earlier = earlier.unwrap_or_else(default);
    match earlier.sa_sigaction {
        libc::SIG_IGN if !by_kernel => {}
        libc::SIG_DFL | libc::SIG_IGN => {
            end_by(signal);
            if !by_kernel {
                // Nothing would bring it again. It comes when the handler has returned.
                // SAFETY: it takes a number.
                unsafe { libc::raise(signal) };
            }
        }
        handler if earlier.sa_flags & libc::SA_SIGINFO != 0 => {
            type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
            // SAFETY: somebody has set it, as a handler of that kind.
            let handler = unsafe { mem::transmute::<usize, Handler>(handler) };
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: as above.
            let handler = unsafe { mem::transmute::<usize, extern "C" fn(c_int)>(handler) };
            handler(signal);
        }
    }
}

/// An overflow was found after it has happened: ends the program.
pub(crate) fn found(limit: usize, shape: Shape) -> ! {
    let label: *const Label = ptr::with_exposed_provenance(limit + shape.label(0));
    // SAFETY: a stack has a label at its top, which may be any bytes.
    tell(unsafe { &*label }, shape.usable());
    say(b"what is below it in memory may be spoilt: the program ends\n");
    process::abort()
}

fn tell(label: &Label, usable: usize) {
    let mut text = Text::new();
    text.add(b"the stack of ");
    match label.bytes() {
        b"" => text.add(b"a fiber without a name"),
        name => text.add(name),
    }
    text.add(b" has overflowed: it has room for ");
    text.add_number(usable / 1024);
    text.add(b" KiB\nhelp: have larger stacks, as with GRAPHMAP_STACK=");
    text.add_number(usable.next_power_of_two() / 1024 * 4);
    text.add(b"k; or keep large arrays in a Vec, and recurse less deeply\n");
    say(text.bytes());
}

fn say(mut text: &[u8]) {
    while !text.is_empty() {
        // SAFETY: bytes that are there.
        let written = unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
        match usize::try_from(written) {
            Ok(written) if written > 0 => text = &text[written.min(text.len())..],
            _ => return,
        }
    }
}

/// A text that takes no memory from anywhere. What does not fit is left out.
struct Text {
    text: [u8; 384],
    len: usize,
}

impl Text {
    fn new() -> Self {
        Text {
            text: [0; 384],
            len: 0,
        }
    }

    fn add(&mut self, text: &[u8]) {
        for (to, from) in self.text[self.len..].iter_mut().zip(text) {
            // What a terminal obeys, it is not to obey from here.
            *to = if from.is_ascii_control() && *from != b'\n' {
                b'?'
            } else {
                *from
            };
            self.len += 1;
        }
    }

    fn add_number(&mut self, number: usize) {
        if number >= 10 {
            self.add_number(number / 10);
        }
        self.add(&[b'0' + (number % 10) as u8]);
    }

    fn bytes(&self) -> &[u8] {
        &self.text[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_holds_what_fits() {
        let mut text = Text::new();
        text.add(b"a\x1b[2J\n");
        text.add_number(0);
        text.add_number(65_530);
        assert_eq!(text.bytes(), b"a?[2J\n065530");
        text.add(&[b'x'; 400]);
        assert_eq!(text.bytes().len(), 384);
    }
}
