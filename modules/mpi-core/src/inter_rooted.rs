//! Collective calls of two groups with a root in one of them (MPI 4.1, section 6.2.2).

use std::panic::Location;

use super::call::{Brought, Call, CallOutcome, Combine, Needs};
use super::collective::{part, shared};
use super::error::Error;
use super::instance::begin;
use super::inter::InterCommunicator;
use super::value::Value;

/// The root of a collective call of two groups, as a rank names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InterRoot {
    /// This rank is the root (`MPI_ROOT`).
    This,
    /// Another rank of the local group is the root, and this rank does not take part
    /// (`MPI_PROC_NULL`).
    Beside,
    /// The root is this rank of the remote group.
    Remote(usize),
}

const DIFFER: Error = Error::group(
    "the ranks of two groups disagree on the root: one rank must be `This`, the other ranks of its \
     group `Beside`, and all ranks of the other group must name it",
);

/// Like [`InterRoot`], with the rank of the root in both groups together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RootRole {
    This,
    Beside,
    Remote { root: u32 },
}

graphmap_executor::payload!(
    enum RootRole {
        This,
        Beside,
        Remote { root },
    }
);

/// The contribution of a rank, or the combined contribution of several ranks of a group that name
/// the same root.
struct Part<T> {
    rank: u32,
    role: RootRole,
    value: Option<T>,
}

graphmap_executor::payload!(Part<T> { rank, role, value });

/// Both groups together. The first `cut` of the `size` ranks are the first group.
#[derive(Clone, Copy)]
struct Both {
    size: usize,
    cut: u32,
}

impl Both {
    fn is_first(self, rank: u32) -> bool {
        rank < self.cut
    }

    /// Returns the root if all ranks agree on it, as its rank in both groups together. Returns
    /// [`Error::Group`] otherwise.
    fn root<T>(self, parts: &[Part<T>]) -> Result<u32, Error> {
        let mut roots = parts.iter().filter(|part| part.role == RootRole::This);
        let (Some(root), None) = (roots.next(), roots.next()) else {
            return Err(DIFFER);
        };
        let root = root.rank;
        let fits = |part: &Part<T>| match part.role {
            RootRole::This => part.rank == root,
            RootRole::Beside => self.is_first(part.rank) == self.is_first(root),
            RootRole::Remote { root: said } => {
                said == root && self.is_first(part.rank) != self.is_first(root)
            }
        };
        parts.iter().all(fits).then_some(root).ok_or(DIFFER)
    }

    /// Returns an outcome with one value for each rank, which `one` computes in the order of ranks.
    fn each<R>(self, one: impl FnMut(u32) -> R) -> CallOutcome<R> {
        let ranks = 0..self.size as u32;
        CallOutcome::Each(ranks.map(one).map(Some).collect())
    }
}

/// Result of a rank. Some ranks get no value.
type Answer<T> = Result<Option<T>, Error>;

/// Combines the values of one group in the order of ranks, for the root in the other group.
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
                // The ranks of a group are consecutive, so those that name the same root form one
                // run.
                Some((_, run))
                    if next == Some(rank)
                        && run.role == part.role
                        && matches!(part.role, RootRole::Remote { .. }) =>
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
            .filter(|part| matches!(part.role, RootRole::Remote { .. }));
        let mut value = from_there.filter_map(|part| part.value).reduce(op);
        both.each(|rank| Ok(if rank == root { value.take() } else { None }))
    }
}

/// # Collective calls with a root
///
/// Each rank passes its relation to the root ([`InterRoot`]). All ranks of both groups call, and
/// each waits for all others. If the ranks disagree on the root, all ranks get [`Error::Group`].
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

    /// Returns the contribution of this rank. It has a value if and only if `wanted` is true.
    /// Otherwise, `value` is dropped. [`Error::Rank`] if a remote root does not exist, and
    /// [`Error::Count`] if a wanted value is missing.
    fn part<T>(&self, root: InterRoot, value: Option<T>, wanted: bool) -> Result<Part<T>, Error> {
        let role = match root {
            InterRoot::This => RootRole::This,
            InterRoot::Beside => RootRole::Beside,
            InterRoot::Remote(root) => {
                self.check(root)?;
                RootRole::Remote {
                    root: (root + self.offset()) as u32,
                }
            }
        };
        let value = value.filter(|_| wanted);
        match value.is_some() == wanted {
            true => Ok(Part {
                rank: self.inside().rank() as u32,
                role,
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

    /// Gathers the values of the remote group at the root, in the order of ranks there
    /// (`MPI_Gather`). The values of the ranks of the root's group are dropped, and all ranks
    /// except the root get `None`. Values may differ in length, so this is also `MPI_Gatherv`.
    ///
    /// # Errors
    /// As for all collective calls. [`Error::Rank`] if a rank names a root that does not exist.
    /// [`Error::Count`] if a rank that names a remote root has no value. [`Error::Group`] if the
    /// ranks disagree on the root. All ranks get these errors.
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

    /// Combines the values of the remote group with `op`, in the order of ranks there, and returns
    /// the result at the root (`MPI_Reduce`). The values of the ranks of the root's group are
    /// dropped, and all ranks except the root get `None`.
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

    /// Sends the n-th value of the root to rank n of the remote group (`MPI_Scatter`). The ranks of
    /// the root's group get `None`. The values of ranks other than the root are dropped. Values may
    /// differ in length, so this is also `MPI_Scatterv`.
    ///
    /// # Errors
    /// As for [`gather`](Self::gather), but [`Error::Count`] if the root does not have one value
    /// for each rank of the remote group.
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

    /// Sends a copy of the root's value to all ranks of the remote group (`MPI_Bcast`). The ranks
    /// of the root's group get `None`. The values of ranks other than the root are dropped.
    ///
    /// # Errors
    /// As for [`gather`](Self::gather), but [`Error::Count`] if the root has no value.
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

    /// Combines the n-th values of all ranks of the remote group with `op`, in the order of ranks
    /// there, and returns the result at rank n of the local group. Each rank must pass one value
    /// for each rank of the remote group. Each rank applies `op` when its values have arrived, so a
    /// panic of `op` comes out of the future. The values may be vectors, so this is
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
        // Groups are never empty, so a result exists.
        async move {
            exchanged
                .await?
                .into_iter()
                .reduce(op)
                .ok_or(Error::Inactive)
        }
    }
}
