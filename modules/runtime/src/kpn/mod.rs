//! Floor *kpn*: typed channels, ports, bundles, the table of a network, and its blocks.

pub(crate) mod block;
pub(crate) mod bundle;
pub(crate) mod channel;
pub(crate) mod cross;
pub(crate) mod direct;
pub(crate) mod end;
pub(crate) mod network;
pub(crate) mod ports;
pub(crate) mod select;
pub(crate) mod sequence;
pub(crate) mod stop;
pub(crate) mod wire;
