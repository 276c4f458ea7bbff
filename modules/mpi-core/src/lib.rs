//! Processes as MPI ranks: matched messages, communicators and collective calls, in addition to the
//! ports of the graph.
//!
//! Every process of a run is a rank. [`world`] returns the communicator of all processes. A message
//! carries a value of any type that implements [`Payload`](graphmap_executor::Payload). Messages
//! are matched as in MPI: by communicator, source and tag, in the order in which they were sent. A
//! receive may accept any source or any tag. Between ranks of one scheduler, values move without a
//! copy.
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
//! * *A call begins when it is made.* It returns a [`Request`], which is also a future:
//!   `send(..).await` is `MPI_Send`, and `let request = send(..)` is `MPI_Isend`.
//! * *Dropped requests.* A send whose request is dropped is still sent. A receive that is dropped
//!   returns its message to the queue.
//! * *Deadlocks* are detected immediately, as for channels. The report contains the call of each
//!   rank and its source line. A test or an immediate probe that fails yields once to the other
//!   processes.
//! * *Collective calls* ([`Communicator::barrier`] and others) also begin when they are made.
//! * *Endpoints* ([`Communicator::endpoints`]) are additional ranks of a process. They may run on
//!   threads.
//! * *Errors* are values. The process decides whether an error ends the run.
//! * *Location.* The rules are the same for ranks on one scheduler, on several schedulers, in
//!   several OS processes, and on several hosts. A message to another OS process is copied. A
//!   message within an OS process is not copied.

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
mod erased;
mod error;
mod frame;
mod group;
mod instance;
mod inter;
mod inter_rooted;
mod known;
mod mailbox;
mod matching;
mod numbering;
mod others;
mod packed;
mod persistent;
mod probe;
mod queue;
mod receive_buffer;
mod recipe;
mod request;
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
pub use communicator::{Communicator, Ticket, world};
pub use create_group::create_from_group;
pub use endpoint::{OnThread, Task, TaskEnd, ThreadRank};
pub use envelope::{ANY_SOURCE, ANY_TAG, Source, Status, TagOf};
pub use error::{Error, Mismatch};
pub use graphmap_rankmap::Strategy;
pub use group::{Comparison, Group};
pub use instance::Collective;
pub use inter::{FromRemote, InterCommunicator};
pub use inter_rooted::InterRoot;
pub use known::{of_connection, of_host, of_kind, of_level, of_module, of_os_process, of_prefix};
pub use matching::SendMode;
pub use packed::Packed;
pub use persistent::{Persistent, persistent, start_all};
pub use probe::{Message, Probing};
pub use request::{Receiving, ReceivingInto, ReceivingMessage, Request, Sending};
pub use several::{test_all, test_any, test_some, wait_all, wait_any, wait_some};
pub use split_type::SplitType;
pub use topology::Neighbours;
pub use value::Value;
pub use window::{Accessing, Locked, LockedAll, Locking, Number, Op, SharedWindow, Window};
#[doc(hidden)]
pub use world::upper_layer;
