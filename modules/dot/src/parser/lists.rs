//! Lists of attributes: `[name = value, ..]`.

use super::{Broken, MOST_ERRORS, Parser, Read};
use crate::errors;
use crate::events::{Attribute, Events};
use crate::token::TokenKind;
use graphmap_kpn::source::Span;

impl<E: Events> Parser<'_, '_, E> {
    /// Parses all lists `[..]` that follow each other into `attributes`, which is cleared first. If
    /// none follows, `attributes` stays empty. Continues in the list after an error.
    ///
    /// # Errors
    /// Returns [`Broken`], after a report, if a list seems to have ended without `]`, or after too
    /// many errors.
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

    /// Skips the broken attribute, and the `,` or `;` after it. Returns false if the list itself
    /// seems to have ended.
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
                let diagnostic = errors::unclosed_bracket(opener, self.here());
                return Err(self.report(diagnostic));
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
        // The number and the name are two words.
        split
            .into_iter()
            .for_each(|diagnostic| self.diagnostics.push(diagnostic));
        if !self.at(TokenKind::Equals) {
            let statement = new_line && self.at(TokenKind::Semicolon);
            if statement || ends_list(self.token.kind) {
                let diagnostic = errors::unclosed_bracket(opener, name.span.to(self.here()));
                self.report(diagnostic);
                // This is a statement after the list, so the list ends here.
                return Err(self.leave_list());
            }
            return Err(match self.token.kind {
                TokenKind::Stray | TokenKind::Plus | TokenKind::Colon => self.unexpected("`=`"),
                _ => {
                    let diagnostic = errors::no_value(self.text, name.span, self.here());
                    self.report(diagnostic)
                }
            });
        }
        self.advance();
        if self.at(TokenKind::CloseBracket) {
            let diagnostic = errors::no_value(self.text, name.span, self.here());
            return Err(self.report(diagnostic));
        }
        if matches!(
            self.token.kind,
            TokenKind::UnclosedString | TokenKind::UnclosedHtml
        ) {
            // The unclosed string extends to the end of its line, and contains the `]`.
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

    /// Reports a value that needs quotes, and skips the rest of it. `word` follows the value
    /// directly, and is a part of it unless an attribute begins there.
    fn unquoted(&mut self, value: Span, word: Span) -> Broken {
        let mut whole = value.to(word);
        while self.here().start == whole.end && (self.is_id() || self.is_in_words()) {
            whole = whole.to(self.advance());
        }
        let diagnostic = errors::unquoted(self.text, value, whole);
        self.report(diagnostic)
    }

    /// Returns the value without quotes that ends where the current token begins. Returns `None` if
    /// there is no attribute yet, or if the value of the last one does not end there or has quotes.
    fn value_before(&self) -> Option<Span> {
        let value = self.attributes.last()?.value.span;
        let touches = value.end == self.here().start;
        let quoted = self.text.raw(value).ends_with(['"', '>']);
        (touches && !quoted).then_some(value)
    }

    /// Returns true if the current token is a stray character, `+` or `:`, which often occur in the
    /// middle of a word: `std::vec::Vec`, `a-b`.
    fn is_in_words(&self) -> bool {
        use TokenKind::{Colon, Plus, Stray};
        matches!(self.token.kind, Stray | Plus | Colon)
    }

    /// Skips each `;` at the end of a statement that was read as a part of a list. Records that the
    /// list has ended, so that parsing continues outside of it.
    fn leave_list(&mut self) -> Broken {
        while self.at(TokenKind::Semicolon) {
            self.advance();
        }
        // The next statement is outside of the list.
        self.left_list = true;
        Broken
    }
}

/// Returns true if a token cannot be in a list of attributes, so that the `]` must be missing
/// before it: a brace, an edge operator, a `[` or the end of the text.
fn ends_list(kind: TokenKind) -> bool {
    use TokenKind::{Arrow, CloseBrace, End, Line, OpenBrace, OpenBracket};
    matches!(
        kind,
        End | CloseBrace | OpenBrace | Arrow | Line | OpenBracket
    )
}
