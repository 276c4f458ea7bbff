//! Parser for the declaration of a struct or an enum.
//!
//! The compiler parses the declaration before it calls a derive. So this parser relies on the
//! grammar of Rust and reads only the parts that the derive needs.

use proc_macro::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use std::iter::Peekable;

/// A struct, which has one variant, or an enum.
pub(crate) struct Item {
    pub(crate) is_enum: bool,
    pub(crate) name: Ident,
    pub(crate) parameters: Vec<Parameter>,
    /// Tokens of the `where` clause. Empty if there is none.
    pub(crate) clause: Vec<TokenTree>,
    pub(crate) variants: Vec<Variant>,
}

/// A parameter of a type, without its default.
pub(crate) struct Parameter {
    pub(crate) is_type: bool,
    pub(crate) name: Ident,
    /// The declaration of a type up to the colon before its bounds, or the whole declaration of a
    /// constant.
    pub(crate) before: TokenStream,
    /// Bounds of a type.
    pub(crate) after: TokenStream,
}

/// A variant of an enum, or a struct.
pub(crate) struct Variant {
    pub(crate) name: Ident,
    pub(crate) fields: Fields,
}

/// Fields with their types.
pub(crate) enum Fields {
    Unit,
    Tuple(Vec<Vec<TokenTree>>),
    Named(Vec<(Ident, Vec<TokenTree>)>),
}

/// Error in a type for which the derive cannot generate code.
pub(crate) struct Error {
    /// First and last token of the position.
    pub(crate) at: (Span, Span),
    pub(crate) message: String,
}

impl Error {
    fn new(at: Span, message: impl Into<String>) -> Error {
        Error {
            at: (at, at),
            message: message.into(),
        }
    }
}

type Tokens = Peekable<std::vec::IntoIter<TokenTree>>;

/// Parses the declaration of a struct or an enum.
///
/// # Errors
/// Fails for a union, a type with a lifetime, an enum without variants, and a declaration that this
/// parser cannot read.
pub(crate) fn parse(input: TokenStream) -> Result<Item, Error> {
    let mut tokens = tokens(input);
    skip_attributes(&mut tokens);
    skip_visibility(&mut tokens);
    let keyword = ident(tokens.next())?;
    let name = ident(tokens.next())?;
    let is_enum = match keyword.to_string().as_str() {
        "struct" => false,
        "enum" => true,
        _ => {
            let message = "a union does not record which field holds the value, so it cannot be \
                           sent as bytes: use an enum";
            return Err(Error::new(keyword.span(), message));
        }
    };
    let parameters = parameters(&mut tokens)?;
    let mut rest: Vec<TokenTree> = tokens.collect();
    // The last token is a body in braces or a semicolon.
    let last = rest.pop();
    if is_enum {
        let variants = match last {
            Some(TokenTree::Group(body)) => variants(&body)?,
            _ => Vec::new(),
        };
        if variants.is_empty() {
            let message = format!(
                "`{name}` has no variants, so no value of it can be sent: remove `Payload` from \
                 its derives"
            );
            return Err(Error::new(name.span(), message));
        }
        return Ok(Item {
            is_enum,
            name,
            parameters,
            clause: rest,
            variants,
        });
    }
    let fields = match last {
        Some(TokenTree::Group(body)) => named(&body)?,
        _ => match rest.first() {
            Some(TokenTree::Group(body)) if body.delimiter() == Delimiter::Parenthesis => {
                let fields = Fields::Tuple(tuple(body));
                rest.remove(0);
                fields
            }
            _ => Fields::Unit,
        },
    };
    let variant = Variant {
        name: name.clone(),
        fields,
    };
    Ok(Item {
        is_enum,
        name,
        parameters,
        clause: rest,
        variants: vec![variant],
    })
}

/// Parses the parameters between angle brackets, and consumes both brackets. Returns no parameters,
/// and consumes nothing, if no `<` follows.
///
/// # Errors
/// Fails if a parameter is a lifetime, or if it has no name.
fn parameters(tokens: &mut Tokens) -> Result<Vec<Parameter>, Error> {
    if tokens.next_if(|token| is(token, '<')).is_none() {
        return Ok(Vec::new());
    }
    let (mut angles, mut inside) = (Angles::default(), Vec::new());
    for token in tokens.by_ref() {
        angles.see(&token);
        if angles.depth < 0 {
            break;
        }
        inside.push(token);
    }
    split(inside, true).into_iter().map(parameter).collect()
}

fn parameter(tokens: Vec<TokenTree>) -> Result<Parameter, Error> {
    let mut tokens = tokens.into_iter().peekable();
    skip_attributes(&mut tokens);
    if let Some(quote) = tokens.next_if(|token| is(token, '\'')) {
        let name = ident(tokens.next())?;
        return Err(Error {
            at: (quote.span(), name.span()),
            message: format!(
                "a token owns its data, so its type cannot have the lifetime `'{name}`: store \
                 `String` in place of `&str`, `Vec<T>` in place of `&[T]`"
            ),
        });
    }
    let keyword = tokens.next_if(|token| is_word(token, "const"));
    let is_type = keyword.is_none();
    let name = ident(tokens.next())?;
    let mut before: TokenStream = keyword.into_iter().collect();
    before.extend([TokenTree::from(name.clone())]);
    if is_type {
        // The derive adds a bound before the existing ones.
        tokens.next_if(|token| is(token, ':'));
    }
    // Stops at the default.
    let mut angles = Angles::default();
    let bounds = tokens.take_while(|token| {
        angles.see(token);
        angles.depth > 0 || !is(token, '=')
    });
    let bounds: TokenStream = bounds.collect();
    let after = match is_type {
        true => bounds,
        false => {
            before.extend(bounds);
            TokenStream::new()
        }
    };
    Ok(Parameter {
        is_type,
        name,
        before,
        after,
    })
}

/// Parses the variants of an enum from the content of its braces. Ignores discriminants, because
/// variants are numbered in order. Without variants, the result is empty.
///
/// # Errors
/// Fails if a variant or a named field does not begin with a name.
fn variants(body: &Group) -> Result<Vec<Variant>, Error> {
    let parts = split(body.stream().into_iter().collect(), false);
    let variant = |tokens: Vec<TokenTree>| {
        let mut tokens = tokens.into_iter().peekable();
        skip_attributes(&mut tokens);
        skip_visibility(&mut tokens);
        let name = ident(tokens.next())?;
        let fields = match tokens.next() {
            Some(TokenTree::Group(body)) if body.delimiter() == Delimiter::Brace => named(&body)?,
            Some(TokenTree::Group(body)) if body.delimiter() == Delimiter::Parenthesis => {
                Fields::Tuple(tuple(&body))
            }
            _ => Fields::Unit,
        };
        Ok(Variant { name, fields })
    };
    parts.into_iter().map(variant).collect()
}

fn named(body: &Group) -> Result<Fields, Error> {
    let parts = split(body.stream().into_iter().collect(), true);
    let field = |tokens: Vec<TokenTree>| {
        let mut tokens = tokens.into_iter().peekable();
        skip_attributes(&mut tokens);
        skip_visibility(&mut tokens);
        let name = ident(tokens.next())?;
        // Skips the colon.
        tokens.next();
        Ok((name, tokens.collect()))
    };
    Ok(Fields::Named(
        parts.into_iter().map(field).collect::<Result<_, _>>()?,
    ))
}

fn tuple(body: &Group) -> Vec<Vec<TokenTree>> {
    let parts = split(body.stream().into_iter().collect(), true);
    let field = |tokens: Vec<TokenTree>| {
        let mut tokens = tokens.into_iter().peekable();
        skip_attributes(&mut tokens);
        skip_visibility(&mut tokens);
        tokens.collect()
    };
    parts.into_iter().map(field).collect()
}

/// Splits types or expressions at commas outside angle brackets. If `types` is false, the tokens
/// are expressions, in which `<` and `>` can also compare. A comma at the end does not begin
/// another part.
fn split(tokens: Vec<TokenTree>, types: bool) -> Vec<Vec<TokenTree>> {
    let (mut parts, mut part) = (Vec::new(), Vec::new());
    let mut angles = Angles {
        is_expression: !types,
        ..Angles::default()
    };
    for token in tokens {
        angles.see(&token);
        if angles.depth == 0 && is(&token, ',') {
            parts.push(std::mem::take(&mut part));
        } else {
            part.push(token);
        }
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

/// Depth of angle brackets, which are single tokens to the compiler, not groups.
#[derive(Default)]
struct Angles {
    /// Number of open brackets.
    depth: i32,
    /// Whether the last token was a minus, so that `>` ends an arrow.
    minus: bool,
    /// Whether the tokens are expressions, where `<` and `>` can also be operators.
    is_expression: bool,
    /// Whether the last token ends an operand of an expression, so that `<` is an operator.
    operand: bool,
    /// Whether the tokens are the type of a cast, where `<` is never an operator.
    cast: bool,
}

impl Angles {
    fn see(&mut self, token: &TokenTree) {
        let is_type = !self.is_expression || self.depth > 0;
        if is(token, '<') {
            // The second half of a shift operator follows the same operand.
            if is_type || !self.operand {
                self.depth += 1;
            }
        } else if is(token, '>') && is_type {
            if !self.minus {
                self.depth -= 1;
            }
            (self.operand, self.cast) = (true, false);
        } else {
            let is_colon = is(token, ':');
            self.cast = is_word(token, "as")
                || self.cast && (is_colon || matches!(token, TokenTree::Ident(_)));
            self.operand = !self.cast && !matches!(token, TokenTree::Punct(_));
        }
        self.minus = is(token, '-');
    }
}

fn skip_attributes(tokens: &mut Tokens) {
    while tokens.next_if(|token| is(token, '#')).is_some() {
        tokens.next();
    }
}

/// Skips `pub`, `pub(crate)` and similar, if the declaration of an item or a field begins with one.
/// A macro with `$vis:vis` passes them in a group without delimiters, which can be empty.
fn skip_visibility(tokens: &mut Tokens) {
    let of_macro = |token: &TokenTree| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
            let first = group.stream().into_iter().next();
            first.is_none_or(|first| is_word(&first, "pub"))
        }
        _ => false,
    };
    if tokens.next_if(of_macro).is_some() || tokens.next_if(|token| is_word(token, "pub")).is_none()
    {
        return;
    }
    // Other content in parentheses is the type of a tuple's field.
    tokens.next_if(|token| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => {
            let inside: Vec<TokenTree> = group.stream().into_iter().collect();
            match &inside[..] {
                [word] => ["crate", "self", "super"]
                    .iter()
                    .any(|name| is_word(word, name)),
                [word, ..] => is_word(word, "in"),
                [] => false,
            }
        }
        _ => false,
    });
}

fn tokens(stream: TokenStream) -> Tokens {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    tokens.into_iter().peekable()
}

fn is(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident.to_string() == word)
}

fn ident(token: Option<TokenTree>) -> Result<Ident, Error> {
    match token {
        Some(TokenTree::Ident(ident)) => Ok(ident),
        other => {
            let at = other.map_or(Span::call_site(), |token| token.span());
            let message = "`#[derive(Payload)]` cannot read this declaration: use \
                           `graphmap_runtime::payload!`";
            Err(Error::new(at, message))
        }
    }
}
