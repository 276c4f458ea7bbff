//! The compositions of a network: one for each kind of modules.

use super::constructs::named;
use super::refused::Refused;
use graphmap_kpn::arena::Id;
use graphmap_kpn::declared::ModuleId;
use graphmap_kpn::names::Symbol;
use graphmap_kpn::network::{Network, ProcessId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Depth of modules up to which a diagnostic contains the full name of a process.
const SHOWN_DEPTH: usize = 16;

/// Processes of a kind, or modules of a kind, inside of a composition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) kind: Symbol,
    pub(super) is_module: bool,
    pub(super) count: u32,
}

/// A kind of modules.
#[derive(Debug)]
pub(super) struct Composition {
    pub(super) kind: Symbol,
    /// The modules, in the order of the network.
    pub(super) instances: Vec<ModuleId>,
    pub(super) parts: Vec<Part>,
    /// True if one of the modules is in no other module.
    pub(super) is_top: bool,
}

/// Index of a part, and number of the instance from 0.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    pub(super) part: u32,
    pub(super) index: u32,
}

/// A process or a module inside of a module.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    Process(ProcessId),
    Module(ModuleId),
}

/// The compositions, and the place of each process and module in them.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// The compositions, each after those inside of it.
    pub(super) compositions: Vec<Composition>,
    /// Processes and modules directly in each module, in the order of their parts.
    pub(super) items: Vec<Vec<Item>>,
    pub(super) of_processes: Vec<Place>,
    pub(super) of_modules: Vec<Place>,
}

impl Tree {
    /// Finds the compositions. Reports modules that compositions cannot be.
    pub(super) fn of(network: &Network, refused: &mut Refused) -> Tree {
        let mut tree = Tree {
            items: items(network, refused),
            of_processes: vec![Place::default(); network.processes.len()],
            of_modules: vec![Place::default(); network.modules.len()],
            ..Tree::default()
        };
        let mut by_kind: FxHashMap<Symbol, usize> = FxHashMap::default();
        for (id, module) in network.modules.iter() {
            let (name, span) = (network.name(module.kind), module.span);
            let parts = tree.parts(network, id, refused);
            let is_top = module.parent.is_none();
            let known = *by_kind.entry(module.kind).or_insert_with(|| {
                named("module", name, span, refused);
                tree.compositions.push(Composition {
                    kind: module.kind,
                    instances: Vec::new(),
                    parts: parts.clone(),
                    is_top: false,
                });
                tree.compositions.len() - 1
            });
            let composition = &mut tree.compositions[known];
            if composition.parts != parts {
                let message = format!("two modules of the kind `{name}` have different contents");
                refused.report(message, span, "give one of them another kind");
            }
            if is_top && composition.is_top {
                let message = format!("two modules of the kind `{name}` are in no other module");
                refused.report(message, span, "put them into a module, or change a kind");
            }
            composition.is_top |= is_top;
            composition.instances.push(id);
        }
        for kind in network.kinds.values() {
            if by_kind.contains_key(&kind.name) {
                let name = network.name(kind.name);
                let message = format!("processes and modules have the kind `{name}`");
                refused.report(message, kind.span, "rename one of the two kinds");
            }
        }
        tree.sort(network, &by_kind, refused);
        if refused.is_empty() {
            tree.check_names(network, refused);
        }
        tree
    }

    /// Groups the items of a module by kind.
    fn parts(&mut self, network: &Network, module: ModuleId, refused: &mut Refused) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::new();
        let mut known: FxHashSet<Symbol> = FxHashSet::default();
        for item in &self.items[module.index()] {
            let (kind, is_module, span) = match *item {
                Item::Process(process) => {
                    let of = &network.processes[process];
                    (network.kinds[of.kind].name, false, of.span)
                }
                Item::Module(inner) => {
                    let of = &network.modules[inner];
                    (of.kind, true, of.span)
                }
            };
            match parts.last_mut() {
                Some(last) if last.kind == kind => last.count += 1,
                _ => {
                    if !known.insert(kind) {
                        let name = network.name(kind);
                        let message = format!(
                            "processes between others of the kind `{name}` have another kind"
                        );
                        let help = "list the processes of a kind one after the other";
                        refused.report(message, span, help);
                    }
                    parts.push(Part {
                        kind,
                        is_module,
                        count: 1,
                    });
                }
            }
            let place = Place {
                part: parts.len() as u32 - 1,
                index: parts[parts.len() - 1].count - 1,
            };
            match *item {
                Item::Process(process) => self.of_processes[process.index()] = place,
                Item::Module(inner) => self.of_modules[inner.index()] = place,
            }
        }
        parts
    }

    /// Sorts the compositions. Reports compositions that contain themselves.
    fn sort(
        &mut self,
        network: &Network,
        by_kind: &FxHashMap<Symbol, usize>,
        refused: &mut Refused,
    ) {
        let inside = |composition: &Composition| -> Vec<usize> {
            let parts = composition.parts.iter().filter(|part| part.is_module);
            parts.map(|part| by_kind[&part.kind]).collect()
        };
        let all: Vec<Vec<usize>> = self.compositions.iter().map(inside).collect();
        let mut around: Vec<Vec<usize>> = vec![Vec::new(); all.len()];
        for (outer, inside) in all.iter().enumerate() {
            for &inner in inside {
                around[inner].push(outer);
            }
        }
        let mut missing: Vec<usize> = all.iter().map(Vec::len).collect();
        let mut order: Vec<usize> = (0..all.len()).filter(|&n| missing[n] == 0).collect();
        let mut next = 0;
        while let Some(&done) = order.get(next) {
            next += 1;
            for &outer in &around[done] {
                missing[outer] -= 1;
                if missing[outer] == 0 {
                    order.push(outer);
                }
            }
        }
        for (composition, _) in self
            .compositions
            .iter()
            .zip(&missing)
            .filter(|(_, n)| **n > 0)
        {
            let name = network.name(composition.kind);
            let span = network.modules[composition.instances[0]].span;
            let message = format!("modules of the kind `{name}` contain each other");
            refused.report(message, span, "give one of them another kind");
        }
        let mut old: Vec<Option<Composition>> = self.compositions.drain(..).map(Some).collect();
        self.compositions = order.into_iter().filter_map(|n| old[n].take()).collect();
    }

    /// Reports processes that would have another name in the notation.
    fn check_names(&self, network: &Network, refused: &mut Refused) {
        let mut modules: Vec<bool> = vec![false; network.modules.len()];
        let mut processes: Vec<bool> = vec![false; network.processes.len()];
        for composition in &self.compositions {
            let is_repeated = |place: Place| composition.parts[place.part as usize].count != 1;
            let all = composition.instances.iter();
            for item in all.flat_map(|module| &self.items[module.index()]) {
                match item {
                    Item::Process(process) => {
                        let index = process.index();
                        processes[index] = is_repeated(self.of_processes[index]);
                    }
                    Item::Module(module) => {
                        let index = module.index();
                        modules[index] = is_repeated(self.of_modules[index]);
                    }
                }
            }
        }
        for (id, process) in network.processes.iter() {
            let name = network.name(process.name);
            let mut path = vec![network.kind_name(id)];
            let mut numbers = Vec::new();
            let index = self.of_processes[id.index()].index;
            numbers.extend(processes[id.index()].then_some(index + 1));
            let most = SHOWN_DEPTH.max(name.matches('.').count() + 1);
            let mut next = process.module;
            while let Some(module) = next.filter(|_| path.len() <= most) {
                path.push(network.name(network.modules[module].kind));
                let index = self.of_modules[module.index()].index;
                numbers.extend(modules[module.index()].then_some(index + 1));
                next = network.modules[module].parent;
            }
            path.reverse();
            numbers.reverse();
            let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
            let mut given = path.join(".");
            if !numbers.is_empty() && given.ends_with(|c: char| c.is_ascii_digit()) {
                given.push('_');
            }
            given += &numbers.join("_");
            if next.is_some() || given != name {
                let message = match next {
                    None => format!("the name of the process `{name}` would be `{given}`"),
                    Some(_) => format!("the name of the process `{name}` is not its full name"),
                };
                let help = "name it with the kinds of its modules, its kind and its number, or \
                            write the network as JSON: `--to json`";
                refused.report(message, process.span, help);
            }
        }
    }
}

/// Returns the processes and modules directly in each module, in the order of ranks. Reports
/// processes outside of modules.
fn items(network: &Network, refused: &mut Refused) -> Vec<Vec<Item>> {
    // Rank of the first process of each module.
    let mut first: Vec<Option<usize>> = vec![None; network.modules.len()];
    let mut all: Vec<Vec<(Option<usize>, Item)>> = vec![Vec::new(); network.modules.len()];
    for (id, process) in network.processes.iter() {
        let Some(module) = process.module else {
            let name = network.name(process.name);
            let message = format!("the process `{name}` is in no module");
            let help = "put it into a cluster, or write the network as JSON: `--to json`";
            refused.report(message, process.span, help);
            continue;
        };
        all[module.index()].push((Some(id.index()), Item::Process(id)));
        let mut around = Some(module);
        while let Some(module) = around.filter(|module| first[module.index()].is_none()) {
            first[module.index()] = Some(id.index());
            around = network.modules[module].parent;
        }
    }
    // A module without processes follows the module before it, or is the first part.
    let mut last: Vec<Option<usize>> = vec![None; network.modules.len()];
    for (id, module) in network.modules.iter() {
        if let Some(parent) = module.parent {
            let rank = first[id.index()].or(last[parent.index()]);
            last[parent.index()] = rank;
            all[parent.index()].push((rank, Item::Module(id)));
        }
    }
    let sorted = |mut items: Vec<(Option<usize>, Item)>| {
        items.sort_by_key(|(rank, _)| *rank);
        items.into_iter().map(|(_, item)| item).collect()
    };
    all.into_iter().map(sorted).collect()
}
