//! Control registers of floating-point numbers, which each rank has for itself: rounding, traps,
//! and the flags of exceptions.
//!
//! Reading and writing them costs more than the rest of a switch between ranks. Therefore they are
//! exchanged only for ranks that have called a function that changes them.

use std::ffi::{c_int, c_void};

use crate::rank;

/// Control registers of a rank that is suspended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Floating {
    #[cfg(target_arch = "x86_64")]
    vector: u32,
    #[cfg(target_arch = "x86_64")]
    x87: u16,
    #[cfg(target_arch = "aarch64")]
    control: u64,
    #[cfg(target_arch = "aarch64")]
    status: u64,
}

impl Floating {
    /// Registers at the start of a thread.
    #[cfg(target_arch = "x86_64")]
    pub(crate) const INITIAL: Self = Floating {
        vector: 0x1f80,
        x87: 0x37f,
    };
    /// Registers at the start of a thread.
    #[cfg(target_arch = "aarch64")]
    pub(crate) const INITIAL: Self = Floating {
        control: 0,
        status: 0,
    };

    /// Returns the registers of the thread.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn read() -> Self {
        let (mut vector, mut x87) = (0_u32, 0_u16);
        // SAFETY: the instructions store into these variables.
        unsafe {
            std::arch::asm!(
                "stmxcsr [{vector}]",
                "fnstcw [{x87}]",
                vector = in(reg) &raw mut vector,
                x87 = in(reg) &raw mut x87,
                options(nostack, preserves_flags),
            );
        }
        Floating { vector, x87 }
    }

    /// Sets the registers of the thread.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn write(self) {
        // SAFETY: the values were read from the registers, or are the initial ones.
        unsafe {
            std::arch::asm!(
                "ldmxcsr [{vector}]",
                "fldcw [{x87}]",
                vector = in(reg) &raw const self.vector,
                x87 = in(reg) &raw const self.x87,
                options(nostack, readonly, preserves_flags),
            );
        }
    }

    /// Returns the registers of the thread.
    #[cfg(target_arch = "aarch64")]
    pub(crate) fn read() -> Self {
        let (control, status);
        // SAFETY: the instructions only read registers.
        unsafe {
            std::arch::asm!(
                "mrs {control}, fpcr",
                "mrs {status}, fpsr",
                control = out(reg) control,
                status = out(reg) status,
                options(nomem, nostack, preserves_flags),
            );
        }
        Floating { control, status }
    }

    /// Sets the registers of the thread.
    #[cfg(target_arch = "aarch64")]
    pub(crate) fn write(self) {
        // SAFETY: the values were read from the registers, or are the initial ones.
        unsafe {
            std::arch::asm!(
                "msr fpcr, {control}",
                "msr fpsr, {status}",
                control = in(reg) self.control,
                status = in(reg) self.status,
                options(nomem, nostack, preserves_flags),
            );
        }
    }
}

/// Defines functions that record that the calling rank changes the registers, and call those of the
/// C library. Each has one argument and returns an `int`.
macro_rules! recorded {
    ($($name:ident($type:ty))*) => {
        /// Returns the function that replaces a function, or `None` if it is not replaced.
        pub(super) fn replacement(name: &[u8]) -> Option<*const ()> {
            $(
                if name == stringify!($name).as_bytes() {
                    unsafe extern "C" fn recorded(argument: $type) -> c_int {
                        #[link(name = "m")]
                        unsafe extern "C" {
                            fn $name(argument: $type) -> c_int;
                        }
                        if let Some(rank) = rank::current() {
                            rank.has_floating.set(true);
                        }
                        // SAFETY: guaranteed by the caller.
                        unsafe { $name(argument) }
                    }
                    return Some(recorded as *const ());
                }
            )*
            None
        }
    };
}

recorded! {
    fesetround(c_int) feenableexcept(c_int) fedisableexcept(c_int)
    feclearexcept(c_int) feraiseexcept(c_int)
    fesetenv(*mut c_void) feupdateenv(*mut c_void) feholdexcept(*mut c_void)
}
