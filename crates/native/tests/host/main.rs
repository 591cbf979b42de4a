//! Oracle: what a host sees of its participants from outside: bytes on sockets, process ids, exit statuses, `/proc`, and the
//! behaviour of a session, which must not tell where its participants run.

mod channel;
mod runtime;
