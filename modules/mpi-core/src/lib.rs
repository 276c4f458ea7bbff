//! Processes as the ranks of MPI: matched messages, communicators and collective calls, beside the
//! ports of the drawing.
//!
//! Every process of a run is a rank; [`world`] is the communicator of all. A message has a value of
//! any type that is a [`Payload`](graphmap_executor::Payload), and is matched as MPI says: by
//! communicator, source and tag, where a receive may leave source and tag open, in the order in
//! which messages were sent. Between ranks of a scheduler, values move without a copy.
//!
//! ```
//! use graphmap_runtime::{Local, Options, mpi};
//!
//! async fn rank() -> Result<(), mpi::Error> {
//!     let world = mpi::world()?;
//!     if world.rank() == 0 {
//!         for _ in 1..world.size() {
//!             let (text, status) = world.recv::<String>(mpi::ANY_SOURCE, 7).await?;
//!             assert_eq!(text, format!("hello from {}", status.source));
//!         }
//!     } else {
//!         world.send(format!("hello from {}", world.rank()), 0, 7).await?;
//!     }
//!     Ok(())
//! }
//!
//! let mut net = Local::new();
//! for _ in 0..5 {
//!     net.spawn(rank());
//! }
//! net.run(&Options::new()).unwrap();
//! ```
//!
//! # Rules
//!
//! * *A call begins when it is made.* What it returns is a [`Request`], and a future: `send(..).await` is MPI's
//!   `MPI_Send`, and `let request = send(..)` its `MPI_Isend`.
//! * *Letting go.* A send that is not waited for is sent all the same; a receive gives its message back.
//! * *What blocks* is found like any standstill of the network, at once, and reported with each rank's call and the line
//!   of the program it is in. A test or an immediate probe that finds nothing lets all others have a turn.
//! * *Collective calls* ([`Communicator::barrier`] and others) begin when they are made, too.
//! * *Endpoints* ([`Communicator::endpoints`]) are further ranks of a process, and may be threads.
//! * *Errors* are values. Nothing ends the run but what the process makes of them.
//! * *Wherever ranks are*, on one scheduler, on several, in several OS processes or on several hosts, all of this is the
//!   same. What goes to another OS process is copied, what stays in one is not.

mod abandoned;
mod any_value;
mod arrivals;
mod call;
mod cartesian;
mod collective;
mod communicator;
mod create;
mod create_group;
mod distributed;
mod endpoint;
mod entry;
mod envelope;
mod error;
mod frame;
mod group;
mod inter;
mod inter_rooted;
mod known;
mod mailbox;
mod matching;
mod numbering;
mod others;
mod packed;
mod parcel;
mod persistent;
mod probe;
mod queue;
mod receive_buffer;
mod recipe;
mod request;
mod round;
mod runs;
mod several;
mod split;
mod split_type;
mod state;
mod topology;
mod traffic;
mod transfer;
mod unpack;
mod value;
mod vectors;
mod window;
mod world;

pub use any_value::AnyValue;
pub use cartesian::{Cartesian, Grid};
pub use communicator::{Communicator, world};
pub use endpoint::{OnThread, Task, TaskEnd, ThreadRank};
pub use envelope::{ANY_SOURCE, ANY_TAG, Source, Status, TagOf};
pub use error::{Error, Mismatch};
pub use graphmap_rankmap::Strategy;
pub use group::{Comparison, Group};
pub use inter::{FromRemote, InterCommunicator};
pub use inter_rooted::InterRoot;
pub use known::{of_host, of_kind, of_level, of_module, of_os_process};
pub use matching::SendMode;
pub use packed::Packed;
pub use persistent::{Persistent, persistent, start_all};
pub use probe::{Message, Probing};
pub use request::{Receiving, ReceivingInto, ReceivingMessage, Request, Sending};
pub use round::Collective;
pub use several::{test_all, test_any, test_some, wait_all, wait_any, wait_some};
pub use split_type::SplitType;
pub use topology::Neighbours;
pub use value::Value;
pub use window::{Accessing, Locked, LockedAll, Locking, Number, Op, SharedWindow, Window};
#[doc(hidden)]
pub use world::floor;
