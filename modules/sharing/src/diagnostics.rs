//! Creates diagnostics from facts: the shared state, its position, the reason, and a fix.

use crate::codes;
use crate::facts::{Call, Form, HeldLock, Static};
use crate::judge::{Mutability, Types};
use crate::reach::Reach;
use graphmap_kpn::diagnostic::{Code, Diagnostic};
use graphmap_kpn::source::Span;

/// Help: a value for each rank.
const OWN: &str = "keep it in a value that each rank creates and passes on";
/// Help: an attribute of a communicator. It has the same effect here and over MPI.
const ATTRIBUTE: &str = "or attach it to the world, which each rank has separately, here and over \
                         MPI: `impl CommAttribute for T`, \
                         `SimpleCommunicator::world().set_attr(value)`, `get_attr::<T>()`";
/// Help for intended sharing.
const MEANT: &str = "if all ranks share it on purpose, such as a total count, keep it and use \
                     `--allow`";

/// Reports a static. Returns `None` if ranks can safely share it: values of its type are known not
/// to change, it is not `static mut`, it is not initialized lazily or declared in another language,
/// and it is not a thread-local with a computed initial value.
pub(crate) fn of_static(one: &Static, types: &Types<'_>, span: Span) -> Option<Diagnostic> {
    let name = &one.name;
    let warning = |code: Code, message: String, because: &str| {
        Some(Diagnostic::warning(code, message).at(span, because))
    };
    let shared = |because: &str| {
        let message = format!("all ranks of an OS process share the mutable static `{name}`");
        let warning = warning(codes::SHARED_STATIC, message, because)?;
        Some(warning.help(OWN).help(ATTRIBUTE).help(MEANT))
    };
    let not_judged = |because: &str| {
        let message = format!("the static `{name}`, which ranks share, may be mutable");
        let warning = warning(codes::NOT_JUDGED, message, because)?;
        Some(warning.help(
            "check the type for a `Cell`, an atomic, a lock or a pointer: ranks share its changes",
        ))
    };
    match (one.form, types.judge(&one.of)) {
        (Form::Mutable, _) => shared("`static mut`"),
        (Form::ThreadLocal { constant: true }, Mutability::Plain) => None,
        (Form::ThreadLocal { .. }, _) => {
            let message = format!("all ranks of a thread share the thread-local `{name}`");
            let because = "one value for each thread, not for each rank";
            let warning = warning(codes::SHARED_THREAD_LOCAL, message, because)?;
            Some(warning.help(OWN).help(ATTRIBUTE).help(MEANT))
        }
        (_, Mutability::Changes(what)) => {
            shared(&format!("{what} can change behind a shared reference"))
        }
        (Form::Foreign, _) => not_judged("defined in another language"),
        (Form::Lazy, _) | (_, Mutability::MadeOnce) => {
            let message =
                format!("one rank initializes the static `{name}` for all ranks of the OS process");
            let warning = warning(codes::MADE_ONCE, message, "initialized at its first use")?;
            let warning = warning.with_note(
                "if all ranks would compute the same value, the result is the same as over MPI",
            );
            Some(
                warning
                    .help(format!("if the value depends on the rank, {OWN}"))
                    .help(ATTRIBUTE),
            )
        }
        (_, Mutability::Plain) => None,
        (_, Mutability::Unknown(what)) if what.starts_with('`') => {
            not_judged(&format!("{what} is not defined in this package"))
        }
        (_, Mutability::Unknown(what)) => not_judged(&what),
    }
}

/// Reports a macro that defines statics. Without a name, reports a static in a syntax that is not
/// understood.
pub(crate) fn of_maker(name: Option<&str>, span: Span) -> Diagnostic {
    let Some(name) = name else {
        let message = "a static, which ranks share, may be mutable";
        return Diagnostic::warning(codes::NOT_JUDGED, message)
            .at(span, "unknown syntax")
            .help("check whether it is mutable: ranks share its changes");
    };
    let message = format!("each call of the macro `{name}!` defines a static, which ranks share");
    Diagnostic::warning(codes::NOT_JUDGED, message)
        .at(span, "the call determines its type")
        .help("check at each call whether it is mutable")
}

/// Reports the use of a function that affects the OS process or blocks the thread.
pub(crate) fn of_call(call: &Call, span: Span) -> Diagnostic {
    let message = format!("`{}` {}", call.path, call.reach.why());
    let (code, because) = match call.reach {
        Reach::Thread => (codes::HOLDS_THREAD, "ranks of a thread run one at a time"),
        _ => (codes::PROCESS_WIDE, "an OS process has many ranks"),
    };
    let help = match call.sleeps() {
        true => "sleep with `mpi::sleep` of graphmap, which lets other ranks run",
        false => call.reach.instead(),
    };
    Diagnostic::warning(code, message)
        .at(span, because)
        .help(help)
}

/// Reports a lock that is held across a wait.
pub(crate) fn of_held(held: &HeldLock, lock: Span, wait: Span) -> Diagnostic {
    let message = format!("a lock is held while the rank waits in `{}`", held.method);
    Diagnostic::warning(codes::LOCK_ACROSS_WAIT, message)
        .at(wait, "other ranks of the thread run during this call")
        .also(lock, "locked here")
        .with_note("a rank that requests the lock then blocks the thread forever")
        .help("copy the data out of the lock, and release the lock before the call")
}

/// Reports a block of functions of another language.
pub(crate) fn of_foreign(names: &[String], span: Span) -> Diagnostic {
    let names = names.join("`, `");
    let message = format!("code of another language is not checked: `{names}`");
    Diagnostic::warning(codes::OTHER_LANGUAGE, message)
        .at(span, "declared here")
        .help(OTHER)
}

/// Reports a build script that compiles or links code of another language.
pub(crate) fn of_build(package: &str, span: Span) -> Diagnostic {
    let message = format!(
        "the build script of `{package}` compiles or links code of another language, which is not \
         checked"
    );
    Diagnostic::warning(codes::OTHER_LANGUAGE, message)
        .at(span, "here")
        .help(OTHER)
}

/// Help for code of another language.
const OTHER: &str = "check it for state that is kept between calls, because ranks share it: \
                     `static` and globals in C and C++, `save`, `common` and module variables in \
                     Fortran";

/// Reports an `include!` whose argument is not a string literal.
pub(crate) fn of_generated(span: Span) -> Diagnostic {
    let message = "a generated file is not checked";
    Diagnostic::warning(codes::GENERATED, message)
        .at(span, "its name is known only at compile time")
        .help(
            "check the file for statics, which ranks share; the build script writes it, usually \
             into `OUT_DIR`",
        )
}

/// Reports the macro calls of a package whose expansion is unknown.
pub(crate) fn of_unseen(package: &str, names: &[String], calls: usize, span: Span) -> Diagnostic {
    let names = names.join("!`, `");
    let (message, first) = match calls {
        1 => (
            format!("a macro call in `{package}` is not checked: `{names}!`"),
            "here",
        ),
        n => (
            format!("{n} macro calls in `{package}` are not checked: `{names}!`"),
            "the first of them",
        ),
    };
    Diagnostic::note(codes::UNSEEN_MACROS, message)
        .at(span, first)
        .with_note("Rust code in the arguments is checked; statics in the expansion are not")
}
