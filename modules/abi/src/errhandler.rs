//! Error handlers (MPI-5.0, section 9.3), and error classes and codes that programs define
//! (section 9.5).

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::abi::{Errhandler, File, Win};
use crate::error::{self, Class, Done, Fail, fail};
use crate::rank::{Part, Phase, Slot, invalid};
use crate::table::Table;

/// `MPI_ERR_LASTCODE`: codes that programs define are greater.
const LAST_CODE: c_int = 0x3fff;

/// Kind of object that an error handler is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Comm,
    File,
    Session,
    Win,
}

pub(crate) type Plain = unsafe extern "C" fn(*mut usize, *mut c_int, ...);
pub(crate) type WithState = unsafe extern "C" fn(usize, c_int, *mut c_void);
pub(crate) type Destructor = unsafe extern "C" fn(*mut c_void);

/// Function of a program that handles errors.
#[derive(Clone, Copy)]
pub(crate) enum Function {
    Plain(Plain),
    WithState(WithState, *mut c_void),
}

/// An error handler that a program has created.
pub(crate) struct UserHandler {
    kind: Kind,
    function: Function,
    destructor: Option<Destructor>,
    /// Handle, or null if the program has freed all its references.
    handle: Cell<Errhandler>,
    /// Number of references that the program must free.
    references: Cell<usize>,
}

impl Drop for UserHandler {
    fn drop(&mut self) {
        let (Some(destructor), Function::WithState(_, state)) = (self.destructor, self.function)
        else {
            return;
        };
        // The code of the program must not run after the program has ended.
        if crate::rank::current().is_some_and(|rank| rank.phase.get() != Phase::Finalized) {
            // SAFETY: this is the destructor of the state, which is called once.
            unsafe { destructor(state) };
        }
    }
}

/// How the errors of an object are handled.
#[derive(Clone, Default)]
pub(crate) enum Handler {
    /// The run ends (`MPI_ERRORS_ARE_FATAL`).
    #[default]
    Fatal,
    /// The run ends (`MPI_ERRORS_ABORT`).
    Abort,
    /// The call returns the code (`MPI_ERRORS_RETURN`).
    Return,
    /// A function of the program is called.
    User(Rc<UserHandler>),
}

impl Handler {
    /// Handles an error of an object. Returns false if the error is fatal.
    ///
    /// Functions of programs may call MPI, so the caller must not hold a borrow.
    pub(crate) fn call(&self, object: usize, code: c_int) -> bool {
        match self {
            Handler::Fatal | Handler::Abort => false,
            Handler::Return => true,
            Handler::User(user) => {
                let (mut object, mut code) = (object, code);
                match user.function {
                    // SAFETY: the program has passed a function of this type.
                    Function::Plain(function) => unsafe { function(&mut object, &mut code) },
                    // SAFETY: as above.
                    Function::WithState(function, state) => unsafe {
                        function(object, code, state);
                    },
                }
                true
            }
        }
    }
}

/// All error handlers that a rank has created, and its error codes.
#[derive(Default)]
pub(crate) struct Errhandlers {
    table: RefCell<Table<Rc<UserHandler>>>,
    /// Handler of `MPI_FILE_NULL`, which new files get. Null stands for `MPI_ERRORS_RETURN`.
    pub(crate) files: RefCell<Option<Handler>>,
    pub(crate) codes: RefCell<Codes>,
}

impl Part for Errhandlers {
    const SLOT: Slot = Slot::Errhandlers;
}

impl Errhandlers {
    pub(crate) fn add(
        &self,
        kind: Kind,
        function: Function,
        destructor: Option<Destructor>,
    ) -> Done<Errhandler> {
        let user = Rc::new(UserHandler {
            kind,
            function,
            destructor,
            handle: Cell::new(Errhandler::NULL),
            references: Cell::new(1),
        });
        self.add_handle(user)
    }

    fn add_handle(&self, user: Rc<UserHandler>) -> Done<Errhandler> {
        let handle = self.table.borrow_mut().add(Rc::clone(&user));
        let handle = handle.ok_or_else(|| Fail::new(Class::NoMem, "too many error handlers"))?;
        user.handle.set(Errhandler(handle));
        Ok(Errhandler(handle))
    }

    /// Returns the handler of a handle, for an object of this kind.
    ///
    /// # Errors
    /// [`Class::Errhandler`] if the handle is null or invalid, or has another kind.
    pub(crate) fn get(&self, handle: Errhandler, kind: Kind) -> Done<Handler> {
        match handle {
            Errhandler::FATAL => return Ok(Handler::Fatal),
            Errhandler::ABORT => return Ok(Handler::Abort),
            Errhandler::RETURN => return Ok(Handler::Return),
            Errhandler(_) => {}
        }
        match self.table.borrow().get(handle.0) {
            Some(user) if user.kind == kind => Ok(Handler::User(Rc::clone(user))),
            Some(user) => fail!(
                Errhandler,
                "an error handler of kind {:?} was set on an object of kind {kind:?}",
                user.kind
            ),
            None => invalid(Class::Errhandler, "error handler", handle.0),
        }
    }

    /// Returns a handle of a handler, which the program must free.
    pub(crate) fn reference(&self, handler: &Handler) -> Done<Errhandler> {
        match handler {
            Handler::Fatal => Ok(Errhandler::FATAL),
            Handler::Abort => Ok(Errhandler::ABORT),
            Handler::Return => Ok(Errhandler::RETURN),
            Handler::User(user) => {
                user.references.set(user.references.get() + 1);
                match user.handle.get() {
                    Errhandler::NULL => self.add_handle(Rc::clone(user)),
                    handle => Ok(handle),
                }
            }
        }
    }

    pub(crate) fn free(&self, handle: Errhandler) -> Done {
        if [Errhandler::FATAL, Errhandler::ABORT, Errhandler::RETURN].contains(&handle) {
            return Ok(());
        }
        let mut table = self.table.borrow_mut();
        let Some(user) = table.get(handle.0) else {
            return invalid(Class::Errhandler, "error handler", handle.0);
        };
        let references = user.references.get() - 1;
        user.references.set(references);
        if references == 0 {
            user.handle.set(Errhandler::NULL);
            let user = table.remove(handle.0);
            drop(table);
            // May call the destructor of the program.
            drop(user);
        }
        Ok(())
    }

    /// Calls the error handler of `MPI_FILE_NULL`. Returns false if the error is fatal.
    ///
    /// Many programs do not check the codes of file functions, so the first error of a run that
    /// only returns its code is also printed.
    pub(crate) fn handle_file(&self, name: &str, fail: &Fail) -> bool {
        static PRINTED: AtomicBool = AtomicBool::new(false);
        let handler = self.files.borrow().clone().unwrap_or(Handler::Return);
        if matches!(handler, Handler::Return) && !PRINTED.swap(true, Ordering::Relaxed) {
            eprintln!("warning: {name}: {}", fail.text);
        }
        handler.call(File::NULL.0, fail.code)
    }

    /// Returns the greatest error code in use (`MPI_LASTUSEDCODE`).
    pub(crate) fn last_code(&self) -> c_int {
        LAST_CODE + self.codes.borrow().entries.len() as c_int
    }

    /// Returns the class of an error code.
    pub(crate) fn class(&self, code: c_int) -> Done<c_int> {
        if error::text(code).is_some() {
            return Ok(code);
        }
        let codes = self.codes.borrow();
        let defined = codes.get(code)?;
        Ok(defined.class.unwrap_or(code))
    }

    /// Returns the text of an error code.
    pub(crate) fn text(&self, code: c_int) -> Done<Vec<u8>> {
        if let Some(text) = error::text(code) {
            return Ok(text.into());
        }
        Ok(self.codes.borrow().get(code)?.text.clone())
    }

    /// Calls a handler with a code of the program. Returns an error if it is fatal.
    pub(crate) fn call(&self, handler: &Handler, object: usize, code: c_int) -> Done {
        if handler.call(object, code) {
            return Ok(());
        }
        let text = self.text(code).unwrap_or_default();
        fail!(
            Other,
            "error code {code}: {}",
            String::from_utf8_lossy(&text)
        )
    }
}

/// Error classes and codes that a program has defined.
#[derive(Default)]
pub(crate) struct Codes {
    /// Entry `n` has the code `LAST_CODE + 1 + n`.
    entries: Vec<Option<Defined>>,
    free: Vec<c_int>,
}

/// An error class or code.
pub(crate) struct Defined {
    /// Class of a code. `None` for a class, which is its own code.
    class: Option<c_int>,
    /// Number of codes of a class.
    codes: usize,
    pub(crate) text: Vec<u8>,
}

impl Codes {
    fn index(code: c_int) -> usize {
        usize::try_from(i64::from(code) - i64::from(LAST_CODE) - 1).unwrap_or(usize::MAX)
    }

    fn get(&self, code: c_int) -> Done<&Defined> {
        let entry = self.entries.get(Self::index(code)).and_then(Option::as_ref);
        entry.ok_or_else(|| unknown(code))
    }

    pub(crate) fn get_mut(&mut self, code: c_int) -> Done<&mut Defined> {
        let entry = self.entries.get_mut(Self::index(code));
        entry.and_then(Option::as_mut).ok_or_else(|| unknown(code))
    }

    pub(crate) fn add(&mut self, class: Option<c_int>) -> Done<c_int> {
        if let Some(class) = class
            && error::text(class).is_none()
        {
            let defined = self.get_mut(class)?;
            if defined.class.is_some() {
                return fail!(Arg, "{class} is an error code, not an error class");
            }
            defined.codes += 1;
        }
        let defined = Some(Defined {
            class,
            codes: 0,
            text: Vec::new(),
        });
        match self.free.pop() {
            Some(code) => {
                self.entries[Self::index(code)] = defined;
                Ok(code)
            }
            None => {
                self.entries.push(defined);
                Ok(LAST_CODE + self.entries.len() as c_int)
            }
        }
    }

    /// Removes a class or a code.
    pub(crate) fn remove(&mut self, code: c_int, is_class: bool) -> Done {
        if error::text(code).is_some() {
            return fail!(Other, "the error code {code} is predefined");
        }
        let defined = self.get(code)?;
        if defined.class.is_none() != is_class {
            return Err(unknown(code));
        }
        if defined.codes > 0 {
            return fail!(Other, "the error class {code} has error codes");
        }
        if !defined.text.is_empty() {
            return fail!(Other, "the error code {code} has an error string");
        }
        if let Some(class) = defined.class
            && let Ok(class) = self.get_mut(class)
        {
            class.codes -= 1;
        }
        self.entries[Self::index(code)] = None;
        self.free.push(code);
        Ok(())
    }
}

fn unknown(code: c_int) -> Fail {
    Fail::new(
        Class::Arg,
        format!("{code} is not an error code that the program has defined"),
    )
}

/// Returns an error, because windows do not exist.
pub(crate) fn no_window<T>(win: Win) -> Done<T> {
    invalid(Class::Win, "window", win.0)
}

/// Returns an error unless the handle is `MPI_FILE_NULL`, because files do not exist.
pub(crate) fn null_file(file: File) -> Done {
    match file {
        File::NULL => Ok(()),
        File(handle) => invalid(Class::File, "file", handle),
    }
}

pub(crate) fn plain(function: Option<Plain>) -> Done<Function> {
    match function {
        Some(function) => Ok(Function::Plain(function)),
        None => fail!(Arg, "the function of the error handler is null"),
    }
}

pub(crate) fn with_state(function: Option<WithState>, state: *mut c_void) -> Done<Function> {
    match function {
        Some(function) => Ok(Function::WithState(function, state)),
        None => fail!(Arg, "the function of the error handler is null"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_reused_after_removal() {
        let mut codes = Codes::default();
        let class = codes.add(None).unwrap();
        assert_eq!(class, LAST_CODE + 1);
        let code = codes.add(Some(class)).unwrap();
        assert_eq!(codes.get(code).unwrap().class, Some(class));
        assert!(codes.remove(class, true).is_err());
        codes.remove(code, false).unwrap();
        codes.remove(class, true).unwrap();
        assert!(codes.get(class).is_err());
        assert_eq!(codes.add(Some(13)).unwrap(), class);
        assert!(codes.add(Some(100)).is_err());
        assert!(codes.get(c_int::MIN).is_err());
    }
}
