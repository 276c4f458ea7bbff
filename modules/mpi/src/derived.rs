//! What `#[derive(Equivalence)]` calls: datatypes of structs, whose sizes are asked of the compiler.

use std::any::type_name;
use std::marker::PhantomData;
use std::sync::OnceLock;

use crate::datatype::equivalence::alone;
use crate::datatype::layout::{Block, Extent, Layout, MPI_Datatype};
use crate::datatype::{DatatypeRef, Equivalence};
use crate::life::Phase;
use crate::rank::{elsewhere, is_own_thread, phase};
use crate::raw::{AsRaw, FromRaw};
use crate::threading::Threading;

/// The datatype of a struct that derives it, from its first use on.
pub struct Derived(OnceLock<MPI_Datatype>);

/// The datatype of a field, and of what it is made of.
#[derive(Clone, Copy)]
pub struct Field(&'static Layout);

impl Derived {
    /// Of a struct that was not used yet.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Derived(OnceLock::new())
    }

    /// The datatype; it is made if there is none. If that panics, the next to ask tries again: a rank that may not make it does not keep
    /// the others from it.
    #[track_caller]
    pub fn get(&self, name: &str, make: impl FnOnce() -> Field) -> DatatypeRef<'static> {
        let datatype = match self.0.get() {
            Some(&datatype) => datatype,
            None => {
                check_that_it_may_be_made(name);
                // Code of the user, which may have another rank go on: nothing is locked. Made twice, it is the same.
                let made = MPI_Datatype(make().0);
                *self.0.get_or_init(|| made)
            }
        };
        // SAFETY: layouts are never freed.
        unsafe { DatatypeRef::from_raw(datatype) }
    }
}

/// The datatype of a value.
///
/// # Panics
/// If it reaches beyond the value.
#[track_caller]
pub fn of_type<T: Equivalence>() -> Field {
    Field(alone::<T>().as_raw().0)
}

/// The datatype of an array.
///
/// # Panics
/// If elements are further apart, or less, than their datatype says: other bytes would be read and written than theirs.
#[track_caller]
pub fn of_array<Element, const LENGTH: usize>(
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
    of_blocks(vec![(0, LENGTH, of)], size_of::<[Element; LENGTH]>())
}

/// The datatype of a struct or tuple whose fields are so many bytes from its beginning.
#[track_caller]
pub fn of_fields<T>(fields: &[(usize, Field)]) -> Field {
    let blocks = fields.iter().map(|&(at, of)| (at, 1, of));
    of_blocks(blocks.collect(), size_of::<T>())
}

fn of_blocks(blocks: Vec<(usize, usize, Field)>, size: usize) -> Field {
    let block = |(displacement, count, of): (usize, usize, Field)| {
        Block::new(displacement.cast_signed(), count, of.0)
    };
    let blocks = blocks.into_iter().map(block).collect();
    Field(Layout::blocks(blocks, Extent::Of(size)))
}

/// Panics unless the datatype of a struct may be made now, by this thread.
#[track_caller]
fn check_that_it_may_be_made(type_name: &str) {
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
        // A thread that a rank has started, of which nothing says which rank that was.
        None => match elsewhere() {
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
