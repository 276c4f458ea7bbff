//! Goes through the syntax of a file for what ranks may share.

use crate::facts::{Around, At, Call, Definition, Facts, Form, Module, Shape, Static};
use crate::names::{self, Names, Place};
use crate::{known_macros, reach, shape};
use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use syn::punctuated::Punctuated;
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
    within: Vec<Around>,
    /// Whether what is seen may not be there.
    conditional: bool,
    names: Names,
    /// Types are looked at when all names are known.
    statics: Vec<(String, Form, Type, At, Place)>,
    definitions: Vec<(String, Vec<String>, Vec<Type>, Place)>,
    mentions: Vec<(Vec<String>, At, Place)>,
    facts: Facts,
}

impl Look {
    /// Nothing is seen yet.
    pub(crate) fn new(begin: usize, (tests, deepest): (bool, usize)) -> Look {
        Look {
            begin,
            tests,
            deepest,
            within: Vec::new(),
            conditional: false,
            names: Names::default(),
            statics: Vec::new(),
            definitions: Vec::new(),
            mentions: Vec::new(),
            facts: Facts::default(),
        }
    }

    /// What a file has.
    pub(crate) fn at_file(mut self, file: &syn::File) -> Facts {
        self.visit_file(file);
        self.end()
    }

    /// What statements have.
    pub(crate) fn at_statements(mut self, statements: &[syn::Stmt]) -> Facts {
        statements.iter().for_each(|one| self.visit_stmt(one));
        self.end()
    }

    fn end(mut self) -> Facts {
        let shape = |ty: &Type, place: Place| shape::of(ty, &self.names, place);
        let statics = self.statics.iter();
        let statics = statics.map(|(name, form, ty, at, place)| Static {
            name: name.clone(),
            form: *form,
            of: shape(ty, *place),
            at: at.clone(),
        });
        self.facts.statics = statics.collect();
        let definitions = self
            .definitions
            .iter()
            .map(|(name, parameters, types, place)| Definition {
                name: name.clone(),
                parameters: parameters.clone(),
                parts: types
                    .iter()
                    .map(|ty| shape(ty, *place))
                    .collect::<Vec<Shape>>(),
            });
        self.facts.definitions = definitions.collect();
        for (path, at, place) in &self.mentions {
            let paths = self.names.paths(*place, path).into_iter();
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
        let place = self.names.here();
        self.statics.push((name, form, ty.clone(), at, place));
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
            .push((names::name(name), parameters, types, self.names.here()));
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
        let before = (self.deepest, self.conditional);
        (self.deepest, self.conditional) = (left, true);
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
        (self.deepest, self.conditional) = before;
        seen
    }
}

impl Look {
    /// The branches of `cfg_if!`, in each of which is what may be in a block; whether they are.
    fn look_into_branches(&mut self, tokens: &TokenStream) -> bool {
        let branches = tokens.clone().into_iter().filter_map(|token| match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                Some(group.stream())
            }
            _ => None,
        });
        let branches: Vec<TokenStream> = branches.collect();
        // Each is looked into, whatever the others are.
        let mut all = true;
        for branch in &branches {
            all &= branch.is_empty() || self.look_into(branch);
        }
        all
    }

    /// Syntax that `syn` knows only as tokens: whether there is a static in it.
    fn look_at_tokens(&mut self, tokens: &TokenStream) {
        if let Some(span) = first_static(tokens.clone()) {
            let at = self.place(span);
            self.facts.makers.push((None, at));
        }
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
        if let Item::Verbatim(tokens) = item {
            self.look_at_tokens(tokens);
        }
        if !self.leaves_out(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_foreign_item(&mut self, item: &'ast syn::ForeignItem) {
        let syn::ForeignItem::Verbatim(tokens) = item else {
            return visit::visit_foreign_item(self, item);
        };
        // Whether it is safe to touch does not matter.
        let is_safety = |token: &TokenTree| match token {
            TokenTree::Ident(word) => word == "safe" || word == "unsafe",
            _ => false,
        };
        let rest = tokens.clone().into_iter().filter(|one| !is_safety(one));
        match syn::parse2::<syn::ForeignItemStatic>(rest.collect()) {
            Ok(item) => self.visit_foreign_item_static(&item),
            Err(_) => self.look_at_tokens(tokens),
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
        visit::visit_item_type(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let name = names::name(&item.ident);
        let said = item.attrs.iter().find_map(said_path);
        let conditional = self.conditional || item.attrs.iter().any(is_condition);
        if item.content.is_some() {
            let before = std::mem::replace(&mut self.conditional, conditional);
            self.within.push(match said {
                Some(folder) => Around::Folder(folder),
                None => Around::Name(name),
            });
            self.names.enter(true);
            visit::visit_item_mod(self, item);
            self.names.leave();
            self.within.pop();
            self.conditional = before;
            return;
        }
        // Under conditions it may be each of several files.
        let under_conditions = item.attrs.iter().flat_map(conditional_paths);
        let files = under_conditions.map(Some).chain([said]);
        for file in files.collect::<Vec<_>>() {
            self.facts.modules.push(Module {
                around: self.within.clone(),
                name: name.clone(),
                file,
                included: false,
                conditional,
                at: self.place(item.ident.span()),
            });
        }
    }

    fn visit_block(&mut self, block: &'ast syn::Block) {
        self.names.enter(false);
        visit::visit_block(self, block);
        self.names.leave();
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        match (&item.ident, item.mac.path.is_ident("macro_rules")) {
            (Some(name), true) => {
                if let Some(span) = first_static(item.mac.tokens.clone()) {
                    let made = (Some(names::name(name)), self.place(span));
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
        if name == "include"
            && let Ok(file) = syn::parse2::<syn::LitStr>(call.tokens.clone())
        {
            self.facts.modules.push(Module {
                around: Vec::new(),
                name,
                file: Some(file.value()),
                included: true,
                conditional: self.conditional,
                at: self.place(call.path.span()),
            });
            return;
        }
        if name == "cfg_if" && self.look_into_branches(&call.tokens) {
            return;
        }
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

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        // Whatever it is called of: nothing else is called so.
        if let Some((path, reach)) = reach::of_method(&call.method.to_string()) {
            let (path, at) = (path.to_owned(), self.place(call.method.span()));
            self.facts.calls.push(Call { path, reach, at });
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        if path.qself.is_none() {
            let parts = path.path.segments.iter().map(|s| names::name(&s.ident));
            let (at, here) = (self.place(path.span()), self.names.here());
            self.mentions.push((parts.collect(), at, here));
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

/// What `#[cfg_attr(.., path = "..")]` says.
fn conditional_paths(attribute: &Attribute) -> Vec<String> {
    let parse = Punctuated::<syn::Meta, syn::Token![,]>::parse_terminated;
    let all = match attribute.path().is_ident("cfg_attr") {
        true => attribute.parse_args_with(parse).unwrap_or_default(),
        false => Punctuated::new(),
    };
    all.iter().filter_map(path_of).collect()
}

/// What `#[path = ".."]` says.
fn said_path(attribute: &Attribute) -> Option<String> {
    path_of(&attribute.meta)
}

fn path_of(meta: &syn::Meta) -> Option<String> {
    match meta {
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
