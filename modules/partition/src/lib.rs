//! Maps processes onto OS processes and OS processes onto hosts.
