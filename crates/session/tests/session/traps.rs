//! Where the traps of the reference design are tested: which test would fail if we had one. Checked by reading.
//!
//! Numbers are those of the specification's traps "found in its design". `conversation` is `tests/conversation`,
//! `conformance` the scenarios of `crates/conformance`, everything else a module of these tests.
//!
//! | # | trap | what would fail |
//! | -- | --- | --- |
//! | 1 | one step watermark for all epochs | conformance `participants_are_restored_to_a_lower_step_and_take_its_steps`; conversation |
//! | 2 | a stray far step poisons a worker | `runtime::a_stray_request_for_a_far_step_poisons_nothing`; conversation, `Lie::AStrayStepRaisesTheWatermark` |
//! | 3 | lifecycle calls are not tracked while they run | conformance `a_lost_initialize_reply_resolves`, `lost_lifecycle_replies_resolve`; conversation, which holds up every method |
//! | 4 | reads are answered from a cache | none is kept: conversation compares every `Worker.Status` with the moment's own |
//! | 5 | one mutation may wait | none does: `runtime::while_an_operation_runs_its_duplicate_is_in_progress_and_others_are_busy` |
//! | 6 | progress is not read while an answer is awaited | conformance `a_slow_participant_that_gets_on_is_waited_for`, `a_slow_participant_that_does_not_is_given_up_by_name` |
//! | 7 | one acknowledged watermark for everything | conformance `acknowledgments_in_any_order_expire_nothing_else`; conversation, `Lie::AcknowledgedMayRunAgain` |
//! | 8 | certainties that the wire does not allow | `messages` `a_certainty_comes_only_with_a_code_that_may_have_it` |
//! | 19 | a rollback's record has two epochs | there is no rollback: conversation's `Agent.Rollback` is `UNSUPPORTED` |
//! | 20 | behaviour without values | `traces::the_comparison_notices_any_one_field` |
//! | 21 | more ids than a trace takes | `traces_exported::the_largest_record_there_may_be_fits_a_line_and_one_more_of_anything_is_refused` |
//! | 22 | published is written before it is | `publishing::a_publication_that_is_refused_or_faults_costs_the_epoch_nothing_and_the_next_boundary_is_tried` |
//! | 23 | event ids that may collide | the vectors in `src/event_identity.rs` |
//! | 24 | a rebase of two epochs only | `traces::two_recoveries_are_carried_over_together_and_nothing_passes_in_silence` |
//! | 25 | a reset without an interface | `media` `resets`, from `everything_begins_again_but_what_is_retained` on |
//! | 26 | a pause at rest takes a step more | `stepping::a_pause_while_nothing_runs_takes_effect_at_once` |
//! | 27 | a publication that faults fails the epoch | as 22; the events that are stored are in ARCHITECTURE.md |
//! | 28 | no view for spectators only | `media` `a_spectators_view_reaches_no_agent_and_may_be_missing` |
//! | 29 | a chunk without a sample | `media` `a_step_that_does_not_divide_the_rate_lands_on_whole_samples`; 0 frames are a chunk of 0 bytes |
//! | 30 | a world never says that it advances | `stepping::status_answers_while_a_participant_computes_and_is_no_progress`; conversation, for every method |
//! | 31 | keys of a bus are refused within values | there is no bus, and nothing but a message's own fields is named |
//! | 32 | executors' events are dropped | `media` `executors_events_come_before_the_tasks_by_agent` |
//! | 33 | admissions do not survive a restore | `media` `what_waited_in_a_checkpoint_is_applied_once_after_the_restore_as_without_one` |
//! | 34 | sums of floats depend on order | order is defined; conformance `every_order_and_number_of_agents_behaves_as_written_down` holds digests that are written down |
//! | 35 | a part of the specification was not published | the specification here is whole: nothing to test |
