//! Endpoints: further ranks of a rank, each of which runs on a stack or thread of its own.
//!
//! Not of rsmpi, nor of MPI: `MPI_Comm_create_endpoints` of J. Dinan and others (*Enabling MPI interoperability through flexible
//! communication endpoints*, EuroMPI 2013), which the standard has not taken up. So nothing of this is in [`mpi::traits`](crate::traits),
//! and a program that is to run over an MPI, too, does without.
//!
//! ```
//! use mpi::collective::SystemOperation;
//! use mpi::endpoint::{self, Endpoints};
//! use mpi::traits::*;
//!
//! fn main() {
//!     mpi::run(3, rank).unwrap();
//! }
//!
//! fn rank() {
//!     let universe = mpi::initialize().unwrap();
//!     let world = universe.world();
//!     // Two for each rank: 0 and 1 of the first, 2 and 3 of the second, and so on.
//!     let both = world.endpoints(2);
//!     assert_eq!((both[1].rank(), both[1].size()), (2 * world.rank() + 1, 6));
//!     let sums = endpoint::each(both, |mine| {
//!         // A rank like any other. One that waits keeps no other of its rank from going on, so they may wait for each other.
//!         let other = mine.process_at_rank(mine.rank() ^ 1);
//!         let came = match mine.rank() % 2 {
//!             0 => {
//!                 other.synchronous_send(&10);
//!                 other.receive().0
//!             }
//!             _ => {
//!                 let (came, _) = other.receive::<i32>();
//!                 other.synchronous_send(&(came + 1));
//!                 came
//!             }
//!         };
//!         let mut sum = 0;
//!         mine.all_reduce_into(&came, &mut sum, SystemOperation::sum());
//!         sum
//!     });
//!     assert_eq!(sums, [63, 63]);
//! }
//! ```
//!
//! # What such a function may rely on
//!
//! * It is called by the rank that has started it, on another stack of the same thread: the two take turns where they wait. So it needs no
//!   `Send`, and may share `Rc`s and `Cell`s with others of the rank. What it uses it has to own, as it may outlive whoever started it.
//! * All of this crate is there: `world()` is that of the rank, which is initialized, with its attributes. When the rank's
//!   [`Universe`](crate::environment::Universe) is dropped, the endpoints cannot communicate any more, either: so they are joined before.
//! * A rank has ended when its function and all that it has started have.
//! * A panic ends the run, as that of any rank.
//! * What comes for one of them wakes its stack, and the rank's own function, and no other: so a rank may have thousands.
//! * An endpoint that is let go of, and a function that has returned, call no more: whoever waits for that rank waits in vain, which is found and
//!   reported, as are endpoints that wait for each other for ever.

mod join_handle;
mod registry;
mod start;
mod thread;

pub use join_handle::JoinHandle;
pub use start::{Endpoint, Endpoints, each};
pub use thread::ThreadRank;
