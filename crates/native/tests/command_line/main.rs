//! Oracle: the real program, run as a process. It is judged by what a script and a person can see of it:
//! exit status, standard output, standard error, and the files it leaves. The envelopes come from a second,
//! naive writer (`sample_file`), which shares no code with the program but the canonical form of JSON.

mod closed_streams;
mod convert;
mod extract;
mod halted;
mod inspect;
mod large_files;
mod meanwhile;
mod progress;
mod readme;
mod reference_fixture;
mod sample_file;
mod saving_session;
mod session;
mod small_disk;
mod standard_input;
mod store_disk_full;
mod store_kills;
mod store_owners;
mod stores;
mod traces;
mod usage;
mod verify;
mod wellwritten;
