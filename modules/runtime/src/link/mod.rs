//! Floor *link*: what passes between schedulers. Tokens go through a lock-free ring per channel
//! ([`spsc`]), wake-ups through one [`inbox`] per scheduler; [`between`] says what joins OS
//! processes, and [`shm`] is one such link.

pub(crate) mod any;
pub(crate) mod between;
pub(crate) mod inbox;
pub(crate) mod job;
mod pace;
mod segment;
pub(crate) mod shm;
mod signals;
pub(crate) mod spsc;
pub(crate) mod waiter;
