//! Paths as they are told.

use crate::visible;
use graphmap_binding::shell_quoted;
use std::path::{Component, Path, PathBuf};

/// The way from a folder, which need not be there, to another; its whole path where there is no short
/// one. Empty where they are the same.
pub(crate) fn way(from: &Path, to: &Path) -> PathBuf {
    let absolute = |path: &Path| {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        plain(&path)
    };
    let (from, to) = (absolute(from), absolute(to));
    let shared = from.components().zip(to.components());
    let shared = shared.take_while(|(a, b)| a == b).count();
    // Nothing but the root in common: the one has nothing to do with the other.
    if shared < 2 {
        return to;
    }
    let mut way: PathBuf = from.components().skip(shared).map(|_| "..").collect();
    way.extend(to.components().skip(shared));
    way
}

/// `graphs/farm/../farm.dot` as `graphs/farm.dot`.
pub(crate) fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir && plain.file_name().is_some() {
            plain.pop();
        } else {
            plain.push(part);
        }
    }
    plain
}

/// A path as it is told on a line of its own.
pub(crate) fn shown(path: &Path) -> String {
    visible::name(&path.display().to_string()).into_owned()
}

/// A path as a word for a shell of POSIX, which takes it for a file in any case.
pub(crate) fn word(path: &Path) -> String {
    let text = path.display().to_string();
    let text = match text.starts_with('-') {
        true => format!("./{text}"),
        false => text,
    };
    shell_quoted(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_between_folders() {
        for (from, to, expected) in [
            ("/home/me/a", "/home/me/a", ""),
            ("/home/me/a/b", "/home/me", "../.."),
            ("/home/me", "/home/me/a/../c", "c"),
            ("/home/me", "/srv/x", "/srv/x"),
        ] {
            let way = way(Path::new(from), Path::new(to));
            assert_eq!(way, Path::new(expected), "{from} {to}");
        }
    }

    #[test]
    fn words_of_a_shell() {
        for (path, expected) in [
            ("farm.dot", "farm.dot"),
            ("a/b-c_1.dot", "a/b-c_1.dot"),
            ("my farm \u{fc}.dot", "'my farm \u{fc}.dot'"),
            ("it's.dot", r"'it'\''s.dot'"),
            ("$(x).dot", "'$(x).dot'"),
            ("-n.dot", "./-n.dot"),
            ("", "''"),
        ] {
            assert_eq!(word(Path::new(path)), expected);
        }
    }
}
