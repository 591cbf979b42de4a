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
//! | 9 | superseding is out of reach at the default capacity | `saves::a_replaceable_capture_takes_the_place_of_one_that_waits_and_of_no_durable_one` |
//! | 10 | too many bytes fence the session | `saves::a_checkpoint_that_is_too_large_is_refused_and_fences_nothing` |
//! | 11 | bytes being written are not counted | `crates/store`, its writer's tests; `saves::a_full_queue_refuses_before_anyone_is_asked_and_stepping_goes_on` |
//! | 12 | one is captured after the other | `saves::everyone_is_captured_at_once_and_agents_are_staged_and_activated_at_once` |
//! | 13 | the composition's digest holds the epoch and is compared by nobody | every restore in these tests is under another epoch; `coherence::no_word_of_a_checkpoint_can_be_changed_alone` |
//! | 14 | a coordinator that just came up cannot restore | `restores::a_coordinator_that_starts_anew_over_the_store_restores_and_goes_on`, `seeks::a_coordinator_that_came_up_goes_from_checkpoint_to_checkpoint` |
//! | 15 | a lost staging reply taints nobody | `restores::a_lost_staging_reply_taints_whoever_may_have_staged` |
//! | 16 | telemetry of an abandoned boundary is published | `publishing::a_failed_epoch_shows_nothing_and_a_restored_one_nothing_of_another_timeline` |
//! | 17 | replacements are not asked who they are | `restores::a_participant_that_is_gone_is_named_before_anyone_stages`; a replacement is asked when it is built, `media` `replacing` |
//! | 18 | a call in the wrong phase fences | `refusals::mistakes_on_a_healthy_session_change_nothing`; `media` `phases` |
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
//!
//! Those "found in its implementation" that are the coordinator's, by section and number:
//!
//! | # | trap | what would fail |
//! | -- | --- | --- |
//! | B.1 | a refusal at submit fences | as 10 |
//! | B.2 | superseding | as 9 |
//! | B.5 | committed is told before captured and queued | `saves::a_full_queue_refuses_before_anyone_is_asked_and_stepping_goes_on` holds the order |
//! | B.6 | the durable mark goes back, or to an abandoned epoch; what was rotated out reads as lost | `checkpoints::the_durable_mark_only_moves_forward_and_only_on_the_running_timeline`, `saves::a_save_that_was_rotated_out_is_resolved_as_that`, `restores::what_was_on_its_way_when_the_epoch_failed_is_never_taken_for_what_follows` |
//! | B.8 | a save that was taken on is lost to its caller | nothing is awaited between the submission and the ticket; `saves::a_lost_reply_moves_no_mark_until_the_same_id_is_resolved` |
//! | B.9 | shutdown without a bound | `saves::closing_waits_so_long_and_tells_what_did_not_end` |
//! | B.10 | one after the other | as 12 |
//! | D.1 | installing fails after everyone activated | `restores::a_changed_body_under_right_digests_is_refused_by_its_owner`, `coherence::no_word_of_a_checkpoint_can_be_changed_alone`: refused before anyone staged |
//! | D.2 | who may have staged is not tainted | `restores::who_refuses_is_blamed_and_exactly_those_that_staged_are_tainted_in_every_order` and as 15 |
//! | D.3 | a caller's mistake fences | as 18 |
//! | D.4 | a slow lifecycle call is failed | as 3 |
//! | D.5 | a watermark over epochs | as 1 |
//! | D.6 | the store's record, the envelope and the payloads are not compared | `coherence::no_word_of_a_checkpoint_can_be_changed_alone`, `coherence::one_dissenting_place_is_enough` |
//! | D.7 | the coordinator's payloads are looked at after staging | `restores::one_flipped_bit_in_any_payload_is_refused_by_its_consumer`: nobody is tainted by them |
//! | D.8 | an older epoch's name is used again | `restores::an_old_epoch_is_stale_everywhere` |
//! | D.9 | traces grow without bound and are not truncated | `src/trace_growth.rs`; the recording: `src/step_recording.rs` |
//! | D.10 | a failure after the restore fences what runs | `letting_go::a_restore_that_is_let_go_of_is_not_done_or_done_and_told`: all is told when it is done |
