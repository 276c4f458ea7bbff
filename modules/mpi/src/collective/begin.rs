//! Collective calls, begun: what is packed goes to the runtime's own, and what these give is
//! unpacked.
//!
//! Every function here that is given places needs their buffers to be borrowed as long as what it
//! returns may be polled.

use std::rc::Rc;

use graphmap_runtime::mpi as core;

use super::operation::Operation;
use crate::abi::{RSMPI_PROC_NULL, RSMPI_ROOT};
use crate::datatype::traits::Buffer;
use crate::operation::{Elements, RawOperation};
use crate::place::{Place, count, layout, packed};
use crate::request::{Begun, Called, Collective, Lent};
use crate::shared::{CommunicatorHandle, Groups};
use crate::topology::{Rank, number};

/// The root of a call of two groups: a rank of the remote group, or one of the two constants.
fn inter_root(rank: Rank) -> core::InterRoot {
    match rank {
        RSMPI_ROOT => core::InterRoot::This,
        RSMPI_PROC_NULL => core::InterRoot::Beside,
        rank => core::InterRoot::Remote(number(rank)),
    }
}

/// Returns whether the root of a call of two groups is in the remote group.
fn is_remote(root: Rank) -> bool {
    matches!(inter_root(root), core::InterRoot::Remote(_))
}

/// The result of a call of two groups that gives some ranks nothing: for them, no bytes.
async fn or_nothing(
    call: impl Future<Output = Result<Option<Vec<u8>>, core::Error>>,
) -> Result<Vec<u8>, core::Error> {
    Ok(call.await?.unwrap_or_default())
}

/// Puts what each rank has brought into its place.
///
/// # Safety
/// The buffers have to be borrowed still.
unsafe fn fill_all(places: &[Place], all: &[Vec<u8>]) -> Result<(), core::Error> {
    if places.len() < all.len() {
        return Err(core::Error::Count {
            given: places.len(),
            wanted: all.len(),
        });
    }
    for (place, bytes) in places.iter().zip(all) {
        // SAFETY: as the caller says.
        unsafe { place.fill_exactly(bytes) }?;
    }
    Ok(())
}

#[track_caller]
pub(crate) fn barrier(of: &Groups) -> impl Begun + use<> {
    let call = match of {
        Groups::One(one) => Called::One(one.barrier()),
        Groups::Two(two) => Called::two(two.barrier()),
    };
    Collective::new(call, |()| Ok(()))
}

/// # Safety
/// As the module says.
#[track_caller]
pub(super) unsafe fn broadcast(
    of: &CommunicatorHandle,
    root: Rank,
    place: Place,
) -> impl Begun + use<> {
    let groups = of.groups();
    let (gives, receives) = match groups {
        Groups::One(one) => {
            let is_root = one.rank() == number(root);
            (is_root, !is_root)
        }
        Groups::Two(_) => (root == RSMPI_ROOT, is_remote(root)),
    };
    // SAFETY: it is borrowed.
    let value = gives.then(|| unsafe { place.packed() });
    let call = match groups {
        Groups::One(one) => Called::One(one.bcast(value, number(root))),
        Groups::Two(two) => Called::two(or_nothing(two.bcast(value, inter_root(root)))),
    };
    Collective::new(call, move |bytes: Vec<u8>| match receives {
        // SAFETY: as the caller says.
        true => unsafe { place.fill_exactly(&bytes) },
        false => Ok(()),
    })
}

/// # Safety
/// As the module says.
#[track_caller]
pub(super) unsafe fn gather(
    of: &CommunicatorHandle,
    root: Rank,
    bytes: Vec<u8>,
    places: Vec<Place>,
) -> impl Begun + use<> {
    let call = match of.groups() {
        Groups::One(one) => Called::One(one.gather(bytes, number(root))),
        Groups::Two(two) => Called::two(two.gather(Some(bytes), inter_root(root))),
    };
    Collective::new(call, move |all: Option<Vec<Vec<u8>>>| {
        // SAFETY: as the caller says.
        all.map_or(Ok(()), |all| unsafe { fill_all(&places, &all) })
    })
}

/// # Safety
/// As the module says.
#[track_caller]
pub(super) unsafe fn all_gather(
    of: &CommunicatorHandle,
    bytes: Vec<u8>,
    places: Vec<Place>,
) -> impl Begun + use<> {
    let call = match of.groups() {
        Groups::One(one) => Called::One(one.allgather(bytes)),
        Groups::Two(two) => Called::two(two.allgather(bytes)),
    };
    Collective::new(call, move |all: Rc<[Vec<u8>]>| {
        // SAFETY: as the caller says.
        unsafe { fill_all(&places, &all) }
    })
}

/// # Safety
/// As the module says.
#[track_caller]
pub(super) unsafe fn scatter(
    of: &CommunicatorHandle,
    root: Rank,
    parts: Option<Vec<Vec<u8>>>,
    place: Place,
) -> impl Begun + use<> {
    let (call, receives) = match of.groups() {
        Groups::One(one) => (Called::One(one.scatter(parts, number(root))), true),
        Groups::Two(two) => {
            let call = Called::two(or_nothing(two.scatter(parts, inter_root(root))));
            (call, is_remote(root))
        }
    };
    Collective::new(call, move |bytes: Vec<u8>| match receives {
        // SAFETY: as the caller says.
        true => unsafe { place.fill_exactly(&bytes) },
        false => Ok(()),
    })
}

/// # Safety
/// As the module says.
#[track_caller]
pub(super) unsafe fn all_to_all(
    of: &CommunicatorHandle,
    parts: Vec<Vec<u8>>,
    places: Vec<Place>,
) -> impl Begun + use<> {
    let call = match of.groups() {
        Groups::One(one) => Called::One(one.alltoall(parts)),
        Groups::Two(two) => Called::two(two.alltoall(parts)),
    };
    Collective::new(call, move |all: Vec<Vec<u8>>| {
        // SAFETY: as the caller says.
        unsafe { fill_all(&places, &all) }
    })
}

/// What a rank brings to a reduction: its elements, and how they are combined.
pub(crate) struct Reduction {
    bytes: Vec<u8>,
    elements: Elements,
    /// The call that has lent the operation goes on.
    lending: Lending,
}

/// Ends what was lent when it is dropped.
struct Lending(Lent);

impl Drop for Lending {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Reduction {
    #[track_caller]
    pub(super) fn new<S: Buffer + ?Sized, O: Operation>(buffer: &S, operation: &O) -> Self {
        let elements = Elements {
            operation: operation.as_raw().0,
            layout: layout(buffer),
            count: count(buffer),
        };
        Reduction::of(packed(buffer), elements)
    }

    /// One of elements that are packed.
    pub(crate) fn of(bytes: Vec<u8>, elements: Elements) -> Self {
        let lending = Lending(Lent::new());
        Reduction {
            bytes,
            elements,
            lending,
        }
    }

    /// As one of parts of elements, one for each of so many ranks.
    fn in_parts(mut self, ranks: usize) -> Self {
        self.elements.count /= ranks.max(1);
        self
    }

    /// Whether the operation is one that the program has made, which it may drop when its call has
    /// ended.
    fn is_users(&self) -> bool {
        !matches!(self.elements.operation, RawOperation::System(_))
    }

    /// Checks that the operation is defined for the elements, and takes these out.
    fn checked(mut self) -> Result<(Vec<u8>, Reduction), core::Error> {
        self.elements.check()?;
        Ok((std::mem::take(&mut self.bytes), self))
    }

    /// The operation on what is packed.
    fn combining(&self) -> impl FnMut(Vec<u8>, Vec<u8>) -> Vec<u8> + 'static {
        let (elements, users, lent) = (self.elements, self.is_users(), self.lending.0.clone());
        move |left, mut right| {
            // Predefined ones are nobody's.
            assert!(
                !users || lent.is_there(),
                "the operation no longer exists, because the rank that owns it dropped its \
                 reduction"
            );
            // It must not be suspended: meanwhile its rank, and with it the operation, could go.
            graphmap_fiber::uninterrupted(|| elements.combine(&left, &mut right));
            right
        }
    }

    /// Puts what a call that was begun gives this rank, if anything, into its place, if it has one.
    ///
    /// # Safety
    /// As the module says; and the operation has to be lent as long.
    unsafe fn deliver<R: Into<Option<Vec<u8>>>>(
        self,
        place: Option<Place>,
        call: Called<R>,
    ) -> impl Begun + use<R> {
        let lent = self.lending.0.clone();
        let finish = move |result: R| {
            drop(self);
            match (place, result.into()) {
                // SAFETY: as the caller says.
                (Some(place), Some(bytes)) => unsafe { place.fill_exactly(&bytes) },
                _ => Ok(()),
            }
        };
        Collective::new(call, finish).lending(lent)
    }
}

// Not a closure, because the runtime reports the line of its caller.

/// # Safety
/// As the module says; and the operation has to be lent as long.
#[track_caller]
pub(super) unsafe fn reduce(
    of: &CommunicatorHandle,
    root: Rank,
    reduction: Reduction,
    place: Option<Place>,
) -> Result<Box<dyn Begun>, core::Error> {
    let groups = of.groups();
    let (bytes, reduction) = reduction.checked()?;
    let call = match groups {
        // A rank that has lent its operation must not go on before all have come.
        Groups::One(one) if reduction.is_users() => {
            let call = Called::One(one.allreduce(bytes, reduction.combining()));
            // SAFETY: as the caller says.
            return Ok(Box::new(unsafe { reduction.deliver(place, call) }));
        }
        Groups::One(one) => Called::One(one.reduce(bytes, reduction.combining(), number(root))),
        // It goes on when all have come.
        Groups::Two(two) => {
            let (combining, root) = (reduction.combining(), inter_root(root));
            Called::two(two.reduce(Some(bytes), combining, root))
        }
    };
    // SAFETY: as the caller says.
    Ok(Box::new(unsafe { reduction.deliver(place, call) }))
}

/// # Safety
/// As for [`reduce`].
#[track_caller]
pub(crate) unsafe fn all_reduce(
    groups: &Groups,
    reduction: Reduction,
    place: Place,
) -> Result<impl Begun + use<>, core::Error> {
    let (bytes, reduction) = reduction.checked()?;
    let call = match groups {
        Groups::One(one) => Called::One(one.allreduce(bytes, reduction.combining())),
        Groups::Two(two) => Called::two(two.allreduce(bytes, reduction.combining())),
    };
    // SAFETY: as the caller says.
    Ok(unsafe { reduction.deliver(Some(place), call) })
}

/// # Safety
/// As for [`reduce`].
#[track_caller]
pub(super) unsafe fn reduce_scatter(
    of: &CommunicatorHandle,
    reduction: Reduction,
    place: Place,
) -> Result<impl Begun + use<>, core::Error> {
    let groups = of.groups();
    let ranks = of.0.peers().size().max(1);
    // All ranks are told if they are not equal: then there are none.
    let is_divisible = reduction.elements.count.is_multiple_of(ranks);
    let (bytes, reduction) = reduction.in_parts(ranks).checked()?;
    let each = bytes.len() / ranks;
    let part = |rank: usize| bytes[rank * each..(rank + 1) * each].to_vec();
    let parts = (0..ranks).filter(|_| is_divisible).map(part).collect();
    let call = match groups {
        Groups::One(one) => Called::One(one.reduce_scatter(parts, reduction.combining())),
        Groups::Two(two) => Called::two(two.reduce_scatter(parts, reduction.combining())),
    };
    // SAFETY: as the caller says.
    Ok(unsafe { reduction.deliver(Some(place), call) })
}

/// # Safety
/// As for [`reduce`].
#[track_caller]
pub(super) unsafe fn scan(
    of: &CommunicatorHandle,
    reduction: Reduction,
    place: Place,
) -> Result<impl Begun + use<>, core::Error> {
    let communicator = of.core();
    let (bytes, reduction) = reduction.checked()?;
    let call = Called::One(communicator.scan(bytes, reduction.combining()));
    // SAFETY: as the caller says.
    Ok(unsafe { reduction.deliver(Some(place), call) })
}

/// # Safety
/// As for [`reduce`].
#[track_caller]
pub(super) unsafe fn exclusive_scan(
    of: &CommunicatorHandle,
    reduction: Reduction,
    place: Place,
) -> Result<impl Begun + use<>, core::Error> {
    let communicator = of.core();
    let (bytes, reduction) = reduction.checked()?;
    let call = Called::One(communicator.exscan(bytes, reduction.combining()));
    // SAFETY: as the caller says.
    Ok(unsafe { reduction.deliver(Some(place), call) })
}
