//! Tokens and identifiers of the DOT language.

use graphmap_kpn::source::Span;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// `digraph`, in any case.
    Digraph,
    /// `graph`, in any case.
    Graph,
    /// `node`, in any case.
    Node,
    /// `edge`, in any case.
    Edge,
    /// `strict`, in any case.
    Strict,
    /// `subgraph`, in any case.
    Subgraph,
    /// An unquoted name.
    Name,
    /// A number.
    Number,
    /// A quoted string.
    Quoted {
        /// True if a quote or a line end is escaped in it, so that its value differs from its text.
        escaped: bool,
    },
    /// An HTML string, `<` to the matching `>`.
    Html,
    /// `->`
    Arrow,
    /// `--`
    Line,
    /// `{`
    OpenBrace,
    /// `}`
    CloseBrace,
    /// `[`
    OpenBracket,
    /// `]`
    CloseBracket,
    /// `=`
    Equals,
    /// `,`
    Comma,
    /// `;`
    Semicolon,
    /// `:`
    Colon,
    /// `+`
    Plus,
    /// A character with which no token begins.
    Stray,
    /// A string without its closing quote. It ends at the end of its first line.
    UnclosedString,
    /// An HTML string without its last `>`. It ends at the end of its first line.
    UnclosedHtml,
    /// A `/*` without `*/`. It ends at the end of the text.
    UnclosedComment,
    /// The end of the text.
    End,
}

/// A token: its kind and its range of bytes in its own text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Kind of the token.
    pub kind: TokenKind,
    /// True for the first token of a line.
    pub first_of_line: bool,
    /// Offset of its first byte.
    pub start: u32,
    /// Offset behind its last byte.
    pub end: u32,
}

/// The notation of an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)] // As large as its space in an [`Id`], so that no padding is copied.
pub enum Shape {
    /// A bare word.
    Name,
    /// A number.
    Number,
    /// A quoted string whose value is the text between its quotes.
    Quoted,
    /// A quoted string with escapes, or several strings joined by `+`.
    Composed,
    /// An HTML string.
    Html,
}

/// An identifier in the text. It takes twelve bytes for any length of the identifier.
///
/// [`Text::value`] returns its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id {
    /// Span of the whole identifier, including quotes.
    pub span: Span,
    /// Notation of the identifier.
    pub shape: Shape,
}

/// A text, and the position of its first byte in the source map.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    text: &'a str,
    base: u32,
}

impl<'a> Text<'a> {
    /// Creates a text whose first byte is at the position `base` of the source map.
    pub fn new(text: &'a str, base: u32) -> Text<'a> {
        Text { text, base }
    }

    /// Returns the whole text.
    pub fn as_str(self) -> &'a str {
        self.text
    }

    /// Returns the position of the first byte in the source map.
    pub fn base(self) -> u32 {
        self.base
    }

    /// Returns the text at a span. Returns an empty text if the span is not inside this text, or if
    /// it begins or ends inside a character.
    #[inline]
    pub fn raw(self, span: Span) -> &'a str {
        let range =
            span.start.wrapping_sub(self.base) as usize..span.end.wrapping_sub(self.base) as usize;
        self.text.get(range).unwrap_or("")
    }
}
