//! Grids of ranks: the Cartesian topologies of MPI (MPI 4.1, section 8.5).

use std::panic::Location;
use std::rc::Rc;

use super::call::{Brought, Call, CallOutcome, Combine, Needs};
use super::communicator::Communicator;
use super::error::Error;
use super::group::Group;
use super::instance::begin;
use super::recipe::Recipes;
use super::split::made;
use super::state::World;

/// A grid of ranks in row-major order: the last coordinate varies fastest. The number of ranks is
/// the product of the dimensions.
///
/// ```
/// use graphmap_runtime::mpi::Grid;
/// let grid = Grid::new(&[3, 4], &[true, false]).unwrap();
/// assert_eq!(grid.coordinates(6), Some(vec![1, 2]));
/// assert_eq!(grid.rank_at(&[-1, 2]), Some(10)); // around the first dimension
/// assert_eq!(grid.rank_at(&[1, 4]), None); // beyond the second
/// assert_eq!(grid.shift(0, 0, 1), Some((Some(8), Some(4))));
/// assert_eq!(grid.shift(0, 1, 1), Some((None, Some(1))));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    dims: Vec<usize>,
    periodic: Vec<bool>,
}

graphmap_executor::payload!(Grid { dims, periodic });

const SHAPE: Error =
    Error::topology("the product of the dimensions of a grid must be from 1 to 2^32 - 1");
const LENGTHS: Error = Error::topology("`dims` and `periodic` of a grid differ in length");
const INDIVISIBLE: Error =
    Error::topology("the number of ranks is not a multiple of the product of the given dimensions");
const DIFFERENT: Error = Error::topology("the ranks of a communicator requested different grids");
const DIFFERENT_PARTS: Error = Error::topology("the ranks of a grid requested different parts");
const UNKNOWN_PART: Error = Error::topology(
    "the list of kept dimensions has another length than the dimensions of the grid",
);
const LARGER: Error = Error::topology("the grid has more ranks than the communicator");

impl Grid {
    /// Creates a grid with these dimensions. A periodic dimension wraps around. Without dimensions,
    /// the grid has one rank.
    ///
    /// # Errors
    /// [`Error::Topology`] if a dimension is 0, if the grid has 2^32 ranks or more, or if the
    /// slices differ in length.
    pub fn new(dims: &[usize], periodic: &[bool]) -> Result<Grid, Error> {
        if dims.len() != periodic.len() {
            return Err(LENGTHS);
        }
        let size = dims
            .iter()
            .try_fold(1_usize, |size, &dim| size.checked_mul(dim));
        match size.and_then(|size| u32::try_from(size).ok()) {
            None | Some(0) => Err(SHAPE),
            Some(_) => Ok(Grid {
                dims: dims.to_vec(),
                periodic: periodic.to_vec(),
            }),
        }
    }

    /// Creates a grid of `ranks` ranks and chooses the dimensions that are 0 (`MPI_Dims_create`).
    /// The chosen dimensions descend. The largest is as small as possible, then the second largest,
    /// and so on. J. L. Träff and F. D. Lübbe argue for this optimum ("Specification guideline
    /// violations by MPI_Dims_create", EuroMPI 2015). Most of the time is spent on trial division
    /// up to the square root of `ranks`.
    ///
    /// # Errors
    /// [`Error::Topology`] if `ranks` is 0 or at least 2^32, if `ranks` is not a multiple of the
    /// product of the given dimensions, if no dimension is 0 and this product is not `ranks`, or if
    /// the slices differ in length.
    pub fn balanced(ranks: usize, dims: &[usize], periodic: &[bool]) -> Result<Grid, Error> {
        if ranks == 0 || u32::try_from(ranks).is_err() {
            return Err(SHAPE);
        }
        let mut given = dims.iter().filter(|&&dim| dim > 0);
        let given = given.try_fold(1_usize, |size, &dim| size.checked_mul(dim));
        let free = dims.iter().filter(|&&dim| dim == 0).count();
        let rest = given
            .filter(|given| ranks.is_multiple_of(*given))
            .map(|given| ranks / given);
        let rest = rest
            .filter(|&rest| rest == 1 || free > 0)
            .ok_or(INDIVISIBLE)?;
        let mut chosen = Vec::with_capacity(free);
        if free > 0 && !split_up(rest, free, rest, &divisors(rest), &mut chosen) {
            return Err(INDIVISIBLE);
        }
        let mut chosen = chosen.into_iter();
        let dim = |&dim: &usize| match dim {
            0 => chosen.next().unwrap_or(1),
            given => given,
        };
        Grid::new(&dims.iter().map(dim).collect::<Vec<_>>(), periodic)
    }

    /// Returns the dimensions.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// Returns for each dimension whether it is periodic.
    pub fn periodic(&self) -> &[bool] {
        &self.periodic
    }

    /// Returns the number of ranks.
    pub fn size(&self) -> usize {
        self.dims.iter().product()
    }

    /// Returns the coordinates of a rank (`MPI_Cart_coords`). Returns `None` if the grid does not
    /// have this rank.
    pub fn coordinates(&self, rank: usize) -> Option<Vec<usize>> {
        let mut rest = rank;
        let mut coordinates = vec![0; self.dims.len()];
        for (at, &dim) in coordinates.iter_mut().zip(&self.dims).rev() {
            (*at, rest) = (rest % dim, rest / dim);
        }
        (rest == 0).then_some(coordinates)
    }

    /// Returns the rank at these coordinates (`MPI_Cart_rank`). Coordinates wrap around in periodic
    /// dimensions. Returns `None` if the coordinates are beyond an edge of another dimension, or if
    /// their number is not the number of dimensions.
    pub fn rank_at(&self, coordinates: &[isize]) -> Option<usize> {
        if coordinates.len() != self.dims.len() {
            return None;
        }
        let mut rank = 0;
        for ((&at, &dim), &periodic) in coordinates.iter().zip(&self.dims).zip(&self.periodic) {
            let at = match periodic {
                true => at.rem_euclid(dim.cast_signed()),
                false => at,
            };
            let at = usize::try_from(at).ok().filter(|&at| at < dim)?;
            rank = rank * dim + at;
        }
        Some(rank)
    }

    /// Returns the source and the destination of a rank when all ranks send `by` steps along a
    /// dimension (`MPI_Cart_shift`). Each is `None` beyond an edge, where MPI has `MPI_PROC_NULL`.
    /// Returns `None` if the rank or the dimension does not exist.
    pub fn shift(
        &self,
        rank: usize,
        dimension: usize,
        by: isize,
    ) -> Option<(Option<usize>, Option<usize>)> {
        let coordinates = self.coordinates(rank)?;
        let dim = *self.dims.get(dimension)?;
        let by = match self.periodic[dimension] {
            true => by % dim.cast_signed(),
            false => by,
        };
        let moved = |by: isize| {
            let mut to: Vec<isize> = coordinates.iter().map(|at| at.cast_signed()).collect();
            to[dimension] = to[dimension].checked_add(by)?;
            self.rank_at(&to)
        };
        Some((by.checked_neg().and_then(moved), moved(by)))
    }
}

fn divisors(of: usize) -> Vec<usize> {
    let low = (1..)
        .take_while(|n| n * n <= of)
        .filter(|n| of.is_multiple_of(*n));
    let mut all: Vec<usize> = low.flat_map(|n| [n, of / n]).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Appends `count` factors of `number` to `chosen`, in descending order and at most `most`. The
/// first is as small as possible, then the second, and so on. `divisors` must contain all divisors
/// of `number` in ascending order.
///
/// Returns false, and leaves `chosen` as it was, if no such factors exist.
fn split_up(
    number: usize,
    count: usize,
    most: usize,
    divisors: &[usize],
    chosen: &mut Vec<usize>,
) -> bool {
    if count == 0 {
        return number == 1;
    }
    let enough = |first: usize| {
        let power = u32::try_from(count)
            .ok()
            .and_then(|count| first.checked_pow(count));
        power.is_none_or(|power| power >= number)
    };
    let fits = |&&first: &&usize| first <= most && number.is_multiple_of(first) && enough(first);
    for &first in divisors.iter().filter(fits) {
        chosen.push(first);
        if split_up(number / first, count - 1, first, divisors, chosen) {
            return true;
        }
        chosen.pop();
    }
    false
}

/// A collective call in which all ranks must pass the same argument. `count` returns the number of
/// communicators to create, or an error. They are labelled from 0. Their members are not sent,
/// because each rank computes them.
struct Agreement<T> {
    world: Rc<World>,
    count: fn(&T, usize) -> Result<u32, Error>,
    /// Number of ranks that call.
    ranks: usize,
    different: Error,
}

impl<T: PartialEq + 'static> Combine<T, Rc<Recipes>> for Agreement<T> {
    /// Removes equal parts that follow each other. One part is left if all ranks agree.
    fn combine(&mut self, mut parts: Vec<(u32, T)>) -> Vec<(u32, T)> {
        parts.dedup_by(|next, before| next.1 == before.1);
        parts
    }

    fn make(self, all: Vec<T>) -> CallOutcome<Rc<Recipes>> {
        let differ = all.iter().any(|asked| *asked != all[0]);
        let count = match all.first().filter(|_| !differ) {
            Some(asked) => (self.count)(asked, self.ranks),
            None => Err(self.different),
        };
        let recipes = match count {
            Ok(count) => Recipes::of(&self.world, (0..count).map(|label| (label, None))),
            Err(error) => Recipes::wrong(error),
        };
        CallOutcome::all(Rc::new(recipes))
    }
}

/// A communicator whose ranks form a [`Grid`].
#[derive(Debug, Clone)]
pub struct Cartesian {
    communicator: Communicator,
    grid: Grid,
}

impl Cartesian {
    /// Returns the communicator.
    pub fn communicator(&self) -> &Communicator {
        &self.communicator
    }

    /// Returns the grid.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Returns the coordinates of this rank.
    pub fn coordinates(&self) -> Vec<usize> {
        let all = self.grid.coordinates(self.communicator.rank());
        all.unwrap_or_default()
    }

    /// Returns the source and the destination of this rank, like [`Grid::shift`]. Returns `None` if
    /// the dimension does not exist.
    pub fn shift(&self, dimension: usize, by: isize) -> Option<(Option<usize>, Option<usize>)> {
        self.grid.shift(self.communicator.rank(), dimension, by)
    }

    /// Returns the part of the grid that contains this rank and has only the dimensions that `keep`
    /// marks (`MPI_Cart_sub`). A collective call. Only `keep` is sent, because each rank computes
    /// the members of its part.
    ///
    /// # Errors
    /// As for all collective calls, and [`Error::TooMany`] if no communicator number is left.
    /// [`Error::Topology`] if `keep` does not have one value for each dimension, or if ranks pass
    /// different values.
    #[track_caller]
    pub fn part(&self, keep: &[bool]) -> impl Future<Output = Result<Cartesian, Error>> + use<> {
        let (call, at) = (Call::new::<Vec<bool>>("part", None), Location::caller());
        let parent = Rc::clone(self.communicator.shared());
        let mut label = 0;
        let (mut parts, mut sides, mut fixed) = (1, Vec::new(), Vec::new());
        let (mut dims, mut periodic) = (Vec::new(), Vec::new());
        let fits = keep.len() == self.grid.dims.len();
        let all = self.grid.dims.iter().zip(&self.grid.periodic);
        for ((&keep, (&dim, &around)), at) in keep.iter().zip(all).zip(self.coordinates()) {
            if keep {
                dims.push(dim);
                periodic.push(around);
            } else {
                (label, parts) = (label * dim + at, parts * dim);
            }
            // A dimension is at most the number of ranks, which is below 2^32.
            sides.push(dim as u32);
            fixed.push((!keep).then_some(at as u32));
        }
        let make = Agreement {
            world: Rc::clone(&parent.world),
            count: |&(_, parts): &(Vec<bool>, Option<u32>), _| parts.ok_or(UNKNOWN_PART),
            ranks: self.grid.size(),
            different: DIFFERENT_PARTS,
        };
        let brought = (keep.to_vec(), fits.then_some(parts as u32));
        let calling = self.communicator.calling(call, at);
        let brought = Ok(Brought::Part(brought));
        let made = begin(
            calling,
            brought,
            Needs::All,
            make,
            made::<(Vec<bool>, Option<u32>)>,
        );
        async move {
            let (recipes, rank) = made.await?;
            let name = || format!("{}.part({label})", parent.name());
            let group = || parent.group().compose(&Group::section(&sides, &fixed)?);
            let made = recipes.communicator(&parent, rank, Some(label as u32), name, group)?;
            Ok(Cartesian {
                communicator: made.ok_or(Error::Inactive)?,
                grid: Grid { dims, periodic },
            })
        }
    }
}

impl Communicator {
    /// Creates a communicator of the first ranks of this one as a grid (`MPI_Cart_create`). A
    /// collective call. The remaining ranks get `None`. Ranks are not reordered, because the
    /// mapping has already placed them.
    ///
    /// # Errors
    /// [`Error::Topology`] if the grid has more ranks than the communicator, or if ranks pass
    /// different grids. Also the errors of all collective calls, and [`Error::TooMany`] if no
    /// communicator number is left.
    #[track_caller]
    pub fn cartesian(
        &self,
        grid: &Grid,
    ) -> impl Future<Output = Result<Option<Cartesian>, Error>> + use<> {
        let (call, at) = (Call::new::<Grid>("cartesian", None), Location::caller());
        let parent = Rc::clone(self.shared());
        let make = Agreement {
            world: Rc::clone(&parent.world),
            count: |grid: &Grid, ranks| (grid.size() <= ranks).then_some(1).ok_or(LARGER),
            ranks: self.size(),
            different: DIFFERENT,
        };
        let brought = Ok(Brought::Part(grid.clone()));
        let calling = self.calling(call, at);
        let made = begin(calling, brought, Needs::All, make, made::<Grid>);
        let grid = grid.clone();
        async move {
            let (recipes, rank) = made.await?;
            let size = grid.size() as u32;
            let name = || format!("{}.cartesian", parent.name());
            let group = || parent.group().compose(&Group::all(size));
            let label = (rank < size).then_some(0);
            let made = recipes.communicator(&parent, rank, label, name, group)?;
            Ok(made.map(|communicator| Cartesian { communicator, grid }))
        }
    }
}
