//! Diagnostics of syntax errors.

use crate::codes;
use crate::token::{Text, Token, TokenKind};
use graphmap_kpn::diagnostic::{Code, Diagnostic};
use graphmap_kpn::foreign::Foreign;
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::source::Span;

/// State of the parser at an unexpected token.
pub(crate) struct ParserState<'a> {
    pub(crate) text: Text<'a>,
    pub(crate) token: Token,
    pub(crate) here: Span,
    /// Span of the previous token.
    pub(crate) last: Span,
    /// Innermost open brace.
    pub(crate) braces: Span,
    /// Last string that contains a line end.
    pub(crate) suspect: Span,
}

/// Shortens a token for a message: returns at most 24 characters of its first line, and `...` if
/// this omits anything. Replaces control characters.
fn shown(raw: &str) -> String {
    let line = raw.lines().next().unwrap_or("");
    let mut short: String = line.chars().take(24).collect();
    if short.len() < raw.len() {
        short.push_str("...");
    }
    short.replace(|c: char| c.is_control(), "\u{fffd}")
}

fn name_of(state: &ParserState<'_>) -> String {
    match state.token.kind {
        TokenKind::End => "the end of the file".to_owned(),
        _ => format!("`{}`", shown(state.text.raw(state.here))),
    }
}

/// Returns the code of the error about an unexpected token. Tokens that are errors themselves, a
/// `;`, and keywords have codes of their own.
fn code_of(kind: TokenKind) -> Code {
    use TokenKind::{Semicolon, Stray, UnclosedComment, UnclosedHtml, UnclosedString};
    match kind {
        Stray => codes::STRAY_CHARACTER,
        UnclosedString => codes::UNCLOSED_STRING,
        UnclosedHtml => codes::UNCLOSED_HTML,
        UnclosedComment => codes::UNCLOSED_COMMENT,
        Semicolon => codes::EMPTY_STATEMENT,
        TokenKind::Graph
        | TokenKind::Digraph
        | TokenKind::Node
        | TokenKind::Edge
        | TokenKind::Strict
        | TokenKind::Subgraph => codes::KEYWORD,
        _ => codes::UNEXPECTED,
    }
}

/// Returns the error for a token at a position at which `expected` was expected. `expected` is a
/// phrase for the message. If it is `a statement`, a `;` is reported as an empty statement.
pub(crate) fn unexpected(state: &ParserState<'_>, expected: &str) -> Diagnostic {
    let code = code_of(state.token.kind);
    let found = name_of(state);
    let here = state.here;
    let mut diagnostic = match state.token.kind {
        TokenKind::Stray => stray(state),
        TokenKind::UnclosedString => Diagnostic::error(code, "this string is never closed")
            .at(here, "opened here")
            .help("close it with `\"`; write a quote inside a string as `\\\"`"),
        TokenKind::UnclosedHtml => Diagnostic::error(code, "this HTML string is never closed")
            .at(here, "opened by this `<`")
            .help(match state.text.raw(here).starts_with("<-") {
                true => "reverse the edge: `writer -> reader`",
                false => "close each `<` with a `>`; write `&lt;` and `&gt;` for the characters",
            }),
        TokenKind::UnclosedComment => Diagnostic::error(code, "this comment is never closed")
            .at(Span::new(here.start, here.start + 2), "opened here")
            .help("close it with `*/`"),
        TokenKind::Semicolon if expected == "a statement" => {
            Diagnostic::error(code, "a `;` without a statement before it")
                .at(here, "unexpected `;`")
                .help("remove it: Graphviz accepts only one `;` after a statement")
        }
        TokenKind::Semicolon => Diagnostic::error(
            codes::UNEXPECTED,
            format!("expected {expected}, found {found}"),
        )
        .at(here, format!("expected {expected}")),
        _ if code == codes::KEYWORD => {
            Diagnostic::error(code, format!("{found} is a keyword; expected {expected}"))
                .at(here, "a keyword of DOT in upper and lower case")
                .help(format!(
                    "write it in quotes to use it as a name: `\"{}\"`",
                    state.text.raw(here)
                ))
        }
        _ => Diagnostic::error(code, format!("expected {expected}, found {found}"))
            .at(here, format!("expected {expected}")),
    };
    if state.token.kind == TokenKind::CloseBracket {
        diagnostic = diagnostic.help("remove the `]`: no `[` is open");
    }
    if state.token.kind == TokenKind::End {
        diagnostic = diagnostic.also(state.braces, "this `{` is still open");
    }
    // A missing quote becomes visible only at the start of the next string.
    if !state.suspect.is_none() && state.suspect.end + 200 > here.start {
        diagnostic = diagnostic.also(
            state.suspect,
            "this string spans several lines; its closing quote may be missing",
        );
    }
    diagnostic
}

fn stray(state: &ParserState<'_>) -> Diagnostic {
    let raw = state.text.raw(state.here);
    let code = codes::STRAY_CHARACTER;
    let error = match raw.bytes().next() {
        Some(b) if b.is_ascii_graphic() => {
            Diagnostic::error(code, format!("`{raw}` is not allowed outside quotes"))
        }
        Some(b) => Diagnostic::error(code, format!("a control character (0x{b:02x}) in the file")),
        None => Diagnostic::error(code, "an unexpected character"),
    };
    let name_before = state
        .text
        .raw(state.last)
        .ends_with(|c: char| c == '_' || c.is_alphanumeric());
    let touches = name_before && state.last.end == state.here.start;
    match raw {
        "'" => error
            .at(state.here, "not a quote in DOT")
            .help("use double quotes: `\"..\"`"),
        "(" | ")" => error.at(state.here, "has no meaning in DOT").help(
            "use braces for groups, brackets for attributes, and double quotes for other text",
        ),
        "-" | "." | "/" | "*" | "@" | "&" | "%" | "$" | "!" | "?" | "~" | "|" | "\\" if touches => {
            let before = shown(state.text.raw(state.last));
            error
                .at(state.here, "ends the name before it")
                .help(format!(
                    "put a name with characters other than letters, digits and `_` in quotes: \
                     `\"{before}{raw}..\"`"
                ))
        }
        _ => error
            .at(state.here, "has no meaning in DOT")
            .help("put names with such characters in double quotes"),
    }
}

/// Returns the error for open braces at the end of the file. `openers` lists the outermost first,
/// and must not be empty.
pub(crate) fn unclosed_brace(text: Text<'_>, openers: &[Span]) -> Diagnostic {
    let innermost = openers.last().copied().unwrap_or(Span::NONE);
    let count = openers.len();
    let end = text.base() + text.as_str().trim_end().len() as u32;
    let message = match count {
        1 => "this `{` is never closed".to_owned(),
        _ => format!("this `{{` and {} around it are never closed", count - 1),
    };
    let diagnostic = Diagnostic::error(codes::UNCLOSED_BRACE, message)
        .at(innermost, "opened here")
        .also(Span::new(end, end), "the file ends here")
        .help("add the missing `}`");
    match openers {
        [outermost, .., _] => diagnostic.also(*outermost, "the outermost open `{`"),
        _ => diagnostic,
    }
}

/// Returns the error for a list of attributes whose `[`, at `opener`, is not closed. `here` is the
/// token that cannot be in such a list.
pub(crate) fn unclosed_bracket(opener: Span, here: Span) -> Diagnostic {
    Diagnostic::error(codes::UNCLOSED_BRACKET, "this `[` is never closed")
        .at(opener, "opened here")
        .also(here, "not allowed in a list of attributes")
        .help("close the list with `]`")
}

/// Returns the error for an attribute without `=` or without a value after it. `here` is the token
/// that follows instead.
pub(crate) fn no_value(text: Text<'_>, name: Span, here: Span) -> Diagnostic {
    let raw = shown(text.raw(name));
    Diagnostic::error(
        codes::NO_VALUE,
        format!("the attribute `{raw}` has no value"),
    )
    .at(name, format!("write `{raw}=value`"))
    .also(here, "expected `=` and a value before this")
    .help("give each attribute a value; use `true` or `false` to switch one on or off")
}

/// Returns the error for a value that needs quotes: `type=Vec<f64>`, `mem=64KiB`. `whole` is the
/// span of the whole value, and `value` is the part that is read without quotes.
pub(crate) fn unquoted(text: Text<'_>, value: Span, whole: Span) -> Diagnostic {
    let (raw, read) = (shown(text.raw(whole)), shown(text.raw(value)));
    let bare = raw.trim_matches(['“', '”', '„', '‘', '’']);
    let found = Diagnostic::error(codes::NO_VALUE, format!("the value `{raw}` needs quotes"))
        .at(whole, format!("without quotes the value is only `{read}`"));
    let help = format!("write `\"{}\"`", bare.replace('"', "\\\""));
    match bare == raw {
        true => found.help(help),
        false => found.help(format!("{help}, in straight quotes")),
    }
}

/// Returns the error for an edge operator of the other sort of graph: `--` if `directed` is true,
/// and `->` otherwise.
pub(crate) fn wrong_operator(directed: bool, here: Span) -> Diagnostic {
    let (is, wants, other) = if directed {
        ("a digraph", "->", "--")
    } else {
        ("an undirected graph", "--", "->")
    };
    let diagnostic = Diagnostic::error(
        codes::WRONG_OPERATOR,
        format!("{is} joins its nodes with `{wants}`"),
    )
    .at(here, format!("write `{wants}`"));
    if directed {
        diagnostic
    } else {
        diagnostic.help(format!(
            "or begin the file with `digraph`, and use `{other}`"
        ))
    }
}

/// Returns the error for an arrow of another language at the span `arrow`, such as `=>`. `directed`
/// is true for a `digraph`.
pub(crate) fn foreign_arrow(text: Text<'_>, directed: bool, arrow: Span) -> Diagnostic {
    let raw = text.raw(arrow);
    let wants = if directed { "->" } else { "--" };
    let message = format!("`{raw}` is not an edge operator of DOT");
    let diagnostic = Diagnostic::error(codes::WRONG_OPERATOR, message);
    if raw.starts_with('<') && directed {
        return diagnostic
            .at(arrow, "an edge begins at its writer")
            .help("reverse the edge: `writer -> reader`");
    }
    diagnostic.at(arrow, format!("write `{wants}`"))
}

/// Returns the warning about an HTML string that is a name and begins like an arrow.
pub(crate) fn arrow_in_html(here: Span) -> Diagnostic {
    Diagnostic::warning(
        codes::ARROW_IN_HTML,
        "this is read as an HTML string up to the matching `>`, the name of a node",
    )
    .at(
        Span::new(here.start, here.start + 2),
        "begins like an arrow",
    )
    .help("reverse the edge: `writer -> reader`")
    .help("if it is a name, end the statement before it with `;`")
}

/// Returns the error for `node` or another keyword without a list of attributes after it. `here` is
/// the token that follows instead.
pub(crate) fn keyword_statement(text: Text<'_>, keyword: Span, here: Span) -> Diagnostic {
    let raw = text.raw(keyword);
    Diagnostic::error(
        codes::KEYWORD,
        format!("`{raw}` is a keyword: a list of attributes must follow it"),
    )
    .at(keyword, "sets defaults for later elements")
    .also(here, "expected `[`")
    .help(format!(
        "write it in quotes to use it as a name: `\"{raw}\"`"
    ))
}

/// Returns the error for a file that does not begin with a graph. `here` is its first token. The
/// error suggests a keyword if the token is similar to one.
pub(crate) fn no_graph(text: Text<'_>, here: Span) -> Diagnostic {
    let word = text.raw(here);
    let diagnostic = Diagnostic::error(
        codes::NO_GRAPH,
        format!("expected a graph, found `{}`", shown(word)),
    )
    .at(here, "expected `digraph`, `graph` or `strict`");
    match nearest(&shown(word), ["digraph", "graph", "strict"]) {
        Some(name) => diagnostic.help(format!("did you mean `{name}`?")),
        None => diagnostic.help("begin the file with `digraph name {`"),
    }
}

/// Returns the error for a file in a format of another program.
pub(crate) fn foreign(format: Foreign, here: Span) -> Diagnostic {
    let message = format!("this is {}, not DOT", format.name);
    Diagnostic::error(codes::NO_GRAPH, message)
        .at(here, "expected `digraph`")
        .help(format.help)
}

/// Returns the error for text after a graph that does not begin another graph. `brace` is the `}`
/// of the graph.
pub(crate) fn after_graph(here: Span, brace: Span) -> Diagnostic {
    Diagnostic::error(
        codes::AFTER_GRAPH,
        "unexpected text after the end of the graph",
    )
    .at(here, "not part of a graph")
    .also(brace, "the graph ends here")
    .help("check for an extra `}` before this text")
}

/// Returns the warning about a number directly before a name or another number. Graphviz reads the
/// two as separate words. `rest` is the span of the second word.
pub(crate) fn split_number(text: Text<'_>, number: Span, rest: Span) -> Diagnostic {
    let (a, b) = (shown(text.raw(number)), shown(text.raw(rest)));
    let found = Diagnostic::warning(
        codes::SPLIT_NUMBER,
        format!("`{a}{b}` is read as two words, `{a}` and `{b}`"),
    );
    if let Some(exponent) = exponent(text, rest) {
        return found
            .at(number.to(rest), "a number in DOT has no exponent")
            .help(format!("write the number in quotes: `\"{a}{exponent}\"`"));
    }
    found
        .at(number.to(rest), "a name cannot begin with a digit")
        .help(format!(
            "write it in quotes if it is one name: `\"{a}{b}\"`"
        ))
}

/// Returns the exponent (`e308`, `e-3`) that begins at `word`, the word directly after a number.
/// Returns `None` if no exponent begins there, or if the word continues after its digits.
fn exponent(text: Text<'_>, word: Span) -> Option<&str> {
    let from = word.start.wrapping_sub(text.base()) as usize;
    let rest = text.as_str().get(from..)?;
    let digits = rest.strip_prefix(['e', 'E'])?;
    let digits = digits.strip_prefix(['-', '+']).unwrap_or(digits);
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    let length = rest.len() - digits.len() + count;
    let whole = text.raw(word).len() <= length;
    (count > 0 && whole).then(|| &rest[..length])
}
