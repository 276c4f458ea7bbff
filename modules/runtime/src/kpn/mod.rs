//! Layer *kpn*: typed channels, ports, bundles, and the table of a network.

pub(crate) mod arguments;
pub(crate) mod bundle;
pub(crate) mod channel;
mod column;
pub(crate) mod connect;
mod credits;
pub(crate) mod cross;
mod digest;
mod directory;
pub(crate) mod end;
pub(crate) mod flow;
mod full_names;
mod maker;
pub(crate) mod meter;
mod modules;
mod names;
pub(crate) mod network;
pub(crate) mod ports;
mod remote_input;
pub(crate) mod remote_output;
pub(crate) mod select;
pub(crate) mod stop;
pub(crate) mod tables;
pub(crate) mod wire;
