//! Tables in a text, which replace the tables of the compiled network.
//!
//! A program contains the functions, ports and token types of its kinds. Which processes and
//! channels there are is data: the wiring has it as a default, and a text can replace it. A text
//! consists of statements, each a keyword and words, with a `;` at the end. A word with a
//! character that is not [`is_plain`] is in quotation marks. `docs/src/runtime.md` lists the
//! statements.

use std::borrow::Cow;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use super::arguments::Values;
use super::column::Column;
use super::names::NameTable;
use super::network::{Channels, Kind, Network, TokenType, Way};
use graphmap_executor::error::RunError;
use graphmap_executor::payload::Format;
use graphmap_executor::sequence::Sequence;

/// Keyword of the first statement, which states the version.
const FIRST: &str = "graphmap-tables";
/// Version of the format.
const VERSION: &str = "1";

impl Network {
    /// Registers a type of tokens, so that [`Network::read_tables`] can add channels that carry
    /// them. `name` is the name of the type in tables. Also sets the format of the type, as
    /// [`Network::payload`] does. `default` makes the initial tokens of such channels: without it,
    /// they cannot have any.
    ///
    /// ```
    /// # use graphmap_runtime as rt;
    /// # let mut net = rt::Network::new("net", "net.dot");
    /// net.tokens("Vec<f64>", rt::format_of!(Vec<f64>), rt::default_of!(Vec<f64>));
    /// ```
    pub fn tokens<T: Send + 'static>(
        &mut self,
        name: &str,
        format: Option<Format<T>>,
        default: Option<fn() -> T>,
    ) {
        self.payload(format);
        let add = move |net: &mut Network, channels: Channels<'_>, way: Way| {
            match (way.initial, default) {
                (0, _) if way.is_flow => net.flow_channels::<T>(channels),
                (0, _) => net.channels::<T>(channels),
                (_, _) if way.is_flow => {
                    return Err("flow-controlled channels have no initial tokens".into());
                }
                (initial, Some(default)) => {
                    net.channels_filled::<T>(channels, initial, move |_, _| default());
                }
                (_, None) => {
                    let token = std::any::type_name::<T>();
                    return Err(format!(
                        "{token} has no default for initial tokens: add `#[derive(Default)]` to \
                         the type"
                    ));
                }
            }
            Ok(())
        };
        self.tokens.push(TokenType {
            name: name.to_string(),
            add: Arc::new(add),
        });
    }

    /// Replaces the processes, modules and channels of the network by the ones of a text, which
    /// `graphmap --emit tables=FILE` writes. Kinds, their ports and functions, and token types
    /// stay. A kind that the text does not have has no processes then.
    ///
    /// # Errors
    /// Returns [`RunError::Options`] for a text of another version or network, for a statement that
    /// is not valid, and for a kind, port or token type that this network does not have. The
    /// network must not be run then. Sequences that do not fit together are errors of the
    /// description, which [`run`](crate::run) reports.
    pub fn read_tables(&mut self, text: &str) -> Result<(), RunError> {
        let mut statements = Statements {
            rest: text,
            line: 1,
        };
        let read = self.replace(&mut statements);
        let line = statements.line;
        read.map_err(|why| {
            RunError::Options(format!("the tables of the network, line {line}: {why}"))
        })
    }

    /// Publishes the sizes of the tables that were read, for [`size`].
    pub(crate) fn publish_sizes(&self) {
        // `main` is called at most once.
        let _ = SIZES.set(self.sizes.clone());
    }

    fn replace(&mut self, statements: &mut Statements<'_>) -> Result<(), String> {
        self.clear();
        let first = statements.next()?.ok_or("the text is empty")?;
        match (first.keyword, first.words.as_slice()) {
            (FIRST, [version]) if version == VERSION => {}
            (FIRST, [version]) => {
                return Err(format!(
                    "version {version} is not known, only {VERSION}: update the runtime of the \
                     project, and build the program again"
                ));
            }
            _ => return Err(format!("expected `{FIRST} {VERSION};`")),
        }
        let mut last = Last::Nothing;
        // The modules follow the kinds.
        let mut inside: Vec<(usize, String)> = Vec::new();
        let mut arguments: Vec<(usize, String, Vec<String>)> = Vec::new();
        while let Some(statement) = statements.next()? {
            let words: Vec<&str> = statement.words.iter().map(|word| &**word).collect();
            match (statement.keyword, words.as_slice()) {
                ("network", &[name, file]) => {
                    if name != self.name {
                        let own = &self.name;
                        return Err(format!(
                            "they are for the network `{name}`, but this program is `{own}`"
                        ));
                    }
                    file.clone_into(&mut self.file);
                }
                ("size", &[name, value]) => {
                    self.sizes.push((name.to_string(), number(value)?));
                }
                ("kind", &[name, ranks]) => {
                    self.end_members(last)?;
                    last = Last::Kind(self.kind_named(name)?, sequence(ranks)?, None);
                }
                ("modules", &[kind, within]) => {
                    self.end_members(last)?;
                    last = Last::Modules(kind.to_string(), sequence(within)?, None);
                }
                ("names", words) => match &mut last {
                    Last::Kind(.., names @ None) | Last::Modules(.., names @ None) => {
                        *names = Some(name_table(words)?);
                    }
                    _ => return Err("`names` must follow `kind` or `modules`".into()),
                },
                ("place", &[line, column]) => {
                    let Last::Kind(kind, ..) = last else {
                        return Err("`place` must follow `kind`".into());
                    };
                    self.place(Kind::of_number(kind), line, column);
                }
                ("argument", &[parameter, ref values @ ..]) => {
                    let Last::Kind(kind, ..) = last else {
                        return Err("`argument` must follow `kind`".into());
                    };
                    let mut known = self.kinds[kind].arguments.iter();
                    if !known.any(|(name, _)| name == parameter) {
                        let name = &self.kinds[kind].name;
                        return Err(format!(
                            "the kind `{name}` of this program has no parameter `{parameter}`: {AGAIN}"
                        ));
                    }
                    let values = values.iter().map(|value| value.to_string());
                    arguments.push((kind, parameter.to_string(), values.collect()));
                }
                ("inside", &[modules]) => {
                    let Last::Kind(kind, ..) = last else {
                        return Err("`inside` must follow `kind`".into());
                    };
                    inside.push((kind, modules.to_string()));
                }
                ("channels", &[from_kind, from_port, to_kind, to_port, token, ref rest @ ..]) => {
                    self.end_members(last)?;
                    last = Last::Channels;
                    let &[
                        capacity,
                        initial,
                        flow,
                        from_index,
                        to_index,
                        from_slot,
                        to_slot,
                        line,
                        column,
                    ] = rest
                    else {
                        return Err("`channels` needs 14 words".into());
                    };
                    let channels = Channels {
                        from: self.port_named(from_kind, from_port)?,
                        to: self.port_named(to_kind, to_port)?,
                        capacity: number(capacity)?,
                        from_index,
                        to_index,
                        from_slot,
                        to_slot,
                        line,
                        column,
                    };
                    let way = Way {
                        initial: number(initial)?,
                        is_flow: match flow {
                            "flow" => true,
                            "plain" => false,
                            _ => return Err(format!("`{flow}` is neither `plain` nor `flow`")),
                        },
                    };
                    self.add_named(token, channels, way)?;
                }
                ("tag", &[tag]) => {
                    if !matches!(last, Last::Channels) {
                        return Err("`tag` must follow `channels`".into());
                    }
                    self.tag(number(tag)?);
                }
                (keyword, words) => {
                    let count = words.len();
                    return Err(format!(
                        "a statement `{keyword}` with {count} words does not exist in version \
                         {VERSION}"
                    ));
                }
            }
        }
        self.end_members(last)?;
        for (kind, modules) in inside {
            self.inside(Kind::of_number(kind), &modules);
        }
        for (kind, parameter, values) in arguments {
            let words: Vec<&str> = values.iter().map(|value| &**value).collect();
            let values = match *words {
                ["same", value] => Values::Same(value),
                ["runs", runs] => Values::Runs(runs),
                ["listed", ref values @ ..] => Values::Listed(values),
                _ => return Err("expected `same`, `runs` or `listed` and the values".into()),
            };
            self.arguments(Kind::of_number(kind), &parameter, values);
        }
        Ok(())
    }

    /// Removes all processes, modules and channels.
    fn clear(&mut self) {
        (self.processes, self.channels) = (0, 0);
        self.modules.clear();
        self.classes.clear();
        self.sizes.clear();
        for kind in &mut self.kinds {
            kind.names = NameTable::Listed(Vec::new());
            kind.ranks = Sequence::default();
            kind.modules = Sequence::default();
            kind.line = Sequence::default();
            kind.column = Sequence::default();
            for (_, values) in &mut kind.arguments {
                *values = Column::Listed(Vec::new());
            }
        }
    }

    /// Stores the processes or modules of the statements `kind` or `modules` and `names`.
    fn end_members(&mut self, last: Last) -> Result<(), String> {
        match last {
            Last::Nothing | Last::Channels => {}
            Last::Kind(kind, ranks, Some(names)) => {
                let name = self.kinds[kind].name.clone();
                if !self.kinds[kind].ranks.is_empty() {
                    return Err(format!("the kind `{name}` occurs twice"));
                }
                self.count_members(&name, &names, &ranks);
                (self.kinds[kind].ranks, self.kinds[kind].names) = (ranks, names);
            }
            Last::Modules(kind, within, Some(names)) => self.add_modules(&kind, names, within),
            Last::Kind(..) | Last::Modules(..) => return Err("expected `names`".into()),
        }
        Ok(())
    }

    fn kind_named(&self, name: &str) -> Result<usize, String> {
        let found = self.kinds.iter().position(|kind| kind.name == name);
        found.ok_or_else(|| format!("this program has no kind `{name}`: {AGAIN}"))
    }

    fn port_named(&self, kind: &str, port: &str) -> Result<(Kind, usize), String> {
        let number = self.kind_named(kind)?;
        let ports = &self.kinds[number].ports;
        let found = ports.iter().position(|own| own == port);
        let none = || format!("the kind `{kind}` of this program has no port `{port}`: {AGAIN}");
        Ok((Kind::of_number(number), found.ok_or_else(none)?))
    }

    fn add_named(&mut self, token: &str, channels: Channels<'_>, way: Way) -> Result<(), String> {
        let known = self.tokens.iter().find(|known| known.name == token);
        let none = || format!("no channel of this program carries `{token}`: {AGAIN}");
        let add = Arc::clone(&known.ok_or_else(none)?.add);
        add(self, channels, way)
    }
}

/// Sizes of the tables that `main` has read.
static SIZES: OnceLock<Vec<(String, usize)>> = OnceLock::new();

/// Returns a size of the structure of the network that [`main`](crate::main) runs, such as the
/// number of workers of a farm. Generated wiring calls it. The result is `default`, unless `main`
/// has read other tables: see [`Network::read_tables`].
///
/// # Panics
/// Panics if these tables do not have the size. The network then has another structure than the one
/// that the program was built for.
pub fn size(name: &str, default: usize) -> usize {
    let Some(sizes) = SIZES.get() else {
        return default;
    };
    let found = sizes.iter().find(|(own, _)| own == name);
    let Some(&(_, size)) = found else {
        panic!(
            "the network has no {name}: with these sizes, its structure is not the one that the \
             program was built for"
        );
    };
    size
}

/// Help if the program and its tables come from different graphs.
const AGAIN: &str = "write the wiring from the graph that the tables come from (`graphmap run \
                     GRAPH --no-run` does), and build the program again";

/// The statement to which the next ones belong.
enum Last {
    Nothing,
    Channels,
    /// Number of the kind, and ranks and names of its members.
    Kind(usize, Sequence, Option<NameTable>),
    /// Kind of the modules, the modules around them, and their names.
    Modules(String, Sequence, Option<NameTable>),
}

fn number<N: FromStr>(word: &str) -> Result<N, String> {
    let wrong = |_| format!("`{word}` is not a number, or too large");
    word.parse().map_err(wrong)
}

fn sequence(word: &str) -> Result<Sequence, String> {
    let wrong = |error| format!("invalid sequence `{word}`: {error}");
    word.parse().map_err(wrong)
}

/// Returns the names of a statement: `listed NAME ..`, `pattern TEXT NUMBERS ..`, or
/// `mixed COUNT TEXT .. WHICH TEXT NUMBERS ..`.
fn name_table(words: &[&str]) -> Result<NameTable, String> {
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_string()).collect();
    let pattern = |words: &[&str]| {
        let (pairs, []) = words.as_chunks() else {
            return Err("a text of a pattern has no numbers".to_string());
        };
        let parts = pairs
            .iter()
            .map(|&[text, numbers]| Ok((text.to_string(), sequence(numbers)?)));
        parts.collect()
    };
    match *words {
        ["listed", ref names @ ..] => Ok(NameTable::Listed(texts(names))),
        ["pattern", ref parts @ ..] => Ok(NameTable::Pattern(pattern(parts)?)),
        ["mixed", count, ref rest @ ..] => {
            let split = rest.split_at_checked(number(count)?);
            let Some((bases, &[which, ref parts @ ..])) = split else {
                return Err("there are fewer texts than stated".into());
            };
            let which = sequence(which)?;
            Ok(NameTable::Mixed(texts(bases), which, pattern(parts)?))
        }
        _ => Err("expected `listed`, `pattern` or `mixed`".into()),
    }
}

struct Statement<'t> {
    keyword: &'t str,
    words: Vec<Cow<'t, str>>,
}

/// The statements of a text that were not read yet.
struct Statements<'t> {
    rest: &'t str,
    /// Line of the rest, from 1.
    line: usize,
}

impl<'t> Statements<'t> {
    /// Returns the next statement, or `None` at the end of the text.
    fn next(&mut self) -> Result<Option<Statement<'t>>, String> {
        self.skip_spaces();
        if self.rest.is_empty() {
            return Ok(None);
        }
        let keyword = self.plain();
        if keyword.is_empty() {
            return Err("expected a keyword".into());
        }
        let mut words = Vec::new();
        loop {
            self.skip_spaces();
            match self.rest.chars().next() {
                Some(';') => {
                    self.rest = &self.rest[1..];
                    return Ok(Some(Statement { keyword, words }));
                }
                Some('"') => words.push(self.quoted()?),
                Some(c) if is_plain(c) => words.push(self.plain().into()),
                Some(c) => return Err(format!("unexpected character {c:?}")),
                None => return Err(format!("expected `;` after `{keyword}`")),
            }
        }
    }

    fn skip_spaces(&mut self) {
        let start = self.rest.trim_start();
        let spaces = &self.rest[..self.rest.len() - start.len()];
        self.line += spaces.matches('\n').count();
        self.rest = start;
    }

    fn plain(&mut self) -> &'t str {
        let end = self.rest.find(|c| !is_plain(c)).unwrap_or(self.rest.len());
        let word;
        (word, self.rest) = self.rest.split_at(end);
        word
    }

    /// Returns a word in quotation marks. `\"` and `\\` are these characters, and `\u{A}` is the
    /// character with this hexadecimal number.
    fn quoted(&mut self) -> Result<Cow<'t, str>, String> {
        const OPEN: &str = "a word in quotation marks does not end";
        let mut rest = &self.rest[1..];
        let mut word = Cow::Borrowed("");
        loop {
            let end = rest.find(['"', '\\']).ok_or(OPEN)?;
            match &mut word {
                Cow::Borrowed("") => word = Cow::Borrowed(&rest[..end]),
                word => word.to_mut().push_str(&rest[..end]),
            }
            self.line += rest[..end].matches('\n').count();
            let escape = &rest[end + 1..];
            if rest[end..].starts_with('"') {
                self.rest = escape;
                return Ok(word);
            }
            let c = escape.chars().next().ok_or(OPEN)?;
            let (c, length) = match c {
                '"' | '\\' => (c, 1),
                _ => escape
                    .strip_prefix("u{")
                    .and_then(|number| {
                        let end = number.find('}')?;
                        let code = u32::from_str_radix(&number[..end], 16).ok()?;
                        Some((char::from_u32(code)?, end + 3))
                    })
                    .ok_or("unknown escape: expected \\\", \\\\ or \\u{NUMBER}")?,
            };
            word.to_mut().push(c);
            rest = &escape[length..];
        }
    }
}

/// Returns true for the characters of a word without quotation marks.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '*' | '-' | '_' | '.' | ':')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Result<Vec<Vec<String>>, String> {
        let mut statements = Statements {
            rest: text,
            line: 1,
        };
        let mut all = Vec::new();
        while let Some(Statement { keyword, words }) = statements.next()? {
            let words = words.iter().map(|word| word.to_string());
            all.push([keyword.to_string()].into_iter().chain(words).collect());
        }
        Ok(all)
    }

    #[test]
    fn statements_are_split_into_words() {
        let text = "a 0+1*4 \"\" \"x y\";b;\n c \"\\\"\\\\\\u{a}\u{e9}\" types::Task;";
        let expected: [&[&str]; 3] = [
            &["a", "0+1*4", "", "x y"],
            &["b"],
            &["c", "\"\\\n\u{e9}", "types::Task"],
        ];
        assert_eq!(words(text).unwrap(), expected);
        for (wrong, why) in [
            ("a", "expected `;` after `a`"),
            ("a \"b;", "does not end"),
            ("a \"b\\", "does not end"),
            ("a \"\\n\";", "unknown escape"),
            ("a \"\\u{d800}\";", "unknown escape"),
            ("a 1,2;", "unexpected character ','"),
            (";", "expected a keyword"),
        ] {
            let error = words(wrong).unwrap_err();
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }
}
