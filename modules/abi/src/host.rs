//! The host program: runs a program with many ranks in this OS process.

use std::ffi::{CStr, CString, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use graphmap_runtime::{Exit, Messages, Names, Network, RunError};

use crate::crash;
use crate::image::{self, Image, OwnImage, Program, Refused};
use crate::output;
use crate::process::Process;
use crate::rank::{Ended, Part as _, Rank};
use crate::report;
use crate::singleton;

/// Prints an error and ends the OS process with the exit code for wrong usage.
fn usage(text: &str) -> ! {
    eprintln!("error: {text}");
    std::process::exit(2)
}

/// Prints why a program is not run, and ends the OS process with the exit code for wrong usage.
fn refuse(path: &Path, why: &Refused) -> ! {
    eprintln!("{}", why.diagnostic(path));
    std::process::exit(2)
}

/// Variable with the names of private libraries, separated by colons.
const PRIVATE: &str = "GRAPHMAP_PRIVATE";

const MESSAGES: Messages = Messages {
    overlong: crash::overlong,
    state: report::without_positions,
};

/// Arguments of the program, in the form of C.
struct Arguments(Vec<CString>);

/// Runs `argv[2..]` with `argv[1]` ranks, and returns the exit code. The host program calls it.
#[unsafe(no_mangle)]
unsafe extern "C" fn graphmap_mpi_main(count: c_int, arguments: *const *const c_char) -> c_int {
    let all = (0..count as usize).map(|index| {
        // SAFETY: the arguments of a program are strings.
        unsafe { CStr::from_ptr(*arguments.add(index)) }.to_owned()
    });
    let all: Vec<CString> = all.collect();
    if let [_, option, program] = &all[..]
        && option.as_bytes() == b"--examine"
    {
        let path = Path::new(OsStr::from_bytes(program.to_bytes()));
        match image::examine(path) {
            Ok(text) => print!("{text}"),
            Err(why) => refuse(path, &why),
        }
        return 0;
    }
    let (Some(ranks), Some(program)) = (all.get(1), all.get(2)) else {
        usage("usage: graphmap-mpi RANKS PROGRAM [ARGUMENT ...]");
    };
    let ranks = ranks.to_str().ok().and_then(|text| text.parse().ok());
    let Some(ranks) = ranks.filter(|&ranks: &usize| ranks > 0) else {
        usage("expected a number of ranks");
    };
    let path = Path::new(OsStr::from_bytes(program.to_bytes()));
    let private = std::env::var(PRIVATE).unwrap_or_default();
    let private: Vec<String> = private
        .split(':')
        .filter(|name| !name.is_empty())
        .map(String::from)
        .collect();
    let program = Program::read(path, &private).and_then(|program| {
        program.check_limit(ranks)?;
        Ok(Arc::new(program))
    });
    let program = program.unwrap_or_else(|why| refuse(path, &why));
    report::require_one_copy();
    if ranks > 1
        && let Some((library, symbol, owner)) = program.used_by_shared()
    {
        eprintln!(
            "warning: {library} uses `{symbol}` of {owner}, but all ranks share {library}, so they \
             use one and the same `{symbol}`\n  = help: `--private {library}` gives each rank its \
             own copy"
        );
    }
    // The memory of long messages is used again. Getting it from the kernel each time takes longer
    // than copying them.
    #[cfg(target_env = "gnu")]
    // SAFETY: these options have no preconditions.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 32 << 20);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 256 << 20);
    }
    singleton::forbid();
    if let Err(error) = output::replace() {
        usage(&format!("cannot replace standard output: {error}"));
    }
    if let Err(error) = crash::watch(path.to_path_buf()) {
        usage(&format!("cannot handle signals: {error}"));
    }
    set_name(&all[2]);
    let arguments = Arc::new(Arguments(all[2..].to_vec()));
    let path = program.path.clone();
    let explain = |error: &mut RunError| report::explain(error, &path);
    let network = || network(ranks, program, arguments);
    let exit = graphmap_runtime::main_with(network, explain, Some(MESSAGES));
    let code = match exit {
        Exit::Failed => report::status().unwrap_or(exit as u8),
        exit => exit as u8,
    };
    // The destructors of the programs must not run here: they belong to ranks that have ended.
    // SAFETY: this function never returns.
    unsafe { libc::_exit(code.into()) }
}

/// Makes messages of the C library, for example by `assert`, begin with the name of the program.
/// Must be called before the first rank runs.
fn set_name(program: &CStr) {
    let path = program.to_owned().into_raw();
    let folders = program.to_bytes().iter().rposition(|&byte| byte == b'/');
    // SAFETY: the name is a part of the path, which is never freed. Nothing uses the variables
    // meanwhile.
    unsafe {
        program_invocation_name = path;
        program_invocation_short_name = path.add(folders.map_or(0, |at| at + 1));
    }
}

fn network(ranks: usize, program: Arc<Program>, arguments: Arc<Arguments>) -> Network {
    let numbers = format!("0+1*{ranks}");
    let name = program
        .path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let mut network = Network::new(&name, "");
    network.kind(
        "main",
        Names::Numbered("main", &numbers),
        &numbers,
        &[],
        move |()| {
            let (program, arguments) = (Arc::clone(&program), Arc::clone(&arguments));
            Process::new(move |rank| run(rank, &program, &arguments))
        },
    );
    network
}

/// Loads the program for a rank, and runs it.
fn run(rank: &Rc<Rank>, program: &Arc<Program>, arguments: &Arguments) -> Ended {
    image::begin(rank);
    let image = Image::load(program, rank, image::replacement)?;
    // Programs may change their arguments, so each rank has its own.
    let copy = |text: &CString| text.clone().into_raw();
    let mut texts: Vec<*mut c_char> = arguments.0.iter().map(copy).collect();
    texts.push(std::ptr::null_mut());
    let mut variables: Vec<*mut c_char> = Vec::new();
    // SAFETY: the environment is a list of strings that ends with a null pointer.
    unsafe {
        let mut at = environ;
        while !at.is_null() && !(*at).is_null() {
            variables.push(*at);
            at = at.add(1);
        }
    }
    variables.push(std::ptr::null_mut());
    let (texts, variables) = (texts.leak(), variables.leak());
    let entry = image.entry_point();
    rank.base.set(image.base());
    crash::set_loaded(rank.number(), image.base());
    OwnImage::of(rank).0.set(Some(Box::leak(Box::new(image))));
    // SAFETY: this is the bottom of the stack of the rank. All values here were moved or leaked.
    unsafe { entry.start(texts, variables) }
}

unsafe extern "C" {
    static environ: *mut *mut c_char;
    static mut program_invocation_name: *mut c_char;
    static mut program_invocation_short_name: *mut c_char;
}
