//! Support for code that `#[derive(Equivalence)]` generates: datatypes of structs, with sizes and
//! offsets from the compiler.

use std::any::type_name;
use std::marker::PhantomData;
use std::sync::OnceLock;

use crate::datatype::equivalence::single_datatype;
use crate::datatype::layout::{Block, Extent, Layout, MPI_Datatype};
use crate::datatype::{DatatypeRef, Equivalence};
use crate::phase::Phase;
use crate::rank::{initialized_ranks, is_own_thread, phase};
use crate::raw::{AsRaw, FromRaw};
use crate::threading::Threading;

/// The datatype of a struct that derives `Equivalence`. It is created on first use.
pub struct Derived(OnceLock<MPI_Datatype>);

/// The datatype of a field or of a part of a field.
#[derive(Clone, Copy)]
pub struct Field(&'static Layout);

impl Derived {
    /// Returns the empty cell for a struct that has not been used yet.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Derived(OnceLock::new())
    }

    /// Returns the datatype, and creates it with `make` if necessary. `name` is the name of the
    /// struct for messages.
    ///
    /// # Panics
    /// If the calling thread must not create the datatype now, or `make` panics. A later call may
    /// still create it, so a rank that may not create it does not affect the others.
    #[track_caller]
    pub fn get(&self, name: &str, make: impl FnOnce() -> Field) -> DatatypeRef<'static> {
        let datatype = match self.0.get() {
            Some(&datatype) => datatype,
            None => {
                check_may_create(name);
                // No lock is held, because `make` runs user code, which may let another rank run.
                // If the datatype is created twice, both are equal.
                let made = MPI_Datatype(make().0);
                *self.0.get_or_init(|| made)
            }
        };
        // SAFETY: layouts are never freed.
        unsafe { DatatypeRef::from_raw(datatype) }
    }
}

/// Returns the datatype of a single value of type `T`.
///
/// # Panics
/// If the datatype extends beyond the value. Also if the datatype of `T` panics on first use.
#[track_caller]
pub fn type_datatype<T: Equivalence>() -> Field {
    Field(single_datatype::<T>().as_raw().0)
}

/// Returns the datatype of an array, whose elements have the datatype `of`.
///
/// # Panics
/// If there are several elements and the extent of `of` is not their size, because then bytes
/// outside of the elements would be accessed. Also if `of` extends beyond the array.
#[track_caller]
pub fn array_datatype<Element, const LENGTH: usize>(
    _: PhantomData<[Element; LENGTH]>,
    of: Field,
) -> Field {
    assert!(
        LENGTH < 2 || of.0.is_spaced(size_of::<Element>()),
        "{} has {} bytes, but the extent of its datatype is {}: a struct that derives \
         `Equivalence` cannot have an array of it",
        type_name::<Element>(),
        size_of::<Element>(),
        of.0.extent
    );
    blocks_datatype(vec![(0, LENGTH, of)], size_of::<[Element; LENGTH]>())
}

/// Returns the datatype of a struct or tuple from the offsets of its fields in bytes.
///
/// # Panics
/// If the datatype of a field extends beyond the struct, or the size exceeds the address space.
#[track_caller]
pub fn struct_datatype<T>(fields: &[(usize, Field)]) -> Field {
    let blocks = fields.iter().map(|&(at, of)| (at, 1, of));
    blocks_datatype(blocks.collect(), size_of::<T>())
}

fn blocks_datatype(blocks: Vec<(usize, usize, Field)>, size: usize) -> Field {
    let block = |(displacement, count, of): (usize, usize, Field)| {
        Block::new(displacement.cast_signed(), count, of.0)
    };
    let blocks = blocks.into_iter().map(block).collect();
    Field(Layout::blocks(blocks, Extent::Of(size)))
}

/// Checks that the calling thread may create the datatype of a struct now.
///
/// # Panics
/// If it may not: before `initialize`, after the end of the rank, or on another thread without
/// `Threading::Multiple`. On a thread that the program has started, any initialized rank of the OS
/// process with that level suffices.
#[track_caller]
fn check_may_create(type_name: &str) {
    let threading = match phase() {
        Some(Phase::Initialized(_)) if is_own_thread() => return,
        Some(Phase::Finalized(_)) => panic!(
            "the datatype of `{type_name}` was first used after the rank was finalized (its \
             `Universe` was dropped)"
        ),
        Some(Phase::Before) => panic!(
            "the datatype of `{type_name}` was used before the rank was initialized: call \
             `mpi::initialize` first"
        ),
        Some(Phase::Initialized(threading)) => threading,
        // The thread was started by a rank, but it is unknown by which one.
        None => match initialized_ranks() {
            (_, true) => Threading::Multiple,
            (true, false) => Threading::Single,
            (false, _) => panic!(
                "the datatype of `{type_name}` was first used while no rank is initialized: call \
                 `mpi::initialize` first"
            ),
        },
    };
    assert!(
        threading == Threading::Multiple,
        "the datatype of `{type_name}` was first used on another thread than that of its rank: \
         call `{type_name}::equivalent_datatype()` before, or \
         `mpi::initialize_with_threading(mpi::Threading::Multiple)`"
    );
}
