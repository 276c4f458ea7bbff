//! Modules: processes that belong together in the graph. Membership is computed from sequences on
//! demand.

use super::full_names::FullNames;
use super::names::NameTable;
use super::network::{Kind, ModuleTable, Names, Network};
use graphmap_executor::exec::report::ModuleInfo;
use graphmap_executor::exec::scheduler::MOST;
use graphmap_executor::sequence::Sequence;

impl Network {
    /// Adds modules of a kind, which group processes as the clusters of the graph do.
    ///
    /// `names` are the names of the modules. `within` is a [`Sequence`](crate::Sequence) with a
    /// number for each module: the module that contains it, or 0. Modules are numbered from 1, in
    /// the order in which they are added, and a module must be added by a later call than the
    /// module that contains it. [`Network::inside`] puts processes into modules.
    /// [`run`](crate::run) reports an invalid sequence, a wrong number of names, a containing
    /// module that was not added before, and too many modules.
    ///
    /// ```
    /// # use graphmap_runtime::{Ends, Names, Network, Options, Ports, run};
    /// # struct None;
    /// # impl Ports for None { fn connect(_: &mut Ends<'_>) -> Self { None } }
    /// let mut net = Network::new("rows", "rows.dot");
    /// let cell = net.kind("cell", Names::Numbered("cell", "1+1*6"), "0+1*6", &[], |_: None| async {
    ///     let around = graphmap_runtime::modules();
    ///     assert_eq!((&*around[0].name, &*around[1].kind), ("all", "row"));
    /// });
    /// net.modules("grid", Names::Listed(&["all"]), "0");
    /// net.modules("row", Names::Numbered("row", "1+1*2"), "1+0*2");
    /// net.inside(cell, "2+0*3+1*2");
    /// run(net, &Options::new()).unwrap();
    /// ```
    pub fn modules(&mut self, kind: &str, names: Names<'_>, within: &str) {
        let of = || format!("modules of kind {kind}");
        let within = self.sequence(of, within);
        let names = self.names(of, names);
        self.add_modules(kind, names, within);
    }

    /// Adds modules as [`Network::modules`] does.
    pub(super) fn add_modules(&mut self, kind: &str, names: NameTable, within: Sequence) {
        let of = || format!("modules of kind {kind}");
        let count = within.len();
        if let Some(names) = names.len().filter(|&names| names != count) {
            let error = format!("{}: {names} names for {count} modules", of());
            self.errors.push(error);
        }
        let before = self.modules_total();
        // Each module has a communicator, and other communicators need numbers as well.
        let all = u32::try_from(count).ok();
        let all = all.and_then(|count| before.checked_add(count));
        if all.is_none_or(|all| all >= MOST) {
            let error = format!("{}: more than {MOST} modules", of());
            return self.errors.push(error);
        }
        if let Some(wrong) = within.iter().find(|&number| number > before) {
            let error = format!(
                "{}: module {wrong} does not exist: {before} are declared before",
                of()
            );
            self.errors.push(error);
        }
        self.modules.push(ModuleTable {
            kind: kind.to_string(),
            names,
            within,
            first: before + 1,
        });
    }

    /// Sets the modules of the members of a kind: a [`Sequence`](crate::Sequence) with, for each
    /// member, the number of the innermost module that contains it, or 0. The modules must have
    /// been added before. If the sequence is inconsistent, [`run`](crate::run) reports the error.
    pub fn inside(&mut self, kind: Kind, modules: &str) {
        let name = self
            .kinds
            .get(kind.number())
            .map_or("?", |table| &table.name);
        let name = name.to_string();
        let of = || format!("the modules of kind {name}");
        let modules = self.sequence(of, modules);
        let all = self.modules_total();
        if let Some(wrong) = modules.iter().find(|&number| number > all) {
            self.errors.push(format!(
                "{}: module {wrong} does not exist: there are {all}",
                of()
            ));
        }
        match self.kinds.get_mut(kind.number()) {
            Some(table) if modules.len() == table.ranks.len() => table.modules = modules,
            Some(table) => {
                let (given, members) = (modules.len(), table.ranks.len());
                self.errors
                    .push(format!("{}: {given} numbers for {members} members", of()));
            }
            None => self
                .errors
                .push("a module for a kind of another network".into()),
        }
    }

    pub(super) fn modules_total(&self) -> u32 {
        let last = self.modules.last();
        last.map_or(0, |last| last.first - 1 + last.within.len() as u32)
    }

    /// Returns the table that contains a module, and the index of the module in it. Returns `None`
    /// if the module does not exist.
    fn find_module(&self, number: u32) -> Option<(&ModuleTable, usize)> {
        let behind = self.modules.partition_point(|table| table.first <= number);
        let table = self.modules.get(behind.checked_sub(1)?)?;
        let at = (number - table.first) as usize;
        (at < table.within.len()).then_some((table, at))
    }

    pub(super) fn innermost(&self, kind: u32, index: u32) -> Option<u32> {
        let table = self.kinds.get(kind as usize)?;
        let number = table.modules.get(index as usize);
        number.filter(|&number| number > 0)
    }

    pub(super) fn module_info(&self, number: u32) -> Option<ModuleInfo> {
        let (table, at) = self.find_module(number)?;
        Some(ModuleInfo {
            name: table.names.get(at),
            kind: table.kind.clone(),
            within: table.within.get(at).filter(|&within| within > 0),
        })
    }

    /// Returns the number of the module that contains a module, or `None` if no module contains it.
    pub(super) fn module_around(&self, number: u32) -> Option<u32> {
        let (table, at) = self.find_module(number)?;
        table.within.get(at).filter(|&within| within > 0)
    }

    /// Returns the full names of the processes. They are computed at the first call.
    pub(super) fn all_full_names(&self) -> &FullNames {
        self.full_names.get_or_init(|| {
            let modules = self.modules.iter();
            let modules = modules.map(|table| (&*table.kind, &table.within));
            let kinds = self.kinds.iter();
            let kinds = kinds.map(|kind| (&*kind.name, kind.ranks.len(), &kind.modules));
            FullNames::new(&modules.collect::<Vec<_>>(), &kinds.collect::<Vec<_>>())
        })
    }

    /// Returns the ranks of the processes in a module and in the modules inside it, in ascending
    /// order. The list is empty if the module does not exist. Takes time in proportion to its
    /// processes, and searches the sequences of all kinds for each module in it.
    pub(super) fn ranks_in(&self, number: u32) -> Vec<u32> {
        let mut ranks = Vec::new();
        let mut left = vec![number];
        while let Some(number) = left.pop() {
            for kind in &self.kinds {
                let members = kind.modules.positions(number).into_iter();
                ranks.extend(members.filter_map(|index| kind.ranks.get(index)));
            }
            // Only modules that were added later can be inside this one.
            for table in self.modules.iter().filter(|table| table.first > number) {
                let within = table.within.positions(number).into_iter();
                left.extend(within.map(|at| table.first + at as u32));
            }
        }
        ranks.sort_unstable();
        ranks
    }
}
