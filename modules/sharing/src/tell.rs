//! Tells what was found: what is shared, where, why, and what to do.

use crate::codes;
use crate::facts::{Call, Form, HeldLock, Static};
use crate::judge::{Types, Verdict};
use crate::reach::Reach;
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

/// What is told of a mention of a function that concerns the OS process, or holds up the thread.
pub(crate) fn of_call(call: &Call, span: Span) -> Diagnostic {
    let message = format!("`{}` {}", call.path, call.reach.why());
    let (code, because) = match call.reach {
        Reach::Thread => (codes::HOLDS_THREAD, "ranks of a thread take turns"),
        _ => (codes::PROCESS_WIDE, "ranks are many in one OS process"),
    };
    Diagnostic::warning(code, message)
        .at(span, because)
        .help(call.reach.instead())
}

/// Reports a lock that is held across a wait.
pub(crate) fn of_held(held: &HeldLock, lock: Span, wait: Span) -> Diagnostic {
    let message = format!("a lock is held while the rank waits in `{}`", held.method);
    Diagnostic::warning(codes::LOCK_ACROSS_WAIT, message)
        .at(wait, "other ranks of the thread run meanwhile")
        .also(lock, "locked here")
        .with_note("another rank of the thread that wants the lock blocks the thread for ever")
        .help("copy what is needed out of the lock, and release it before the call")
}

/// Reports a block of functions of another language.
pub(crate) fn of_foreign(names: &[String], span: Span) -> Diagnostic {
    let names = names.join("`, `");
    let message = format!("code of another language is not looked into: `{names}`");
    Diagnostic::warning(codes::OTHER_LANGUAGE, message)
        .at(span, "declared here")
        .help(OTHER)
}

/// Reports a build script that compiles or links code of another language.
pub(crate) fn of_build(package: &str, span: Span) -> Diagnostic {
    let message = format!(
        "the build script of `{package}` compiles or links code of another language, which is not looked into"
    );
    Diagnostic::warning(codes::OTHER_LANGUAGE, message)
        .at(span, "here")
        .help(OTHER)
}

/// What to do about code of another language.
const OTHER: &str = "look for what it keeps between calls, which ranks share: `static` and globals in C and C++, \
                     `save`, `common` and module variables in Fortran";

/// Reports an `include!` of a file that is not known.
pub(crate) fn of_generated(span: Span) -> Diagnostic {
    let message = "a generated file is not looked into";
    Diagnostic::warning(codes::GENERATED, message)
        .at(span, "its name is known when it is compiled")
        .help("look into the file for statics, which ranks share; the build script or `OUT_DIR` has it")
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
