//! Checks kinds, modules, constraints, and their members.

use super::{Check, is_in, shown};
use crate::arena::Id;
use crate::declared::{Constraint, ConstraintTarget};
use crate::network::ProcessId;
use crate::resolve::processes_of_modules;
use rustc_hash::FxHashSet;

impl Check<'_> {
    pub(super) fn modules(&mut self) {
        let n = self.network;
        let mut names = FxHashSet::default();
        for (id, module) in n.modules.iter() {
            if !self.is_name(module.name) || !self.is_name(module.kind) {
                self.nameless(module.span, "a module");
                continue;
            }
            if module.parent.is_some_and(|p| p.index() >= id.index()) {
                self.part(module.span, |n| {
                    let name = shown(n, module.name);
                    format!("module `{name}` does not come after its parent")
                });
            }
            if !names.insert((module.parent, module.name)) {
                self.part(module.span, |n| {
                    format!(
                        "two modules of one parent are named `{}`",
                        shown(n, module.name)
                    )
                });
            }
        }
    }

    /// Reports kinds with an invalid name, with the name of another kind, or without a process.
    /// Their members are checked with the processes.
    pub(super) fn kinds(&mut self) {
        let n = self.network;
        let mut named = vec![false; n.names.len()];
        for kind in n.kinds.values() {
            if !self.is_name(kind.name) {
                self.nameless(kind.span, "a kind");
                continue;
            }
            if std::mem::replace(&mut named[kind.name.index()], true) {
                self.part(kind.span, |n| {
                    format!("two kinds are named `{}`", shown(n, kind.name))
                });
            }
            if kind.members.is_empty() {
                self.part(kind.span, |n| {
                    format!("kind `{}` has no process", shown(n, kind.name))
                });
            }
        }
    }

    /// Checks the processes with their ports and their kinds, and reports violations. Each process
    /// must be the next member of its kind. Stops at the first process whose ports cannot be
    /// determined.
    pub(super) fn processes(&mut self) {
        let n = self.network;
        let null = n.names.get("NULL");
        let mut named = vec![false; n.names.len()];
        let mut members = vec![0; n.kinds.len()];
        let mut ports = self.counts();
        for (id, process) in n.processes.iter() {
            if !self.is_name(process.name) {
                self.nameless(process.span, "a process");
                continue;
            }
            if std::mem::replace(&mut named[process.name.index()], true) {
                self.part(process.span, |n| {
                    format!("two processes are named `{}`", shown(n, process.name))
                });
            }
            if Some(process.name) == null {
                self.part(process.span, |_| {
                    "a process is named `NULL`, the name of the environment".to_owned()
                });
            }
            let kind = n.kinds.get(process.kind);
            let next = members.get_mut(process.kind.index());
            let is_next = kind.zip(next).is_some_and(|(kind, next)| {
                *next += 1;
                kind.members.get(*next - 1) == Some(&id)
            });
            if !is_next {
                self.part(process.span, |n| {
                    let name = shown(n, process.name);
                    format!("process `{name}` is not the next process in the list of its kind")
                });
            }
            if process.module.is_some_and(|m| !is_in(&n.modules, m)) {
                self.part(process.span, |n| {
                    let name = shown(n, process.name);
                    format!("process `{name}` is in a module that does not exist")
                });
            }
            self.process_numbers(id, process);
            if !self.ports(id, process, &mut ports) {
                return;
            }
        }
        for (kind, seen) in n.kinds.values().zip(members) {
            if kind.members.len() != seen {
                self.part(kind.span, |n| {
                    format!(
                        "kind `{}` lists processes that are not of this kind",
                        shown(n, kind.name)
                    )
                });
            }
        }
        self.all_joined(&ports);
    }

    pub(super) fn constraints(&mut self) {
        let n = self.network;
        if !self.parts.is_empty() {
            return;
        }
        for constraint in &n.constraints {
            let decl = &constraint.declared;
            let processes = &constraint.processes;
            if !ascends(processes) || processes.last().is_some_and(|p| !is_in(&n.processes, *p)) {
                self.part(decl.span, |_| {
                    "the processes of a constraint do not exist, or are not in ascending order of ranks"
                        .to_owned()
                });
            }
            if let Constraint::Host(name)
            | Constraint::Colocate(name)
            | Constraint::Separate(name)
            | Constraint::Program(name) = &decl.constraint
                && name.is_empty()
            {
                self.part(decl.span, |_| {
                    "a constraint has an empty name of a host, a group or a program".to_owned()
                });
            }
            let of_module = matches!(decl.constraint, Constraint::Whole | Constraint::Prefer(_));
            match decl.target {
                ConstraintTarget::Module(module) if !is_in(&n.modules, module) => {
                    self.part(decl.span, |_| {
                        "a constraint names a module that does not exist".to_owned()
                    });
                }
                ConstraintTarget::Node(_) if of_module => self.part(decl.span, |_| {
                    "`whole` and `prefer` apply to modules, but are set on a process".to_owned()
                }),
                _ => {}
            }
        }
        if !self.parts.is_empty() {
            return;
        }
        let inside = processes_of_modules(n, n.constraints.iter().map(|c| &c.declared));
        for constraint in &n.constraints {
            if let ConstraintTarget::Module(module) = constraint.declared.target
                && inside[module.index()] != constraint.processes
            {
                self.part(constraint.declared.span, |n| {
                    let name = shown(n, n.modules[module].name);
                    format!("a constraint on module `{name}` does not list the processes in it")
                });
            }
        }
    }
}

fn ascends(processes: &[ProcessId]) -> bool {
    processes.windows(2).all(|pair| pair[0] < pair[1])
}
