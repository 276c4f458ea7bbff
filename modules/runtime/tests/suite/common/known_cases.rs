//! Communicators that exist without a call that makes them: those of modules, kinds, OS processes
//! and hosts. Random networks are checked against lists of ranks.

use graphmap_runtime as rt;
use rt::mpi::{self, ANY_SOURCE, Communicator, Comparison, Error};
use rt::{Names, Network};

use super::Random;
use super::rank_cases::call;
use super::ranks::NoPorts;

/// A network as lists.
#[derive(Clone, Debug)]
struct Model {
    /// Name, kind and parent of each module, numbered from 1. A parent comes before its children,
    /// and 0 means no parent.
    modules: Vec<(String, String, usize)>,
    /// Kind and module of each rank. Module 0 means none.
    ranks: Vec<(usize, usize)>,
}

const KINDS: [&str; 3] = ["left", "right", "middle"];

impl Model {
    fn random(seed: u64) -> Model {
        let mut random = Random(seed * 7 + 1);
        let mut modules: Vec<(String, String, usize)> = Vec::new();
        for _ in 0..random.below(8) {
            let parent = random.below(modules.len() as u64 + 1) as usize;
            let beside = modules.iter().filter(|module| module.2 == parent).count();
            // Names are used more than once, with a dot, and also as names of kinds.
            let name = match random.below(8) {
                0 => format!("row.m{beside}"),
                1 => format!("row{beside}"),
                _ => format!("m{beside}"),
            };
            let kind = ["row", "m0", "half"][random.below(3) as usize];
            modules.push((name, kind.to_string(), parent));
        }
        let ranks = (0..1 + random.below(9)).map(|_| {
            let module = random.below(modules.len() as u64 + 1);
            (random.below(3) as usize, module as usize)
        });
        Model {
            ranks: ranks.collect(),
            modules,
        }
    }

    /// Returns the modules around a rank, the innermost first.
    fn around(&self, rank: usize) -> Vec<usize> {
        let mut all = Vec::new();
        let mut next = self.ranks[rank].1;
        while next > 0 {
            all.push(next);
            next = self.modules[next - 1].2;
        }
        all
    }

    fn name(&self, module: usize) -> &str {
        &self.modules[module - 1].0
    }

    fn path(&self, module: usize) -> String {
        match self.modules[module - 1].2 {
            0 => self.name(module).to_string(),
            parent => format!("{}.{}", self.path(parent), self.name(module)),
        }
    }

    fn kinds(&self, module: usize) -> String {
        let (_, kind, parent) = &self.modules[module - 1];
        match *parent {
            0 => kind.clone(),
            parent => format!("{}.{kind}", self.kinds(parent)),
        }
    }

    fn full_name(&self, rank: usize) -> String {
        let (kind, module) = self.ranks[rank];
        match module {
            0 => KINDS[kind].to_string(),
            module => format!("{}.{}", self.kinds(module), KINDS[kind]),
        }
    }

    /// Returns the ranks whose full name is `name` or begins with it and a dot.
    fn under(&self, name: &str) -> Vec<usize> {
        let begin = format!("{name}.");
        self.members(|rank| {
            let own = self.full_name(rank);
            own == name || own.starts_with(&begin)
        })
    }

    /// Returns the module that a name means in a call of this rank.
    fn named(&self, rank: usize, name: &str) -> Option<usize> {
        let around = self.around(rank);
        let is_name = |&&module: &&usize| {
            let path = self.path(module);
            path == name || path.ends_with(&format!(".{name}"))
        };
        let is_kind = |&&module: &&usize| {
            let kinds = self.kinds(module);
            kinds == name || kinds.ends_with(&format!(".{name}"))
        };
        let found = around.iter().find(is_name);
        found.or_else(|| around.iter().find(is_kind)).copied()
    }

    fn members(&self, is_one: impl Fn(usize) -> bool) -> Vec<usize> {
        (0..self.ranks.len()).filter(|&rank| is_one(rank)).collect()
    }

    fn in_module(&self, module: usize) -> Vec<usize> {
        self.members(|rank| module == 0 || self.around(rank).contains(&module))
    }
}

/// Checks that a communicator has these members, and that this rank has the right index there.
fn same(found: &Communicator, members: &[usize], me: usize) {
    let there = found.group().members().map(|member| member as usize);
    assert!(there.eq(members.iter().copied()), "{members:?}: {found:?}");
    assert_eq!(members[found.rank()], me);
}

/// Checks the full names of all processes, and the communicators of all parts of them.
fn check_full_names(model: &Model, me: usize) -> Result<(), Error> {
    assert_eq!(rt::full_name_of_rank(me), Some(rt::full_name()));
    for rank in 0..model.ranks.len() {
        let name = model.full_name(rank);
        let equal = model.members(|other| model.full_name(other) == name);
        let own = rt::full_name_of_rank(rank).unwrap();
        assert_eq!((&own.name, own.members), (&name, equal.len()));
        assert_eq!(equal[own.index], rank);
        assert!(rt::of_full_name(&name).map(|one| one.rank).eq(equal));
        let ends = name.match_indices('.').map(|(end, _)| end);
        for prefix in ends.chain([name.len()]).map(|end| &name[..end]) {
            let members = model.under(prefix);
            let found = mpi::of_prefix(prefix)?;
            assert_eq!(found.is_some(), members.contains(&me), "{prefix}");
            if let Some(found) = found {
                same(&found, &members, me);
                assert_eq!(found.name(), format!("name {prefix}"));
            }
        }
    }
    assert_eq!(rt::full_name_of_rank(model.ranks.len()), None);
    for nobody in ["", "nobody", "row.", ".left", "left.left"] {
        assert_eq!(rt::of_full_name(nobody).count(), 0);
        let found = mpi::of_prefix(nobody)?;
        assert_eq!(found.is_some(), nobody.is_empty(), "{nobody}");
    }
    Ok(())
}

/// Checks the communicators of all names and levels.
fn check_lookups(model: &Model, me: usize) -> Result<(), Error> {
    let around = model.around(me);
    let told = rt::modules();
    let outside_in = around
        .iter()
        .rev()
        .map(|&module| &model.modules[module - 1]);
    assert!(
        told.iter()
            .map(|module| (&module.name, &module.kind))
            .eq(outside_in.map(|module| (&module.0, &module.1)))
    );
    for level in 0..around.len() + 3 {
        let found = mpi::of_level(level)?;
        let members = match level {
            0 => Some(model.in_module(0)),
            _ if level == around.len() + 1 => Some(model.under(&model.full_name(me))),
            _ => {
                let module = around.iter().rev().nth(level - 1);
                module.map(|&module| model.in_module(module))
            }
        };
        assert_eq!(found.is_some(), members.is_some());
        if let (Some(found), Some(members)) = (found, members) {
            same(&found, &members, me);
        }
    }
    check_full_names(model, me)?;
    let mut names: Vec<String> = ["", "row", "half", "m0", "nobody", ".", "m", "row.m0.m0"]
        .map(String::from)
        .into();
    for module in 1..=model.modules.len() {
        names.extend([
            model.name(module).to_string(),
            model.path(module),
            model.kinds(module),
        ]);
    }
    for name in names {
        let found = mpi::of_module(&name)?;
        let module = match &*name {
            "" => Some(0),
            name => model.named(me, name),
        };
        assert_eq!(found.is_some(), module.is_some(), "{name}: {model:?}");
        if let (Some(found), Some(module)) = (found, module) {
            same(&found, &model.in_module(module), me);
            let module = module.checked_sub(1).map(|_| model.path(module));
            assert_eq!(found.name(), module.as_deref().unwrap_or("world"));
        }
    }
    Ok(())
}

/// Makes collective calls and sends messages in communicators that are looked up again in each
/// step.
async fn steps(model: Model, seed: u64, steps: u64) -> Result<(), Error> {
    let world = mpi::world()?;
    let me = world.rank();
    check_lookups(&model, me)?;
    let mut random = Random(seed + 3);
    for step in 0..steps {
        let (what, draw) = (random.below(8), random.below(1 << 20));
        let module = random.below(model.modules.len() as u64 + 1) as usize;
        let around = model.around(me);
        let (found, members) = match what {
            0 => {
                let kind = model.ranks[me].0;
                (
                    Some(mpi::of_kind()?),
                    model.members(|rank| model.ranks[rank].0 == kind),
                )
            }
            1 | 2 => {
                let own = rt::me().os_process;
                let all = rt::os_processes();
                let here = |rank| {
                    let there = rt::process_of_rank(rank).unwrap().os_process;
                    // If the name of a host is not known, each OS process counts as a host of its
                    // own.
                    let host = &all[own].host;
                    let is_same = host.is_some() && *host == all[there].host;
                    there == own || what == 2 && is_same
                };
                let found = match what {
                    1 => mpi::of_os_process()?,
                    _ => mpi::of_host()?,
                };
                (Some(found), model.members(here))
            }
            3 => {
                let name = model.full_name(draw as usize % model.ranks.len());
                let parts = name.split('.').count() as u64;
                let ends = name.match_indices('.').map(|(end, _)| end);
                let end = ends.chain([name.len()]).nth((draw / 9 % parts) as usize);
                let prefix = &name[..end.unwrap_or(name.len())];
                (mpi::of_prefix(prefix)?, model.under(prefix))
            }
            _ => {
                let outside_in = around.iter().rev().position(|&one| one == module);
                let found = match outside_in {
                    _ if module == 0 => mpi::of_level(0)?,
                    None => None,
                    Some(level) => mpi::of_level(level + 1)?,
                };
                (found, model.in_module(module))
            }
        };
        let Some(found) = found else {
            assert!(!members.contains(&me));
            continue;
        };
        same(&found, &members, me);
        // A duplicate is not the communicator that all ranks know.
        if step % 5 == 4 {
            let copy = found.dup().await?;
            assert_eq!(copy.compare(&found), Comparison::Congruent);
            call(&copy, random_of(draw), draw).await?;
        }
        call(&found, random_of(draw), draw).await?;
        let size = found.size();
        let to = (found.rank() + draw as usize) % size;
        let sent = found.ssend((me, draw), to, step as i32);
        let (came, status) = found.recv::<(usize, u64)>(ANY_SOURCE, step as i32).await?;
        assert_eq!(came, (members[status.source], draw));
        sent.await?;
    }
    Ok(())
}

fn random_of(draw: u64) -> u64 {
    Random(draw + 1).below(13)
}

/// Returns a network of random modules and kinds, in which each rank looks up communicators and
/// makes calls.
pub fn network(seed: u64, count: u64) -> Network {
    let model = Model::random(seed);
    let mut net = Network::new("modules", "modules.dot");
    let listed = |numbers: Vec<usize>| -> String {
        let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
        numbers.join(" ")
    };
    let mut kinds = Vec::new();
    for (kind, name) in KINDS.into_iter().enumerate() {
        let ranks = model.members(|rank| model.ranks[rank].0 == kind);
        if ranks.is_empty() {
            continue;
        }
        let all = listed(ranks.clone());
        let of = model.clone();
        let process = move |_: NoPorts| steps(of.clone(), seed, count);
        let names = Names::Numbered(name, &all);
        let added = net.kind(name, names, &all, &[], process);
        kinds.push((added, ranks));
    }
    for (name, kind, parent) in &model.modules {
        net.modules(kind, Names::Listed(&[name]), &parent.to_string());
    }
    for (kind, ranks) in kinds {
        let modules = ranks.into_iter().map(|rank| model.ranks[rank].1);
        net.inside(kind, &listed(modules.collect()));
    }
    net
}
