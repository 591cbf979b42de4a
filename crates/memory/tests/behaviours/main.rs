//! One test for each behaviour of the crate: each asserts the right value, and would fail if the
//! behaviour were absent. They run natively, and from the same source as wasm in Node and in a browser:
//! what is `#[test]` here is `#[wasm_bindgen_test]` there.
//!
//! Where each behaviour of the acceptance list is shown:
//!
//! | | Behaviour | Tests |
//! | --- | --- | --- |
//! | A.1 | oracle, sub-slices | `oracle`: `settled_on_sub_slices`, `settled_on_whole_buffers` |
//! | A.2 | oracle, exclusive pages; failures bounded, graph empty at the end | `oracle`: `settled_on_exclusive_pages`, `settled_on_whole_buffers` |
//! | A.3 | a clean body leaves no node | `write_scope::a_body_that_succeeds_leaves_no_node` |
//! | A.4 | a failed body is named and logged | `write_scope::a_body_that_fails_is_named_and_logged` |
//! | A.5 | a panic propagates, and leaves the write set torn down | `write_scope::a_panic_...`, `write_scope::a_scope_left_early_...` |
//! | A.6 | the write set comes back | `write_scope::every_ending_hands_the_write_set_back` |
//! | A.7 | a skip mints nothing and names the root | `write_scope::a_skip_...` |
//! | A.8 | a partial host write releases exactly its bytes | `claims::a_partial_write_releases_exactly_its_bytes` |
//! | A.9 | a failed scope dooms the open window | `windows::a_failed_scope_dooms_the_open_window_which_names_it` |
//! | A.10 | so does a skipped one | `windows::a_skipped_scope_dooms_the_open_window_with_the_root` |
//! | A.11 | a window records exactly the write sets of clean scopes | `windows::a_clean_scope_hands_the_window_...` |
//! | A.12 | outside a window: no doom, no record | `windows::outside_a_window_...`, `windows::a_window_of_another_...` |
//! | A.13 | how a window opens and closes, and records each range once | the rest of `windows` |
//! | A.14 | claims are set, cut, counted once and fused | the rest of `claims` |
//! | A.15 | skip chains | `skip_chains` |
//! | A.16 | unallocated buffers; caps | `pools::a_failed_reservation_reads_as_unallocated`, `pools::a_full_pool_...` |
//! | A.17 | late settlement | `oracle`: `late_on_...`; `late_settlement` |
//! | A.18 | handles of another device, or of a lost one | `handles::a_handle_of_...` |

mod bad_input;
mod bind;
mod claims;
mod endless_storage;
mod failure_store;
mod handles;
mod late_settlement;
mod pools;
mod skip_chains;
mod snapshots;
mod streams;
mod support;
mod views;
mod windows;
mod write_scope;
