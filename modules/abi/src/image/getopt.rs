//! `getopt`, `getopt_long` and `getopt_long_only` with the state of the calling rank.
//!
//! The functions of the C library have a hidden position within the current argument, which all
//! ranks would share. These functions have the results, extensions and messages of the GNU C
//! Library.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int};
use std::ptr;
use std::rc::Rc;

use super::streams;
use super::variables::{Variable, Variables};
use crate::rank::{self, Part, Rank, Slot};

/// `struct option` of the C library.
#[repr(C)]
pub(super) struct LongOption {
    name: *const c_char,
    /// 0 without an argument, 1 with an argument, and 2 with an optional argument.
    has_argument: c_int,
    flag: *mut c_int,
    value: c_int,
}

impl LongOption {
    fn name(&self) -> &[u8] {
        // SAFETY: the name of an option is a string.
        unsafe { CStr::from_ptr(self.name) }.to_bytes()
    }
}

/// Treatment of arguments that are not options.
#[derive(Clone, Copy, PartialEq, Default)]
enum Order {
    /// They move behind the options.
    #[default]
    Permute,
    /// The first of them ends the options.
    Require,
    /// They are returned as arguments of an option with the code 1.
    Return,
}

/// Position between two calls.
#[derive(Clone, Copy)]
struct Position {
    is_initialized: bool,
    order: Order,
    /// Rest of the current argument, or null.
    rest: *mut c_char,
    /// Range of the arguments that were skipped because they are not options.
    first: usize,
    last: usize,
    /// The last value of `optopt`. The C library ignores values that the program has assigned.
    option: c_int,
}

impl Default for Position {
    fn default() -> Self {
        Position {
            is_initialized: false,
            order: Order::Permute,
            rest: ptr::null_mut(),
            first: 1,
            last: 1,
            option: 0,
        }
    }
}

/// Position of a rank.
#[derive(Default)]
pub(super) struct Scanner(Cell<Position>);

impl Part for Scanner {
    const SLOT: Slot = Slot::Scanner;
}

/// The variables of `getopt`.
struct Shown {
    /// `optarg`
    argument: *mut c_char,
    /// `optind`
    index: c_int,
    /// `opterr`
    errors: c_int,
    /// `optopt`
    option: c_int,
}

/// Options that a program accepts.
struct Accepted<'a> {
    short: &'a [u8],
    long: Option<&'a [LongOption]>,
    /// Whether long options may begin with one dash.
    one_dash: bool,
    /// Whether arguments are never permuted, as POSIX demands.
    posix: bool,
}

/// A call of `getopt`.
struct Call<'a> {
    arguments: &'a mut [*mut c_char],
    accepted: Accepted<'a>,
    shown: &'a mut Shown,
    at: &'a mut Position,
    /// Result for a missing argument.
    missing: c_int,
    /// Index of the long option that was found.
    found: Option<usize>,
    message: Option<Vec<u8>>,
}

const UNKNOWN: c_int = b'?' as c_int;
const END: c_int = -1;

fn text<'a>(argument: *const c_char) -> &'a [u8] {
    // SAFETY: the arguments of a program are strings.
    unsafe { CStr::from_ptr(argument) }.to_bytes()
}

fn is_option(argument: *const c_char) -> bool {
    let text = text(argument);
    text.len() > 1 && text[0] == b'-'
}

impl<'a> Call<'a> {
    /// Returns the result of a call, with the index of the long option that was found and a message
    /// for the user.
    fn run(
        arguments: &'a mut [*mut c_char],
        mut accepted: Accepted<'a>,
        shown: &'a mut Shown,
        at: &'a mut Position,
    ) -> (c_int, Option<usize>, Option<Vec<u8>>) {
        shown.argument = ptr::null_mut();
        if arguments.is_empty() {
            return (END, None, None);
        }
        if shown.index == 0 || !at.is_initialized {
            shown.index = shown.index.max(1);
            let start = shown.index as usize;
            let order = match accepted.short.first() {
                Some(b'-') => Order::Return,
                Some(b'+') => Order::Require,
                _ if accepted.posix => Order::Require,
                _ if std::env::var_os("POSIXLY_CORRECT").is_some() => Order::Require,
                _ => Order::Permute,
            };
            *at = Position {
                is_initialized: true,
                order,
                rest: ptr::null_mut(),
                first: start,
                last: start,
                option: at.option,
            };
        }
        if let [b'-' | b'+', rest @ ..] = accepted.short {
            accepted.short = rest;
        }
        let is_quiet = accepted.short.first() == Some(&b':');
        let reports = shown.errors != 0 && !is_quiet;
        let mut call = Call {
            arguments,
            accepted,
            shown,
            at,
            missing: if is_quiet { b':'.into() } else { UNKNOWN },
            found: None,
            message: None,
        };
        call.shown.option = call.at.option;
        let result = call.next();
        call.at.option = call.shown.option;
        (result, call.found, call.message.filter(|_| reports))
    }

    fn index(&self) -> usize {
        self.shown.index as usize
    }

    /// Takes the current argument as the argument of the option.
    fn take_argument(&mut self) {
        self.shown.argument = self.arguments[self.index()];
        self.shown.index += 1;
    }

    /// Records a message: the name of the program, and pieces of text.
    fn say(&mut self, pieces: &[&[u8]]) {
        let mut message = text(self.arguments[0]).to_vec();
        message.extend_from_slice(b": ");
        message.extend(pieces.iter().copied().flatten());
        message.push(b'\n');
        self.message = Some(message);
    }

    fn next(&mut self) -> c_int {
        if self.at.rest.is_null() || text(self.at.rest).is_empty() {
            if let Some(result) = self.next_argument() {
                return result;
            }
            let argument = self.arguments[self.index()];
            let option = text(argument);
            if let Some(long) = self.accepted.long {
                if option[1] == b'-' {
                    self.at.rest = argument.wrapping_add(2);
                    return self
                        .long(long, self.accepted.one_dash, b"--")
                        .unwrap_or(UNKNOWN);
                }
                let is_short = self.accepted.short.contains(&option[1]);
                if self.accepted.one_dash && (option.len() > 2 || !is_short) {
                    self.at.rest = argument.wrapping_add(1);
                    if let Some(result) = self.long(long, true, b"-") {
                        return result;
                    }
                }
            }
            self.at.rest = argument.wrapping_add(1);
        }
        self.short()
    }

    /// Moves to the next argument that is an option. Returns the result if there is none.
    fn next_argument(&mut self) -> Option<c_int> {
        let count = self.arguments.len();
        self.at.last = self.at.last.min(self.index());
        self.at.first = self.at.first.min(self.index());
        if self.at.order == Order::Permute {
            self.exchange();
            while self.index() < count && !is_option(self.arguments[self.index()]) {
                self.shown.index += 1;
            }
            self.at.last = self.index();
        }
        if self.index() < count && text(self.arguments[self.index()]) == b"--" {
            self.shown.index += 1;
            self.exchange();
            self.at.last = count;
            self.shown.index = count as c_int;
        }
        if self.index() >= count {
            if self.at.first != self.at.last {
                self.shown.index = self.at.first as c_int;
            }
            return Some(END);
        }
        if is_option(self.arguments[self.index()]) {
            return None;
        }
        if self.at.order == Order::Require {
            return Some(END);
        }
        self.take_argument();
        Some(1)
    }

    /// Moves the skipped arguments behind the options that follow them.
    fn exchange(&mut self) {
        let (first, last, index) = (self.at.first, self.at.last, self.index());
        if first == last {
            self.at.first = index;
        } else if last != index {
            self.arguments[first..index].rotate_left(last - first);
            self.at.first = first + index - last;
            self.at.last = index;
        }
    }

    /// Returns the result for the next character of the current argument.
    fn short(&mut self) -> c_int {
        let rest = text(self.at.rest);
        let character = rest[0];
        let code = c_int::from(character);
        self.at.rest = self.at.rest.wrapping_add(1);
        let is_last = rest.len() == 1;
        if is_last {
            self.shown.index += 1;
        }
        let short = self.accepted.short;
        let found = short.iter().position(|&other| other == character);
        let Some(found) = found.filter(|_| !matches!(character, b':' | b';')) else {
            self.say(&[b"invalid option -- '", &[character], b"'"]);
            self.shown.option = code;
            return UNKNOWN;
        };
        let behind = &short[found + 1..];
        let is_missing = is_last && self.index() >= self.arguments.len();
        if character == b'W'
            && behind.first() == Some(&b';')
            && let Some(long) = self.accepted.long
        {
            if is_missing {
                return self.argument_is_missing(character);
            }
            if is_last {
                self.at.rest = self.arguments[self.index()];
            }
            return self.long(long, false, b"-W ").unwrap_or(UNKNOWN);
        }
        if behind.first() != Some(&b':') {
            return code;
        }
        let rest = std::mem::replace(&mut self.at.rest, ptr::null_mut());
        if !is_last {
            self.shown.argument = rest;
            self.shown.index += 1;
        } else if behind.get(1) == Some(&b':') {
        } else if is_missing {
            return self.argument_is_missing(character);
        } else {
            self.take_argument();
        }
        code
    }

    fn argument_is_missing(&mut self, character: u8) -> c_int {
        self.say(&[b"option requires an argument -- '", &[character], b"'"]);
        self.shown.option = character.into();
        self.missing
    }

    /// Returns the result for a long option, or `None` if it may be a short one.
    fn long(&mut self, long: &'a [LongOption], one_dash: bool, dashes: &[u8]) -> Option<c_int> {
        let whole = text(self.at.rest);
        let end = whole.iter().position(|&byte| byte == b'=');
        let name = &whole[..end.unwrap_or(whole.len())];
        let mut found = long.iter().position(|option| option.name() == name);
        if found.is_none() {
            let starting = |index: &usize| long[*index].name().starts_with(name);
            let mut starting = (0..long.len()).filter(starting);
            found = starting.next();
            let differs = |index: &usize| {
                let (one, other) = (&long[found.unwrap_or(0)], &long[*index]);
                one_dash
                    || (one.has_argument, one.flag, one.value)
                        != (other.has_argument, other.flag, other.value)
            };
            let others: Vec<usize> = starting.filter(differs).collect();
            if !others.is_empty() {
                let mut pieces = vec![&b"option '"[..], dashes, whole];
                pieces.push(b"' is ambiguous; possibilities:");
                for index in found.into_iter().chain(others) {
                    pieces.extend([&b" '"[..], dashes, long[index].name(), b"'"]);
                }
                self.say(&pieces);
                return Some(self.no_long());
            }
        }
        let Some(found) = found else {
            let argument = text(self.arguments[self.index()]);
            let first = whole.first().copied().unwrap_or(0);
            let is_short = self.accepted.short.contains(&first) || first == 0;
            if one_dash && argument.get(1) != Some(&b'-') && is_short {
                return None;
            }
            self.say(&[b"unrecognized option '", dashes, whole, b"'"]);
            return Some(self.no_long());
        };
        let option = &long[found];
        self.shown.index += 1;
        let start = std::mem::replace(&mut self.at.rest, ptr::null_mut());
        if let Some(end) = end {
            if option.has_argument == 0 {
                let pieces: [&[u8]; 4] = [
                    b"option '",
                    dashes,
                    option.name(),
                    b"' doesn't allow an argument",
                ];
                self.say(&pieces);
                self.shown.option = option.value;
                return Some(UNKNOWN);
            }
            self.shown.argument = start.wrapping_add(end + 1);
        } else if option.has_argument == 1 {
            if self.index() >= self.arguments.len() {
                let pieces: [&[u8]; 4] = [
                    b"option '",
                    dashes,
                    option.name(),
                    b"' requires an argument",
                ];
                self.say(&pieces);
                self.shown.option = option.value;
                return Some(self.missing);
            }
            self.take_argument();
        }
        self.found = Some(found);
        if option.flag.is_null() {
            return Some(option.value);
        }
        // SAFETY: the flag of an option is a variable of the program.
        unsafe { *option.flag = option.value };
        Some(0)
    }

    /// Skips a long option that does not exist or is ambiguous.
    fn no_long(&mut self) -> c_int {
        self.at.rest = ptr::null_mut();
        self.shown.index += 1;
        self.shown.option = 0;
        UNKNOWN
    }
}

/// Returns the function that replaces a function, or `None` if it is not replaced.
pub(super) fn replacement(name: &[u8]) -> Option<*const ()> {
    Some(match name {
        b"getopt" => getopt as *const (),
        b"__posix_getopt" => posix_getopt as *const (),
        b"getopt_long" => getopt_long as *const (),
        b"getopt_long_only" => getopt_long_only as *const (),
        _ => return None,
    })
}

/// Sets the variables of a rank that begins.
pub(crate) fn begin(rank: &Rank) {
    let variables = Variables::of(rank);
    let initial = [
        (Variable::Optind, 1),
        (Variable::Opterr, 1),
        (Variable::Optopt, UNKNOWN),
    ];
    for (variable, value) in initial {
        // SAFETY: the variable is an `int`, and the program does not run yet.
        unsafe { variables.at::<c_int>(variable).write(value) };
    }
}

/// Scans the arguments for the calling rank.
///
/// # Safety
/// As for `getopt_long`.
unsafe fn scan(
    count: c_int,
    arguments: *const *mut c_char,
    short: *const c_char,
    long: *const LongOption,
    found: *mut c_int,
    one_dash: bool,
    posix: bool,
) -> c_int {
    let rank = rank::current().unwrap_or_else(|| Rc::new(Rank::default()));
    let variables = Variables::of(&rank);
    let argument = variables.at::<*mut c_char>(Variable::Optarg);
    let int = |variable| variables.at::<c_int>(variable);
    let (index, errors) = (int(Variable::Optind), int(Variable::Opterr));
    let option = int(Variable::Optopt);
    let scanner = Scanner::of(&rank);
    let mut position = scanner.0.get();
    // SAFETY: the caller passes arguments, and options that end with an empty one.
    let (result, index_of_long, message) = unsafe {
        let arguments = match count {
            ..=0 => &mut [][..],
            count => std::slice::from_raw_parts_mut(arguments.cast_mut(), count as usize),
        };
        let long = (!long.is_null()).then(|| {
            let count = (0..).take_while(|&index| !(*long.add(index)).name.is_null());
            std::slice::from_raw_parts(long, count.count())
        });
        let accepted = Accepted {
            short: text(short),
            long,
            one_dash,
            posix,
        };
        let mut shown = Shown {
            argument: *argument,
            index: *index,
            errors: *errors,
            option: *option,
        };
        let result = Call::run(arguments, accepted, &mut shown, &mut position);
        *argument = shown.argument;
        *index = shown.index;
        *option = shown.option;
        result
    };
    scanner.0.set(position);
    if let Some(message) = message {
        streams::report(&message);
    }
    if let (Some(index), false) = (index_of_long, found.is_null()) {
        // SAFETY: the caller passes a variable or null.
        unsafe { *found = index as c_int };
    }
    result
}

unsafe extern "C" fn getopt(
    count: c_int,
    arguments: *const *mut c_char,
    short: *const c_char,
) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe {
        scan(
            count,
            arguments,
            short,
            ptr::null(),
            ptr::null_mut(),
            false,
            false,
        )
    }
}

unsafe extern "C" fn posix_getopt(
    count: c_int,
    arguments: *const *mut c_char,
    short: *const c_char,
) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe {
        scan(
            count,
            arguments,
            short,
            ptr::null(),
            ptr::null_mut(),
            false,
            true,
        )
    }
}

unsafe extern "C" fn getopt_long(
    count: c_int,
    arguments: *const *mut c_char,
    short: *const c_char,
    long: *const LongOption,
    found: *mut c_int,
) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe { scan(count, arguments, short, long, found, false, false) }
}

unsafe extern "C" fn getopt_long_only(
    count: c_int,
    arguments: *const *mut c_char,
    short: *const c_char,
    long: *const LongOption,
    found: *mut c_int,
) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe { scan(count, arguments, short, long, found, true, false) }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;

    use super::*;

    #[allow(non_upper_case_globals)]
    unsafe extern "C" {
        static mut optarg: *mut c_char;
        static mut optind: c_int;
        static mut opterr: c_int;
        static mut optopt: c_int;
        static mut stderr: *mut libc::FILE;
        #[link_name = "__posix_getopt"]
        fn libc_posix_getopt(
            count: c_int,
            arguments: *const *mut c_char,
            short: *const c_char,
        ) -> c_int;
        #[link_name = "getopt_long"]
        fn libc_getopt_long(
            count: c_int,
            arguments: *const *mut c_char,
            short: *const c_char,
            long: *const LongOption,
            found: *mut c_int,
        ) -> c_int;
        #[link_name = "getopt_long_only"]
        fn libc_getopt_long_only(
            count: c_int,
            arguments: *const *mut c_char,
            short: *const c_char,
            long: *const LongOption,
            found: *mut c_int,
        ) -> c_int;
    }

    /// Result of a call: its code, the variables, the index of the long option, the arguments, and
    /// the message.
    type Step = (
        c_int,
        Option<usize>,
        [c_int; 2],
        Option<usize>,
        Vec<usize>,
        String,
    );

    const SHORT: [&CStr; 5] = [c"abc:d::W;", c"+ab:", c"-a:b", c":ab:c", c""];

    const WORDS: [&CStr; 24] = [
        c"-a",
        c"-b",
        c"-ab",
        c"-c",
        c"-cx",
        c"-d",
        c"-dx",
        c"file",
        c"other",
        c"--",
        c"-",
        c"--alpha",
        c"--al",
        c"--beta",
        c"--beta=1",
        c"--alpha=1",
        c"--al=2",
        c"-z",
        c"-W",
        c"-Wbeta=3",
        c"-alpha",
        c"--unknown",
        c"--same",
        c"-acb",
    ];

    fn option(name: &'static CStr, has_argument: c_int, value: u8) -> LongOption {
        LongOption {
            name: name.as_ptr(),
            has_argument,
            flag: ptr::null_mut(),
            value: value.into(),
        }
    }

    fn offset(argument: *mut c_char, arguments: &[*mut c_char]) -> Option<usize> {
        let start = arguments.iter().copied().min().unwrap() as usize;
        (!argument.is_null()).then(|| argument as usize - start)
    }

    /// Returns the steps of the C library.
    fn expected(
        arguments: &mut [*mut c_char],
        short: &CStr,
        long: &[LongOption],
        one_dash: bool,
        posix: bool,
    ) -> Vec<Step> {
        let scan = if one_dash {
            libc_getopt_long_only
        } else {
            libc_getopt_long
        };
        let mut steps = Vec::new();
        // SAFETY: no other test uses these variables, and the arguments are valid.
        unsafe {
            (optind, opterr, optopt) = (0, 1, UNKNOWN);
            let before = stderr;
            loop {
                let (mut message, mut size, mut found) = (ptr::null_mut(), 0, -1);
                stderr = libc::open_memstream(&mut message, &mut size);
                let count = arguments.len() as c_int;
                let pointer = arguments.as_ptr();
                let code = match posix {
                    true => libc_posix_getopt(count, pointer, short.as_ptr()),
                    false => scan(count, pointer, short.as_ptr(), long.as_ptr(), &mut found),
                };
                libc::fclose(stderr);
                let text = CStr::from_ptr(message).to_string_lossy().into_owned();
                libc::free(message.cast());
                let places = arguments.iter().map(|&text| text as usize);
                steps.push((
                    code,
                    offset(optarg, arguments),
                    [optind, optopt],
                    usize::try_from(found).ok(),
                    places.collect(),
                    text,
                ));
                if code == END {
                    break;
                }
            }
            stderr = before;
        }
        steps
    }

    fn found(
        arguments: &mut [*mut c_char],
        short: &CStr,
        long: &[LongOption],
        one_dash: bool,
        posix: bool,
        position: &mut Position,
    ) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut shown = Shown {
            argument: ptr::null_mut(),
            index: 0,
            errors: 1,
            option: UNKNOWN,
        };
        loop {
            let accepted = Accepted {
                short: short.to_bytes(),
                long: (!posix).then(|| &long[..long.len() - 1]),
                one_dash,
                posix,
            };
            let (code, found, message) = Call::run(arguments, accepted, &mut shown, position);
            let places = arguments.iter().map(|&text| text as usize);
            steps.push((
                code,
                offset(shown.argument, arguments),
                [shown.index, shown.option],
                found,
                places.collect(),
                String::from_utf8(message.unwrap_or_default()).unwrap(),
            ));
            if code == END {
                return steps;
            }
        }
    }

    #[test]
    fn all_calls_have_the_results_of_the_c_library() {
        let long = [
            option(c"alpha", 0, b'a'),
            option(c"alternative", 1, b'l'),
            option(c"beta", 1, b'b'),
            option(c"same-one", 2, b's'),
            option(c"same-two", 2, b's'),
            LongOption {
                name: ptr::null(),
                has_argument: 0,
                flag: ptr::null_mut(),
                value: 0,
            },
        ];
        let mut random = 1_u64;
        let mut next = |limit: usize| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) as usize % limit
        };
        let mut position = Position::default();
        for _ in 0..20_000 {
            let words = (0..next(7)).map(|_| WORDS[next(WORDS.len())].to_owned());
            let words: Vec<CString> = [c"program".to_owned()].into_iter().chain(words).collect();
            let pointers = words.iter().map(|word| word.as_ptr().cast_mut());
            let mut pointers: Vec<*mut c_char> = pointers.collect();
            pointers.push(ptr::null_mut());
            let count = words.len();
            let (short, one_dash) = (SHORT[next(SHORT.len())], next(2) == 1);
            let posix = next(4) == 0;
            let one_dash = one_dash && !posix;
            let mut others = pointers.clone();
            let expected = expected(&mut pointers[..count], short, &long, one_dash, posix);
            let found = found(
                &mut others[..count],
                short,
                &long,
                one_dash,
                posix,
                &mut position,
            );
            assert_eq!(found, expected, "{words:?} {short:?} {one_dash} {posix}");
        }
    }
}
