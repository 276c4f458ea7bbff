//! The name of a fiber at the top of its stack, where the handler of a fault finds it.

use std::fmt::{self, Display, Write};

/// How many bytes it takes, a multiple of a line of a cache.
pub(crate) const BYTES: usize = 64;

/// A name of at most 63 bytes; of a longer one the beginning.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Label {
    len: u8,
    text: [u8; BYTES - 1],
}

impl Label {
    pub(crate) fn new(name: &dyn Display) -> Self {
        let mut label = Label {
            len: 0,
            text: [0; BYTES - 1],
        };
        // It fails where a text was cut, or says so itself: what there is of it is the name.
        let _ = write!(label, "{name}");
        label
    }

    /// The text, whatever the bytes are.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.text[..self.text.len().min(self.len.into())]
    }
}

impl Write for Label {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let used = usize::from(self.len);
        let mut fits = text.len().min(self.text.len() - used);
        while !text.is_char_boundary(fits) {
            fits -= 1;
        }
        self.text[used..used + fits].copy_from_slice(&text.as_bytes()[..fits]);
        // At most 63.
        self.len += fits as u8;
        match fits == text.len() {
            true => Ok(()),
            false => Err(fmt::Error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: impl Display) -> String {
        String::from_utf8(Label::new(&name).bytes().to_vec()).unwrap()
    }

    #[test]
    fn a_name_is_cut_between_characters() {
        assert_eq!(text(""), "");
        assert_eq!(text(format_args!("rank {} (worker)", 7)), "rank 7 (worker)");
        let long = "x".repeat(62);
        assert_eq!(text(&long), long);
        assert_eq!(text(format!("{long}ä")), long);
        assert_eq!(text(format!("{long}yz")), format!("{long}y"));
        assert_eq!(size_of::<Label>(), BYTES);
    }

    #[test]
    fn what_follows_a_cut_is_left_out() {
        let name = format_args!("{}{}{}", "x".repeat(62), "ä", "b");
        assert_eq!(text(name), "x".repeat(62));
    }

    #[test]
    fn any_bytes_can_be_read() {
        let label = Label {
            len: 255,
            text: [255; BYTES - 1],
        };
        assert_eq!(label.bytes().len(), 63);
    }
}
