//! Full names: the kinds of the modules around a process and its own kind, from the outermost,
//! joined by dots. All processes with one full name are numbered from 0.
//!
//! The table has an entry for each full name and each composition, and a run for each stretch of
//! consecutive members of a kind with the same full name. It is computed when it is first needed,
//! in time linear in the number of modules and processes.

use graphmap_executor::sequence::Sequence;
use std::collections::HashMap;

/// A full name, or the common part of several: the composition with that name.
struct Entry {
    /// Entry of the composition around it.
    around: Option<u32>,
    /// Index of its last part in [`FullNames::parts`].
    part: u32,
    /// Number of the processes with this full name.
    members: u32,
    /// Their runs, in order.
    runs: Vec<Run>,
}

/// Consecutive members of a kind with the same full name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    kind: u32,
    /// Index of the first member in the kind.
    first: u32,
    len: u32,
    /// Number of processes with the same full name in earlier runs.
    before: u32,
}

/// All full names of a network. They are numbered from 0, each composition before its parts.
pub(super) struct FullNames {
    /// Names of kinds of modules and processes, sorted.
    parts: Vec<String>,
    entries: Vec<Entry>,
    /// Entries by the composition around them and by their last part.
    by_part: HashMap<(Option<u32>, u32), u32>,
    /// First member, entry, and index of the run in the entry, for each run of each kind.
    of_kind: Vec<Vec<(u32, u32, u32)>>,
}

impl FullNames {
    /// Computes the full names. `modules` has the kind of the modules of each table and the module
    /// around each, as numbers from 1 in the order of the tables, or 0. `kinds` has the name of
    /// each kind, the number of its members, and the innermost module of each, or 0. The last
    /// sequence may be empty if it contains only zeros.
    pub(super) fn new(
        modules: &[(&str, &Sequence)],
        kinds: &[(&str, usize, &Sequence)],
    ) -> FullNames {
        let of_modules = modules.iter().map(|(kind, _)| *kind);
        let of_processes = kinds.iter().map(|(kind, ..)| *kind);
        let mut parts: Vec<String> = of_modules.chain(of_processes).map(String::from).collect();
        parts.sort_unstable();
        parts.dedup();
        let mut all = FullNames {
            parts,
            entries: Vec::new(),
            by_part: HashMap::new(),
            of_kind: Vec::with_capacity(kinds.len()),
        };
        // Entry of each module, by its number minus 1.
        let mut of_module: Vec<u32> = Vec::new();
        let entry_of = |of_module: &[u32], number: u32| {
            let at = (number as usize).checked_sub(1)?;
            of_module.get(at).copied()
        };
        for &(kind, within) in modules {
            let part = all.part(kind).unwrap_or_default();
            let mut last = None;
            for number in within.iter() {
                let around = entry_of(&of_module, number);
                let entry = match last {
                    Some((same, entry)) if same == around => entry,
                    _ => all.add(around, part),
                };
                last = Some((around, entry));
                of_module.push(entry);
            }
        }
        for (number, &(kind, members, inside)) in (0..).zip(kinds) {
            let part = all.part(kind).unwrap_or_default();
            let mut runs: Vec<(u32, Option<u32>)> = Vec::new();
            if members > 0 && inside.is_empty() {
                runs.push((0, None));
            }
            for (index, module) in (0..).zip(inside.iter()) {
                let around = entry_of(&of_module, module);
                if runs.last().is_none_or(|&(_, last)| last != around) {
                    runs.push((index, around));
                }
            }
            let ends = runs.iter().skip(1).map(|run| run.0);
            let ends: Vec<u32> = ends.chain([members as u32]).collect();
            let mut of_kind = Vec::with_capacity(runs.len());
            for (&(first, around), end) in runs.iter().zip(ends) {
                let entry = all.add(around, part);
                let Entry { members, runs, .. } = &mut all.entries[entry as usize];
                of_kind.push((first, entry, runs.len() as u32));
                runs.push(Run {
                    kind: number,
                    first,
                    len: end - first,
                    before: *members,
                });
                *members += end - first;
            }
            all.of_kind.push(of_kind);
        }
        all
    }

    fn part(&self, name: &str) -> Option<u32> {
        let at = self.parts.binary_search_by(|part| (**part).cmp(name));
        at.ok().map(|at| at as u32)
    }

    /// Returns the entry for a part in a composition, which is added if it does not exist.
    fn add(&mut self, around: Option<u32>, part: u32) -> u32 {
        let next = self.entries.len() as u32;
        let entry = *self.by_part.entry((around, part)).or_insert(next);
        if entry == next {
            self.entries.push(Entry {
                around,
                part,
                members: 0,
                runs: Vec::new(),
            });
        }
        entry
    }

    /// Returns the number of the full name of a member of a kind, and its index among the processes
    /// of that name. Returns `None` if the process does not exist.
    pub(super) fn of_process(&self, kind: u32, index: u32) -> Option<(u32, u32)> {
        let runs = self.of_kind.get(kind as usize)?;
        let behind = runs.partition_point(|run| run.0 <= index);
        let &(first, entry, at) = runs.get(behind.checked_sub(1)?)?;
        let run = self.entries[entry as usize].runs[at as usize];
        (index - first < run.len).then_some((entry, run.before + index - first))
    }

    /// Returns the text of a full name and the number of its processes, or `None` if it does not
    /// exist.
    pub(super) fn get(&self, number: u32) -> Option<(String, u32)> {
        let members = self.entries.get(number as usize)?.members;
        let around = |&number: &u32| self.entries[number as usize].around;
        let entries = std::iter::successors(Some(number), around);
        let parts = entries.map(|number| {
            let part = self.entries[number as usize].part;
            &*self.parts[part as usize]
        });
        let mut parts: Vec<&str> = parts.collect();
        parts.reverse();
        Some((parts.join("."), members))
    }

    /// Returns the number of a full name, or `None` if it does not exist. If names of kinds contain
    /// dots and several match, returns any of them.
    pub(super) fn find(&self, text: &str) -> Option<u32> {
        let mut left = vec![(None, text)];
        while let Some((around, rest)) = left.pop() {
            let dots = rest.match_indices('.').map(|(at, _)| at);
            for end in dots.chain([rest.len()]) {
                let part = self.part(&rest[..end]);
                let entry = part.and_then(|part| self.by_part.get(&(around, part)));
                match entry {
                    Some(&entry) if end == rest.len() => return Some(entry),
                    Some(&entry) => left.push((Some(entry), &rest[end + 1..])),
                    None => {}
                }
            }
        }
        None
    }

    /// Returns kind and index of the process with a full name and an index, or `None` if it does
    /// not exist.
    pub(super) fn member(&self, number: u32, index: u32) -> Option<(u32, u32)> {
        let runs = &self.entries.get(number as usize)?.runs;
        let behind = runs.partition_point(|run| run.before <= index);
        let run = runs.get(behind.checked_sub(1)?)?;
        let at = index - run.before;
        (at < run.len).then_some((run.kind, run.first + at))
    }

    /// Returns true if the numbers are equal, or if the second is a composition around the first.
    pub(super) fn is_under(&self, number: u32, outer: u32) -> bool {
        let around = |&number: &u32| self.entries.get(number as usize)?.around;
        std::iter::successors(Some(number), around).any(|number| number == outer)
    }

    /// Returns kind and index of each process whose full name is the one with a number, or begins
    /// with it and a dot.
    pub(super) fn under(&self, number: u32) -> impl Iterator<Item = (u32, u32)> {
        // The parts of a composition come after it.
        let mut is_inside = vec![false; self.entries.len()];
        for (at, entry) in self.entries.iter().enumerate().skip(number as usize) {
            let around = entry
                .around
                .is_some_and(|around| is_inside[around as usize]);
            is_inside[at] = around || at == number as usize;
        }
        let inside = self.entries.iter().zip(is_inside);
        let inside = inside.filter_map(|(entry, is_inside)| is_inside.then_some(entry));
        let runs = inside.flat_map(|entry| &entry.runs);
        runs.flat_map(|run| (run.first..run.first + run.len).map(|index| (run.kind, index)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(text: &str) -> Sequence {
        text.parse().unwrap()
    }

    /// A network of modules and kinds, with a linear search in place of the table.
    struct Model {
        modules: Vec<(&'static str, Sequence)>,
        kinds: Vec<(&'static str, usize, Sequence)>,
    }

    impl Model {
        fn new(
            modules: &[(&'static str, &str)],
            kinds: &[(&'static str, usize, &str)],
        ) -> (Model, FullNames) {
            let modules = modules.iter();
            let kinds = kinds.iter();
            let model = Model {
                modules: modules
                    .map(|&(kind, text)| (kind, sequence(text)))
                    .collect(),
                kinds: kinds
                    .map(|&(kind, members, text)| (kind, members, sequence(text)))
                    .collect(),
            };
            let modules = model.modules.iter().map(|(kind, within)| (*kind, within));
            let kinds = model.kinds.iter();
            let kinds = kinds.map(|(kind, members, inside)| (*kind, *members, inside));
            let names = FullNames::new(&modules.collect::<Vec<_>>(), &kinds.collect::<Vec<_>>());
            (model, names)
        }

        fn full_name(&self, kind: usize, index: usize) -> String {
            let (name, _, inside) = &self.kinds[kind];
            let modules = self.modules.iter();
            let all: Vec<(&str, u32)> = modules
                .flat_map(|(kind, within)| within.iter().map(move |number| (*kind, number)))
                .collect();
            let mut path = (*name).to_string();
            let mut next = inside.get(index).unwrap_or(0);
            while next > 0 {
                let (kind, within) = all[next as usize - 1];
                path = format!("{kind}.{path}");
                next = within;
            }
            path
        }

        /// Returns the full name, kind and index of each process, by kind.
        fn all(&self) -> Vec<(String, (u32, u32))> {
            let kinds = self.kinds.iter().enumerate();
            kinds
                .flat_map(|(kind, (_, members, _))| {
                    (0..*members).map(move |index| {
                        let process = (kind as u32, index as u32);
                        (self.full_name(kind, index), process)
                    })
                })
                .collect()
        }

        fn check(&self, names: &FullNames) {
            let all = self.all();
            for (name, (kind, index)) in &all {
                let same: Vec<_> = all.iter().filter(|other| other.0 == *name).collect();
                let position = same.iter().position(|other| other.1 == (*kind, *index));
                let (number, at) = names.of_process(*kind, *index).unwrap();
                assert_eq!(Some(at as usize), position, "{name}");
                assert_eq!(names.get(number), Some((name.clone(), same.len() as u32)));
                assert_eq!(names.find(name), Some(number), "{name}");
                for (index, other) in (0..).zip(&same) {
                    assert_eq!(names.member(number, index), Some(other.1));
                }
                assert_eq!(names.member(number, same.len() as u32), None);
                let mut prefix = name.as_str();
                loop {
                    let number = names.find(prefix).unwrap();
                    let begin = format!("{prefix}.");
                    let expected = all
                        .iter()
                        .filter(|(name, _)| name == prefix || name.starts_with(&begin));
                    let mut expected: Vec<_> = expected.map(|one| one.1).collect();
                    let mut found: Vec<_> = names.under(number).collect();
                    assert!(all.iter().all(|(_, (kind, index))| {
                        let own = names.of_process(*kind, *index).unwrap().0;
                        names.is_under(own, number) == found.contains(&(*kind, *index))
                    }));
                    expected.sort_unstable();
                    found.sort_unstable();
                    assert_eq!(found, expected, "{prefix}");
                    let Some(end) = prefix.rfind('.') else {
                        break;
                    };
                    prefix = &prefix[..end];
                }
            }
            for nobody in [
                "",
                ".",
                "nobody",
                "app.",
                ".app",
                "app.nobody",
                "app..worker",
            ] {
                assert_eq!(names.find(nobody), None, "{nobody}");
            }
            let none = names.entries.len() as u32;
            assert_eq!(names.get(none), None);
            assert_eq!(names.member(none, 0), None);
            assert_eq!(names.under(none).count(), 0);
            assert_eq!(names.of_process(self.kinds.len() as u32, 0), None);
        }
    }

    #[test]
    fn names_are_as_a_linear_search_says() {
        // Two farms with two rows of three workers each in one application, and a farm elsewhere.
        let farms: &[(&str, &str)] = &[("app", "0"), ("farm", "1+0*2 0"), ("row", "2+0*2 3+0*2 4")];
        for (modules, kinds) in [
            (&[][..], &[("worker", 3, ""), ("sink", 1, "0")][..]),
            (
                farms,
                &[
                    ("worker", 15, "5+0*3+1*5"),
                    ("source", 4, "0 2 3 4"),
                    ("sink", 3, "2 1 3"),
                ],
            ),
            // A module of the kind of a process beside it.
            (
                &[("app", "0"), ("worker", "1")],
                &[("worker", 4, "1 2 1 2"), ("app", 2, "")],
            ),
            // A kind without processes.
            (farms, &[("worker", 0, ""), ("sink", 2, "1 1")]),
        ] {
            let (model, names) = Model::new(modules, kinds);
            model.check(&names);
            assert_eq!(names.of_process(0, 99), None);
        }
    }

    #[test]
    fn names_with_dots_are_found() {
        let kinds = [("b.worker", 2, "1 2"), ("worker", 1, "3"), ("a.b", 1, "")];
        let (model, names) = Model::new(&[("a.b", "0"), ("a", "0"), ("b", "2")], &kinds);
        for (name, _) in model.all() {
            let number = names.find(&name).unwrap();
            assert_eq!(names.get(number).unwrap().0, name);
        }
    }

    #[test]
    fn many_members_take_few_runs() {
        let modules = [("app", "0"), ("row", "1+0*1000")];
        let kinds = [("cell", 1_000_000, "2+0*1000+1*1000")];
        let (_, names) = Model::new(&modules, &kinds);
        assert_eq!(names.entries.len(), 3);
        assert_eq!(names.of_kind, [vec![(0, 2, 0)]]);
        assert_eq!(names.of_process(0, 999_999), Some((2, 999_999)));
        assert_eq!(names.get(2), Some(("app.row.cell".into(), 1_000_000)));
    }
}
