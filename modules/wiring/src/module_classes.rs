//! Classes of modules in the model. A class has the modules of one kind at the same depth.

use crate::attributes::{AttributeModel, attributes};
use crate::names::{self, NamesModel};
use crate::sequence;
use graphmap_kpn::arena::Id;
use graphmap_kpn::declared::ModuleId;
use graphmap_kpn::names::Symbol;
use graphmap_kpn::network::{Kind, Network};
use rustc_hash::FxHashMap;
use serde::Serialize;

/// Class of modules with the same kind and depth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModuleClassModel {
    /// Name of their kind.
    pub kind: String,
    /// Number of modules.
    pub count: usize,
    /// Their names.
    pub names: NamesModel,
    /// Module around each, as a sequence. Modules are numbered from 1 through all classes; 0 means
    /// none.
    pub within: String,
    /// Their attributes of the user.
    pub attributes: Vec<AttributeModel>,
}

/// All modules by class.
pub(crate) struct ModuleClasses {
    classes: Vec<(Symbol, Vec<ModuleId>)>,
    /// Number of each module, from 1.
    numbers: Vec<u32>,
}

impl ModuleClasses {
    /// Assigns modules to classes: one class for each kind at each depth, outer classes first.
    /// Numbers the modules from 1 in the order of the classes. Linear in the number of modules.
    pub(crate) fn of(network: &Network) -> ModuleClasses {
        let mut depths: Vec<usize> = Vec::with_capacity(network.modules.len());
        let mut of: FxHashMap<(usize, Symbol), usize> = FxHashMap::default();
        let mut classes: Vec<(usize, Symbol, Vec<ModuleId>)> = Vec::new();
        // A parent comes before its children.
        for (id, module) in network.modules.iter() {
            let depth = module.parent.map_or(0, |parent| depths[parent.index()] + 1);
            depths.push(depth);
            let class = *of.entry((depth, module.kind)).or_insert_with(|| {
                classes.push((depth, module.kind, Vec::new()));
                classes.len() - 1
            });
            classes[class].2.push(id);
        }
        classes.sort_by_key(|&(depth, ..)| depth);
        let mut numbers = vec![0; network.modules.len()];
        let all = classes.iter().flat_map(|(.., members)| members);
        for (number, id) in (1..).zip(all) {
            numbers[id.index()] = number;
        }
        let classes = classes
            .into_iter()
            .map(|(_, kind, members)| (kind, members));
        ModuleClasses {
            classes: classes.collect(),
            numbers,
        }
    }

    fn number(&self, module: Option<ModuleId>) -> u32 {
        module.map_or(0, |module| self.numbers[module.index()])
    }

    /// Returns the number of the innermost module of each process of a kind, as a sequence. The
    /// number is 0 for a process in no module. Returns an empty text if no process is in a module.
    pub(crate) fn around(&self, network: &Network, kind: &Kind) -> String {
        let members = kind.members.iter();
        let numbers = members.map(|&process| self.number(network.processes[process].module));
        let numbers: Vec<u32> = numbers.collect();
        match numbers.iter().any(|&number| number > 0) {
            true => sequence::encode(&numbers),
            false => String::new(),
        }
    }

    /// Returns the classes as data for skeletons, outer classes first.
    pub(crate) fn into_models(self, network: &Network) -> Vec<ModuleClassModel> {
        let model = |(kind, members): &(Symbol, Vec<ModuleId>)| {
            let modules = || members.iter().map(|&id| &network.modules[id]);
            let within: Vec<u32> = modules().map(|one| self.number(one.parent)).collect();
            ModuleClassModel {
                kind: network.name(*kind).to_owned(),
                count: members.len(),
                names: names::names(members.len(), || {
                    modules().map(|module| network.name(module.name))
                }),
                within: sequence::encode(&within),
                attributes: attributes(network, || {
                    let lists = &network.attributes.modules;
                    members.iter().map(|&module| lists.get(module))
                }),
            }
        };
        self.classes.iter().map(model).collect()
    }
}
