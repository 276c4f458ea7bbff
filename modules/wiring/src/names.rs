//! Names of processes. Names with a common pattern are described by the pattern, because a table of
//! a hundred thousand names would be most of the code.

use crate::sequence;
use serde::Serialize;

/// Names of the processes of a kind, or of modules. If all follow the same pattern, they are
/// described by alternating texts and numbers. Otherwise they are a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NamesModel {
    /// First texts of the names, if they differ. Empty if all names begin with the same text.
    pub bases: Vec<String>,
    /// Index in `bases` of the first text of each name, as a sequence. Empty if `bases` is.
    pub which: String,
    /// Texts, each followed by a number. Empty if the names are a list.
    pub parts: Vec<NamePart>,
    /// The names, if there are no parts.
    pub list: Vec<String>,
}

/// A text that all names contain, and the number that follows it in each name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NamePart {
    /// The text. Empty for the first part if `bases` replaces it.
    pub text: String,
    /// The numbers, as a sequence.
    pub numbers: String,
}

/// Maximum number of first texts. Names with more are a list.
const MOST_BASES: usize = 16;

/// Returns the model of the names of the processes of a kind, or of modules. `names` must yield
/// `count` names, the same ones at each call. Linear in `count`.
///
/// The result is a list if there are fewer than two names, or if [`name_parts`] yields `None` or no
/// part for a name. It is also a list if the names differ in the number of their parts, or in a
/// text after the first. First texts may differ, but if there are more than 16 of them, or more
/// than half of `count`, the result is a list.
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
        // An empty name has no parts, and all other names have at least one.
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
    // If most names have a base of their own, a list is clearer.
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

/// Splits a name after each of its numbers, and yields the text before each number with that
/// number. The text may be empty. Yields `None` for a part without a number, such as `a`, with a
/// leading zero, such as `a01`, or with a number of at least 2^32. Yields nothing for an empty
/// name.
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
