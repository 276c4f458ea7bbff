//! Communicators whose ranks form a grid.

use graphmap_runtime::mpi as core;

use super::Rank;
use super::group::rank;
use super::simple::SimpleCommunicator;
use crate::abi::MPI_Comm;
use crate::fiber::wait;
use crate::raw::{AsRaw, FromRaw};
use crate::shared::{AsHandle, CommunicatorHandle, Shared};
use crate::{Count, done};

/// Layout of a grid, and the position of a rank in it.
#[derive(Debug, Clone)]
pub struct CartesianLayout {
    /// Number of ranks along each dimension.
    pub dims: Vec<Count>,
    /// Whether each dimension is periodic.
    pub periods: Vec<bool>,
    /// Coordinates of the rank.
    pub coords: Vec<Count>,
}

/// A communicator whose ranks form a grid in row-major order: the last coordinate varies fastest.
pub struct CartesianCommunicator(pub(super) SimpleCommunicator);

impl CartesianCommunicator {
    pub(super) fn made(of: &Shared, cartesian: core::Cartesian) -> Self {
        let mut shared = of.derived(cartesian.communicator().clone());
        shared.grid = Some(cartesian);
        CartesianCommunicator(SimpleCommunicator::made(shared))
    }

    /// Returns the communicator of a handle. Returns `None` if the handle is null, or if its
    /// communicator has no grid.
    ///
    /// # Safety
    /// As for [`FromRaw`]. If the result is `None`, the handle still belongs to the caller.
    pub unsafe fn try_from_raw(raw: MPI_Comm) -> Option<CartesianCommunicator> {
        if raw.0.is_null() {
            return None;
        }
        // SAFETY: guaranteed by the caller.
        let simple = unsafe { SimpleCommunicator::from_raw(raw) };
        if simple.as_handle().0.grid.is_none() {
            // The handle still belongs to the caller.
            std::mem::forget(simple);
            return None;
        }
        Some(CartesianCommunicator(simple))
    }

    fn cartesian(&self) -> &core::Cartesian {
        let grid = self.as_handle().0.grid.as_ref();
        grid.expect("a communicator of a grid has one")
    }

    fn grid(&self) -> &core::Grid {
        self.cartesian().grid()
    }

    /// Returns the number of dimensions.
    pub fn num_dimensions(&self) -> Count {
        rank(self.grid().dims().len())
    }

    /// Stores the layout as [`get_layout_into`](Self::get_layout_into), without comparing the
    /// lengths of the slices first.
    ///
    /// # Panics
    /// If a slice is shorter than the number of dimensions.
    ///
    /// # Safety
    /// No conditions here. It is unsafe because rsmpi's function is.
    pub unsafe fn get_layout_into_unchecked(
        &self,
        dims: &mut [Count],
        periods: &mut [bool],
        coords: &mut [Count],
    ) {
        let coordinates = self.cartesian().coordinates();
        for (at, &dim) in self.grid().dims().iter().enumerate() {
            dims[at] = rank(dim);
            periods[at] = self.grid().periodic()[at];
            coords[at] = rank(coordinates[at]);
        }
    }

    /// Stores the layout of the grid, and the coordinates of the calling rank, in the slices.
    ///
    /// # Panics
    /// If the length of a slice is not the number of dimensions.
    #[track_caller]
    pub fn get_layout_into(&self, dims: &mut [Count], periods: &mut [bool], coords: &mut [Count]) {
        let wanted = self.grid().dims().len();
        let same = [dims.len(), periods.len(), coords.len()] == [wanted; 3];
        assert!(
            same,
            "dims, periods, and coords must be equal in length to num_dimensions()"
        );
        // SAFETY: the slices are long enough.
        unsafe { self.get_layout_into_unchecked(dims, periods, coords) }
    }

    /// Returns the layout of the grid, and the coordinates of the calling rank.
    pub fn get_layout(&self) -> CartesianLayout {
        let dimensions = self.grid().dims().len();
        let mut layout = CartesianLayout {
            dims: vec![0; dimensions],
            periods: vec![false; dimensions],
            coords: vec![0; dimensions],
        };
        self.get_layout_into(&mut layout.dims, &mut layout.periods, &mut layout.coords);
        layout
    }

    /// Calls [`coordinates_to_rank`](Self::coordinates_to_rank), and panics as it does.
    ///
    /// # Safety
    /// No conditions here. It is unsafe because rsmpi's function is.
    #[track_caller]
    pub unsafe fn coordinates_to_rank_unchecked(&self, coords: &[Count]) -> Rank {
        self.coordinates_to_rank(coords)
    }

    /// Returns the rank at these coordinates. Coordinates along periodic dimensions wrap around.
    ///
    /// # Panics
    /// If the coordinates are beyond an edge, or if their number is not the number of dimensions.
    #[track_caller]
    pub fn coordinates_to_rank(&self, coords: &[Count]) -> Rank {
        let places: Option<Vec<isize>> =
            coords.iter().map(|&at| isize::try_from(at).ok()).collect();
        let found = places.and_then(|places| self.grid().rank_at(&places));
        found.map_or_else(
            || {
                panic!(
                    "coordinates {coords:?} are outside a grid of {:?}",
                    self.grid().dims()
                )
            },
            rank,
        )
    }

    /// Calls [`rank_to_coordinates_into`](Self::rank_to_coordinates_into), and panics as it does.
    ///
    /// # Safety
    /// No conditions here. It is unsafe because rsmpi's function is.
    #[track_caller]
    pub unsafe fn rank_to_coordinates_into_unchecked(&self, rank: Rank, coords: &mut [Count]) {
        self.rank_to_coordinates_into(rank, coords);
    }

    /// Stores the coordinates of a rank in a slice.
    ///
    /// # Panics
    /// If the rank does not exist, or if the length of the slice is not the number of dimensions.
    #[track_caller]
    pub fn rank_to_coordinates_into(&self, rank: Rank, coords: &mut [Count]) {
        coords.copy_from_slice(&self.rank_to_coordinates(rank));
    }

    /// Returns the coordinates of a rank.
    ///
    /// # Panics
    /// If the rank does not exist.
    #[track_caller]
    pub fn rank_to_coordinates(&self, rank: Rank) -> Vec<Count> {
        let size = super::group::rank(self.as_handle().0.known().size());
        assert!(
            rank >= 0 && rank < size,
            "rank ({rank}) must be in the range [0,{size})"
        );
        let found = usize::try_from(rank)
            .ok()
            .and_then(|rank| self.grid().coordinates(rank));
        let found = found.unwrap_or_default();
        found.into_iter().map(super::group::rank).collect()
    }

    /// Calls [`shift`](Self::shift), and panics as it does.
    ///
    /// # Safety
    /// No conditions here. It is unsafe because rsmpi's function is.
    #[track_caller]
    pub unsafe fn shift_unchecked(
        &self,
        dimension: Count,
        displacement: Count,
    ) -> (Option<Rank>, Option<Rank>) {
        self.shift(dimension, displacement)
    }

    /// Returns the ranks that the calling rank receives from and sends to, in this order, if all
    /// ranks send `displacement` steps along a dimension (`MPI_Cart_shift`). Dimensions are counted
    /// from 0. A rank beyond an edge is `None`. Does not communicate.
    ///
    /// # Panics
    /// If the dimension does not exist.
    #[track_caller]
    pub fn shift(&self, dimension: Count, displacement: Count) -> (Option<Rank>, Option<Rank>) {
        let along = usize::try_from(dimension).ok();
        let by = isize::try_from(displacement).ok();
        let found = along
            .zip(by)
            .and_then(|(along, by)| self.cartesian().shift(along, by));
        let (source, destination) = found.unwrap_or_else(|| {
            panic!(
                "dimension ({dimension}) is not valid for this communicator (num_dimensions = {})",
                self.num_dimensions()
            )
        });
        (source.map(rank), destination.map(rank))
    }

    /// Calls [`subgroup`](Self::subgroup), and panics as it does.
    ///
    /// # Safety
    /// No conditions here. It is unsafe because rsmpi's function is.
    #[track_caller]
    pub unsafe fn subgroup_unchecked(&self, retain: &[bool]) -> CartesianCommunicator {
        self.subgroup(retain)
    }

    /// Returns the part of the grid that contains the calling rank and has only the dimensions that
    /// are true in `retain` (`MPI_Cart_sub`). A collective call, which blocks until all ranks have
    /// made it.
    ///
    /// # Panics
    /// If the length of `retain` is not the number of dimensions, or if ranks pass different values
    /// or make different calls. Also if the rank was finalized, the run ends, no communicator
    /// numbers are left, or the caller is not on the stack of a rank.
    #[track_caller]
    pub fn subgroup(&self, retain: &[bool]) -> CartesianCommunicator {
        assert_eq!(
            self.grid().dims().len(),
            retain.len(),
            "The length of the retained dimensions array must be equal to the number of dimensions in the CartesianCommunicator"
        );
        // This reports calls after the end of the rank.
        let _ = self.as_handle().core();
        let part = done(wait(self.cartesian().part(retain)));
        CartesianCommunicator::made(&self.as_handle().0, part)
    }
}

// SAFETY: the handle of the communicator is valid as long as the communicator lives.
unsafe impl AsRaw for CartesianCommunicator {
    type Raw = MPI_Comm;

    fn as_raw(&self) -> MPI_Comm {
        self.0.as_raw()
    }
}

impl FromRaw for CartesianCommunicator {
    unsafe fn from_raw(raw: MPI_Comm) -> Self {
        // SAFETY: guaranteed by the caller.
        CartesianCommunicator(unsafe { SimpleCommunicator::from_raw(raw) })
    }
}

impl AsHandle for CartesianCommunicator {
    fn as_handle(&self) -> &CommunicatorHandle {
        self.0.as_handle()
    }
}
