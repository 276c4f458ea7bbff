//! Layer *link*: transport between schedulers. Each channel has a lock-free ring for its tokens
//! ([`spsc`]), and each scheduler has one [`inbox`] for wake-ups. [`between`] defines the link
//! between OS processes, and [`shm`] implements it over shared memory.

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
