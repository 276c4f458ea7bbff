//! Coroutine runtime: processes of a Kahn network as futures, many in one OS process.
