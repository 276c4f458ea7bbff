//! Collective calls of two groups that have a root, which is in one of them (the MPI standard, version 4.1, section 6.2.2).

use std::panic::Location;

use super::call::{Brought, Call, CallOutcome, Combine, Needs};
use super::collective::{part, shared};
use super::error::Error;
use super::inter::InterCommunicator;
use super::round::begin;
use super::value::Value;

/// What a rank says of the root of a call of two groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InterRoot {
    /// This rank is the root (`MPI_ROOT`).
    This,
    /// Another rank of the local group is, so this one has nothing to do with it (`MPI_PROC_NULL`).
    Beside,
    /// This rank of the remote group is.
    Remote(usize),
}

const DIFFER: Error = Error::group(
    "the ranks of two groups disagree on the root: one rank must be `This`, the other ranks of its \
     group `Beside`, and all ranks of the other group must name it",
);

/// The same, of a rank of both groups together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    This,
    Beside,
    Remote { root: u32 },
}

graphmap_executor::payload!(
    enum Says {
        This,
        Beside,
        Remote { root },
    }
);

/// What a rank brings: one, or several of the same group that say the same, combined.
struct Part<T> {
    rank: u32,
    says: Says,
    value: Option<T>,
}

graphmap_executor::payload!(Part<T> { rank, says, value });

/// The two groups as one: so many of it are the first group.
#[derive(Clone, Copy)]
struct Both {
    size: usize,
    cut: u32,
}

impl Both {
    fn is_first(self, rank: u32) -> bool {
        rank < self.cut
    }

    /// The root that all say.
    fn root<T>(self, parts: &[Part<T>]) -> Result<u32, Error> {
        let mut roots = parts.iter().filter(|part| part.says == Says::This);
        let (Some(root), None) = (roots.next(), roots.next()) else {
            return Err(DIFFER);
        };
        let root = root.rank;
        let fits = |part: &Part<T>| match part.says {
            Says::This => part.rank == root,
            Says::Beside => self.is_first(part.rank) == self.is_first(root),
            Says::Remote { root: said } => {
                said == root && self.is_first(part.rank) != self.is_first(root)
            }
        };
        parts.iter().all(fits).then_some(root).ok_or(DIFFER)
    }

    /// One for each rank.
    fn each<R>(self, one: impl FnMut(u32) -> R) -> CallOutcome<R> {
        let ranks = 0..self.size as u32;
        CallOutcome::Each(ranks.map(one).map(Some).collect())
    }
}

/// What comes to a rank: for some there is nothing.
type Answer<T> = Result<Option<T>, Error>;

/// What the ranks of one group bring is combined, in their order, and goes to the root in the other.
struct ToRoot<Op> {
    op: Op,
    both: Both,
}

impl<T: 'static, Op: FnMut(T, T) -> T + 'static> Combine<Part<T>, Answer<T>> for ToRoot<Op> {
    fn combine(&mut self, parts: Vec<(u32, Part<T>)>) -> Vec<(u32, Part<T>)> {
        let mut runs: Vec<(u32, Part<T>)> = Vec::new();
        let mut next = None;
        for (rank, mut part) in parts {
            match runs.last_mut() {
                // Those of a group that have the same root there are behind each other.
                Some((_, run))
                    if next == Some(rank)
                        && run.says == part.says
                        && matches!(part.says, Says::Remote { .. }) =>
                {
                    let both = run.value.take().zip(part.value.take());
                    run.value = both.map(|(a, b)| (self.op)(a, b));
                }
                _ => runs.push((rank, part)),
            }
            next = rank.checked_add(1);
        }
        runs
    }

    fn make(self, all: Vec<Part<T>>) -> CallOutcome<Answer<T>> {
        let ToRoot { op, both } = self;
        let root = match both.root(&all) {
            Ok(root) => root,
            Err(error) => return both.each(|_| Err(error.clone())),
        };
        let from_there = all
            .into_iter()
            .filter(|part| matches!(part.says, Says::Remote { .. }));
        let mut value = from_there.filter_map(|part| part.value).reduce(op);
        both.each(|rank| Ok(if rank == root { value.take() } else { None }))
    }
}

/// # Collective calls with a root
///
/// Each rank says of the root what it is to it ([`InterRoot`]). Where ranks do not say the same, all are told [`Error::Group`].
impl InterCommunicator {
    fn both(&self) -> Both {
        let (mine, theirs) = (self.size(), self.remote_size());
        let cut = match self.offset() {
            0 => theirs,
            mine => mine,
        };
        Both {
            size: mine + theirs,
            cut: cut as u32,
        }
    }

    /// What this rank brings: a value, if the call asks it for one.
    fn part<T>(&self, root: InterRoot, value: Option<T>, wanted: bool) -> Result<Part<T>, Error> {
        let says = match root {
            InterRoot::This => Says::This,
            InterRoot::Beside => Says::Beside,
            InterRoot::Remote(root) => {
                self.check(root)?;
                Says::Remote {
                    root: (root + self.offset()) as u32,
                }
            }
        };
        let value = value.filter(|_| wanted);
        match value.is_some() == wanted {
            true => Ok(Part {
                rank: self.inside().rank() as u32,
                says,
                value,
            }),
            false => Err(Error::Count {
                given: 0,
                wanted: 1,
            }),
        }
    }

    fn to_root<T: Value, Op: FnMut(T, T) -> T + 'static>(
        &self,
        name: &'static str,
        value: Option<T>,
        op: Op,
        root: InterRoot,
        at: &'static Location<'static>,
    ) -> impl Future<Output = Result<Option<T>, Error>> + use<T, Op> {
        let brings = matches!(root, InterRoot::Remote(_));
        let brought = self.part(root, value, brings).map(Brought::Part);
        let made = begin(
            self.inside().calling(Call::new::<T>(name, None), at),
            brought,
            Needs::All,
            ToRoot {
                op,
                both: self.both(),
            },
            part::<Part<T>, Answer<T>>,
        );
        async move { made.await? }
    }

    /// Gives the root the values of the remote group, in the order of ranks there; all others get nothing, and those of the
    /// root's group bring nothing. Values may be of different lengths, so this is `MPI_Gatherv` too.
    ///
    /// # Errors
    /// [`Error::Rank`]; [`Error::Count`]: a rank brings nothing that has to; [`Error::Group`]: ranks do not say the same of
    /// the root; and as for all collective calls.
    #[track_caller]
    pub fn gather<T: Value>(
        &self,
        value: Option<T>,
        root: InterRoot,
    ) -> impl Future<Output = Result<Option<Vec<T>>, Error>> + use<T> {
        let value = value.map(|value| vec![value]);
        let join = |mut a: Vec<T>, mut b: Vec<T>| {
            a.append(&mut b);
            a
        };
        self.to_root("gather", value, join, root, Location::caller())
    }

    /// Gives the root the values of the remote group, combined by an operation in the order of ranks there; all others get
    /// nothing, and those of the root's group bring nothing.
    ///
    /// # Errors
    /// As for [`gather`](Self::gather).
    #[track_caller]
    pub fn reduce<T: Value, Op: FnMut(T, T) -> T + 'static>(
        &self,
        value: Option<T>,
        op: Op,
        root: InterRoot,
    ) -> impl Future<Output = Result<Option<T>, Error>> + use<T, Op> {
        self.to_root("reduce", value, op, root, Location::caller())
    }

    /// Gives each rank of the remote group one of the root's values, in the order of ranks there; those of the root's group get
    /// nothing. Values may be of different lengths, so this is `MPI_Scatterv` too.
    ///
    /// # Errors
    /// As for [`gather`](Self::gather); [`Error::Count`]: the root has not as many values as the remote group has ranks, which is told to
    /// all.
    #[track_caller]
    pub fn scatter<T: Value>(
        &self,
        values: Option<Vec<T>>,
        root: InterRoot,
    ) -> impl Future<Output = Result<Option<T>, Error>> + use<T> {
        let at = Location::caller();
        let is_root = root == InterRoot::This;
        let counted = match (is_root, values.as_ref().map_or(0, Vec::len)) {
            (true, given) if given != self.remote_size() => Err(Error::Count {
                given,
                wanted: self.remote_size(),
            }),
            _ => Ok(()),
        };
        let brought = counted.and_then(|()| self.part(root, values, is_root));
        let both = self.both();
        let make = move |mut all: Vec<Part<Vec<T>>>| {
            let root = match both.root(&all) {
                Ok(root) => root,
                Err(error) => return both.each(|_| Err(error.clone())),
            };
            let values = all.iter_mut().find_map(|part| part.value.take());
            let mut values = values.into_iter().flatten();
            both.each(|rank| {
                let is_there = both.is_first(rank) != both.is_first(root);
                Ok(if is_there { values.next() } else { None })
            })
        };
        let made = begin(
            self.inside().calling(Call::new::<T>("scatter", None), at),
            brought.map(Brought::Part),
            Needs::All,
            make,
            part::<Part<Vec<T>>, Answer<T>>,
        );
        async move { made.await? }
    }

    /// Gives all ranks of the remote group a copy of the root's value; those of the root's group get nothing.
    ///
    /// # Errors
    /// As for [`gather`](Self::gather).
    #[track_caller]
    pub fn bcast<T: Value + Clone>(
        &self,
        value: Option<T>,
        root: InterRoot,
    ) -> impl Future<Output = Result<Option<T>, Error>> + use<T> {
        let at = Location::caller();
        let brought = self.part(root, value, root == InterRoot::This);
        let both = self.both();
        let make = move |mut all: Vec<Part<T>>| {
            let root = both.root(&all);
            let value = all.iter_mut().find_map(|part| part.value.take());
            CallOutcome::all(root.and_then(|_| value.ok_or(DIFFER)))
        };
        let made = begin(
            self.inside().calling(Call::new::<T>("bcast", None), at),
            brought.map(Brought::Part),
            Needs::All,
            make,
            shared::<Part<T>, Result<T, Error>>,
        );
        let is_remote = matches!(root, InterRoot::Remote(_));
        async move { Ok(Some(made.await??).filter(|_| is_remote)) }
    }

    /// Combines the values of the remote group by an operation, place by place in the order of ranks there, and gives the n-th to rank
    /// n of the local group: each rank brings as many values as the remote group has ranks. Values may themselves be vectors: so it is
    /// `MPI_Reduce_scatter` and `MPI_Reduce_scatter_block`.
    ///
    /// # Errors
    /// As for [`alltoall`](Self::alltoall).
    #[track_caller]
    pub fn reduce_scatter<T: Value, Op: FnMut(T, T) -> T + 'static>(
        &self,
        values: Vec<T>,
        op: Op,
    ) -> impl Future<Output = Result<T, Error>> + use<T, Op> {
        let exchanged = self.alltoall(values);
        // Groups are never empty.
        async move {
            exchanged
                .await?
                .into_iter()
                .reduce(op)
                .ok_or(Error::Inactive)
        }
    }
}
