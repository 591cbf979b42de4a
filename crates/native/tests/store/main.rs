//! Oracle: the store's promises, kept on a real file system, in real processes.

mod file_medium;
mod store_thread;
