//! [`SCENARIOS`]: every scenario there is, in the order of the files they are in.

mod contradictions;
mod corruption;
mod endings;
mod fencing;
mod forgery_bench;
mod identity;
mod media;
mod order;
mod phases;
mod publication;
mod queueing;
mod repetition;
mod restores;
mod resuming;
mod retention;
mod saving;
mod seeking;
mod staging;
mod traces;
mod uncertainty;

use crate::Scenario;

/// The list of a file's scenarios: the name of each function is the scenario's name.
macro_rules! scenarios {
    ($($module:ident :: $name:ident),* $(,)?) => {
        &[$(Scenario {
            name: concat!(stringify!($module), "::", stringify!($name)),
            run: |stage| Box::pin($module::$name(stage)),
        }),*]
    };
}

/// Every scenario. Each may be played on any stage, in any order, alone.
pub const SCENARIOS: &[Scenario] = scenarios![
    order::one_advance_for_each_complete_batch,
    order::all_prepare_before_the_world_moves_and_commit_before_the_next_prepare,
    order::a_slow_agent_holds_the_world,
    order::one_judgement_for_each_transition_and_none_at_bootstrap,
    order::sixty_hertz_over_milliseconds_is_16_17_17,
    order::one_agent_works_like_two_and_four,
    order::replies_in_another_order_change_nothing,
    order::status_answers_during_compute_and_is_no_progress,
    order::a_stimulus_from_outside_is_applied_once_before_the_next_ticks,
    phases::bootstrap_moves_nothing_and_a_second_one_is_refused_without_harm,
    phases::a_pause_in_the_middle_of_a_step_lands_on_the_boundary_just_committed,
    phases::a_pause_while_nothing_runs_is_at_once,
    phases::a_terminal_episode_pauses_at_its_own_boundary,
    phases::a_callers_mistake_is_refused_and_changes_nothing,
    phases::only_legal_edges_are_taken,
    phases::a_step_that_is_abandoned_ends_the_epoch,
    phases::a_reset_begins_a_new_episode_with_nothing_of_the_old,
    phases::a_reset_is_what_goes_on_from_the_end_of_an_episode,
    phases::dirty_bytes_refuse_a_step_and_nothing_moves,
    phases::a_capture_that_is_asked_for_during_a_step_neither_waits_for_ever_nor_captures,
    repetition::a_duplicate_prepare_replays_and_does_nothing_again,
    repetition::a_duplicate_commit_replays_and_does_nothing_again,
    repetition::a_duplicate_advance_replays_and_moves_nothing,
    repetition::altered_controls_under_the_same_batch_are_a_conflict,
    repetition::the_same_operation_under_another_name_is_a_conflict,
    repetition::an_exact_duplicate_of_a_running_operation_is_in_progress,
    repetition::another_operation_while_one_runs_is_busy,
    repetition::a_duplicate_of_a_running_beginning_is_in_progress,
    repetition::a_cached_artifact_survives_its_first_consumer,
    repetition::a_session_of_duplicates_behaves_like_one_of_none,
    retention::answers_are_kept_for_two_steps_and_then_expire,
    retention::a_stray_request_for_a_far_step_poisons_nothing,
    retention::a_refused_operation_frees_its_key,
    retention::sixteen_unacknowledged_answers_are_kept_and_no_more,
    retention::acknowledgments_in_any_order_expire_nothing_else,
    retention::checks_come_in_order,
    retention::a_participant_says_who_it_is_to_nobody_else,
    retention::an_undeclared_stimulus_never_reaches_a_brain,
    retention::an_interval_that_cannot_be_is_refused_before_a_tick,
    uncertainty::a_lost_advance_reply_resolves_to_one_advance,
    uncertainty::a_lost_request_is_sent_again_under_its_own_name,
    uncertainty::lost_prepare_and_commit_replies_resolve,
    uncertainty::a_lost_initialize_reply_resolves,
    uncertainty::a_slow_participant_that_gets_on_is_waited_for,
    uncertainty::a_slow_participant_that_does_not_is_given_up_by_name,
    uncertainty::a_participant_that_hangs_is_given_up_by_name,
    media::one_shared_image_reaches_every_agent,
    media::an_image_outlives_the_message_it_came_with,
    media::a_view_that_is_not_what_it_must_be_fails_the_step_before_any_reward,
    media::a_sound_that_is_not_what_it_must_be_fails_the_step_before_any_reward,
    media::whatever_else_the_world_says_wrong_fails_the_step_before_any_reward,
    media::a_declared_delay_repeats_the_first_frame_as_the_same_artifact,
    media::a_cadence_that_does_not_divide_the_sample_rate_lands_on_whole_samples,
    media::nothing_sounds_where_nothing_moved,
    endings::one_failing_commit_after_another_succeeded_ends_the_epoch,
    endings::a_world_that_did_not_move_by_its_batch_ends_the_epoch,
    endings::a_brain_that_ran_a_tick_too_many_is_named,
    endings::a_task_that_stimulates_what_nobody_declares_ends_the_epoch,
    endings::a_participant_that_is_killed_ends_the_epoch_by_name,
    endings::a_route_that_ends_during_advance_ends_the_epoch,
    endings::a_panic_is_a_death_and_named,
    endings::a_reply_that_is_not_its_own_ends_the_epoch,
    endings::another_incarnation_is_never_reached_in_silence,
    endings::an_epoch_that_ended_does_nothing_more,
    endings::a_refusal_of_any_code_ends_the_step_and_says_that_nothing_changed,
    publication::a_slow_spectator_loses_only_its_own_data,
    publication::a_spectator_that_holds_on_for_ever_stalls_nothing,
    publication::nothing_is_published_before_everyone_has_committed,
    publication::what_is_shown_is_of_the_transition_that_ended,
    publication::an_outlet_that_fails_moves_nothing_and_is_not_hushed_up,
    restores::a_group_goes_on_under_a_new_epoch,
    restores::participants_are_restored_to_a_lower_step_and_take_its_steps,
    restores::an_old_incarnation_is_not_heard_after_a_restore,
    restores::three_stage_the_fourth_fails_and_nobody_goes_on,
    restores::an_activation_that_fails_half_way_leaves_the_group_fenced,
    restores::lost_lifecycle_replies_resolve,
    restores::old_sound_is_never_taken_for_the_present,
    resuming::a_run_whose_world_died_equals_an_uninterrupted_one,
    resuming::a_run_whose_agent_died_equals_an_uninterrupted_one,
    resuming::delays_and_remainders_survive,
    resuming::a_run_that_was_interrupted_three_times_equals_an_uninterrupted_one,
    resuming::a_checkpoint_disturbs_nothing,
    resuming::a_stimulus_that_waits_is_in_the_checkpoint,
    resuming::a_coordinator_that_starts_anew_over_a_store_goes_on,
    resuming::a_machine_that_went_down_in_the_middle_of_a_save_goes_on_from_the_one_before,
    resuming::artifacts_of_the_old_epoch_are_not_those_of_the_new,
    resuming::sound_goes_on_at_the_sample_where_it_was_and_says_that_it_was_broken,
    corruption::a_copy_without_a_change_restores,
    corruption::one_bit_in_any_payload_is_refused_by_whoever_reads_it,
    corruption::a_state_that_does_not_read_is_refused_by_its_owner,
    corruption::the_state_of_another_is_refused_by_its_owner,
    corruption::a_state_that_contradicts_the_rest_is_refused_by_who_compares,
    corruption::an_agent_that_agrees_with_itself_alone_is_refused_by_who_compares,
    corruption::a_damaged_file_is_told_and_an_older_one_taken_only_if_asked_for,
    corruption::a_frame_that_lies_about_its_length_is_refused,
    corruption::every_payload_says_whose_it_is,
    identity::every_compatibility_field_is_named_with_both_values,
    identity::everything_else_that_a_checkpoint_is_of_is_named_with_both_values,
    identity::a_store_of_another_make_is_not_taken_for_an_empty_one,
    identity::participants_of_another_make_do_not_take_the_checkpoint,
    identity::another_sessions_checkpoint_is_not_restored,
    staging::whoever_refuses_to_stage_is_blamed_and_nobody_is_activated,
    staging::whoever_breaks_while_it_stages_is_tainted_itself,
    staging::whoever_refuses_to_be_activated_is_blamed_and_everyone_is_tainted,
    staging::whoever_is_gone_before_its_answer_comes_is_tainted_too,
    staging::whoever_is_killed_in_the_middle_of_a_restore_is_named_and_nobody_goes_on,
    staging::whoever_is_not_there_is_named_before_anyone_stages,
    staging::a_restore_that_is_abandoned_leaves_a_fence_and_the_tainted,
    fencing::behind_the_fence_nothing_is_possible_but_a_restore,
    fencing::a_restore_is_refused_where_nothing_failed,
    fencing::a_generation_that_is_not_there_changes_nothing,
    fencing::a_restore_token_activates_once_and_no_other_in_its_place,
    fencing::a_token_that_a_session_used_is_used_up,
    fencing::a_capture_is_refused_anywhere_but_at_a_boundary,
    fencing::a_capture_returns_to_where_it_came_from,
    fencing::a_checkpoint_of_an_episode_that_was_left_is_not_taken_for_the_present,
    saving::a_save_whose_reply_is_lost_is_found_under_its_name_and_never_saved_again,
    saving::a_save_that_is_not_published_failed_and_is_found_nowhere,
    saving::a_deadline_of_a_caller_ends_its_waiting_and_not_the_save,
    queueing::a_full_queue_turns_away_before_anyone_is_asked_and_nothing_else_stops,
    queueing::a_replaceable_capture_that_waits_gives_its_place_to_the_next,
    queueing::a_durable_capture_is_never_replaced,
    queueing::what_becomes_of_a_save_is_told_once_and_in_order,
    saving::a_store_that_ends_ends_nothing_else,
    saving::a_panic_of_a_save_is_its_own_failure,
    saving::a_name_is_given_once,
    saving::dirty_bytes_are_refused_by_name_and_the_session_stays_where_it_was,
    queueing::who_closes_hears_of_every_save_within_the_time_given,
    seeking::going_back_and_on_again_repeats_what_was_recorded,
    seeking::a_seek_to_where_it_stands_only_pauses,
    seeking::a_seek_goes_on_from_a_failure_and_is_no_way_around_the_tainted,
    seeking::going_on_otherwise_is_a_branch_and_forgets_what_came_after,
    seeking::what_cannot_be_gone_to_is_refused_before_anything_ends,
    seeking::a_seek_tells_how_far_it_is_and_ends_at_a_boundary_when_it_is_stopped,
    seeking::what_is_repeated_otherwise_is_said_and_where,
    seeking::a_coordinator_that_starts_anew_can_go_to_a_checkpoint,
    traces::every_order_and_number_of_agents_behaves_as_written_down,
    traces::a_thousand_steps_of_one_agent_behave_as_written_down,
    traces::a_thousand_steps_of_two_agents_behave_as_written_down,
    traces::a_thousand_steps_of_four_agents_behave_as_written_down,
    traces::one_tick_too_many_is_another_behaviour,
];
