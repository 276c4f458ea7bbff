//! Collects the [`Facts`] of a file from its syntax tree.

use crate::facts::{Around, At, Call, Definition, Facts, Form, HeldLock, Module, Shape, Static};
use crate::names::{self, Names, ScopeId};
use crate::reach::Reach;
use crate::{attributes, foreign, guards, holds, known_macros, reach, shape};
use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use std::collections::BTreeSet;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Item, Type};

/// Visitor of a syntax tree, with the facts collected so far.
pub(crate) struct Visitor {
    /// Byte offset of the first token in the text.
    begin: usize,
    /// Whether test code counts.
    tests: bool,
    /// Maximum nesting of the tokens of a macro call.
    deepest: usize,
    /// Inline modules around the current position.
    within: Vec<Around>,
    /// Whether the current code depends on a condition.
    conditional: bool,
    names: Names,
    /// Types are resolved at the end, when all names are known.
    statics: Vec<(String, Form, Type, At, ScopeId)>,
    definitions: Vec<(String, Vec<String>, Vec<Type>, ScopeId)>,
    /// Paths in expressions. The last field is true in a thread that does not run ranks.
    mentions: Vec<(Vec<String>, At, ScopeId, bool)>,
    types: Vec<(Vec<String>, ScopeId)>,
    /// Variables that hold receivers of channels.
    receivers: BTreeSet<String>,
    /// Whether the current code runs in a thread that does not run ranks.
    own_thread: bool,
    facts: Facts,
}

impl Visitor {
    /// Creates a visitor without facts. `begin` is the byte offset of the first token in the text.
    /// Test code counts if `tests` is true. `deepest` is the maximum nesting of the tokens of macro
    /// calls.
    pub(crate) fn new(begin: usize, (tests, deepest): (bool, usize)) -> Visitor {
        Visitor {
            begin,
            tests,
            deepest,
            within: Vec::new(),
            conditional: false,
            names: Names::default(),
            statics: Vec::new(),
            definitions: Vec::new(),
            mentions: Vec::new(),
            types: Vec::new(),
            receivers: BTreeSet::new(),
            own_thread: false,
            facts: Facts::default(),
        }
    }

    /// Returns the facts of a file.
    pub(crate) fn at_file(mut self, file: &syn::File) -> Facts {
        self.visit_file(file);
        self.end()
    }

    /// Returns the facts of a sequence of statements.
    pub(crate) fn at_statements(mut self, statements: &[syn::Stmt]) -> Facts {
        statements.iter().for_each(|one| self.visit_stmt(one));
        self.end()
    }

    fn end(mut self) -> Facts {
        let shape = |ty: &Type, scope_id: ScopeId| shape::of(ty, &self.names, scope_id);
        let statics = self.statics.iter();
        let statics = statics.map(|(name, form, ty, at, scope_id)| Static {
            name: name.clone(),
            form: *form,
            of: shape(ty, *scope_id),
            at: at.clone(),
        });
        self.facts.statics = statics.collect();
        let definitions = self
            .definitions
            .iter()
            .map(|(name, parameters, types, scope_id)| Definition {
                name: name.clone(),
                parameters: parameters.clone(),
                parts: types
                    .iter()
                    .map(|ty| shape(ty, *scope_id))
                    .collect::<Vec<Shape>>(),
            });
        self.facts.definitions = definitions.collect();
        let waiters = &mut self.facts.waiters;
        for (path, at, scope_id, own_thread) in &self.mentions {
            let paths = self.names.paths(*scope_id, path);
            paths.iter().for_each(|path| holds::mention(path, waiters));
            if paths.iter().any(|path| foreign::is_builder(path)) {
                self.facts.builds.push(at.clone());
            }
            let known = paths
                .into_iter()
                .filter_map(|path| Some((holds::reach_of(&path)?, path)));
            let mut known = known.filter(|(reach, _)| !own_thread || *reach != Reach::Thread);
            if let Some((reach, path)) = known.next() {
                let (at, of) = (at.clone(), None);
                self.facts.calls.push(Call {
                    path,
                    reach,
                    at,
                    of,
                });
            }
        }
        for (path, scope_id) in &self.types {
            let paths = self.names.paths(*scope_id, path);
            paths.iter().for_each(|path| holds::mention(path, waiters));
        }
        self.facts
    }

    /// Records the declaration of a foreign function if it affects the OS process or the thread. A
    /// function that is known to be harmless is not recorded.
    ///
    /// # Errors
    /// Returns the name of the function if its effects are unknown.
    fn declare_foreign(&mut self, item: &syn::ForeignItemFn) -> Result<(), String> {
        let name = item
            .attrs
            .iter()
            .find_map(|one| attributes::value_of(&one.meta, "link_name"));
        let name = name.unwrap_or_else(|| names::name(&item.sig.ident));
        match foreign::of(&name) {
            Some(reach) => {
                let (at, of) = (self.position(item.sig.ident.span()), None);
                self.facts.calls.push(Call {
                    path: name,
                    reach,
                    at,
                    of,
                });
                Ok(())
            }
            None if foreign::is_harmless(&name) => Ok(()),
            None => Err(name),
        }
    }

    fn position(&self, span: Span) -> At {
        let at = span.byte_range();
        self.begin + at.start..self.begin + at.end
    }

    fn note(&mut self, form: Form, name: &syn::Ident, ty: &Type) {
        let at = self.position(name.span()).start..self.position(ty.span()).end;
        let name = names::name(name);
        let scope_id = self.names.here();
        self.statics.push((name, form, ty.clone(), at, scope_id));
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

    /// Returns whether an item with these attributes is skipped because it is test code.
    fn is_skipped(&self, attributes: &[Attribute]) -> bool {
        !self.tests && attributes.iter().any(attributes::is_test)
    }

    /// Visits the tokens of a macro call as expressions, or as statements. Returns false if they
    /// are neither, or nest too deeply.
    fn visit_tokens(&mut self, tokens: &TokenStream) -> bool {
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

impl Visitor {
    /// Visits the branches of `cfg_if!`. Returns whether all of them could be parsed.
    fn visit_branches(&mut self, tokens: &TokenStream) -> bool {
        let branches = tokens.clone().into_iter().filter_map(|token| match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                Some(group.stream())
            }
            _ => None,
        });
        let branches: Vec<TokenStream> = branches.collect();
        // All branches are visited, even if one of them cannot be parsed.
        let mut all = true;
        for branch in &branches {
            all &= branch.is_empty() || self.visit_tokens(branch);
        }
        all
    }

    /// Records the first static in tokens that `syn` does not parse, if there is one.
    fn record_static(&mut self, tokens: &TokenStream) {
        if let Some(span) = first_static(tokens.clone()) {
            let at = self.position(span);
            self.facts.makers.push((None, at));
        }
    }
}

impl<'ast> Visit<'ast> for Visitor {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Mod(item) => &item.attrs,
            Item::Static(item) => &item.attrs,
            Item::Macro(item) => &item.attrs,
            Item::ForeignMod(item) => &item.attrs,
            _ => &Vec::new(),
        };
        if let Item::Verbatim(tokens) = item {
            self.record_static(tokens);
        }
        if !self.is_skipped(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_foreign_mod(&mut self, item: &'ast syn::ItemForeignMod) {
        let abi = item.abi.name.as_ref().map(syn::LitStr::value);
        let is_other = !abi.is_some_and(|abi| abi.starts_with("Rust") || abi.starts_with("rust"));
        let functions = item.items.iter().filter_map(|item| match item {
            syn::ForeignItem::Fn(function) => Some(function.clone()),
            syn::ForeignItem::Verbatim(tokens) => syn::parse2(without_safety(tokens)).ok(),
            _ => None,
        });
        let functions: Vec<syn::ForeignItemFn> = functions.filter(|_| is_other).collect();
        let unknown = functions
            .iter()
            .map(|function| self.declare_foreign(function));
        let unknown: Vec<String> = unknown.filter_map(Result::err).collect();
        if !unknown.is_empty() {
            let at = self.position(item.abi.extern_token.span);
            self.facts.foreign.push((unknown, at));
        }
        visit::visit_item_foreign_mod(self, item);
    }

    fn visit_foreign_item(&mut self, item: &'ast syn::ForeignItem) {
        let syn::ForeignItem::Verbatim(tokens) = item else {
            return visit::visit_foreign_item(self, item);
        };
        match syn::parse2::<syn::ForeignItemStatic>(without_safety(tokens)) {
            Ok(item) => self.visit_foreign_item_static(&item),
            Err(_) => self.record_static(tokens),
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.names.take(&item.tree);
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        let form = match &item.mutability {
            syn::StaticMutability::Mut(_) => Form::Mutable,
            // An unstable attribute of Rust.
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
        let explicit = item.attrs.iter().find_map(attributes::explicit_path);
        let conditional = self.conditional || item.attrs.iter().any(attributes::is_condition);
        if item.content.is_some() {
            let before = std::mem::replace(&mut self.conditional, conditional);
            self.within.push(match explicit {
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
        // Each conditional path may be the file of the module.
        let under_conditions = item.attrs.iter().flat_map(attributes::conditional_paths);
        let files = under_conditions.map(Some).chain([explicit]);
        for file in files.collect::<Vec<_>>() {
            self.facts.modules.push(Module {
                around: self.within.clone(),
                name: name.clone(),
                file,
                included: false,
                conditional,
                at: self.position(item.ident.span()),
            });
        }
    }

    fn visit_block(&mut self, block: &'ast syn::Block) {
        self.names.enter(false);
        for held in guards::held(block).into_iter().filter(|_| !self.own_thread) {
            let (lock, wait) = (self.position(held.lock), self.position(held.wait));
            let method = held.method;
            self.facts.held.push(HeldLock { lock, wait, method });
        }
        visit::visit_block(self, block);
        self.names.leave();
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        match (&item.ident, item.mac.path.is_ident("macro_rules")) {
            (Some(name), true) => {
                if let Some(span) = first_static(item.mac.tokens.clone()) {
                    let made = (Some(names::name(name)), self.position(span));
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
        if name == "include" {
            let Ok(file) = syn::parse2::<syn::LitStr>(call.tokens.clone()) else {
                let at = self.position(call.path.span());
                self.facts.generated.push(at);
                return;
            };
            self.facts.modules.push(Module {
                around: Vec::new(),
                name,
                file: Some(file.value()),
                included: true,
                conditional: self.conditional,
                at: self.position(call.path.span()),
            });
            return;
        }
        if name == "cfg_if" && self.visit_branches(&call.tokens) {
            return;
        }
        if let Some(declared) = declared {
            for one in &declared {
                self.note(one.form, &one.name, &one.ty);
                self.visit_expr(&one.value);
            }
            return;
        }
        let seen = self.visit_tokens(&call.tokens);
        if !(known_macros::is_harmless(&name) || seen && known_macros::is_expression(&name)) {
            let at = self.position(call.path.span());
            self.facts.unseen.push((name, at));
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let name = call.method.to_string();
        let at = self.position(call.method.span());
        // The receiver is not checked, because no other method has such a name.
        let mut known = reach::of_method(&name).map(|(path, reach)| (path, reach, None));
        if !self.own_thread
            && let Some((path, of)) = holds::of_method(&name, call.args.len())
        {
            known = Some((path, Reach::Thread, Some(of)));
        }
        if let Some((path, reach, of)) = known {
            let path = path.to_owned();
            self.facts.calls.push(Call {
                path,
                reach,
                at,
                of,
            });
        }
        let before = self.own_thread;
        self.visit_expr(&call.receiver);
        self.own_thread |= holds::is_spawn(&name);
        call.args.iter().for_each(|one| self.visit_expr(one));
        self.own_thread = before;
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        let before = self.own_thread;
        self.visit_expr(&call.func);
        if let Expr::Path(path) = &*call.func {
            let last = path.path.segments.last();
            self.own_thread |= last.is_some_and(|last| holds::is_spawn(&last.ident.to_string()));
        }
        call.args.iter().for_each(|one| self.visit_expr(one));
        self.own_thread = before;
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if let (syn::Pat::Tuple(pair), Some(init)) = (&local.pat, &local.init)
            && let (Some(syn::Pat::Ident(receiver)), Expr::Call(call)) =
                (pair.elems.get(1), &*init.expr)
            && let Expr::Path(path) = &*call.func
        {
            let parts = path.path.segments.iter().map(|s| names::name(&s.ident));
            let parts: Vec<String> = parts.collect();
            let paths = self.names.paths(self.names.here(), &parts);
            if paths.iter().any(|path| holds::is_channel(path)) {
                self.receivers.insert(names::name(&receiver.ident));
            }
        }
        visit::visit_local(self, local);
    }

    fn visit_expr_for_loop(&mut self, one: &'ast syn::ExprForLoop) {
        let name = holds::variable_of(&one.expr);
        if name.is_some_and(|name| self.receivers.contains(&name)) && !self.own_thread {
            let (path, at) = ("Receiver::iter".to_owned(), self.position(one.expr.span()));
            let (reach, of) = (Reach::Thread, Some(holds::Waiter::Receiver));
            self.facts.calls.push(Call {
                path,
                reach,
                at,
                of,
            });
        }
        visit::visit_expr_for_loop(self, one);
    }

    // An awaited call does not block the thread.
    fn visit_expr_await(&mut self, one: &'ast syn::ExprAwait) {
        match &*one.base {
            Expr::MethodCall(call) => {
                self.visit_expr(&call.receiver);
                call.args.iter().for_each(|one| self.visit_expr(one));
            }
            other => self.visit_expr(other),
        }
    }

    fn visit_type_path(&mut self, path: &'ast syn::TypePath) {
        let parts = path.path.segments.iter().map(|s| names::name(&s.ident));
        self.types.push((parts.collect(), self.names.here()));
        visit::visit_type_path(self, path);
    }

    fn visit_lit_str(&mut self, text: &'ast syn::LitStr) {
        if foreign::builds(&text.value()) {
            let at = self.position(text.span());
            self.facts.builds.push(at);
        }
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        if path.qself.is_none() {
            let parts = path.path.segments.iter().map(|s| names::name(&s.ident));
            let (at, here) = (self.position(path.span()), self.names.here());
            self.mentions
                .push((parts.collect(), at, here, self.own_thread));
        }
        visit::visit_expr_path(self, path);
    }
}

/// Returns a declaration of an `extern` block without the words `safe` and `unsafe`, which `syn`
/// may not parse. Words inside brackets stay.
fn without_safety(tokens: &TokenStream) -> TokenStream {
    let is_safety = |token: &TokenTree| match token {
        TokenTree::Ident(word) => word == "safe" || word == "unsafe",
        _ => false,
    };
    let rest = tokens.clone().into_iter();
    rest.filter(|one| !is_safety(one)).collect()
}

/// Returns the position of the first `static` in tokens that is not the lifetime, also inside
/// brackets. Returns `None` if there is none.
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
