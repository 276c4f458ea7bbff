//! Floor *link*: what passes between schedulers. Tokens go through a lock-free ring per channel
//! ([`spsc`]), wake-ups through one [`inbox`] per scheduler; [`between`] says what joins OS
//! processes, and [`shm`] is one such link.

pub mod any;
pub mod between;
pub mod inbox;
pub mod job;
mod pace;
mod segment;
pub mod shm;
mod signals;
pub mod spsc;
pub mod waiter;
