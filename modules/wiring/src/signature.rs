//! Signatures: what wiring code says about the ports of its kinds, so that the next generation can
//! tell which functions no longer fit.
//!
//! A signature is a comment line `// kind "inTask": input "in" "types::Task", select ...`, one a
//! kind, in the head of the generated file.

use std::fmt::Write;

const BEGIN: &str = "kind ";

/// One kind of a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    pub(crate) kind: String,
    pub(crate) ports: Vec<PortSignature>,
}

/// One port of a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PortSignature {
    /// Direction or bundle.
    pub(crate) word: String,
    pub(crate) name: String,
    pub(crate) rust_type: String,
}

/// The signature of a kind, without what makes it a comment.
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

/// The signatures in a generated file; lines that are none are passed over.
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
            // Direction marks and line ends would make the comment something else.
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

/// Reads a quoted text and what follows it.
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
