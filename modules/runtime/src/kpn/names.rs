//! The names of the processes of a kind, and the search for a process by its name.

use graphmap_executor::sequence::Sequence;

pub(super) enum NameTable {
    Listed(Vec<String>),
    Pattern(Vec<(String, Sequence)>),
    Mixed(Vec<String>, Sequence, Vec<(String, Sequence)>),
}

impl NameTable {
    /// Returns the name of a member. If `index` is too high, the name is empty or lacks its
    /// numbers.
    pub(super) fn get(&self, index: usize) -> String {
        let (mut name, parts) = match self {
            NameTable::Listed(names) => return names.get(index).cloned().unwrap_or_default(),
            NameTable::Pattern(parts) => (String::new(), parts),
            NameTable::Mixed(texts, which, parts) => {
                let text = which.get(index).and_then(|which| texts.get(which as usize));
                (text.cloned().unwrap_or_default(), parts)
            }
        };
        for (text, numbers) in parts {
            name.push_str(text);
            if let Some(number) = numbers.get(index) {
                name.push_str(&number.to_string());
            }
        }
        name
    }

    /// Returns true if `name` is the name of the member with this index.
    fn is(&self, index: usize, name: &str) -> bool {
        let (mut rest, parts) = match self {
            NameTable::Listed(names) => return names.get(index).is_some_and(|own| own == name),
            NameTable::Pattern(parts) => (Some(name), parts),
            NameTable::Mixed(texts, which, parts) => {
                let text = which.get(index).and_then(|which| texts.get(which as usize));
                (text.and_then(|text| name.strip_prefix(&**text)), parts)
            }
        };
        for (text, numbers) in parts {
            rest = rest.and_then(|rest| rest.strip_prefix(&**text));
            if let Some(number) = numbers.get(index) {
                rest = rest.and_then(|rest| strip_number(rest, number));
            }
        }
        rest == Some("")
    }

    /// Returns the index of a member that has this name, or `None` if there is none. Names should
    /// be unique. `members` is the number of members.
    pub(super) fn find(&self, name: &str, members: usize) -> Option<usize> {
        let parts = match self {
            NameTable::Listed(names) => return names.iter().position(|own| own == name),
            NameTable::Mixed(..) => return (0..members).find(|&index| self.is(index, name)),
            NameTable::Pattern(parts) => parts,
        };
        let mut rest = name;
        for (text, numbers) in parts {
            rest = rest.strip_prefix(&**text)?;
            if !numbers.is_empty() {
                // The end of the number is unknown if the next text begins with digits.
                let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
                let numbered = (1..=digits).filter_map(|end| rest[..end].parse().ok());
                let mut all = numbered.flat_map(|number| numbers.positions(number));
                return all.find(|&index| self.is(index, name));
            }
        }
        // All members have the same name, so there should be only one.
        (members > 0 && rest.is_empty()).then_some(0)
    }

    /// Returns the number of names, or `None` if it is not limited.
    pub(super) fn len(&self) -> Option<usize> {
        match self {
            NameTable::Listed(names) => Some(names.len()),
            NameTable::Pattern(parts) => shortest(parts),
            NameTable::Mixed(_, which, parts) => {
                let rest = shortest(parts).unwrap_or(usize::MAX);
                Some(which.len().min(rest))
            }
        }
    }
}

/// Returns the length of the shortest sequence that is not empty, or `None` if all sequences are
/// empty.
fn shortest(parts: &[(String, Sequence)]) -> Option<usize> {
    let lengths = parts.iter().map(|part| part.1.len());
    lengths.filter(|&len| len > 0).min()
}

/// Strips this number in decimal notation without leading zeros, and returns the rest of the text.
/// Returns `None` if the text does not begin with the number.
fn strip_number(text: &str, number: u32) -> Option<&str> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    // Further digits belong to the text after the number.
    let digits = digits.min(number.checked_ilog10().unwrap_or(0) as usize + 1);
    let (found, rest) = text.split_at(digits);
    let plain = found == "0" || !found.starts_with('0');
    (plain && found.parse() == Ok(number)).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(text: &str) -> Sequence {
        text.parse().unwrap()
    }

    #[test]
    #[cfg_attr(miri, ignore = "safe code, which takes minutes there")]
    fn names_are_found() {
        let text = |text: &str, numbers: &str| (text.to_string(), sequence(numbers));
        let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_string()).collect();
        for table in [
            NameTable::Listed(texts(&["a", "b1", "b"])),
            NameTable::Pattern(vec![text("w", "1+1*12")]),
            NameTable::Pattern(vec![text("", "7 0 70 700")]),
            NameTable::Pattern(vec![text("cell", "0+0*13+1*11"), text("_", "0+1*13+0*11")]),
            // A digit after a number: `a1` followed by 12 is also `a11` followed by 2.
            NameTable::Pattern(vec![
                text("a", "0+0*9+1*20"),
                text("", "11+1*9+0*20"),
                text("x", ""),
            ]),
            NameTable::Mixed(
                texts(&["left", "right"]),
                sequence("0 1 0 1"),
                vec![text("", "1 1 2 2")],
            ),
        ] {
            let members = table.len().unwrap();
            for index in 0..members {
                let name = table.get(index);
                let found = table.find(&name, members).unwrap();
                assert_eq!(table.get(found), name);
                assert!(table.is(index, &name));
                for wrong in [
                    format!("{name}0"),
                    format!("0{name}"),
                    name.replace('1', "01"),
                ] {
                    let all = (0..members).find(|&index| table.get(index) == wrong);
                    assert_eq!(
                        table.find(&wrong, members).is_some(),
                        all.is_some(),
                        "{wrong}"
                    );
                }
            }
            for nobody in [
                "",
                "w",
                "w0",
                "w13",
                "w01",
                "cell0",
                "cell4294967296_0",
                "left",
            ] {
                assert_eq!(table.find(nobody, members), None, "{nobody}");
            }
        }
    }
}
