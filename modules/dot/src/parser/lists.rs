//! Lists of attributes: `[name = value, ..]`.

use super::{Broken, MOST_ERRORS, Parser, Read};
use crate::events::{Attribute, Events};
use crate::mistakes;
use crate::token::TokenKind;
use graphmap_kpn::source::Span;

impl<E: Events> Parser<'_, '_, E> {
    /// `[..]`, once or more. A mistake inside is reported and the list read on behind it.
    pub(super) fn attributes(&mut self) -> Read<()> {
        self.attributes.clear();
        while self.at(TokenKind::OpenBracket) {
            if self.quick_list() {
                continue;
            }
            let opener = self.advance();
            while !self.at(TokenKind::CloseBracket) {
                let read = self.attribute(opener);
                if read.is_err() && (self.errors >= MOST_ERRORS || !self.recover_in_list()) {
                    return Err(Broken);
                }
            }
            self.advance();
        }
        Ok(())
    }

    /// Goes behind the broken attribute; false where the list itself seems to be over.
    fn recover_in_list(&mut self) -> bool {
        let mut progressed = false;
        if std::mem::take(&mut self.left_list) {
            return false;
        }
        loop {
            match self.token.kind {
                TokenKind::CloseBracket => return true,
                TokenKind::Comma | TokenKind::Semicolon => {
                    self.advance();
                    return true;
                }
                kind if ends_list(kind) => return false,
                _ if self.token.first_of_line && progressed && self.is_id() => return true,
                _ => {
                    self.advance();
                    progressed = true;
                }
            }
        }
    }

    fn attribute(&mut self, opener: Span) -> Read<()> {
        let new_line = self.token.first_of_line;
        let value = self.value_before();
        if !self.is_id() {
            if let Some(value) = value
                && self.is_in_words()
            {
                return Err(self.unquoted(value, value));
            }
            if ends_list(self.token.kind) {
                let finding = mistakes::unclosed_bracket(opener, self.here());
                return Err(self.report(finding));
            }
            return Err(self.unexpected("the name of an attribute or `]`"));
        }
        let split = self.split.take();
        let name = self.id("the name of an attribute")?;
        if let Some(value) = value
            && !self.at(TokenKind::Equals)
        {
            return Err(self.unquoted(value, name.span));
        }
        // It is two words.
        split
            .into_iter()
            .for_each(|finding| self.findings.push(finding));
        if !self.at(TokenKind::Equals) {
            let statement = new_line && self.at(TokenKind::Semicolon);
            if statement || ends_list(self.token.kind) {
                let finding = mistakes::unclosed_bracket(opener, name.span.to(self.here()));
                self.report(finding);
                // A statement follows: give the list up at its end.
                return Err(self.leave_list());
            }
            return Err(match self.token.kind {
                TokenKind::Stray | TokenKind::Plus | TokenKind::Colon => self.unexpected("`=`"),
                _ => {
                    let finding = mistakes::no_value(self.text, name.span, self.here());
                    self.report(finding)
                }
            });
        }
        self.advance();
        if self.at(TokenKind::CloseBracket) {
            let finding = mistakes::no_value(self.text, name.span, self.here());
            return Err(self.report(finding));
        }
        if matches!(
            self.token.kind,
            TokenKind::UnclosedString | TokenKind::UnclosedHtml
        ) {
            // It swallows the rest of its line, and the `]` with it.
            self.unexpected("the value of the attribute");
            self.advance();
            return Err(self.leave_list());
        }
        let value = match self.token.kind {
            TokenKind::Number => {
                let (number, split) = self.number();
                self.split = split;
                number
            }
            _ => self.id("the value of the attribute")?,
        };
        self.attributes.push(Attribute { name, value });
        if matches!(self.token.kind, TokenKind::Comma | TokenKind::Semicolon) {
            self.advance();
        }
        Ok(())
    }

    /// A word that follows a value at once, and begins no attribute, is the rest of that value, up to where one ends.
    fn unquoted(&mut self, value: Span, word: Span) -> Broken {
        let mut whole = value.to(word);
        while self.here().start == whole.end && (self.is_id() || self.is_in_words()) {
            whole = whole.to(self.advance());
        }
        let finding = mistakes::unquoted(self.text, value, whole);
        self.report(finding)
    }

    /// The value without quotes that ends where this token begins.
    fn value_before(&self) -> Option<Span> {
        let value = self.attributes.last()?.value.span;
        let touches = value.end == self.here().start;
        let quoted = self.text.raw(value).ends_with(['"', '>']);
        (touches && !quoted).then_some(value)
    }

    /// Whether people write what stands here in the middle of a word: `std::vec::Vec`, `a-b`.
    fn is_in_words(&self) -> bool {
        use TokenKind::{Colon, Plus, Stray};
        matches!(self.token.kind, Stray | Plus | Colon)
    }

    /// Passes the rest of a statement that was taken for a part of a list.
    fn leave_list(&mut self) -> Broken {
        while self.at(TokenKind::Semicolon) {
            self.advance();
        }
        // The statement that follows begins outside of the list.
        self.left_list = true;
        Broken
    }
}

/// Whether a token cannot stand in a list of attributes, so that a `]` must be missing.
fn ends_list(kind: TokenKind) -> bool {
    use TokenKind::{Arrow, CloseBrace, End, Line, OpenBrace, OpenBracket};
    matches!(
        kind,
        End | CloseBrace | OpenBrace | Arrow | Line | OpenBracket
    )
}
