//! The model of a process network: processes, channels, modules; diagnostics, verification, passes.
