//! Functions of error handlers and error codes (MPI-5.0, sections 9.3 and 9.5).

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::abi::{Comm, Errhandler, File, MAX_ERROR_STRING, Session, Win};
use crate::arguments::{get, put, write_text};
use crate::communicator::Communicators;
use crate::errhandler::{
    Destructor, Errhandlers, Handler, Kind, Plain, WithState, no_window, null_file, plain,
    with_state,
};
use crate::error::fail;
use crate::rank::Part as _;
use crate::session::Sessions;

export! {
    fn MPI_Comm_create_errhandler(
        function: Option<Plain>, errhandler: *mut Errhandler,
    ) on Always => |this| {
        put(errhandler, Errhandlers::of(this).add(Kind::Comm, plain(function)?, None)?)
    };
    fn MPI_File_create_errhandler(
        function: Option<Plain>, errhandler: *mut Errhandler,
    ) on Always => |this| {
        put(errhandler, Errhandlers::of(this).add(Kind::File, plain(function)?, None)?)
    };
    fn MPI_Session_create_errhandler(
        function: Option<Plain>, errhandler: *mut Errhandler,
    ) on Always => |this| {
        put(errhandler, Errhandlers::of(this).add(Kind::Session, plain(function)?, None)?)
    };
    fn MPI_Win_create_errhandler(
        function: Option<Plain>, errhandler: *mut Errhandler,
    ) on Always => |this| {
        put(errhandler, Errhandlers::of(this).add(Kind::Win, plain(function)?, None)?)
    };
    fn MPIX_Comm_create_errhandler_x(
        function: Option<WithState>, destructor: Option<Destructor>, state: *mut c_void,
        errhandler: *mut Errhandler,
    ) on Always => |this| {
        let function = with_state(function, state)?;
        put(errhandler, Errhandlers::of(this).add(Kind::Comm, function, destructor)?)
    };
    fn MPIX_File_create_errhandler_x(
        function: Option<WithState>, destructor: Option<Destructor>, state: *mut c_void,
        errhandler: *mut Errhandler,
    ) on Always => |this| {
        let function = with_state(function, state)?;
        put(errhandler, Errhandlers::of(this).add(Kind::File, function, destructor)?)
    };
    fn MPIX_Session_create_errhandler_x(
        function: Option<WithState>, destructor: Option<Destructor>, state: *mut c_void,
        errhandler: *mut Errhandler,
    ) on Always => |this| {
        let function = with_state(function, state)?;
        put(errhandler, Errhandlers::of(this).add(Kind::Session, function, destructor)?)
    };
    fn MPIX_Win_create_errhandler_x(
        function: Option<WithState>, destructor: Option<Destructor>, state: *mut c_void,
        errhandler: *mut Errhandler,
    ) on Always => |this| {
        let function = with_state(function, state)?;
        put(errhandler, Errhandlers::of(this).add(Kind::Win, function, destructor)?)
    };
    fn MPI_Errhandler_free(errhandler: *mut Errhandler) on Always => |this| {
        Errhandlers::of(this).free(get(errhandler)?)?;
        put(errhandler, Errhandler::NULL)
    };
    fn MPI_Comm_set_errhandler(comm: Comm, errhandler: Errhandler) on comm => |this| {
        let handler = Errhandlers::of(this).get(errhandler, Kind::Comm)?;
        let before = Communicators::of(this).set_handler(comm, handler)?;
        drop(before);
        Ok(())
    };
    fn MPI_Comm_get_errhandler(comm: Comm, errhandler: *mut Errhandler) on comm => |this| {
        let handler = Communicators::of(this).get(comm)?.handler.borrow().clone();
        put(errhandler, Errhandlers::of(this).reference(&handler)?)
    };
    fn MPI_Comm_call_errhandler(comm: Comm, code: c_int) on comm => |this| {
        let handler = Communicators::of(this).get(comm)?.handler.borrow().clone();
        Errhandlers::of(this).call(&handler, comm.0, code)
    };
    fn MPI_Session_set_errhandler(session: Session, errhandler: Errhandler) on session => |this| {
        let handler = Errhandlers::of(this).get(errhandler, Kind::Session)?;
        Sessions::of(this).set_handler(session, handler)
    };
    fn MPI_Session_get_errhandler(
        session: Session, errhandler: *mut Errhandler,
    ) on session => |this| {
        let handler = Sessions::of(this).handler(session)?;
        put(errhandler, Errhandlers::of(this).reference(&handler)?)
    };
    fn MPI_Session_call_errhandler(session: Session, code: c_int) on session => |this| {
        let handler = Sessions::of(this).handler(session)?;
        Errhandlers::of(this).call(&handler, session.0, code)
    };
    fn MPI_File_set_errhandler(file: File, errhandler: Errhandler) on World => |this| {
        null_file(file)?;
        let handler = Errhandlers::of(this).get(errhandler, Kind::File)?;
        let before = Errhandlers::of(this).files.replace(Some(handler));
        drop(before);
        Ok(())
    };
    fn MPI_File_get_errhandler(file: File, errhandler: *mut Errhandler) on World => |this| {
        null_file(file)?;
        let handler = Errhandlers::of(this).files.borrow().clone();
        put(errhandler, Errhandlers::of(this).reference(&handler.unwrap_or(Handler::Return))?)
    };
    fn MPI_File_call_errhandler(file: File, code: c_int) on World => |this| {
        null_file(file)?;
        let handler = Errhandlers::of(this).files.borrow().clone();
        Errhandlers::of(this).call(&handler.unwrap_or(Handler::Return), file.0, code)
    };
    fn MPI_Win_set_errhandler(win: Win, _errhandler: Errhandler) on World => |_| no_window(win);
    fn MPI_Win_get_errhandler(win: Win, _errhandler: *mut Errhandler) on World => |_| {
        no_window(win)
    };
    fn MPI_Win_call_errhandler(win: Win, _code: c_int) on World => |_| no_window(win);
    fn MPI_Add_error_class(class: *mut c_int) on Always => |this| {
        put(class, Errhandlers::of(this).codes.borrow_mut().add(None)?)
    };
    fn MPI_Add_error_code(class: c_int, code: *mut c_int) on Always => |this| {
        put(code, Errhandlers::of(this).codes.borrow_mut().add(Some(class))?)
    };
    fn MPI_Add_error_string(code: c_int, string: *const c_char) on Always => |this| {
        if string.is_null() {
            return fail!(Arg, "the string is null");
        }
        let text = CStr::from_ptr(string).to_bytes();
        let text = &text[..text.len().min(MAX_ERROR_STRING - 1)];
        Errhandlers::of(this).codes.borrow_mut().get_mut(code)?.text = text.to_vec();
        Ok(())
    };
    fn MPI_Remove_error_class(class: c_int) on Always => |this| {
        Errhandlers::of(this).codes.borrow_mut().remove(class, true)
    };
    fn MPI_Remove_error_code(code: c_int) on Always => |this| {
        Errhandlers::of(this).codes.borrow_mut().remove(code, false)
    };
    fn MPI_Remove_error_string(code: c_int) on Always => |this| {
        Errhandlers::of(this).codes.borrow_mut().get_mut(code)?.text = Vec::new();
        Ok(())
    };
    fn MPI_Error_class(code: c_int, class: *mut c_int) on Always => |this| {
        put(class, Errhandlers::of(this).class(code)?)
    };
    fn MPI_Error_string(code: c_int, to: *mut c_char, length: *mut c_int) on Always => |this| {
        let text = Errhandlers::of(this).text(code)?;
        write_text(&text, MAX_ERROR_STRING, to, length);
        Ok(())
    };
}
