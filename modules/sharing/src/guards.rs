//! Finds locks that a rank holds while it waits for a message. If another rank of the thread
//! requests the lock, the thread blocks forever.
//!
//! The check covers one function at a time: it looks for the guard of a lock, and after it for a
//! call of `mpi` that may wait.

use proc_macro2::Span;
use syn::visit::{self, Visit};
use syn::{Block, Expr, ExprCall, ExprMethodCall, Item, Pat, Stmt};

/// A lock that is held across a wait.
pub(crate) struct Held {
    pub(crate) lock: Span,
    pub(crate) wait: Span,
    /// Name of the method that waits.
    pub(crate) method: String,
}

/// Methods without arguments that return a guard.
const LOCKS: &[&str] = &[
    "lock",
    "read",
    "try_lock",
    "try_read",
    "try_write",
    "upgradable_read",
    "write",
];

/// Methods that return the guard in their receiver.
const HAND_ON: &[&str] = &["expect", "unwrap", "unwrap_or_else"];

/// Methods of the crate `mpi` that may wait. Names with more words after these match too.
const WAITS: &[&str] = &[
    "accumulate",
    "all_gather",
    "all_reduce",
    "all_to_all",
    "barrier",
    "broadcast",
    "create_dynamic_window",
    "create_shared_window",
    "create_window",
    "duplicate",
    "exclusive_scan",
    "fence",
    "fetch_and_op",
    "flush_all",
    "gather",
    "get_accumulate",
    "lock_all",
    "matched_probe",
    "matched_receive",
    "probe",
    "ready_send",
    "receive",
    "reduce",
    "scan",
    "scatter",
    "send",
    "split_by",
    "split_shared",
    "synchronous_send",
    "wait",
    "wait_all",
    "wait_any",
    "wait_some",
];

/// Methods with names that match [`WAITS`] but do not wait for a message. They are methods of
/// channels and locks.
const WAITS_NOT: &[&str] = &[
    "send_timeout",
    "wait_for",
    "wait_timeout",
    "wait_timeout_while",
    "wait_until",
    "wait_while",
];

/// Names that show that an expression is of `mpi`. Methods with common names need one in their
/// receiver, because channels have a `send` too.
const OF_MPI: &[&str] = &[
    "any_process",
    "any_process_with_tag",
    "process_at_rank",
    "this_process",
    "world",
];

/// Returns the locks of a block that are held across waits, each with the first wait, in the order
/// of the statements. There is at most one for each statement. Leaves out the locks in blocks,
/// functions and closures inside the block. A guard in a variable is taken to live until a
/// statement passes the variable to a call.
pub(crate) fn held(block: &Block) -> Vec<Held> {
    let mut held = Vec::new();
    for (at, statement) in block.stmts.iter().enumerate() {
        // A temporary guard lives to the end of the statement.
        if let Some(lock) = Locks::in_statement(statement)
            && let Some((wait, method)) = Waits::in_statement(statement)
        {
            held.push(Held { lock, wait, method });
            continue;
        }
        let Stmt::Local(local) = statement else {
            continue;
        };
        let mut names = Vec::new();
        bound(&local.pat, &mut names);
        let lock = local.init.as_ref().and_then(|init| guard(&init.expr));
        let Some(lock) = lock.filter(|_| !names.is_empty()) else {
            continue;
        };
        let rest = block.stmts[at + 1..].iter();
        let rest = rest.take_while(|statement| !moves(statement, &names));
        let mut waits = rest.filter_map(Waits::in_statement);
        if let Some((wait, method)) = waits.next() {
            held.push(Held { lock, wait, method });
        }
    }
    held
}

/// Adds the names that a pattern binds. `_` binds no name, and drops the guard at once. Only the
/// patterns in which a guard usually occurs are examined.
fn bound(pattern: &Pat, names: &mut Vec<String>) {
    match pattern {
        Pat::Ident(name) => names.push(name.ident.to_string()),
        Pat::Type(typed) => bound(&typed.pat, names),
        // `Ok(guard)`
        Pat::TupleStruct(tuple) => tuple.elems.iter().for_each(|one| bound(one, names)),
        Pat::Tuple(tuple) => tuple.elems.iter().for_each(|one| bound(one, names)),
        _ => {}
    }
}

/// Returns whether a statement is a function or method call with one of the names as an argument,
/// as `drop(name)` is. A name within a larger argument does not count.
fn moves(statement: &Stmt, names: &[String]) -> bool {
    let arguments = match statement {
        Stmt::Expr(Expr::Call(call), _) => &call.args,
        Stmt::Expr(Expr::MethodCall(call), _) => &call.args,
        _ => return false,
    };
    arguments.iter().any(|argument| match argument {
        Expr::Path(path) => names.iter().any(|name| path.path.is_ident(name)),
        _ => false,
    })
}

fn is_lock(call: &ExprMethodCall) -> bool {
    call.args.is_empty() && LOCKS.contains(&&*call.method.to_string())
}

/// Returns the position of the lock call if the value of the expression is its guard, or a tuple
/// with its guard. The guard may pass through `?`, `unwrap`, `expect`, `unwrap_or_else`,
/// parentheses, or a `match` with an arm that is only a name. Otherwise returns `None`.
fn guard(expression: &Expr) -> Option<Span> {
    match expression {
        Expr::MethodCall(call) if is_lock(call) => Some(call.method.span()),
        Expr::MethodCall(call) if HAND_ON.contains(&&*call.method.to_string()) => {
            guard(&call.receiver)
        }
        Expr::Try(inner) => guard(&inner.expr),
        Expr::Paren(inner) => guard(&inner.expr),
        Expr::Tuple(tuple) => tuple.elems.iter().find_map(guard),
        // `match table.lock() { Ok(guard) => guard, Err(poisoned) => .. }`
        Expr::Match(one) => {
            let is_handed_on = |arm: &syn::Arm| matches!(&*arm.body, Expr::Path(_));
            guard(&one.expr).filter(|_| one.arms.iter().any(is_handed_on))
        }
        _ => None,
    }
}

/// Finds the first lock whose guard is a temporary of a statement. This includes the head of a
/// `match` or an `if let`.
#[derive(Default)]
struct Locks(Option<Span>);

impl Locks {
    fn in_statement(statement: &Stmt) -> Option<Span> {
        let mut locks = Locks::default();
        match statement {
            Stmt::Local(local) => {
                let init = local.init.as_ref()?;
                // If a variable holds the guard, `held` checks the statements after it.
                if guard(&init.expr).is_none() {
                    locks.visit_expr(&init.expr);
                }
            }
            Stmt::Expr(expression, _) => locks.visit_expr(expression),
            Stmt::Item(_) | Stmt::Macro(_) => {}
        }
        locks.0
    }
}

impl<'ast> Visit<'ast> for Locks {
    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        if self.0.is_none() && is_lock(call) {
            self.0 = Some(call.method.span());
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_if(&mut self, one: &'ast syn::ExprIf) {
        // The temporaries of a plain condition are dropped before a branch starts.
        if matches!(&*one.cond, Expr::Let(_)) {
            self.visit_expr(&one.cond);
        }
    }

    fn visit_expr_while(&mut self, one: &'ast syn::ExprWhile) {
        if matches!(&*one.cond, Expr::Let(_)) {
            self.visit_expr(&one.cond);
        }
    }

    // A guard in these is not a temporary of the statement.
    fn visit_block(&mut self, _: &'ast Block) {}
    fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {}
    fn visit_expr_async(&mut self, _: &'ast syn::ExprAsync) {}
    fn visit_arm(&mut self, _: &'ast syn::Arm) {}
    fn visit_item(&mut self, _: &'ast Item) {}
}

/// Finds the first call that may wait.
#[derive(Default)]
struct Waits(Option<(Span, String)>);

impl Waits {
    fn in_statement(statement: &Stmt) -> Option<(Span, String)> {
        let mut waits = Waits::default();
        waits.visit_stmt(statement);
        waits.0
    }
}

impl<'ast> Visit<'ast> for Waits {
    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        // The arguments are evaluated before the call.
        visit::visit_expr_call(self, call);
        if let Expr::Path(function) = &*call.func
            && self.0.is_none()
            && let Some(span) = sleeps(&function.path)
        {
            self.0 = Some((span, "sleep".to_string()));
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        // The receiver is evaluated before the call.
        visit::visit_expr_method_call(self, call);
        let name = call.method.to_string();
        if self.0.is_none() && may_wait(call, &name) {
            self.0 = Some((call.method.span(), name));
        }
    }

    fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {}
    fn visit_expr_async(&mut self, _: &'ast syn::ExprAsync) {}
    fn visit_item(&mut self, _: &'ast Item) {}
}

/// Returns the position of the name of a function, if its path is `mpi::sleep`. Returns `None` for
/// other functions.
fn sleeps(path: &syn::Path) -> Option<Span> {
    let mut names = path.segments.iter().rev().map(|segment| &segment.ident);
    let name = names.next().filter(|name| *name == "sleep")?;
    (names.next()? == "mpi").then(|| name.span())
}

/// Returns whether a method is a method of `mpi` that may wait, by its name. If the name is common,
/// the receiver must show that it is of `mpi`.
fn may_wait(call: &ExprMethodCall, name: &str) -> bool {
    let follows = |known: &&&str| {
        let rest = name.strip_prefix(**known);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    };
    if WAITS_NOT.contains(&name) || !WAITS.iter().any(|known| follows(&known)) {
        return false;
    }
    match name {
        // Types outside `mpi` have methods with these names too.
        "send" | "scan" | "reduce" | "duplicate" => is_of_mpi(&call.receiver),
        "wait" => call.args.is_empty(),
        _ => true,
    }
}

/// Returns whether an expression is recognizably a communicator, or a process of one.
fn is_of_mpi(expression: &Expr) -> bool {
    match expression {
        Expr::MethodCall(call) => {
            OF_MPI.contains(&&*call.method.to_string()) || is_of_mpi(&call.receiver)
        }
        Expr::Path(path) => path.path.segments.last().is_some_and(|last| {
            let name = last.ident.to_string();
            ["comm", "communicator", "world"].contains(&&*name) || name.ends_with("_comm")
        }),
        Expr::Reference(inner) => is_of_mpi(&inner.expr),
        Expr::Paren(inner) => is_of_mpi(&inner.expr),
        Expr::Field(field) => match &field.member {
            syn::Member::Named(name) => ["comm", "world"].contains(&&*name.to_string()),
            syn::Member::Unnamed(_) => false,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn methods(text: &str) -> Vec<String> {
        let block: Block = syn::parse_str(&format!("{{ {text} }}")).unwrap();
        held(&block).into_iter().map(|one| one.method).collect()
    }

    #[test]
    fn a_guard_that_lives_across_a_wait_is_found() {
        for (text, method) in [
            ("let g = M.lock().unwrap(); world.barrier();", "barrier"),
            ("let g = M.lock().unwrap(); window.fence();", "fence"),
            ("let g = M.lock().unwrap(); mpi::sleep(time);", "sleep"),
            (
                "let mut g = M.lock()?; *g += 1; p.receive_vec::<u8>();",
                "receive_vec",
            ),
            (
                "let g: Guard = self.m.write().expect(\"\"); if a { r.wait(); }",
                "wait",
            ),
            (
                "let Ok(g) = M.read() else { return }; world.all_reduce_into(&1, &mut a, s);",
                "all_reduce_into",
            ),
            (
                "world.process_at_rank(1).send(&*M.lock().unwrap());",
                "send",
            ),
            (
                "match M.lock().unwrap().get() { Some(_) => world.barrier(), None => {} }",
                "barrier",
            ),
            (
                "if let Some(a) = M.lock().unwrap().pop() { p.receive_into(&mut b); }",
                "receive_into",
            ),
            (
                "for a in M.lock().unwrap().iter() { p.synchronous_send(a); }",
                "synchronous_send",
            ),
            (
                "let a = f(&M.lock().unwrap(), p.receive::<u8>().0);",
                "receive",
            ),
            (
                "let (g, n) = (M.lock().unwrap(), 1); world.barrier();",
                "barrier",
            ),
            (
                "let g = match M.lock() { Ok(g) => g, Err(e) => e.into_inner() }; world.barrier();",
                "barrier",
            ),
            (
                "if let Ok(g) = M.try_lock() { world.barrier(); }",
                "barrier",
            ),
            (
                "let g = M.lock().unwrap(); let g = 1; world.barrier();",
                "barrier",
            ),
        ] {
            assert_eq!(methods(text), [method], "{text}");
        }
    }

    #[test]
    fn a_guard_that_is_gone_is_not() {
        for text in [
            "let a = *M.lock().unwrap(); world.barrier();",
            "let a = M.lock().unwrap().clone(); world.barrier();",
            "{ let g = M.lock().unwrap(); } world.barrier();",
            "let g = M.lock().unwrap(); drop(g); world.barrier();",
            "let g = M.lock().unwrap(); add(1, g); world.barrier();",
            "let _ = M.lock().unwrap(); world.barrier();",
            "let n = match M.lock() { Ok(g) => g.len(), Err(_) => 0 }; world.barrier();",
            "let g = M.lock().unwrap(); let f = || world.barrier();",
            "if M.lock().unwrap().is_empty() { world.barrier(); }",
            "let g = M.lock().unwrap(); sender.send(1);",
            "let g = M.lock().unwrap(); let g = c.wait_while(g, |a| *a);",
            "let a = file.read(&mut buffer); world.barrier();",
            "world.barrier(); let g = M.lock().unwrap();",
        ] {
            assert_eq!(methods(text), [""; 0], "{text}");
        }
    }
}
