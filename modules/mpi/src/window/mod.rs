//! Windows: access to the memory of other ranks (one-sided communication, `MPI_Win`).
//!
//! This module is not part of rsmpi, which has MPI's functions for windows in its binding only.
//! [`mpi::traits`](crate::traits) therefore does not contain its traits.
//!
//! ```
//! use mpi::traits::*;
//! use mpi::window::{Op, Windows};
//!
//! fn main() {
//!     mpi::run(5, rank).unwrap();
//! }
//!
//! fn rank() {
//!     let universe = mpi::initialize().unwrap();
//!     let world = universe.world();
//!     let (me, size) = (world.rank(), world.size());
//!     // Each rank exposes two numbers.
//!     let window = world.create_window(vec![0; 2]);
//!     // A counter at rank 0, and a number for the next rank.
//!     let ticket = window.fetch_and_op(1, 0, 0, Op::Sum);
//!     assert!(ticket < size);
//!     window.put(&[me], (me + 1) % size, 1);
//!     window.fence();
//!     window.with(|mine| assert_eq!(mine[1], (me + size - 1) % size));
//!     // A read and a write that no other rank comes between.
//!     let lock = window.lock(0);
//!     let count = window.get(0, 0..1)[0];
//!     window.put(&[count + 10], 0, 0);
//!     lock.unlock();
//!     let memory = window.free();
//!     assert_eq!(memory[0], if me == 0 { size + 10 * size } else { 0 });
//! }
//! ```
//!
//! # MPI's calls
//!
//! | MPI | here |
//! |---|---|
//! | `MPI_Win_create`, `MPI_Win_allocate` | `create_window(vec)`, not of two groups |
//! | `MPI_Win_create_dynamic` | `create_dynamic_window` |
//! | `MPI_Win_attach`, `MPI_Win_detach` | `attach`, `detach` |
//! | `MPI_Win_allocate_shared` | `create_shared_window(vec)`, in one OS process (`split_shared`) |
//! | `MPI_Win_shared_query` | `of` |
//! | loads and stores of a rank's own memory | `with(\|mine\| ..)`, `with_attached` |
//! | `MPI_Put`, `MPI_Get` | `put`, `get` |
//! | `MPI_Accumulate`, `MPI_Get_accumulate` | `accumulate`, `get_accumulate`, by an [`Op`] |
//! | `MPI_Fetch_and_op`, `MPI_Compare_and_swap` | `fetch_and_op`, `compare_and_swap` |
//! | `MPI_Win_fence`, `MPI_Win_flush`, `MPI_Win_flush_all` | `fence`, `flush`, `flush_all` |
//! | `MPI_Win_lock`, `MPI_Win_lock_all` | `lock` (exclusive), `lock_shared`, `lock_all` |
//! | `MPI_Win_unlock` | `unlock` of the guard, or its drop |
//! | `MPI_Win_post`, `MPI_Win_start` | `post`, `start` |
//! | `MPI_Win_complete`, `MPI_Win_wait` | `complete`, `wait` |
//! | `MPI_Win_free` | `free`, which returns the memory |
//!
//! Requests (`MPI_Rput` and others) and `MPI_Win_test` are not available.
//!
//! # Rules
//!
//! * The memory of a rank belongs to its scheduler, which performs the accesses of all ranks one
//!   after the other. Each access is atomic for any number of elements. The rank itself need not
//!   take part.
//! * A rank reads and changes its own memory by [`Window::with`], also while other ranks have
//!   access.
//! * A call that returns elements has been performed when it returns. Another call, such as
//!   [`Window::put`], has been performed when the rank has called [`Window::flush`],
//!   [`Window::fence`], [`Window::complete`] or [`Locked::unlock`]. The accesses of a rank to
//!   another are performed in the order of the calls.
//! * A lock excludes only the ranks that ask for the lock. Accesses do not require it.
//! * A window that is dropped without `free` is closed: accesses of other ranks to it are errors.
//! * All calls that can fail have two forms: one that panics, and one that begins with `try_`.
//! * Both forms of a call that communicates panic if the rank was finalized, or if the caller is
//!   not on the stack of a rank. They also panic where no call may wait: see the [crate]
//!   documentation. The `try_` form returns [`CallError::Over`](crate::CallError::Over) if the run
//!   has ended.

mod create;
mod element;
mod lock;
mod memory;
mod shared_memory;

pub use create::Windows;
pub use element::Element;
pub use graphmap_runtime::mpi::{Number, Op};
pub use lock::{Locked, LockedAll};
pub use memory::Window;
pub use shared_memory::SharedWindow;
