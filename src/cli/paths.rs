//! Formats paths for messages and shells.

use crate::visible;
use graphmap_binding::shell_quoted;
use std::path::{Component, Path, PathBuf};

/// Returns the relative path from one folder, which need not exist, to another. Empty if they are
/// the same. Returns the absolute path if they have only the root in common.
pub(crate) fn way(from: &Path, to: &Path) -> PathBuf {
    let absolute = |path: &Path| {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        plain(&path)
    };
    let (from, to) = (absolute(from), absolute(to));
    let shared = from.components().zip(to.components());
    let shared = shared.take_while(|(a, b)| a == b).count();
    // With only the root in common, the folders are unrelated.
    if shared < 2 {
        return to;
    }
    let mut way: PathBuf = from.components().skip(shared).map(|_| "..").collect();
    way.extend(to.components().skip(shared));
    way
}

/// Returns `graphs/farm/../farm.dot` as `graphs/farm.dot`. The file system is not read, so the
/// result can lead elsewhere if a folder is a symbolic link. A leading `..` stays. The result is
/// empty for a path such as `farm/..`.
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

/// Returns a path as messages show it on a line of its own, with control characters escaped.
pub(crate) fn shown(path: &Path) -> String {
    visible::name(&path.display().to_string()).into_owned()
}

/// Returns a path as a word for a POSIX shell. A command takes it as a file, even if it begins with
/// `-`.
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
