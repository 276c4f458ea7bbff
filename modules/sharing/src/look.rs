//! Goes through the syntax of a file for what ranks may share.

use crate::facts::{At, Call, Definition, Facts, Form, Module, Shape, Static};
use crate::names::{self, Names};
use crate::{known_macros, reach, shape};
use proc_macro2::{Span, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Item, Type};

/// What is seen of a file, while it is gone through.
pub(crate) struct Look {
    /// Where the tokens begin in the text.
    begin: usize,
    /// Whether what is there for tests counts.
    tests: bool,
    /// How deep the tokens of a call of a macro may nest.
    deepest: usize,
    /// The modules around, as they are written in the file.
    within: Vec<String>,
    names: Names,
    /// Types are looked at when all names are known.
    statics: Vec<(String, Form, Type, At)>,
    definitions: Vec<(String, Vec<String>, Vec<Type>)>,
    mentions: Vec<(Vec<String>, At)>,
    facts: Facts,
}

impl Look {
    /// What a file has.
    pub(crate) fn at(file: &syn::File, begin: usize, (tests, deepest): (bool, usize)) -> Facts {
        let mut look = Look {
            begin,
            tests,
            deepest,
            within: Vec::new(),
            names: Names::default(),
            statics: Vec::new(),
            definitions: Vec::new(),
            mentions: Vec::new(),
            facts: Facts::default(),
        };
        look.visit_file(file);
        look.end()
    }

    fn end(mut self) -> Facts {
        let shape = |ty: &Type| shape::of(ty, &self.names);
        let statics = self.statics.iter().map(|(name, form, ty, at)| Static {
            name: name.clone(),
            form: *form,
            of: shape(ty),
            at: at.clone(),
        });
        self.facts.statics = statics.collect();
        let definitions = self
            .definitions
            .iter()
            .map(|(name, parameters, types)| Definition {
                name: name.clone(),
                parameters: parameters.clone(),
                parts: types.iter().map(shape).collect::<Vec<Shape>>(),
            });
        self.facts.definitions = definitions.collect();
        for (path, at) in &self.mentions {
            let paths = self.names.paths(path).into_iter();
            let mut known = paths.filter_map(|path| Some((reach::of(&path)?, path)));
            if let Some((reach, path)) = known.next() {
                let at = at.clone();
                self.facts.calls.push(Call { path, reach, at });
            }
        }
        self.facts
    }

    fn place(&self, span: Span) -> At {
        let at = span.byte_range();
        self.begin + at.start..self.begin + at.end
    }

    fn note(&mut self, form: Form, name: &syn::Ident, ty: &Type) {
        let at = self.place(name.span()).start..self.place(ty.span()).end;
        let name = names::name(name);
        self.statics.push((name, form, ty.clone(), at));
    }

    fn define<'a>(
        &mut self,
        name: &syn::Ident,
        generics: &syn::Generics,
        types: impl Iterator<Item = &'a Type>,
    ) {
        let parameters = generics
            .type_params()
            .map(|p| names::name(&p.ident))
            .collect();
        let types = types.cloned().collect();
        self.definitions
            .push((names::name(name), parameters, types));
    }

    /// Whether it is left out of what is run as ranks.
    fn leaves_out(&self, attributes: &[Attribute]) -> bool {
        !self.tests && attributes.iter().any(is_test)
    }

    /// The tokens of a call of a macro as what they may be; whether they are any of it.
    fn look_into(&mut self, tokens: &TokenStream) -> bool {
        let depth = crate::depth::depth(tokens.clone());
        let Some(left) = self.deepest.checked_sub(depth) else {
            return false;
        };
        let before = std::mem::replace(&mut self.deepest, left);
        let seen = match known_macros::expressions(tokens) {
            Some(expressions) => {
                expressions.iter().for_each(|one| self.visit_expr(one));
                true
            }
            None => match syn::parse::Parser::parse2(syn::Block::parse_within, tokens.clone()) {
                Ok(statements) => {
                    statements.iter().for_each(|one| self.visit_stmt(one));
                    true
                }
                Err(_) => false,
            },
        };
        self.deepest = before;
        seen
    }
}

impl<'ast> Visit<'ast> for Look {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Mod(item) => &item.attrs,
            Item::Static(item) => &item.attrs,
            Item::Macro(item) => &item.attrs,
            _ => &Vec::new(),
        };
        if !self.leaves_out(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.names.take(&item.tree);
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        let form = match &item.mutability {
            syn::StaticMutability::Mut(_) => Form::Mutable,
            // An attribute of Rust's own that is not stable.
            _ if item
                .attrs
                .iter()
                .any(|one| one.path().is_ident("thread_local")) =>
            {
                Form::ThreadLocal { constant: true }
            }
            _ => Form::Static,
        };
        self.note(form, &item.ident, &item.ty);
        visit::visit_item_static(self, item);
    }

    fn visit_foreign_item_static(&mut self, item: &'ast syn::ForeignItemStatic) {
        let form = match &item.mutability {
            syn::StaticMutability::Mut(_) => Form::Mutable,
            _ => Form::Foreign,
        };
        self.note(form, &item.ident, &item.ty);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.define(
            &item.ident,
            &item.generics,
            item.fields.iter().map(|f| &f.ty),
        );
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        let fields = item.variants.iter().flat_map(|variant| &variant.fields);
        self.define(&item.ident, &item.generics, fields.map(|f| &f.ty));
        visit::visit_item_enum(self, item);
    }

    fn visit_item_union(&mut self, item: &'ast syn::ItemUnion) {
        self.define(
            &item.ident,
            &item.generics,
            item.fields.named.iter().map(|f| &f.ty),
        );
        visit::visit_item_union(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.define(&item.ident, &item.generics, std::iter::once(&*item.ty));
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let name = names::name(&item.ident);
        if item.content.is_none() {
            let mut path = self.within.clone();
            path.push(name);
            self.facts.modules.push(Module {
                path,
                file: item.attrs.iter().find_map(said_path),
                conditional: item.attrs.iter().any(is_condition),
                at: self.place(item.ident.span()),
            });
            return;
        }
        self.within.push(name);
        visit::visit_item_mod(self, item);
        self.within.pop();
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        match (&item.ident, item.mac.path.is_ident("macro_rules")) {
            (Some(name), true) => {
                if let Some(span) = first_static(item.mac.tokens.clone()) {
                    let made = (names::name(name), self.place(span));
                    self.facts.makers.push(made);
                }
            }
            _ => self.visit_macro(&item.mac),
        }
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let Some(last) = call.path.segments.last() else {
            return;
        };
        let name = names::name(&last.ident);
        let declared = match &*name {
            "thread_local" => known_macros::thread_locals(&call.tokens),
            "lazy_static" => known_macros::lazy_statics(&call.tokens),
            _ => None,
        };
        if let Some(declared) = declared {
            for one in &declared {
                self.note(one.form, &one.name, &one.ty);
                self.visit_expr(&one.value);
            }
            return;
        }
        let seen = self.look_into(&call.tokens);
        if !(known_macros::is_harmless(&name) || seen && known_macros::is_expression(&name)) {
            let at = self.place(call.path.span());
            self.facts.unseen.push((name, at));
        }
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        if path.qself.is_none() {
            let parts = path.path.segments.iter().map(|s| names::name(&s.ident));
            self.mentions
                .push((parts.collect(), self.place(path.span())));
        }
        visit::visit_expr_path(self, path);
    }
}

/// `#[cfg(test)]`, `#[test]`
fn is_test(attribute: &Attribute) -> bool {
    let of_cfg = || match &attribute.meta {
        syn::Meta::List(list) if list.path.is_ident("cfg") => list.tokens.to_string() == "test",
        _ => false,
    };
    attribute.path().is_ident("test") || of_cfg()
}

fn is_condition(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg") || attribute.path().is_ident("cfg_attr")
}

/// What `#[path = ".."]` says.
fn said_path(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        syn::Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            Expr::Lit(syn::ExprLit {
                lit: syn::Lit::Str(text),
                ..
            }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

/// The first `static` in the tokens of a macro's definition that is no lifetime.
fn first_static(tokens: TokenStream) -> Option<Span> {
    let mut open = vec![(tokens.into_iter(), false)];
    while let Some((rest, after_tick)) = open.last_mut() {
        let Some(token) = rest.next() else {
            open.pop();
            continue;
        };
        match token {
            TokenTree::Ident(name) if name == "static" && !*after_tick => return Some(name.span()),
            TokenTree::Punct(punct) => *after_tick = punct.as_char() == '\'',
            TokenTree::Group(group) => {
                *after_tick = false;
                open.push((group.stream().into_iter(), false));
            }
            _ => *after_tick = false,
        }
    }
    None
}
