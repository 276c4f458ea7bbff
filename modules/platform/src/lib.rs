//! Hosts, sockets and cores, and every dialect of hostfile that describes them.
