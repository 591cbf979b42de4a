//! Oracle: what a host sees of its participants from outside: bytes on sockets, process ids, exit statuses, `/proc`, and the
//! behaviour of a session, which must not tell where its participants run.

mod boot;
mod channel;
mod counter_host;
mod endings;
mod places;
mod processes;
mod reaping;
mod runtime;
mod stubborn_agent;
