//! Communicators whose ranks are a grid.

use graphmap_runtime::mpi as core;

use super::Rank;
use super::group::rank;
use super::simple::SimpleCommunicator;
use crate::abi::MPI_Comm;
use crate::fiber::wait;
use crate::raw::{AsRaw, FromRaw};
use crate::shared::{AsHandle, CommunicatorHandle, Shared};
use crate::{Count, done};

/// A grid, and where a rank is in it.
#[derive(Debug, Clone)]
pub struct CartesianLayout {
    /// How many ranks there are along each dimension.
    pub dims: Vec<Count>,
    /// Which dimensions have no edge.
    pub periods: Vec<bool>,
    /// Where the rank is.
    pub coords: Vec<Count>,
}

/// A communicator whose ranks are a grid, in which the last coordinate counts fastest.
pub struct CartesianCommunicator(pub(super) SimpleCommunicator);

impl CartesianCommunicator {
    pub(super) fn made(of: &Shared, cartesian: core::Cartesian) -> Self {
        let mut shared = of.derived(cartesian.communicator().clone());
        shared.grid = Some(cartesian);
        CartesianCommunicator(SimpleCommunicator::made(shared))
    }

    /// A communicator of its handle, if it is one of a grid.
    ///
    /// # Safety
    /// As for [`FromRaw`].
    pub unsafe fn try_from_raw(raw: MPI_Comm) -> Option<CartesianCommunicator> {
        if raw.0.is_null() {
            return None;
        }
        // SAFETY: as the caller says.
        let simple = unsafe { SimpleCommunicator::from_raw(raw) };
        if simple.as_handle().0.grid.is_none() {
            // It stays with the caller.
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

    /// How many dimensions there are.
    pub fn num_dimensions(&self) -> Count {
        rank(self.grid().dims().len())
    }

    /// As [`get_layout_into`](Self::get_layout_into).
    ///
    /// # Safety
    /// None is needed here: it panics where the slices are too short.
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

    /// The grid, and where the rank that calls this is in it.
    ///
    /// # Panics
    /// If the slices are not as long as there are dimensions.
    #[track_caller]
    pub fn get_layout_into(&self, dims: &mut [Count], periods: &mut [bool], coords: &mut [Count]) {
        let wanted = self.grid().dims().len();
        let same = [dims.len(), periods.len(), coords.len()] == [wanted; 3];
        assert!(
            same,
            "dims, periods, and coords must be equal in length to num_dimensions()"
        );
        // SAFETY: they are long enough.
        unsafe { self.get_layout_into_unchecked(dims, periods, coords) }
    }

    /// The grid, and where the rank that calls this is in it.
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

    /// As [`coordinates_to_rank`](Self::coordinates_to_rank).
    ///
    /// # Safety
    /// None is needed here.
    #[track_caller]
    pub unsafe fn coordinates_to_rank_unchecked(&self, coords: &[Count]) -> Rank {
        self.coordinates_to_rank(coords)
    }

    /// Who is at these coordinates, which go around where a dimension has no edge.
    ///
    /// # Panics
    /// If they are beyond an edge, or not as many as there are dimensions.
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

    /// As [`rank_to_coordinates_into`](Self::rank_to_coordinates_into).
    ///
    /// # Safety
    /// None is needed here.
    #[track_caller]
    pub unsafe fn rank_to_coordinates_into_unchecked(&self, rank: Rank, coords: &mut [Count]) {
        self.rank_to_coordinates_into(rank, coords);
    }

    /// Where a rank is.
    ///
    /// # Panics
    /// If there is no such rank, or the slice is not as long as there are dimensions.
    #[track_caller]
    pub fn rank_to_coordinates_into(&self, rank: Rank, coords: &mut [Count]) {
        coords.copy_from_slice(&self.rank_to_coordinates(rank));
    }

    /// Where a rank is.
    ///
    /// # Panics
    /// If there is no such rank.
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

    /// As [`shift`](Self::shift).
    ///
    /// # Safety
    /// None is needed here.
    #[track_caller]
    pub unsafe fn shift_unchecked(
        &self,
        dimension: Count,
        displacement: Count,
    ) -> (Option<Rank>, Option<Rank>) {
        self.shift(dimension, displacement)
    }

    /// From whom the rank that calls this receives and to whom it sends, where all send so far along a dimension; `None`: beyond an
    /// edge.
    ///
    /// # Panics
    /// If there is no such dimension.
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

    /// As [`subgroup`](Self::subgroup).
    ///
    /// # Safety
    /// None is needed here.
    #[track_caller]
    pub unsafe fn subgroup_unchecked(&self, retain: &[bool]) -> CartesianCommunicator {
        self.subgroup(retain)
    }

    /// The part of the grid that the rank that calls this lies in, where the dimensions that are not retained are cut. A collective
    /// call.
    ///
    /// # Panics
    /// If it is not said of each dimension whether it is retained.
    #[track_caller]
    pub fn subgroup(&self, retain: &[bool]) -> CartesianCommunicator {
        assert_eq!(
            self.grid().dims().len(),
            retain.len(),
            "The length of the retained dimensions array must be equal to the number of dimensions in the CartesianCommunicator"
        );
        // Calls after the end of the rank are reported.
        let _ = self.as_handle().core();
        let part = done(wait(self.cartesian().part(retain)));
        CartesianCommunicator::made(&self.as_handle().0, part)
    }
}

// SAFETY: that of the communicator.
unsafe impl AsRaw for CartesianCommunicator {
    type Raw = MPI_Comm;

    fn as_raw(&self) -> MPI_Comm {
        self.0.as_raw()
    }
}

impl FromRaw for CartesianCommunicator {
    unsafe fn from_raw(raw: MPI_Comm) -> Self {
        // SAFETY: as the caller says.
        CartesianCommunicator(unsafe { SimpleCommunicator::from_raw(raw) })
    }
}

impl AsHandle for CartesianCommunicator {
    fn as_handle(&self) -> &CommunicatorHandle {
        self.0.as_handle()
    }
}
