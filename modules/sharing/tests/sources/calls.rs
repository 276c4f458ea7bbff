//! Calls that affect the whole OS process.

use std::env::{self, set_var};
use std::process::exit as quit;
use std::{process, thread};

mod globs {
    use std::panic::*;

    fn hooks() {
        set_hook(Box::new(|_| {})); //~ G0804
    }
}

fn calls() {
    set_var("A", "b"); //~ G0804
    env::remove_var("A"); //~ G0804
    ::std::env::set_current_dir("/").unwrap(); //~ G0804
    env::var("A").unwrap_or_else(|_| quit(1)); //~ G0804
    core::option::Option::None.unwrap_or_else(process::abort); //~ G0804
    let me = thread::current().id(); //~ G0804
    libc::signal(libc::SIGINT, handler as usize); //~ G0804
    ctrlc::set_handler(|| {}).unwrap(); //~ G0804
    signal_hook::flag::register(1, flag).unwrap(); //~ G0804
    env_logger::init(); //~ G0804
}

fn more() {
    self::set_var("A", "b"); //~ G0804
    rayon::ThreadPoolBuilder::new().build_global().unwrap(); //~ G0804
    {
        use std::process::abort as end;
        end(); //~ G0804
    }
    // A function of another module.
    use crate::own::abort as end;
    end();
}

mod other {
    use super::thread::current;
    use crate::own::set_var;

    fn calls() {
        set_var("A", "b");
        super::quit(1); //~ G0804
        let me = current().id(); //~ G0804
        // `quit` is not imported in this module.
        quit(1);
    }
}

fn none() {
    let home = env::var("HOME");
    exit(1);
    self::exit(1);
    thread::yield_now();
}

fn exit(code: u8) {}
