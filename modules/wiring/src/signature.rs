//! Signatures describe the ports of the kinds in wiring code. The next generation compares them
//! with the new ports, to find functions that no longer fit.
//!
//! A signature is a comment line `// kind "inTask": input "in" "types::Task", select ...` for each
//! kind, at the top of the generated file.

use std::fmt::Write;

const BEGIN: &str = "kind ";

/// Signature of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    pub(crate) kind: String,
    pub(crate) ports: Vec<PortSignature>,
}

/// Port of a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PortSignature {
    /// Direction or bundle, as [`PortModel::word`](crate::context::PortModel::word).
    pub(crate) word: String,
    pub(crate) name: String,
    pub(crate) rust_type: String,
}

/// Returns the signature of a kind, without the `//` of the comment.
pub(crate) fn print(kind: &str, ports: &[PortSignature]) -> String {
    let mut line = format!("{BEGIN}{}:", quote(kind));
    for (i, port) in ports.iter().enumerate() {
        let comma = if i > 0 { "," } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(
            line,
            "{comma} {} {} {}",
            port.word,
            quote(&port.name),
            quote(&port.rust_type)
        );
    }
    line
}

/// Returns the signatures in a generated file, in order. Skips all other lines, and comments that
/// are not a valid signature.
pub(crate) fn read(code: &str) -> Vec<Signature> {
    code.lines()
        .filter_map(|line| parse(line.strip_prefix("// ")?))
        .collect()
}

fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            // Direction marks and line ends could end or disguise the comment.
            _ if c.is_alphanumeric() || c.is_ascii_graphic() || c == ' ' => quoted.push(c),
            _ => quoted.extend(c.escape_unicode()),
        }
    }
    quoted.push('"');
    quoted
}

fn parse(line: &str) -> Option<Signature> {
    let mut rest = line.strip_prefix(BEGIN)?;
    let kind = unquote(&mut rest)?;
    rest = rest.strip_prefix(':')?;
    let mut ports = Vec::new();
    while !rest.is_empty() {
        if !ports.is_empty() {
            rest = rest.strip_prefix(',')?;
        }
        let (word, after) = rest.strip_prefix(' ')?.split_once(' ')?;
        rest = after;
        let name = unquote(&mut rest)?;
        rest = rest.strip_prefix(' ')?;
        ports.push(PortSignature {
            word: word.to_owned(),
            name,
            rust_type: unquote(&mut rest)?,
        });
    }
    Some(Signature { kind, ports })
}

/// Reads a quoted text at the start of `rest`, and removes it from `rest`. Returns `None`, without
/// a change of `rest`, if there is no valid one.
fn unquote(rest: &mut &str) -> Option<String> {
    let mut text = String::new();
    let mut chars = rest.strip_prefix('"')?.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => {
                *rest = &rest[at + 2..];
                return Some(text);
            }
            '\\' => match chars.next()?.1 {
                'u' => {
                    let digits = chars.as_str().strip_prefix('{')?.split_once('}')?.0;
                    text.push(char::from_u32(u32::from_str_radix(digits, 16).ok()?)?);
                    chars.nth(digits.len() + 1)?;
                }
                c => text.push(c),
            },
            c => text.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_printed_is_read(
            kind in "\\PC{0,6}|[a\"\\\\\n:]{0,5}",
            ports in prop::collection::vec(("\\PC{0,4}|[a\"\\\\\u{202e}, ]{0,4}", "[a-c<> ,]{1,5}"), 0..4)
        ) {
            let ports: Vec<PortSignature> = ports
                .into_iter()
                .map(|(name, rust_type)| PortSignature { word: "select".into(), name, rust_type })
                .collect();
            let line = print(&kind, &ports);
            prop_assert!(!line.contains('\n'));
            let code = format!("//! head\n// {line}\nuse x;\n");
            prop_assert_eq!(read(&code), vec![Signature { kind, ports }]);
        }

        #[test]
        fn reading_never_panics(line in "// kind \\PC{0,20}|// kind [\"\\\\u{}:, a1]{0,20}") {
            let _ = read(&line);
        }
    }
}
