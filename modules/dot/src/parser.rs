//! The parser of DOT: reads tokens and reports statements to [`Events`].
//!
//! It makes one pass with one token of lookahead and an explicit stack of open braces, so that
//! neither depth nor length of a file can cause an overflow. After a syntax error it continues at
//! the next statement (a `;`, a brace, or a word at the start of a line), so that one run reports
//! several.

use crate::errors;
use crate::events::{Attribute, Events, Header, NodeRef, Target};
use crate::lexer::Lexer;
use crate::token::{Id, Shape, Text, Token, TokenKind};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::foreign;
use graphmap_kpn::source::{Source, Span};

mod lists;
mod quick;

/// Maximum number of syntax errors of one file, because a binary file has very many.
const MOST_ERRORS: usize = 32;

/// Parses a source, reports its statements to `events`, and adds diagnostics to `diagnostics`.
///
/// Returns the number of graphs. A graph is not counted if its head has an error, or if parsing
/// stopped in it after too many errors. After a syntax error, parsing continues at the next
/// statement, so that `events` receives the valid statements. It stops after 32 errors, after an
/// error in the head of a graph, and after an unclosed brace.
pub fn parse(source: &Source, events: &mut impl Events, diagnostics: &mut Diagnostics) -> usize {
    let text = Text::new(source.text(), source.base());
    Parser::new(text, Lexer::new(text.as_str()), events, diagnostics).file()
}

/// An open brace, and the current chain of edges inside it.
struct Frame {
    opener: Span,
    operands: u32,
    chain: Span,
}

/// The next step of the parser.
enum Step {
    /// Beginning of a statement, or the closing brace.
    Statement,
    /// A list of nodes or a subgraph.
    Operand,
    /// The rest of a statement after an operand: another operand, attributes, or its end.
    Rest,
    /// The graph is closed, or cannot be read further.
    Over,
}

/// Error, already reported, after which parsing continues at the next statement.
pub(crate) struct Broken;
type Read<T> = Result<T, Broken>;

pub(crate) struct Parser<'a, 'b, E> {
    pub(crate) text: Text<'a>,
    lexer: Lexer<'a>,
    events: &'b mut E,
    diagnostics: &'b mut Diagnostics,
    token: Token,
    /// Span of the last token that was consumed.
    last: Span,
    frames: Vec<Frame>,
    directed: bool,
    /// Attributes of the current statement.
    attributes: Vec<Attribute>,
    /// Warning for the last value, if it is a number directly followed by a word.
    split: Option<Diagnostic>,
    errors: usize,
    /// True if the rest of the text is in an unclosed comment. Open braces are not reported then.
    cut_off: bool,
    /// True if the current list turned out to have ended earlier.
    left_list: bool,
}

impl<'a, 'b, E: Events> Parser<'a, 'b, E> {
    fn new(
        text: Text<'a>,
        mut lexer: Lexer<'a>,
        events: &'b mut E,
        diagnostics: &'b mut Diagnostics,
    ) -> Parser<'a, 'b, E> {
        let token = lexer.next_token();
        Parser {
            text,
            lexer,
            events,
            diagnostics,
            token,
            last: Span::new(text.base(), text.base()),
            frames: Vec::new(),
            directed: true,
            attributes: Vec::new(),
            split: None,
            errors: 0,
            cut_off: false,
            left_list: false,
        }
    }

    #[inline]
    fn span(&self, token: Token) -> Span {
        let base = self.text.base();
        Span::new(base + token.start, base + token.end)
    }

    #[inline]
    fn here(&self) -> Span {
        self.span(self.token)
    }

    #[inline]
    fn advance(&mut self) -> Span {
        let span = self.here();
        self.last = span;
        self.token = self.lexer.next_token();
        span
    }

    #[inline]
    fn at(&self, kind: TokenKind) -> bool {
        self.token.kind == kind
    }

    fn report(&mut self, diagnostic: Diagnostic) -> Broken {
        self.errors += 1;
        if self.errors == MOST_ERRORS {
            self.diagnostics
                .push(diagnostic.with_note("further syntax errors of this file are not shown"));
        } else {
            self.diagnostics.push(diagnostic);
        }
        Broken
    }

    /// Reports that the current token is not the expected one. `expected` is a phrase for the
    /// message. Does not skip the token.
    fn unexpected(&mut self, expected: &str) -> Broken {
        let state = errors::ParserState {
            text: self.text,
            token: self.token,
            here: self.here(),
            last: self.last,
            braces: self.frames.last().map_or(Span::NONE, |f| f.opener),
            suspect: self.lexer.suspect().map_or(Span::NONE, |(start, end)| {
                Span::new(self.text.base() + start, self.text.base() + end)
            }),
        };
        self.cut_off |= self.at(TokenKind::UnclosedComment);
        let diagnostic = errors::unexpected(&state, expected);
        self.report(diagnostic)
    }

    fn file(mut self) -> usize {
        let mut graphs = 0;
        while !self.at(TokenKind::End) {
            if self.graph(graphs > 0).is_err() {
                break;
            }
            graphs += 1;
        }
        graphs
    }

    /// Parses the head of a graph, before its `{`, which must follow. `after_another` is true if a
    /// graph precedes it. Fails, after a report, if no graph begins here or if its head is wrong.
    fn header(&mut self, after_another: bool) -> Read<Header> {
        let start = self.here();
        let strict = self.at(TokenKind::Strict).then(|| self.advance());
        self.directed = match self.token.kind {
            TokenKind::Digraph => true,
            TokenKind::Graph => false,
            TokenKind::UnclosedComment | TokenKind::UnclosedString | TokenKind::UnclosedHtml => {
                return Err(self.unexpected("a graph"));
            }
            _ if after_another && strict.is_none() => {
                let diagnostic = errors::after_graph(self.here(), self.last);
                return Err(self.report(diagnostic));
            }
            _ if strict.is_none() => {
                let diagnostic = errors::no_graph(self.text, self.here());
                return Err(self.report(diagnostic));
            }
            _ => return Err(self.unexpected("`digraph` or `graph`")),
        };
        self.advance();
        let name = match self.token.kind {
            TokenKind::OpenBrace => None,
            _ => Some(self.id("the name of the graph or `{`")?),
        };
        let span = start.to(self.last);
        if !self.at(TokenKind::OpenBrace) {
            return Err(self.unexpected("`{`"));
        }
        Ok(Header {
            strict,
            directed: self.directed,
            name,
            span,
        })
    }

    fn graph(&mut self, after_another: bool) -> Read<()> {
        let start = self.here();
        let before = std::mem::take(self.diagnostics);
        let header = self.header(after_another);
        let found = std::mem::replace(self.diagnostics, before);
        if header.is_err()
            && !after_another
            && let Some(format) = foreign::recognise(self.text.as_str())
        {
            // The name of the format is more helpful than the first unexpected word.
            return Err(self.report(errors::foreign(format, start)));
        }
        self.diagnostics.append(found);
        let header = header?;
        self.events.open_graph(&header);
        self.frames.clear();
        self.open_frame();
        let mut step = Step::Statement;
        loop {
            let next = match step {
                Step::Statement => self.statement(),
                Step::Operand => self.operand(),
                Step::Rest => self.rest(),
                Step::Over => return Ok(()),
            };
            step = match next {
                Ok(step) => step,
                Err(Broken) if self.errors >= MOST_ERRORS => return Err(Broken),
                Err(Broken) => {
                    self.events.abandon_chain();
                    self.forget_chain();
                    self.recover();
                    Step::Statement
                }
            };
        }
    }

    fn open_frame(&mut self) {
        let opener = self.advance();
        self.frames.push(Frame {
            opener,
            operands: 0,
            chain: Span::NONE,
        });
    }

    /// Skips tokens to the probable beginning of the next statement: after a `;`, at a brace or the
    /// end of the text, or at a word at the start of a later line.
    fn recover(&mut self) {
        let mut progressed = false;
        loop {
            match self.token.kind {
                TokenKind::End | TokenKind::CloseBrace | TokenKind::OpenBrace => return,
                TokenKind::Semicolon => {
                    self.advance();
                    return;
                }
                kind if self.token.first_of_line && progressed && begins_statement(kind) => return,
                _ => {
                    self.advance();
                    progressed = true;
                }
            }
        }
    }

    fn statement(&mut self) -> Read<Step> {
        let kind = self.token.kind;
        match kind {
            TokenKind::CloseBrace => Ok(self.close()),
            TokenKind::Graph => self.defaults(Target::Graph),
            TokenKind::Node => self.defaults(Target::Node),
            TokenKind::Edge => self.defaults(Target::Edge),
            TokenKind::End if self.cut_off => Ok(Step::Over),
            TokenKind::End => {
                let openers = self.frames.iter().map(|f| f.opener).collect::<Vec<_>>();
                let diagnostic = errors::unclosed_brace(self.text, &openers);
                self.report(diagnostic);
                Ok(Step::Over)
            }
            _ if self.quick_edges() => Ok(Step::Statement),
            _ => self.operand(),
        }
    }

    fn close(&mut self) -> Step {
        let brace = self.advance();
        self.frames.pop();
        match self.frames.last_mut() {
            None => {
                self.events.close_graph(brace);
                Step::Over
            }
            Some(frame) => {
                frame.chain = frame.chain.to(brace);
                self.events.close_subgraph(brace);
                Step::Rest
            }
        }
    }

    /// Parses `node [..]`, or `node macro = [..]`, whose name is ignored, as in Graphviz. `target`
    /// is the element of the current keyword. Reports the attributes to the events, and returns the
    /// next step. Fails, after a report, if no list follows or the list is broken.
    fn defaults(&mut self, target: Target) -> Read<Step> {
        let start = self.advance();
        if self.is_id() {
            self.id("`[`")?;
            if !self.at(TokenKind::Equals) {
                return Err(self.unexpected("`[`"));
            }
            self.advance();
        }
        if !self.at(TokenKind::OpenBracket) {
            let diagnostic = errors::keyword_statement(self.text, start, self.here());
            return Err(self.report(diagnostic));
        }
        self.attributes()?;
        let span = start.to(self.last);
        self.events.defaults(target, &self.attributes, span);
        self.end_statement();
        Ok(Step::Statement)
    }

    #[inline]
    fn end_statement(&mut self) {
        if self.at(TokenKind::Semicolon) {
            self.advance();
        }
    }

    fn operand(&mut self) -> Read<Step> {
        if let Some(frame) = self.frames.last_mut() {
            frame.operands += 1;
        }
        match self.token.kind {
            TokenKind::Subgraph => {
                let start = self.advance();
                let name = match self.token.kind {
                    TokenKind::OpenBrace => None,
                    _ => Some(self.id("the name of the subgraph or `{`")?),
                };
                if !self.at(TokenKind::OpenBrace) {
                    return Err(self.unexpected("the `{` of the subgraph's body"));
                }
                Ok(self.enter(name, start))
            }
            TokenKind::OpenBrace => Ok(self.enter(None, self.here())),
            _ => self.nodes(),
        }
    }

    fn enter(&mut self, name: Option<Id>, start: Span) -> Step {
        self.extend_chain(start);
        self.open_frame();
        self.events.open_subgraph(name, start.to(self.last));
        Step::Statement
    }

    fn extend_chain(&mut self, span: Span) {
        if let Some(frame) = self.frames.last_mut() {
            frame.chain = frame.chain.to(span);
        }
    }

    /// Parses a list of nodes, or an assignment, which begins like one. Reports it to the events,
    /// and returns the next step. Fails, after a report, at a syntax error.
    fn nodes(&mut self) -> Read<Step> {
        let first = self.frames.last().is_some_and(|f| f.operands == 1);
        let expected = if first {
            "a statement"
        } else {
            "a node or a subgraph"
        };
        loop {
            let name = self.id(expected)?;
            if first
                && self.at(TokenKind::Equals)
                && self.foreign_arrow().is_none()
                && self.frames.last().is_some_and(|f| f.chain.is_none())
            {
                self.advance();
                let value = self.id("the value of the attribute")?;
                self.events.assign(&Attribute { name, value });
                self.end_chain();
                return Ok(Step::Statement);
            }
            let mut node = NodeRef {
                name,
                port: None,
                compass: None,
            };
            if self.at(TokenKind::Colon) {
                self.advance();
                node.port = Some(self.id("the name of a port")?);
                if self.at(TokenKind::Colon) {
                    self.advance();
                    node.compass = Some(self.id("a compass point")?);
                }
            }
            self.extend_chain(node.span());
            self.events.node(&node);
            if !self.at(TokenKind::Comma) {
                break;
            }
            self.advance();
        }
        self.events.end_operand();
        Ok(Step::Rest)
    }

    /// Returns the span of an arrow of another language that begins at the current token, such as
    /// `-->`, `=>` or `<-`. Returns `None` if none begins there, or if the token is an HTML string.
    fn foreign_arrow(&self) -> Option<Span> {
        use TokenKind::{Arrow, Equals, Line, UnclosedHtml};
        if !matches!(self.token.kind, Arrow | Equals | Line | UnclosedHtml) {
            return None;
        }
        let start = self.here().start;
        let rest = self
            .text
            .as_str()
            .get((start - self.text.base()) as usize..)?;
        let arrows = ["--->", "-->", "->>", "==>", "=>", "<->", "<--", "<-"];
        let arrow = arrows.into_iter().find(|arrow| rest.starts_with(arrow))?;
        Some(Span::new(start, start + arrow.len() as u32))
    }

    /// Reports an arrow of another language, and skips it as if it were valid. `arrow` is its span.
    fn pass_foreign_arrow(&mut self, arrow: Span) {
        let diagnostic = errors::foreign_arrow(self.text, self.directed, arrow);
        self.report(diagnostic);
        self.last = arrow;
        self.lexer.go_to(arrow.end - self.text.base());
        self.token = self.lexer.next_token();
    }

    fn rest(&mut self) -> Read<Step> {
        if let Some(arrow) = self.foreign_arrow() {
            self.pass_foreign_arrow(arrow);
            return Ok(Step::Operand);
        }
        match self.token.kind {
            TokenKind::Html if self.text.raw(self.here()).starts_with("<-") => {
                // Graphviz reads it as a name, too.
                self.diagnostics.push(errors::arrow_in_html(self.here()));
                self.attributes.clear();
            }
            TokenKind::Arrow | TokenKind::Line => {
                if self.at(TokenKind::Arrow) != self.directed {
                    let diagnostic = errors::wrong_operator(self.directed, self.here());
                    // The meaning is clear, so parsing continues.
                    self.report(diagnostic);
                }
                self.advance();
                return Ok(Step::Operand);
            }
            TokenKind::OpenBracket => self.attributes()?,
            _ => self.attributes.clear(),
        }
        if let Some(frame) = self.frames.last() {
            let mut span = frame.chain;
            if !self.attributes.is_empty() {
                span = span.to(self.last);
            }
            self.events
                .end_chain(frame.operands, &self.attributes, span);
        }
        self.end_chain();
        Ok(Step::Statement)
    }

    fn end_chain(&mut self) {
        self.forget_chain();
        self.end_statement();
    }

    fn forget_chain(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.operands = 0;
            frame.chain = Span::NONE;
        }
    }

    fn is_id(&self) -> bool {
        matches!(
            self.token.kind,
            TokenKind::Name | TokenKind::Number | TokenKind::Quoted { .. } | TokenKind::Html
        )
    }

    fn id(&mut self, expected: &str) -> Read<Id> {
        let shape = match self.token.kind {
            TokenKind::Name => Shape::Name,
            TokenKind::Number => {
                let (number, split) = self.number();
                split
                    .into_iter()
                    .for_each(|diagnostic| self.diagnostics.push(diagnostic));
                return Ok(number);
            }
            TokenKind::Quoted { escaped: false } => Shape::Quoted,
            TokenKind::Quoted { escaped: true } => Shape::Composed,
            TokenKind::Html => Shape::Html,
            _ => return Err(self.unexpected(expected)),
        };
        let span = self.advance();
        let mut id = Id { span, shape };
        if shape != Shape::Name {
            while self.at(TokenKind::Plus) {
                self.advance();
                if !matches!(self.token.kind, TokenKind::Quoted { .. } | TokenKind::Html) {
                    return Err(self.unexpected("a quoted string"));
                }
                id = Id {
                    span: id.span.to(self.advance()),
                    shape: Shape::Composed,
                };
            }
        }
        Ok(id)
    }

    /// Parses the current token, which is a number. The second result is a warning, not reported
    /// yet, if a name or another number follows directly.
    fn number(&mut self) -> (Id, Option<Diagnostic>) {
        let span = self.advance();
        let joined = matches!(self.token.kind, TokenKind::Name | TokenKind::Number);
        let split = (joined && self.here().start == span.end)
            .then(|| errors::split_number(self.text, span, self.here()));
        let shape = Shape::Number;
        (Id { span, shape }, split)
    }
}

fn begins_statement(kind: TokenKind) -> bool {
    use TokenKind::{Edge, Graph, Name, Node, Number, Quoted, Subgraph};
    matches!(
        kind,
        Name | Number | Quoted { .. } | Graph | Node | Edge | Subgraph
    )
}
