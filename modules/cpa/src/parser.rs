//! Parser. It continues after an error at the next declaration, so that it reports all errors.

use crate::codes;
use crate::lexer::{Kind, Token};
use crate::syntax::{
    Boxes, BoxesDecl, Composition, Container, Containers, Count, Expr, File, Initialization, Item,
    Link, Links, Name, Pair, Part, Port, Process, Range, Structure, Value,
};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::sizes::Place;
use graphmap_kpn::source::{Source, Span};

/// First words of the specifications of a file.
const SPECIFICATIONS: [&str; 8] = [
    "include",
    "structure",
    "initialize",
    "containers",
    "container",
    "functionmapping",
    "glue",
    "genv",
];

/// An error was reported.
struct Reported;

type Parsed<T> = Result<T, Reported>;

/// Parses the tokens of a text.
pub(crate) fn parse(source: &Source, tokens: &[Token<'_>], diagnostics: &mut Diagnostics) -> File {
    let mut parser = Parser {
        source,
        tokens,
        at: 0,
        diagnostics,
    };
    let mut file = File::default();
    while parser.peek().kind != Kind::End {
        if parser.specification(&mut file).is_err() {
            parser.skip(|parser| {
                let next = parser.peek();
                SPECIFICATIONS.iter().any(|word| next.is_word(word))
            });
        }
    }
    file
}

struct Parser<'p, 's> {
    source: &'s Source,
    tokens: &'p [Token<'s>],
    at: usize,
    diagnostics: &'p mut Diagnostics,
}

impl<'s> Parser<'_, 's> {
    fn peek(&self) -> Token<'s> {
        self.ahead(0)
    }

    fn ahead(&self, by: usize) -> Token<'s> {
        let last = self.tokens.len() - 1;
        self.tokens[(self.at + by).min(last)]
    }

    fn next(&mut self) -> Token<'s> {
        let token = self.peek();
        self.at += 1;
        token
    }

    /// Skips at least one token, until `stop` is true or the text ends.
    fn skip(&mut self, stop: impl Fn(&Self) -> bool) {
        self.at += 1;
        while self.peek().kind != Kind::End && !stop(self) {
            self.at += 1;
        }
    }

    fn unexpected<T>(&mut self, expected: &str) -> Parsed<T> {
        let token = self.peek();
        let found = match token.kind {
            Kind::End => "end of the text".to_owned(),
            Kind::Text => "text in quotes".to_owned(),
            _ => format!("`{}`", token.text),
        };
        self.diagnostics.push(
            Diagnostic::error(codes::UNEXPECTED, format!("unexpected {found}"))
                .at(token.span, format!("expected {expected}")),
        );
        Err(Reported)
    }

    fn takes(&mut self, sign: &str) -> bool {
        let found = self.peek().is(sign);
        self.at += usize::from(found);
        found
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let found = self.peek().is_word(word);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &str) -> Parsed<Span> {
        match self.peek().is(sign) {
            true => Ok(self.next().span),
            false => self.unexpected(&format!("`{sign}`")),
        }
    }

    fn expect_word(&mut self, word: &str) -> Parsed<()> {
        match self.takes_word(word) {
            true => Ok(()),
            false => self.unexpected(&format!("`{word}`")),
        }
    }

    fn of_kind(&mut self, kinds: &[Kind], expected: &str) -> Parsed<Name> {
        let token = self.peek();
        if !kinds.contains(&token.kind) {
            return self.unexpected(expected);
        }
        self.at += 1;
        Ok(Name {
            text: token.text.to_owned(),
            span: token.span,
        })
    }

    fn name(&mut self) -> Parsed<Name> {
        self.of_kind(&[Kind::Name], "a name")
    }

    /// Parses a list of `T` with commas between them, up to `end`, which it takes.
    fn list<T>(
        &mut self,
        end: &str,
        mut item: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut list = Vec::new();
        if self.takes(end) {
            return Ok(list);
        }
        loop {
            list.push(item(self)?);
            if self.takes(end) {
                return Ok(list);
            }
            if !self.takes(",") {
                return self.unexpected(&format!("`,` or `{end}`"));
            }
        }
    }

    /// Parses the declarations between braces. After an error, continues at the next declaration.
    fn block(&mut self, mut declaration: impl FnMut(&mut Self) -> Parsed<()>) -> Parsed<()> {
        let open = self.expect("{")?;
        while !self.takes("}") {
            if self.peek().kind == Kind::End {
                self.diagnostics.push(
                    Diagnostic::error(codes::UNEXPECTED, "a block has no `}`")
                        .at(open, "the block begins here")
                        .help("add `}` after its last declaration"),
                );
                return Ok(());
            }
            if declaration(self).is_err() {
                // A brace that the wrong declaration has opened is closed before the next one.
                self.skip(|parser| {
                    let next = parser.peek();
                    let begins = next.kind == Kind::Name && parser.ahead(1).is("=");
                    let composes = next.is("||") || next.is("||-");
                    let composes =
                        composes && parser.ahead(1).kind == Kind::Name && parser.ahead(2).is("=");
                    begins || composes || next.is("}") || next.is_word("containerspec")
                });
            }
        }
        Ok(())
    }

    fn specification(&mut self, file: &mut File) -> Parsed<()> {
        let word = self.peek();
        if word.kind != Kind::Name || !SPECIFICATIONS.contains(&word.text) {
            if let Some(near) = nearest(word.text, SPECIFICATIONS) {
                self.diagnostics.push(
                    Diagnostic::error(
                        codes::UNEXPECTED,
                        format!("no specification begins with `{}`", word.text),
                    )
                    .at(word.span, "")
                    .help(format!("did you mean `{near}`?")),
                );
                return Err(Reported);
            }
            return self.unexpected(
                "`structure`, `initialize`, `containers`, `functionmapping`, `glue`, `genv` or \
                 `include`",
            );
        }
        self.at += 1;
        match word.text {
            "include" => {
                let path = self.of_kind(&[Kind::Path, Kind::Text], "the path of a file")?;
                file.includes.push(path);
            }
            "structure" => {
                let structure = self.structure()?;
                file.structures.push(structure);
            }
            "initialize" => {
                let structure = self.name()?;
                let mut values = Vec::new();
                self.block(|parser| {
                    values.push(parser.value()?);
                    Ok(())
                })?;
                file.initializations
                    .push(Initialization { structure, values });
            }
            "functionmapping" => self.block(|parser| {
                let entry = parser.pair()?;
                file.functions.push(entry);
                Ok(())
            })?,
            "glue" => self.block(|parser| {
                parser.expect_word("gluemapping")?;
                let mut mapping = Vec::new();
                parser.block(|parser| {
                    mapping.push(parser.pair()?);
                    Ok(())
                })?;
                file.glue.push(mapping);
                Ok(())
            })?,
            "genv" => self.block(|parser| {
                let name = parser.name()?;
                parser.expect("=")?;
                let kinds = [Kind::Name, Kind::Number, Kind::Text];
                let value = parser.of_kind(&kinds, "a number, a name or a text in quotes")?;
                file.environment.push((name, value));
                Ok(())
            })?,
            _ => {
                let containers = self.containers()?;
                file.containers.push(containers);
            }
        }
        Ok(())
    }

    fn structure(&mut self) -> Parsed<Structure> {
        let name = self.name()?;
        self.expect("(")?;
        let variables = self.list(")", Self::name)?;
        let mut structure = Structure {
            name,
            variables,
            processes: Vec::new(),
            ranges: Vec::new(),
            compositions: Vec::new(),
        };
        self.block(|parser| {
            let next = parser.peek();
            if next.is("||") || next.is("||-") {
                let composition = parser.composition()?;
                structure.compositions.push(composition);
                return Ok(());
            }
            let name = parser.name()?;
            parser.expect("=")?;
            if parser.peek().is("[") {
                structure.ranges.push(parser.range(name)?);
            } else {
                structure.processes.push(parser.process(name)?);
            }
            Ok(())
        })?;
        Ok(structure)
    }

    fn process(&mut self, name: Name) -> Parsed<Process> {
        let mut ports = |words: [&str; 2]| {
            if !words.iter().any(|word| self.takes_word(word)) {
                return self.unexpected(&format!("`{}`", words[0]));
            }
            self.expect("<")?;
            self.list(">", Self::name)
        };
        let inputs = ports(["inports", "inport"])?;
        let outputs = ports(["outports", "outport"])?;
        self.expect("(")?;
        let parameters = self.list(")", Self::name)?;
        Ok(Process {
            name,
            inputs,
            outputs,
            parameters,
        })
    }

    fn range(&mut self, name: Name) -> Parsed<Range> {
        self.expect("[")?;
        let first = self.expression()?;
        self.expect("..")?;
        let last = self.expression()?;
        self.expect("]")?;
        Ok(Range { name, first, last })
    }

    fn composition(&mut self) -> Parsed<Composition> {
        let is_intermediate = self.next().is("||-");
        let name = self.name()?;
        self.expect("=")?;
        self.expect("(")?;
        let mut parts = Vec::new();
        loop {
            let name = self.name()?;
            let count = self.index()?;
            parts.push(Part { name, count });
            if self.takes(")") {
                break;
            }
            if !self.takes("||") {
                return self.unexpected("`||` or `)`");
            }
        }
        let links = match self.takes("/") {
            true => {
                self.expect("(")?;
                self.list(")", Self::links)?
            }
            false => Vec::new(),
        };
        let exposed = match self.takes("@") {
            true => {
                self.expect("(")?;
                self.list(")", Self::name)?
            }
            false => Vec::new(),
        };
        Ok(Composition {
            name,
            is_intermediate,
            parts,
            links,
            exposed,
        })
    }

    /// Parses the expression of an optional `[expression]`.
    fn index(&mut self) -> Parsed<Option<Expr>> {
        if !self.takes("[") {
            return Ok(None);
        }
        let expression = self.expression()?;
        self.expect("]")?;
        Ok(Some(expression))
    }

    fn links(&mut self) -> Parsed<Links> {
        let is_loop = self.peek().is_word("for") && self.ahead(1).kind == Kind::Name;
        if !is_loop {
            let links = vec![self.link()?];
            return Ok(Links { range: None, links });
        }
        let range = Some(self.for_in()?);
        let links = match self.takes("{") {
            true => self.list("}", Self::link)?,
            false => vec![self.link()?],
        };
        Ok(Links { range, links })
    }

    fn for_in(&mut self) -> Parsed<(Name, Name)> {
        self.expect_word("for")?;
        let variable = self.name()?;
        self.expect_word("in")?;
        Ok((variable, self.name()?))
    }

    fn link(&mut self) -> Parsed<Link> {
        let from = self.port()?;
        self.expect("->")?;
        let to = self.port()?;
        let (mut tag, mut buffer_size) = (None, None);
        loop {
            if tag.is_none() && self.takes_word("tag") {
                tag = Some(self.expression()?);
            } else if buffer_size.is_none() && self.takes_word("buffersize") {
                buffer_size = Some(self.expression()?);
            } else {
                break;
            }
        }
        let span = from.span.to(to.span);
        Ok(Link {
            from,
            to,
            tag,
            buffer_size,
            span,
        })
    }

    fn port(&mut self) -> Parsed<Port> {
        let first = self.name()?;
        let (part, name) = match self.takes(".") {
            true => (Some(first), self.name()?),
            false => (None, first),
        };
        let index = self.index()?;
        let begin = part.as_ref().map_or(name.span, |part| part.span);
        let end = index.as_ref().map_or(name.span, |index| index.place.span);
        Ok(Port {
            part,
            name,
            index,
            span: begin.to(end),
        })
    }

    fn value(&mut self) -> Parsed<(Name, Value)> {
        let name = self.name()?;
        self.expect("=")?;
        let value = match self.peek().kind {
            Kind::Text => Value::Text(self.of_kind(&[Kind::Text], "a text")?),
            _ => Value::Count(self.count()?),
        };
        Ok((name, value))
    }

    fn count(&mut self) -> Parsed<Count> {
        let next = self.peek();
        if next.is("*") || next.is("+") {
            self.at += 1;
            return Ok(match next.text {
                "*" => Count::Any,
                _ => Count::Some,
            });
        }
        Ok(Count::Expr(self.expression()?))
    }

    fn pair(&mut self) -> Parsed<(Name, Pair)> {
        let name = self.name()?;
        self.expect("=")?;
        self.expect("{")?;
        let first = self.of_kind(&[Kind::Text], "a text in quotes")?;
        self.expect(",")?;
        let second = self.of_kind(&[Kind::Text], "a text in quotes")?;
        self.expect("}")?;
        Ok((name, Pair { first, second }))
    }

    fn containers(&mut self) -> Parsed<Containers> {
        let mut containers = Containers::default();
        self.block(|parser| {
            if parser.takes_word("containerspec") {
                let container = parser.container()?;
                containers.containers.push(container);
            } else if parser.takes_word("boxes") {
                parser.expect("(")?;
                loop {
                    containers.boxes.push(parser.boxes()?);
                    if parser.takes(")") {
                        return Ok(());
                    }
                    if !parser.takes("||") {
                        return parser.unexpected("`||` or `)`");
                    }
                }
            } else if parser.peek().kind == Kind::Name && parser.ahead(1).is("=") {
                let name = parser.name()?;
                parser.expect("=")?;
                containers.ranges.push(parser.range(name)?);
            } else {
                return parser.unexpected("`containerspec`, `boxes`, a range or `}`");
            }
            Ok(())
        })?;
        Ok(containers)
    }

    fn container(&mut self) -> Parsed<Container> {
        let name = self.name()?;
        self.expect("=")?;
        self.expect("<")?;
        let items = self.list(">", |parser| {
            let (prefix, name) = parser.path()?;
            let count = match parser.takes("[") {
                true => {
                    let count = parser.count()?;
                    parser.expect("]")?;
                    Some(count)
                }
                false => None,
            };
            Ok(Item {
                prefix,
                name,
                count,
            })
        })?;
        let most = match self.takes("/") {
            true => Some(self.expression()?),
            false => None,
        };
        Ok(Container { name, items, most })
    }

    /// Parses names with dots between them. Returns the last one separately.
    fn path(&mut self) -> Parsed<(Vec<Name>, Name)> {
        let mut prefix = Vec::new();
        let mut name = self.name()?;
        while self.takes(".") {
            prefix.push(std::mem::replace(&mut name, self.name()?));
        }
        Ok((prefix, name))
    }

    fn boxes(&mut self) -> Parsed<Boxes> {
        if self.peek().is_word("for") && self.ahead(1).kind == Kind::Name {
            let range = Some(self.for_in()?);
            self.expect("{")?;
            let boxes = self.boxes_of_one()?;
            self.expect("}")?;
            return Ok(Boxes { range, ..boxes });
        }
        self.boxes_of_one()
    }

    fn boxes_of_one(&mut self) -> Parsed<Boxes> {
        let (mut prefix, mut name) = self.path()?;
        if self.takes(":") {
            prefix.push(name);
            name = self.name()?;
        } else if let Some(first) = prefix.first() {
            let message = format!("the path of the container `{}` ends with `:`", name.text);
            self.diagnostics.push(
                Diagnostic::error(codes::UNEXPECTED, message)
                    .at(first.span.to(name.span), "")
                    .help("write `COMPOSITION:container`"),
            );
        }
        let count = self.index()?;
        let declared = BoxesDecl {
            prefix,
            name,
            count,
            range: None,
        };
        Ok(Boxes {
            declared,
            range: None,
        })
    }

    /// Takes the tokens of an expression, which may be followed by any other token.
    fn expression(&mut self) -> Parsed<Expr> {
        let first = self.peek().span;
        let mut depth = 0;
        let mut last;
        loop {
            // An operand, after signs and opening parentheses.
            loop {
                if self.takes("(") {
                    depth += 1;
                } else if !self.takes("-") {
                    break;
                }
            }
            let kinds = [Kind::Name, Kind::Number];
            last = self.of_kind(&kinds, "a number, a name or `(`")?.span;
            while depth > 0 && self.peek().is(")") {
                last = self.next().span;
                depth -= 1;
            }
            let next = self.peek();
            let continues = ["+", "-", "*", "/", "%", "^"].iter().any(|s| next.is(s));
            if !continues {
                break;
            }
            self.at += 1;
        }
        if depth > 0 {
            return self.unexpected("an operator or `)`");
        }
        let span = first.to(last);
        let start = (span.start - self.source.base()) as usize;
        let end = (span.end - self.source.base()) as usize;
        Ok(Expr {
            text: self.source.text()[start..end].to_owned(),
            place: Place {
                span,
                inside: Some(span.start),
            },
        })
    }
}
