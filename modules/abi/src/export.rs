//! Definition of the exported functions. Each is exported under its name and its profiling name
//! (`PMPI_`).

use std::ffi::c_int;

use crate::abi::Count;

/// Integer type of an argument, which differs between a function and its large-count version.
pub(crate) trait Number: Copy + 'static {
    fn get(self) -> i64;
    /// Converts a value. Returns `None` if it does not fit.
    fn of(value: i64) -> Option<Self>;
}

impl Number for c_int {
    fn get(self) -> i64 {
        self.into()
    }

    fn of(value: i64) -> Option<Self> {
        value.try_into().ok()
    }
}

impl Number for Count {
    fn get(self) -> i64 {
        self
    }

    fn of(value: i64) -> Option<Self> {
        Some(value)
    }
}

impl Number for isize {
    fn get(self) -> i64 {
        self as i64
    }

    fn of(value: i64) -> Option<Self> {
        Some(value as isize)
    }
}

/// Defines exported functions:
///
/// ```ignore
/// export! {
///     fn MPI_Comm_rank(comm: Comm, rank: *mut c_int) on comm => |this| number(this, comm, rank);
///     fn MPI_Send, MPI_Send_c<C>(buf: *const c_void, count: C) on World => |this| send(count);
/// }
/// ```
///
/// `on` names the handle whose error handler handles errors, or a variant of
/// [`On`](crate::on::On). `this` is the calling rank. The expression returns
/// [`Done`](crate::error::Done). A function with `<C>` has a large-count version, in which `C` is
/// `MPI_Count` instead of `int`. With `<C, D>`, `D` is `MPI_Aint` instead of `int` there.
macro_rules! export {
    () => {};
    ($(#[$meta:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) on $on:expr
        => |$this:pat_param| $body:expr; $($rest:tt)*) => {
        const _: () = {
            unsafe fn inner($this: &std::rc::Rc<$crate::rank::Rank>, $($arg: $ty),*)
                -> $crate::error::Done
            {
                // SAFETY: the caller passes arguments as the standard demands.
                #[allow(unused_unsafe)]
                unsafe { $body }
            }
            export!(@symbols $(#[$meta])* $name, ($($arg: $ty),*), $on);
        };
        export!($($rest)*);
    };
    ($(#[$meta:meta])* fn $name:ident, $large:ident<C>($($arg:ident: $ty:ty),* $(,)?) on $on:expr
        => |$this:pat_param| $body:expr; $($rest:tt)*) => {
        const _: () = {
            unsafe fn inner<C: $crate::export::Number>(
                $this: &std::rc::Rc<$crate::rank::Rank>,
                $($arg: $ty),*
            ) -> $crate::error::Done {
                // SAFETY: the caller passes arguments as the standard demands.
                #[allow(unused_unsafe)]
                unsafe { $body }
            }
            const _: () = {
                type C = std::ffi::c_int;
                export!(@symbols $(#[$meta])* $name, ($($arg: $ty),*), $on);
            };
            const _: () = {
                type C = $crate::abi::Count;
                export!(@symbols $(#[$meta])* $large, ($($arg: $ty),*), $on);
            };
        };
        export!($($rest)*);
    };
    ($(#[$meta:meta])* fn $name:ident, $large:ident<C, D>($($arg:ident: $ty:ty),* $(,)?)
        on $on:expr => |$this:pat_param| $body:expr; $($rest:tt)*) => {
        const _: () = {
            unsafe fn inner<C: $crate::export::Number, D: $crate::export::Number>(
                $this: &std::rc::Rc<$crate::rank::Rank>,
                $($arg: $ty),*
            ) -> $crate::error::Done {
                // SAFETY: the caller passes arguments as the standard demands.
                #[allow(unused_unsafe)]
                unsafe { $body }
            }
            const _: () = {
                type C = std::ffi::c_int;
                type D = std::ffi::c_int;
                export!(@symbols $(#[$meta])* $name, ($($arg: $ty),*), $on);
            };
            const _: () = {
                type C = $crate::abi::Count;
                type D = $crate::abi::Aint;
                export!(@symbols $(#[$meta])* $large, ($($arg: $ty),*), $on);
            };
        };
        export!($($rest)*);
    };
    (@symbols $(#[$meta:meta])* $name:ident, ($($arg:ident: $ty:ty),*), $on:expr) => {
        $(#[$meta])*
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($arg: $ty),*) -> std::ffi::c_int {
            #[allow(unused_imports)]
            use $crate::on::On::*;
            // SAFETY: the caller passes arguments as the standard demands.
            $crate::call::call(stringify!($name), ($on).into(), |this| unsafe {
                inner(this, $($arg),*)
            })
        }

        const _: () = {
            #[unsafe(export_name = concat!("P", stringify!($name)))]
            unsafe extern "C" fn profiled($($arg: $ty),*) -> std::ffi::c_int {
                #[allow(unused_imports)]
                use $crate::on::On::*;
                // SAFETY: the caller passes arguments as the standard demands.
                $crate::call::call(stringify!($name), ($on).into(), |this| unsafe {
                    inner(this, $($arg),*)
                })
            }
        };
    };
}
