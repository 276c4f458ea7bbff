//! Names of processes, told by how they are made where they are made alike: a table of a hundred
//! thousand names would be most of the code.

use crate::sequence;
use serde::Serialize;

/// Names of the processes of a kind, or of modules: texts and numbers in turn where all are made alike, else a
/// list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NamesModel {
    /// Texts that names begin with, where not all begin alike.
    pub bases: Vec<String>,
    /// Which of them each name begins with, a sequence; empty where all begin alike.
    pub which: String,
    /// Texts, each followed by a number; empty where the names are listed.
    pub parts: Vec<NamePart>,
    /// The names, where there are no parts.
    pub list: Vec<String>,
}

/// A text that all of the names have, and the numbers that follow it in each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NamePart {
    /// The text.
    pub text: String,
    /// The numbers, a sequence.
    pub numbers: String,
}

/// The most texts that names of a kind may begin with and not be listed.
const MOST_BASES: usize = 16;

/// How a skeleton sees so many names, of the processes of a kind or of modules. Linear in their number.
pub(crate) fn names<'a, I: Iterator<Item = &'a str>>(
    count: usize,
    names: impl Fn() -> I,
) -> NamesModel {
    let listed = || NamesModel {
        bases: Vec::new(),
        which: String::new(),
        parts: Vec::new(),
        list: names().map(str::to_owned).collect(),
    };
    if count < 2 {
        return listed();
    }
    let mut bases: Vec<&str> = Vec::new();
    let mut which: Vec<u32> = Vec::with_capacity(count);
    let mut texts: Vec<&str> = Vec::new();
    let mut numbers: Vec<Vec<u32>> = Vec::new();
    for (i, name) in names().enumerate() {
        // Of no parts, where all others have one at least.
        if name.is_empty() {
            return listed();
        }
        let mut parts = 0;
        for part in name_parts(name) {
            let Some((text, number)) = part else {
                return listed();
            };
            if i == 0 {
                texts.push(text);
                numbers.push(Vec::with_capacity(count));
            }
            if parts == 0 {
                let base = bases.iter().position(|&base| base == text);
                let base = base.unwrap_or_else(|| {
                    bases.push(text);
                    bases.len() - 1
                });
                which.push(base as u32);
            } else if texts.get(parts) != Some(&text) {
                return listed();
            }
            numbers[parts].push(number);
            parts += 1;
        }
        if parts != texts.len() || bases.len() > MOST_BASES {
            return listed();
        }
    }
    // A list of few names says more than how they are made of one text each.
    if 2 * bases.len() > count && bases.len() > 1 {
        return listed();
    }
    let part = |(text, numbers): (&str, Vec<u32>)| NamePart {
        text: text.to_owned(),
        numbers: sequence::encode(&numbers),
    };
    let mut parts: Vec<NamePart> = texts.into_iter().zip(numbers).map(part).collect();
    let mixed = bases.len() > 1;
    if mixed {
        parts[0].text.clear();
    }
    NamesModel {
        bases: bases
            .into_iter()
            .filter(|_| mixed)
            .map(str::to_owned)
            .collect(),
        which: match mixed {
            true => sequence::encode(&which),
            false => String::new(),
        },
        parts,
        list: Vec::new(),
    }
}

/// A name cut after each of its numbers. `None` for what is no text with a plain number: `a`, `a01`,
/// or a number of 2^32 or more.
fn name_parts(name: &str) -> impl Iterator<Item = Option<(&str, u32)>> {
    let mut rest = name;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let from = rest
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(rest.len());
        let digits = rest[from..].bytes().take_while(u8::is_ascii_digit).count();
        let (text, number) = (&rest[..from], &rest[from..from + digits]);
        rest = &rest[from + digits..];
        let plain = number == "0" || !number.starts_with('0');
        Some(
            number
                .parse()
                .ok()
                .filter(|_| plain)
                .map(|number| (text, number)),
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::Graph;

    #[test]
    fn a_process_without_a_name_is_listed() {
        for names in [["", "w1"], ["w1", ""], ["", "w"]] {
            let mut graph = Graph::new("nameless");
            for name in names {
                graph.channel(name, "sum").kind(name, "w");
            }
            let network = graph.network();
            let kind = network.kinds.values().next().unwrap();
            let model = super::names(kind.members.len(), || {
                kind.members.iter().map(|&p| network.process_name(p))
            });
            assert_eq!(model.list, names);
        }
    }
}
