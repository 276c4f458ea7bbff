//! Macros with a known expansion.

use crate::facts::Form;
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Attribute, Expr, Ident, Token, Type, Visibility};

/// A static that a macro declares.
pub(crate) struct Declared {
    pub(crate) form: Form,
    pub(crate) name: Ident,
    pub(crate) ty: Type,
    pub(crate) value: Expr,
}

/// Returns the thread-locals that `thread_local!` declares, or `None` if the tokens cannot be
/// parsed.
pub(crate) fn thread_locals(tokens: &TokenStream) -> Option<Vec<Declared>> {
    declarations(tokens, |input| {
        let (name, ty) = head(input)?;
        let constant = input.peek(Token![const]);
        let value: Expr = input.parse()?;
        let constant = constant || matches!(value, Expr::Lit(_));
        let form = Form::ThreadLocal { constant };
        Ok(Declared {
            form,
            name,
            ty,
            value,
        })
    })
}

/// Returns the statics that `lazy_static!` declares, or `None` if the tokens cannot be parsed.
pub(crate) fn lazy_statics(tokens: &TokenStream) -> Option<Vec<Declared>> {
    declarations(tokens, |input| {
        let (name, ty) = head(input)?;
        let value = input.parse()?;
        let form = Form::Lazy;
        Ok(Declared {
            form,
            name,
            ty,
            value,
        })
    })
}

/// Parses declarations that are separated by semicolons, each by `one`. Returns `None` on an error.
fn declarations(
    tokens: &TokenStream,
    one: impl Fn(ParseStream<'_>) -> syn::Result<Declared>,
) -> Option<Vec<Declared>> {
    let all = |input: ParseStream<'_>| {
        let mut all = Vec::new();
        while !input.is_empty() {
            all.push(one(input)?);
            if !input.is_empty() {
                input.parse::<Token![;]>()?;
            }
        }
        Ok(all)
    };
    all.parse2(tokens.clone()).ok()
}

/// Parses `#[..] pub static ref NAME: Type =`, where attributes, visibility and `ref` are optional.
/// Returns the name and the type, or an error if the input does not begin in this way.
fn head(input: ParseStream<'_>) -> syn::Result<(Ident, Type)> {
    input.call(Attribute::parse_outer)?;
    input.parse::<Visibility>()?;
    input.parse::<Token![static]>()?;
    input.parse::<Option<Token![ref]>>()?;
    let name = input.parse()?;
    input.parse::<Token![:]>()?;
    let ty = input.parse()?;
    input.parse::<Token![=]>()?;
    Ok((name, ty))
}

/// Macros of Rust, `log` and `tracing` that only evaluate expressions, and declare no items.
const EXPRESSIONS: &[&str] = &[
    "addr_of",
    "addr_of_mut",
    "assert",
    "assert_eq",
    "assert_matches",
    "assert_ne",
    "dbg",
    "debug",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "eprint",
    "eprintln",
    "error",
    "format",
    "format_args",
    "info",
    "matches",
    "offset_of",
    "panic",
    "pin",
    "print",
    "println",
    "todo",
    "trace",
    "unimplemented",
    "unreachable",
    "vec",
    "warn",
    "write",
    "writeln",
];

/// Macros whose arguments contain no code to check.
const HARMLESS: &[&str] = &[
    "asm",
    "cfg",
    "column",
    "compile_error",
    "concat",
    "env",
    "file",
    "include_bytes",
    "include_str",
    "is_x86_feature_detected",
    "line",
    "module_path",
    "option_env",
    "stringify",
];

/// Returns whether a macro is known to only evaluate the expressions in it, by its name without
/// path.
pub(crate) fn is_expression(name: &str) -> bool {
    EXPRESSIONS.contains(&name)
}

/// Returns whether a macro is known to contain no code to check, by its name without path.
pub(crate) fn is_harmless(name: &str) -> bool {
    HARMLESS.contains(&name)
}

/// Parses the arguments of a macro as comma-separated expressions or as `value; count`, and returns
/// them as one array expression. If that fails, returns the first expression before a comma, and
/// ignores the tokens after the comma. If that fails too, returns `None`.
pub(crate) fn expressions(tokens: &TokenStream) -> Option<Vec<Expr>> {
    // `[value; count]`
    let array = TokenStream::from(TokenTree::Group(Group::new(
        Delimiter::Bracket,
        tokens.clone(),
    )));
    if let Ok(array) = syn::parse2::<Expr>(array) {
        return Some(vec![array]);
    }
    // `matches!(value, pattern)`
    let first = |input: ParseStream<'_>| {
        let first = Expr::parse(input)?;
        input.parse::<Token![,]>()?;
        input.parse::<TokenStream>()?;
        Ok(vec![first])
    };
    first.parse2(tokens.clone()).ok()
}
