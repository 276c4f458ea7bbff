//! Versions of file formats.
//!
//! The version of a format is an integer from 1. It grows only if programs for the previous version
//! would misread the format. A reader accepts every version up to the newest that it knows. It
//! rejects all others before it interprets the rest of the file.

use crate::codes::OTHER_VERSION;
use crate::diagnostic::Diagnostic;

/// Checks the version that a file states. Returns `None` for versions from 1 to `newest`, and
/// otherwise an error without a position, because the file must not be read.
///
/// `file` names the file in the message ("the network"). `statement` is the text before the version
/// in this format (`"graphmap": `). `newest` is the newest version that is read.
///
/// `stated` is `None` if the file states no version. If the version is optional, do not call this
/// function for files without a version.
pub fn refused(
    file: &str,
    statement: &str,
    stated: Option<u64>,
    newest: u32,
) -> Option<Diagnostic> {
    let message = match stated {
        Some(version) if (1..=u64::from(newest)).contains(&version) => return None,
        Some(version) => format!("{file} is in version {version} of its format"),
        None => format!("{file} does not state the version of its format"),
    };
    let help = match stated {
        Some(version) if version > u64::from(newest) => {
            format!("update graphmap: this one reads versions up to {newest}")
        }
        _ => format!("state version {newest}: `{statement}{newest}`"),
    };
    Some(Diagnostic::error(OTHER_VERSION, message).help(help))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_from_one_to_the_newest_are_read() {
        let refused = |stated| refused("the file", "version=", stated, 3);
        for version in 1..=3 {
            assert_eq!(refused(Some(version)), None);
        }
        let newer = refused(Some(4)).unwrap();
        assert_eq!(newer.message, "the file is in version 4 of its format");
        assert_eq!(
            newer.help,
            ["update graphmap: this one reads versions up to 3"]
        );
        let help = ["state version 3: `version=3`"];
        assert_eq!(refused(Some(0)).unwrap().help, help);
        let silent = refused(None).unwrap();
        assert_eq!(
            silent.message,
            "the file does not state the version of its format"
        );
        assert_eq!(silent.help, help);
    }
}
