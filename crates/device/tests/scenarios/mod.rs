//! What the guarded device does where WebGPU goes wrong: each scenario once, as an async function over a
//! [`Stage`], played on the CPU backend, on the fake under several plans of delivery, and on the real WebGPU of a
//! browser.
//!
//! | Hazard | Scenario |
//! | --- | --- |
//! | after a loss everything "succeeds" | `loss::losing_the_device_with_reads_in_flight`, `loss::a_loss_that_only_the_device_announces`; mapping included: `tests/fake/loss.rs` |
//! | a scope delivers any one of its errors | `tests/fake/attribution.rs`, which chooses which |
//! | scopes are a per-device stack | `devices` |
//! | an invalid command buffer voids its submission | `public_case::a_submission_that_turns_out_invalid_drops_its_batch` |
//! | skipped work leaves 512 where 2048 was due | all of `public_case` |
//! | a failed allocation, used | `allocation` |
//! | over-limit bindings, dispatches, buffers | `limits`; a device with more than the adapter has: `tests/webgpu/real.rs` |
//! | offsets at 2^30, 2^31, 2^32 ± 1 | `tests/fake/offsets.rs` |
//! | errors outside any scope | `uncaptured` |
//! | losing the device with N reads in flight | `loss`; at every await point: `tests/fake/await_points.rs` and `tests/webgpu/await_points.rs` |
//! | a recovered device is a new generation | `loss::a_recovered_device_is_a_new_generation_and_nothing_of_the_old` |
//! | 100 overlapping reads | `reads::a_hundred_overlapping_reads_return_in_order_what_was_there` |
//! | a mapped read depends on no other submission | `reads::a_read_needs_no_other_submission_to_resolve` |
//!
//! Shaders, pipelines, copies and capture windows have modules of their own. Every answer of every scenario is
//! distorted once, and the scenario has to notice: `tests/fake/canaries.rs`.

pub(crate) mod allocation;
pub(crate) mod copies;
pub(crate) mod devices;
pub(crate) mod limits;
pub(crate) mod loss;
pub(crate) mod pipelines;
pub(crate) mod public_case;
pub(crate) mod reads;
pub(crate) mod stage;
pub(crate) mod uncaptured;
pub(crate) mod windows;

/// Hands every scenario to the macro `$play`: first those for every backend, then those that need failures which the
/// CPU, whose verdicts are immediate and which is never lost by itself, does not have.
macro_rules! scenarios {
    ($play:ident) => {
        $play! {
            everywhere:
                public_case::an_invalid_shader_between_two_good_ones,
                public_case::three_reads_asked_at_once_around_an_invalid_shader,
                public_case::a_failure_goes_down_a_chain_of_launches,
                limits::workgroups_over_the_limit,
                limits::more_bindings_than_the_limit,
                limits::a_binding_larger_than_the_limit,
                limits::a_buffer_larger_than_the_limit,
                copies::copies_keep_their_place_among_writes_and_launches,
                copies::a_copy_from_failed_bytes_is_skipped_or_fails_with_them,
                copies::copies_that_webgpu_would_refuse_late_are_refused_at_once,
                reads::a_hundred_overlapping_reads_return_in_order_what_was_there,
                reads::a_read_needs_no_other_submission_to_resolve,
                reads::later_work_does_not_change_what_an_earlier_read_returns,
                reads::verify_says_what_a_read_would_say,
                devices::two_devices_do_not_hear_each_other,
                devices::two_programs_on_one_device_do_not_take_each_others_errors,
                windows::a_window_runs_what_it_records_and_a_replay_runs_it_again,
                windows::writes_and_copies_of_a_window_are_replayed_with_their_own_bytes,
                windows::a_replay_is_recorded_by_the_window_around_it,
                windows::an_allocation_within_a_window_is_not_replayed,
                windows::an_empty_window_seals_and_replays_nothing,
                windows::a_failed_launch_dooms_its_window_however_late,
                windows::a_skipped_launch_dooms_its_window_under_the_root_failure,
                windows::an_input_that_fails_later_dooms_the_window_that_read_it,
                windows::work_outside_a_window_does_not_doom_it,
                windows::a_window_within_a_window_is_refused_by_name,
                windows::a_replay_over_a_freed_buffer_is_refused_by_name,
                windows::a_replay_whose_input_failed_is_skipped_as_a_whole,
                windows::a_replay_over_failed_bytes_that_it_writes_itself_is_not_skipped,
                windows::a_dropped_window_gives_its_place_back,
                windows::eight_windows_may_wait_and_a_ninth_is_refused,
                windows::a_loss_between_the_record_and_the_seal,
                windows::a_graph_of_a_lost_device_is_refused_by_name,
                loss::losing_the_device_with_reads_in_flight,
                loss::a_recovered_device_is_a_new_generation_and_nothing_of_the_old,
                loss::two_recoveries_at_once_make_one_generation,
                loss::a_recovery_that_comes_second_leaves_the_first_ones_buffers,
                loss::a_closed_device_refuses_every_call;
            under_webgpus_rules:
                public_case::a_submission_that_turns_out_invalid_drops_its_batch,
                public_case::a_recycled_buffer_reads_as_zero_or_not_at_all,
                pipelines::a_bad_entry_point_names_its_kernel,
                pipelines::a_shader_that_writes_what_was_declared_read,
                allocation::the_fifteenth_allocation_fails_and_every_read_downstream_names_it,
                reads::a_mapping_that_rejects_fails_one_read,
                uncaptured::an_error_outside_every_scope_claims_what_is_in_flight,
                uncaptured::an_error_outside_every_scope_dooms_the_window_that_waits,
                uncaptured::an_error_outside_every_scope_while_a_buffer_is_created,
                uncaptured::an_error_outside_every_scope_while_nothing_is_in_flight_is_shown,
                windows::a_dropped_submission_dooms_the_window_that_recorded_into_it,
                windows::a_replay_that_fails_fails_as_one_unit,
                loss::a_loss_that_only_the_device_announces,
                loss::a_recovery_tries_three_times_and_gives_up_by_name,
                loss::a_device_closed_during_its_recovery_stays_closed;
        }
    };
}

pub(crate) use scenarios;
