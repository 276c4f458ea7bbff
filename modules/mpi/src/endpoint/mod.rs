//! Endpoints: additional ranks of a rank, each of which runs on its own stack or thread.
//!
//! They are part neither of rsmpi nor of MPI. The model is `MPI_Comm_create_endpoints` (J. Dinan
//! and others, *Enabling MPI interoperability through flexible communication endpoints*, EuroMPI
//! 2013), which the standard has not adopted. Therefore [`mpi::traits`](crate::traits) does not
//! export them. A program that must also run over an MPI library cannot use them.
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
//!     // Two for each rank: 0 and 1 for the first, 2 and 3 for the second, and so on.
//!     let both = world.endpoints(2);
//!     assert_eq!((both[1].rank(), both[1].size()), (2 * world.rank() + 1, 6));
//!     let sums = endpoint::each(both, |mine| {
//!         // A rank like any other. A rank that waits does not block the others, so they may
//!         // wait for each other.
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
//! # Properties of endpoint functions
//!
//! * The rank that starts a function calls it, on another stack of the same thread. One of the two
//!   runs until it waits. Therefore the function need not be `Send`, and may share `Rc`s and
//!   `Cell`s with other functions of the rank. It must own its captures, because it may outlive the
//!   function that started it.
//! * The whole API of this crate is available. `world()` is the world of the rank, which is
//!   initialized already, with its attributes. When the [`Universe`](crate::environment::Universe)
//!   of the rank is dropped, its endpoints cannot communicate any more. Join them before.
//! * A rank has ended when its function and everything that it has started have ended.
//! * A panic ends the run, as a panic of any rank does.
//! * A message for an endpoint wakes its stack and the function of the rank, and no other endpoint.
//!   A rank can therefore have thousands of endpoints.
//! * An endpoint makes no more calls when it was dropped, or when its function has returned. Ranks
//!   that still wait for it are reported as a deadlock, as are endpoints that wait for each other.

mod join_handle;
mod registry;
mod start;
mod thread;

pub use join_handle::JoinHandle;
pub use start::{Endpoint, Endpoints, each};
pub use thread::ThreadRank;
