//! Tokens and identifiers of the DOT language.

use graphmap_kpn::source::Span;

/// What a token is.
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
    /// A quoted string; the flag says that its value differs from what stands between the quotes.
    Quoted {
        /// A quote or a line end is escaped in it.
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
    /// A character that begins nothing.
    Stray,
    /// A string whose closing quote is missing; it reaches to the end of its first line.
    UnclosedString,
    /// An HTML string whose last `>` is missing; it reaches to the end of its first line.
    UnclosedHtml,
    /// A `/*` without `*/`; it reaches to the end of the text.
    UnclosedComment,
    /// The end of the text.
    End,
}

/// A token: its kind and where it is, in bytes of its own text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Whether it is the first token of its line.
    pub first_of_line: bool,
    /// Its first byte.
    pub start: u32,
    /// One past its last byte.
    pub end: u32,
}

/// How an identifier is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)] // As large as the space it has in an [`Id`]: copied without a care for the rest.
pub enum Shape {
    /// A bare word.
    Name,
    /// A number.
    Number,
    /// A quoted string that means what stands between its quotes.
    Quoted,
    /// A quoted string with escapes, or several strings joined by `+`.
    Composed,
    /// An HTML string.
    Html,
}

/// An identifier as it stands in the text: twelve bytes, whatever its length.
///
/// Its value comes from [`Text::value`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id {
    /// The whole of it, quotes and all.
    pub span: Span,
    /// How it is written.
    pub shape: Shape,
}

/// A text and where its first byte lies in the space of spans.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    text: &'a str,
    base: u32,
}

impl<'a> Text<'a> {
    /// A text whose spans begin at `base`.
    pub fn new(text: &'a str, base: u32) -> Text<'a> {
        Text { text, base }
    }

    /// The whole text.
    pub fn as_str(self) -> &'a str {
        self.text
    }

    /// Offset of the first byte in the space of spans.
    pub fn base(self) -> u32 {
        self.base
    }

    /// What stands at a span of this text; empty for a span that is not of this text.
    #[inline]
    pub fn raw(self, span: Span) -> &'a str {
        let range =
            span.start.wrapping_sub(self.base) as usize..span.end.wrapping_sub(self.base) as usize;
        self.text.get(range).unwrap_or("")
    }
}
