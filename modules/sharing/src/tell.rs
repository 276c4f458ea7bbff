//! Tells what was found: what is shared, where, why, and what to do.

use crate::codes;
use crate::facts::{Call, Form, Static};
use crate::judge::{Types, Verdict};
use graphmap_kpn::diagnostic::{Code, Diagnostic};
use graphmap_kpn::source::Span;

/// What keeps a value for each rank.
const OWN: &str = "keep it in a value that each rank makes and hands on";
/// As an attribute, which is the same here and over MPI.
const ATTRIBUTE: &str = "or keep it with the world, of which each rank has its own, here and over MPI: \
                         `impl CommAttribute for T`, `SimpleCommunicator::world().set_attr(value)`, `get_attr::<T>()`";
/// Where there is nothing to do.
const MEANT: &str = "where it is meant for all of them, as a count of what all ranks do, leave it";

/// What is told of a static; `None` where ranks may share it.
pub(crate) fn of_static(one: &Static, types: &Types<'_>, span: Span) -> Option<Diagnostic> {
    let name = &one.name;
    let told = |code: Code, message: String, because: &str| {
        Some(Diagnostic::warning(code, message).at(span, because))
    };
    let shared = |because: &str| {
        let message =
            format!("all ranks of an OS process share the static `{name}`, which can change");
        let told = told(codes::SHARED_STATIC, message, because)?;
        Some(told.help(OWN).help(ATTRIBUTE).help(MEANT))
    };
    let not_judged = |because: &str| {
        let message =
            format!("it is not known whether the static `{name}`, which ranks share, can change");
        let told = told(codes::NOT_JUDGED, message, because)?;
        Some(told.help(
            "look whether there is a `Cell`, an atomic, a lock or a pointer in it: what changes there is shared",
        ))
    };
    match (one.form, types.judge(&one.of)) {
        (Form::Mutable, _) => shared("`static mut`"),
        (Form::ThreadLocal { constant: true }, Verdict::Plain) => None,
        (Form::ThreadLocal { .. }, _) => {
            let message = format!("all ranks of a thread share the thread-local `{name}`");
            let because = "one for each thread, not for each rank";
            let told = told(codes::SHARED_THREAD_LOCAL, message, because)?;
            Some(told.help(OWN).help(ATTRIBUTE).help(MEANT))
        }
        (_, Verdict::Changes(what)) => {
            shared(&format!("{what} can change behind a shared reference"))
        }
        (Form::Foreign, _) => not_judged("another language has it"),
        (Form::Lazy, _) | (_, Verdict::MadeOnce) => {
            let message = format!("one rank makes the static `{name}` for all of its OS process");
            let told = told(codes::MADE_ONCE, message, "made at its first use")?;
            let told =
                told.with_note("where every rank would make the same of it, that is as over MPI");
            Some(
                told.help(format!("where it depends on the rank, {OWN}"))
                    .help(ATTRIBUTE),
            )
        }
        (_, Verdict::Plain) => None,
        (_, Verdict::Unknown(what)) if what.starts_with('`') => {
            not_judged(&format!("{what} is not defined in this package"))
        }
        (_, Verdict::Unknown(what)) => not_judged(&what),
    }
}

/// What is told of a macro that makes statics, or of a static that is written in a way that is not understood.
pub(crate) fn of_maker(name: Option<&str>, span: Span) -> Diagnostic {
    let Some(name) = name else {
        let message = "it is not known whether a static, which ranks share, can change";
        return Diagnostic::warning(codes::NOT_JUDGED, message)
            .at(span, "in a syntax that is not understood")
            .help("look whether it can change: what changes there is shared");
    };
    let message = format!("each call of the macro `{name}!` makes a static, which ranks share");
    Diagnostic::warning(codes::NOT_JUDGED, message)
        .at(span, "of a type that is known where it is called")
        .help("look whether it can change where it is called")
}

/// What is told of a mention of a function that concerns the OS process.
pub(crate) fn of_call(call: &Call, span: Span) -> Diagnostic {
    let message = format!("`{}` {}", call.path, call.reach.why());
    Diagnostic::warning(codes::PROCESS_WIDE, message)
        .at(span, "ranks are many in one OS process")
        .help(call.reach.instead())
}

/// What is told of the macros of a package that may expand to anything.
pub(crate) fn of_unseen(package: &str, names: &[String], calls: usize, span: Span) -> Diagnostic {
    let names = names.join("!`, `");
    let (message, first) = match calls {
        1 => (
            format!("a call of a macro in `{package}` is not looked into: `{names}!`"),
            "here",
        ),
        n => (
            format!("{n} calls of macros in `{package}` are not looked into: `{names}!`"),
            "the first of them",
        ),
    };
    Diagnostic::note(codes::UNSEEN_MACROS, message)
        .at(span, first)
        .with_note(
            "what is written in a call is looked at where it is Rust; statics that it expands to are not seen",
        )
}
