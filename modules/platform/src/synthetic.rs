//! Synthetic platforms, described in one line: `hosts=4:sockets=2:cores=8 distance=100:10:1`.
//!
//! ```text
//! platform = [levels] {option}                   white space between, line breaks allowed
//! levels   = level {":" level}                   outermost first: groups hosts sockets caches cores
//! level    = NAME "=" counts
//! counts   = count {"," count}                   one for all, or one for each element outside
//! count    = N ["(x" TIMES ")"]                  12(x3),64 is 12,12,12,64
//! option   = "distance=" D {":" D}               one for each level named, outermost first
//!          | "collocated=" D                     within an OS process; 0 unless given
//!          | "names=" NODELIST                   node[01-16]; host1, host2 ... unless given
//!          | "slots=" counts                     one for all hosts or one each; cores unless given
//!          | "speed=" reals                      likewise; 1 unless given
//!          | "memory=" sizes                     likewise, bytes or with K, M, G, T
//!          | "graphmap=" N                       version of this form; 1 unless given
//! ```
//!
//! A list has one number for all elements, or one for each element of the next outer level. It may
//! also have one for each element of a level further out: the elements inside that element are then
//! equal. So three hosts of 12 cores and one of 64 are `hosts=4:cores=12(x3),64`, and in two groups
//! `groups=2:hosts=1,3:cores=...`.
//!
//! Without `groups` there is one group. Without `hosts` there is one host, or one for each of the
//! `names`. If no level inside a host is named, only its slots are known. `caches` is the number of
//! groups of cores in a socket that share a cache. Without it, each core is a group of its own.
//!
//! `distance=` gives the distance between elements of each named level. `100:10:1` above means 100
//! between hosts, 10 between sockets of a host, and 1 between cores of a socket. A level that is
//! not named has the distance of the next inner one. Without `distance=`, the [measured
//! distances](crate::Distances::MEASURED) are used.

use crate::build::no_host;
use crate::codes;
use crate::distance::{BadDistances, Class, Distances};
use crate::hosts_format::foreign;
use crate::model::{CacheGroup, Core, Host, MAX_CORES, MAX_HOSTS, Platform, Socket};
use crate::nodelist;
use crate::report::Report;
use crate::text::{Word, repeated};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::source::{Source, Span};
use graphmap_kpn::version;

mod print;
pub use print::{VERSION, print};

const LEVELS: [&str; 5] = ["groups", "hosts", "sockets", "caches", "cores"];
const OPTIONS: [&str; 7] = [
    "distance",
    "collocated",
    "names",
    "slots",
    "speed",
    "memory",
    "graphmap",
];
const HOSTS: usize = 1;
const CORES: usize = 4;

/// Reads a synthetic platform. `#` starts a comment.
///
/// Returns `None` if there was at least one error. Adds the diagnostics to `out`: the first 50, and
/// a note with the number of the others. A result can come with warnings.
pub fn read(source: &Source, out: &mut Diagnostics) -> Option<Platform> {
    let mut report = Report::default();
    let made = parse(source, &mut report);
    report.finish(made, out)
}

/// Checks the first option `graphmap=` of a platform's text, which gives its version. Returns true,
/// and reports an error, if the version is not a number or not supported. Returns false if the text
/// can be read, also without the option.
fn other_version(source: &Source, report: &mut Report) -> bool {
    let lines = Word::all(source).lines();
    let words = lines.flat_map(|line| line.words().collect::<Vec<_>>());
    let stated = words
        .filter_map(|word| word.cut('='))
        .find(|(key, _)| key.text == "graphmap");
    let Some((_, value)) = stated else {
        return false;
    };
    let Some(number) = value.whole("version", report) else {
        return true;
    };
    let error = version::refused("the platform", "graphmap=", Some(number), VERSION);
    let refused = error.is_some();
    error
        .into_iter()
        .for_each(|error| report.push(error.at(value.span(), "")));
    refused
}

/// Number of elements of each level, in each element of the next outer level.
struct Tree {
    named: [Option<Span>; 5],
    counts: [Vec<u32>; 5],
}

impl Tree {
    fn total(&self, level: usize) -> usize {
        self.counts[level].iter().map(|&c| c as usize).sum()
    }
}

fn parse(source: &Source, report: &mut Report) -> Option<Platform> {
    let mut levels: Option<Word> = None;
    let mut options: [Option<Word>; 7] = [None; 7];
    let mut words = Vec::new();
    if other_version(source, report) {
        return None;
    }
    for line in Word::all(source).lines() {
        let start = words.len();
        words.extend(line.words());
        // A line that starts with a name belongs to a hostfile, even if options follow.
        if !words[start].text.contains('=') {
            report_foreign_words(&words[start..], report);
            words.truncate(start);
            if report.failed() && start == 0 {
                return None;
            }
        }
    }
    for word in words {
        let Some((key, value)) = word.cut('=') else {
            report_foreign_words(&[word], report);
            continue;
        };
        if let Some(option) = OPTIONS.iter().position(|o| *o == key.text) {
            if let Some(before) = options[option].replace(value) {
                twice(key, before.span(), report);
            }
        } else if LEVELS.contains(&key.text) || word.text.contains(':') {
            if let Some(before) = levels.replace(word) {
                let what = "levels are given twice";
                let error = Diagnostic::error(codes::LEVELS, what).at(word.span(), "");
                let error = error.also(before.span(), "first given here");
                report.push(error.help("join them with `:`, outermost first: `hosts=4:cores=8`"));
            }
        } else {
            unknown(key, report);
        }
    }
    let nothing = levels.is_none() && options.iter().all(Option::is_none);
    if nothing {
        if !report.failed() {
            report.push(
                no_host(source).help("or write a synthetic platform, such as `hosts=4:cores=8`"),
            );
        }
        return None;
    }
    let [distance, collocated, names, slots, speed, memory, _] = options;
    let names = names.map(|names| nodelist::expand_all(names, report));
    let tree = read_levels(
        levels,
        names.as_ref().and_then(|n| Some(n.as_ref()?.len())),
        report,
    );
    let distances = read_distances(distance, collocated, tree.as_ref(), report);
    let hosts = tree.as_ref().map(|t| t.total(HOSTS));
    let slots = per_host(slots, "slots", hosts, report, |w, r| w.count("slots", r));
    let speed = per_host(speed, "speed", hosts, report, |w, r| {
        w.real("speed", false, r)
    });
    let memory = per_host(memory, "memory", hosts, report, |w, r| {
        w.bytes("number of bytes", r)
    });
    let tree = tree.filter(|_| !report.failed())?;
    let mut made = build(&tree);
    for (i, host) in made.iter_mut().enumerate() {
        host.span = levels.map_or(Span::NONE, Word::span);
        if let Some(Some(names)) = &names {
            (host.name, host.span) = names[i].clone();
        }
        let own = |list: &Option<Vec<_>>| list.as_ref().map(|l| l[i % l.len()]);
        host.slots = own(&slots).unwrap_or(host.core_count().max(1) as u32);
        host.speed = speed.as_ref().map_or(1.0, |l| l[i % l.len()]);
        host.memory = memory.as_ref().map(|l| l[i % l.len()]);
    }
    match Platform::new(made) {
        Ok(platform) => Some(platform.with_distances(distances?)),
        Err(wrong) => {
            let found = Diagnostic::error(codes::TOO_LARGE, wrong.to_string());
            report.push(found.at(levels.map_or(Span::NONE, Word::span), ""));
            None
        }
    }
}

/// Reads an option with one value for each host, or one value for all. The result then has one
/// value too. `item` reads a value, and `of` names the option.
///
/// Returns `None` without the option or if `hosts`, the number of hosts, is unknown. Also returns
/// `None`, with an error in `report`, if the option has an invalid value or another number of
/// values.
fn per_host<T: Clone>(
    option: Option<Word>,
    of: &str,
    hosts: Option<usize>,
    report: &mut Report,
    item: impl FnMut(Word, &mut Report) -> Option<T>,
) -> Option<Vec<T>> {
    let word = option?;
    let list = repeated(word, of, report, item)?;
    let hosts = hosts?;
    if list.len() != 1 && list.len() != hosts {
        let what = format!("`{of}=` has {} values for {hosts} hosts", list.len());
        let error = Diagnostic::error(codes::LEVELS, what).at(word.span(), "");
        report.push(error.help("give one value for all hosts, or one per host: `12(x3),64`"));
        return None;
    }
    Some(list)
}

fn read_levels(levels: Option<Word>, names: Option<usize>, report: &mut Report) -> Option<Tree> {
    let mut given: [Option<(Word, Vec<u32>)>; 5] = [const { None }; 5];
    let mut last = None;
    let mut good = true;
    for piece in levels.into_iter().flat_map(|l| l.pieces(':')) {
        let Some((key, value)) = piece.cut('=') else {
            let what = format!("`{}` is not a level", piece.shown());
            let error = Diagnostic::error(codes::LEVELS, what).at(piece.span(), "");
            report.push(error.help("write a level as `name=count`, such as `hosts=4`"));
            good = false;
            continue;
        };
        let Some(level) = LEVELS.iter().position(|l| *l == key.text) else {
            unknown(key, report);
            good = false;
            continue;
        };
        let list = repeated(value, LEVELS[level], report, |w, r| {
            w.count(LEVELS[level], r)
        });
        good &= list.is_some();
        if let Some((before, _)) = &given[level] {
            twice(key, before.span(), report);
        } else if last.is_some_and(|last| last > level) {
            let outer = LEVELS[last.unwrap_or(0)];
            let what = format!("level `{}` must come before `{outer}`", key.text);
            let error = Diagnostic::error(codes::LEVELS, what).at(key.span(), "");
            report.push(error.help(format!("use the order `{}`", LEVELS.join(":"))));
        } else {
            last = Some(level);
        }
        given[level] = list.map(|list| (piece, list));
    }
    if !good || report.failed() {
        return None;
    }
    let mut tree = Tree {
        named: given.each_ref().map(|g| g.as_ref().map(|(w, _)| w.span())),
        counts: [const { Vec::new() }; 5],
    };
    for level in 0..5 {
        tree.counts[level] = match (&given[level], names) {
            (Some((word, list)), _) => spread(&tree, level, *word, list, report)?,
            (None, Some(hosts)) if level == HOSTS && tree.total(0) == 1 => vec![hosts as u32],
            // Without `caches`, a socket has one entry here. `build` makes each core a group of its
            // own.
            (None, _) => vec![1; if level == 0 { 1 } else { tree.total(level - 1) }],
        };
        let most = if level <= HOSTS { MAX_HOSTS } else { MAX_CORES };
        if tree.total(level) > most {
            let what = format!("{} {} are too many", tree.total(level), LEVELS[level]);
            let at = tree.named[level].unwrap_or(Span::NONE);
            let error = Diagnostic::error(codes::TOO_LARGE, what).at(at, "");
            report.push(error.with_note(format!("the limit is {most}")));
            return None;
        }
    }
    if let (Some(names), hosts) = (names, tree.total(HOSTS))
        && names != hosts
    {
        let what = format!("`names=` names {names} hosts, but the levels give {hosts}");
        let at = tree.named[HOSTS].or(tree.named[0]).unwrap_or(Span::NONE);
        report.push(Diagnostic::error(codes::LEVELS, what).at(at, ""));
        return None;
    }
    Some(tree)
}

/// Returns one count of elements of `level` for each element of the next outer level. `list`
/// contains one count for all, or one for each element of any outer level; elements inside that
/// element then have equal counts. Reports an error and returns `None` if the length of the list
/// fits no outer level.
fn spread(
    tree: &Tree,
    level: usize,
    word: Word,
    list: &[u32],
    report: &mut Report,
) -> Option<Vec<u32>> {
    // Number of elements of the next outer level.
    let outside = if level == 0 { 1 } else { tree.total(level - 1) };
    if list.len() == 1 {
        return Some(vec![list[0]; outside]);
    }
    let mut spread = list.to_vec();
    let mut fits = Vec::new();
    for outer in (0..level).rev() {
        let total = tree.total(outer);
        if total == list.len() {
            for counts in &tree.counts[outer + 1..level] {
                let each = spread.iter().zip(counts);
                spread = each
                    .flat_map(|(&v, &n)| std::iter::repeat_n(v, n as usize))
                    .collect();
            }
            return Some(spread);
        }
        if tree.named[outer].is_some() && total > 1 {
            fits.push(format!("one for each of the {total} {}", LEVELS[outer]));
        }
    }
    let what = format!(
        "`{}=` has {} counts, which does not match the levels outside it",
        LEVELS[level],
        list.len()
    );
    let error = Diagnostic::error(codes::LEVELS, what).at(word.span(), "");
    fits.push("one for all".to_string());
    report.push(error.help(format!("give {}", fits.join(", or "))));
    None
}

fn read_distances(
    distance: Option<Word>,
    collocated: Option<Word>,
    tree: Option<&Tree>,
    report: &mut Report,
) -> Option<Distances> {
    let within = collocated.map(|w| w.real("distance", true, report));
    let Some(word) = distance else {
        let mut values = Distances::MEASURED.as_array();
        if let Some(within) = within {
            values[0] = within?;
        }
        return checked(values, collocated.map_or(Span::NONE, Word::span), report);
    };
    let given: Vec<Option<f64>> = word
        .pieces(':')
        .map(|d| d.real("distance", true, report))
        .collect();
    let given: Vec<f64> = given.into_iter().collect::<Option<_>>()?;
    let tree = tree?;
    let named: Vec<usize> = (0..5).filter(|&l| tree.named[l].is_some()).collect();
    if named.len() != given.len() {
        let what = format!(
            "{} distances are given for {} levels",
            given.len(),
            named.len()
        );
        let error = Diagnostic::error(codes::DISTANCES, what).at(word.span(), "");
        let names: Vec<_> = named.iter().map(|&l| LEVELS[l]).collect();
        report.push(error.help(format!(
            "give one distance per level, outermost first: {}",
            names.join(":")
        )));
        return None;
    }
    // Level `groups` (0) is the outermost class, and `cores` (4) is next to collocated. A class
    // whose level is not named has the distance of the next inner class. The innermost class has
    // the distance of the innermost named level.
    let mut values = [f64::NAN; 6];
    values[0] = within.unwrap_or(Some(0.0))?;
    for (&level, &distance) in named.iter().zip(&given) {
        values[Class::ALL.len() - 1 - level] = distance;
    }
    let innermost = *given.last()?;
    for class in 1..6 {
        if values[class].is_nan() {
            values[class] = if class == 1 {
                innermost
            } else {
                values[class - 1]
            };
        }
    }
    checked(values, word.span(), report)
}

fn checked(values: [f64; 6], at: Span, report: &mut Report) -> Option<Distances> {
    match Distances::new(values) {
        Ok(distances) => Some(distances),
        Err(wrong) => {
            let error = Diagnostic::error(codes::DISTANCES, wrong.to_string()).at(at, "");
            report.push(match wrong {
                BadDistances::Shrinks { .. } => {
                    error.help("write the outermost (largest) distance first: `100:10:1`")
                }
                BadDistances::NotADistance { .. } => error,
            });
            None
        }
    }
}

fn build(tree: &Tree) -> Vec<Host> {
    let known = (2..=CORES).any(|level| tree.named[level].is_some());
    let apart = tree.named[CORES - 1].is_none();
    let mut sockets = tree.counts[2].iter();
    let mut caches = tree.counts[3].iter();
    let mut cores = tree.counts[CORES].iter();
    let take = |counts: &mut std::slice::Iter<u32>| *counts.next().unwrap_or(&0);
    let mut hosts = Vec::with_capacity(tree.total(HOSTS));
    for (group, &count) in tree.counts[HOSTS].iter().enumerate() {
        for _ in 0..count {
            let mut host = Host::new(format!("host{}", hosts.len() + 1), 1);
            host.group = group as u32;
            let mut cpu = 0;
            let inside = if known { take(&mut sockets) } else { 0 };
            for _ in 0..inside {
                let mut socket = Socket::default();
                for _ in 0..take(&mut caches) {
                    let numbers = cpu..cpu + take(&mut cores);
                    cpu = numbers.end;
                    let all = numbers.map(|n| Core {
                        cpus: vec![n],
                        speed: 1.0,
                    });
                    match apart {
                        true => socket
                            .caches
                            .extend(all.map(|core| CacheGroup { cores: vec![core] })),
                        false => socket.caches.push(CacheGroup {
                            cores: all.collect(),
                        }),
                    }
                }
                host.sockets.push(socket);
            }
            hosts.push(host);
        }
    }
    hosts
}

/// Reports one error about words of a line that are not part of this format: the first that belongs
/// to another format, or otherwise the first word. Panics if there are no words.
fn report_foreign_words(words: &[Word], report: &mut Report) {
    let foreign_word = words
        .iter()
        .enumerate()
        .find_map(|(i, word)| Some((word, foreign(*word, i == 0)?)));
    if let Some((word, foreign_word)) = foreign_word {
        let (what, other) = (foreign_word.what, foreign_word.format.about());
        let what =
            format!("{what} belongs in {other}, but this text is read as a synthetic platform");
        let error = Diagnostic::error(codes::WRONG_FORMAT, what).at(word.span(), "");
        let name = foreign_word.format.name();
        return report.push(error.help(format!(
            "if the whole file is {other}, use `--hosts-format {name}`"
        )));
    }
    let word = words[0];
    let what = format!("`{}` is neither a level nor an option", word.shown());
    let error = Diagnostic::error(codes::UNKNOWN_WORD, what).at(word.span(), "");
    report.push(error.help("write a platform such as `hosts=4:cores=8 distance=10:1`"));
}

fn unknown(key: Word, report: &mut Report) {
    if OPTIONS.contains(&key.text) {
        let what = format!("`{}` is an option, not a level", key.text);
        let error = Diagnostic::error(codes::UNKNOWN_WORD, what).at(key.span(), "");
        let help = "separate options from levels by white space: `hosts=4:cores=8 slots=2`";
        return report.push(error.help(help));
    }
    let what = format!("`{}` is neither a level nor an option", key.shown());
    let error = Diagnostic::error(codes::UNKNOWN_WORD, what).at(key.span(), "");
    let near = nearest(key.text, LEVELS.into_iter().chain(OPTIONS));
    report.push(match near {
        Some(near) => error.help(format!("did you mean `{near}=`?")),
        None => error.help(format!(
            "use a level ({}) or an option ({})",
            LEVELS.join(", "),
            OPTIONS.join(", ")
        )),
    });
}

fn twice(key: Word, before: Span, report: &mut Report) {
    let what = format!("`{}=` is given twice", key.text);
    let error = Diagnostic::error(codes::LEVELS, what).at(key.span(), "");
    report.push(error.also(before, "first given here"));
}
