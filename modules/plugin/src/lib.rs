//! External passes and emitters: executables that read a request as JSON from standard input and
//! write a reply as JSON to standard output.
//!
//! The request is one object: `protocol` ([`PROTOCOL`]), `action` (`pass` or `emit`), `name`,
//! `options`, `network` (as [`graphmap_kpn::json`] has it), `platform` (as [`graphmap_kpn::hardware`] has it) where it
//! is known, and, for an emitter, `path`. The reply is one object, too: `protocol`, and where there is something to say `network` (a pass that changes
//! nothing leaves it out), `files` (an emitter's) and `diagnostics`. What the executable finds
//! wrong it says there and ends with 0; another end is a failure of the executable itself.
//!
//! An executable is handed what it does not expect, and may do anything: the request is written
//! from a thread of its own, so that one that answers before it has read all does not block; the
//! time it may take is limited, and at its end its whole process group is killed. What has left the
//! group is the business of whoever starts it ([`External::launch`]).

mod process;
mod reply;
mod search;

pub use search::{EMITTER, Executable, PASS, find, on_path};

use graphmap_kpn::diagnostic::{Code, Diagnostic, Diagnostics};
use graphmap_kpn::emit::{EmitContext, Emitter, Files};
use graphmap_kpn::hardware::Hardware;
use graphmap_kpn::json::Written;
use graphmap_kpn::mapping::Mapped;
use graphmap_kpn::pass::{Pass, PassContext};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The version of the protocol that is spoken, and the only one that is understood.
pub const PROTOCOL: u32 = 1;

/// The executable could not be started.
pub const CANNOT_START: Code = Code(501);
/// The executable did not end in time and was killed.
pub const TIMED_OUT: Code = Code(502);
/// The executable ended with a failure, or by a signal.
pub const DIED: Code = Code(503);
/// The reply is not what the protocol has.
pub const BAD_REPLY: Code = Code(504);
/// The reply is in another version of the protocol.
pub const WRONG_PROTOCOL: Code = Code(505);
/// The reply writes a file outside of the folder of the output.
pub const FILE_OUTSIDE: Code = Code(506);
/// What an executable reports.
pub const REPORTED: Code = Code(507);

/// An executable that is a pass, an emitter, or both.
#[derive(Clone, Debug)]
pub struct External {
    /// Its name, as in `--pass NAME`.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// How long it may take.
    pub timeout: Duration,
    /// Set by whoever wants it to end at once.
    pub interrupt: Arc<AtomicBool>,
    /// How it is started: [`Command::new`], or by a program that sees to it that nothing outlives it.
    /// That is told to end by TERM, and then killed.
    pub launch: Launch,
}

/// How long an executable may take where nobody says otherwise.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// A command that runs an executable. Another program that does so, and cannot, ends with
/// [`CANNOT_RUN`] and says [`cannot_run`] on standard error.
pub type Launch = fn(&Path) -> io::Result<Command>;

/// Exit code for a program that cannot be run, as shells have it.
pub const CANNOT_RUN: u8 = 127;

/// What is said of a program that cannot be run.
pub fn cannot_run(program: &Path, error: &str) -> String {
    format!("graphmap: `{}` cannot be run: {error}\n", program.display())
}

#[derive(Serialize)]
struct Request<'a> {
    protocol: u32,
    action: &'static str,
    name: &'a str,
    options: &'a BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    platform: Option<&'a Hardware>,
    network: Written<'a>,
}

impl External {
    /// An executable that is started as it is, may take [`TIMEOUT`], and is not interrupted.
    pub fn new(name: impl Into<String>, path: impl Into<PathBuf>) -> External {
        External {
            name: name.into(),
            path: path.into(),
            timeout: TIMEOUT,
            interrupt: Arc::default(),
            launch: |path| Ok(Command::new(path)),
        }
    }

    fn ask(&self, request: &Request<'_>) -> Result<String, Diagnostics> {
        // Strings and numbers in memory: nothing that serde could refuse.
        let request = serde_json::to_vec(request).expect("a request has no odd keys");
        process::ask(self, request)
    }
}

impl Pass for External {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        "external"
    }

    fn run(&self, context: &mut PassContext<'_>) -> Result<(), Diagnostics> {
        let reply = self.ask(&Request {
            protocol: PROTOCOL,
            action: "pass",
            name: &self.name,
            options: context.options,
            path: None,
            platform: context.platform,
            network: Written {
                network: context.network,
                mapping: None,
            },
        })?;
        let reply = reply::read(self, &reply, &context.network.sources)?;
        context.diagnostics.append(reply.diagnostics);
        if let Some(network) = reply.network {
            *context.network = network;
        }
        Ok(())
    }
}

impl Emitter for External {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        "external"
    }

    fn accepts(&self, _: &Path) -> bool {
        false
    }

    fn emit(
        &self,
        mapped: &Mapped,
        context: &mut EmitContext<'_>,
        files: &mut Files,
    ) -> Result<(), Diagnostics> {
        let network = mapped.network();
        let reply = self.ask(&Request {
            protocol: PROTOCOL,
            action: "emit",
            name: &self.name,
            options: context.options,
            path: Some(context.path.display().to_string()),
            platform: context.platform,
            network: Written {
                network,
                mapping: Some(mapped.mapping()),
            },
        })?;
        let reply = reply::read(self, &reply, &network.sources)?;
        context.diagnostics.append(reply.diagnostics);
        let mut placed = Files::new();
        let mut main = false;
        for file in &reply.files {
            main |= file.path.is_empty();
            let path = reply::place(self, context.path, &file.path)?;
            if file.executable {
                placed.executable(path, file.content.as_bytes());
            } else {
                placed.generated(path, file.content.as_bytes());
            }
        }
        if !main {
            let message = format!("the emitter `{}` wrote nothing for its path", self.name);
            let help = "the file whose path is empty is the one that was asked for";
            return Err(Diagnostic::error(BAD_REPLY, message).help(help).into());
        }
        files.append(placed);
        Ok(())
    }
}
