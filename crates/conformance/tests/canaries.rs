//! Canaries: each stage here is broken in one way on purpose. The scenarios that must notice do, so that none of them
//! holds because it looks at nothing.

mod broken_stage;

use std::rc::Rc;

use broken_stage::{Break, BrokenStage};
use wellwritten_conformance::{SCENARIOS, Stage, VirtualTime};

/// What is broken, and the scenarios that must fail for it.
const CANARIES: &[(Break, &[&str])] = &[
    (
        Break::StatusIsProgress,
        &[
            "order::status_answers_during_compute_and_is_no_progress",
            "repetition::a_duplicate_prepare_replays_and_does_nothing_again",
        ],
    ),
    (
        Break::OneAtATime,
        &[
            "order::status_answers_during_compute_and_is_no_progress",
            "repetition::an_exact_duplicate_of_a_running_operation_is_in_progress",
            "repetition::another_operation_while_one_runs_is_busy",
        ],
    ),
    (
        Break::ConflictReplays,
        &[
            "repetition::altered_controls_under_the_same_batch_are_a_conflict",
            "repetition::the_same_operation_under_another_name_is_a_conflict",
            "fencing::a_restore_token_activates_once_and_no_other_in_its_place",
            "fencing::a_token_that_a_session_used_is_used_up",
        ],
    ),
    (
        Break::ForgetsAtOnce,
        &[
            "repetition::a_duplicate_advance_replays_and_moves_nothing",
            "repetition::a_duplicate_commit_replays_and_does_nothing_again",
            "repetition::a_session_of_duplicates_behaves_like_one_of_none",
            "uncertainty::a_lost_advance_reply_resolves_to_one_advance",
            "uncertainty::lost_prepare_and_commit_replies_resolve",
        ],
    ),
    (
        Break::CopiesImages,
        &["media::a_declared_delay_repeats_the_first_frame_as_the_same_artifact"],
    ),
    (
        Break::BlackImages,
        &[
            "repetition::a_cached_artifact_survives_its_first_consumer",
            "media::an_image_outlives_the_message_it_came_with",
            "traces::every_order_and_number_of_agents_behaves_as_written_down",
        ],
    ),
    (
        Break::SoundMismarked,
        &[
            "restores::a_group_goes_on_under_a_new_epoch",
            "restores::old_sound_is_never_taken_for_the_present",
            "resuming::sound_goes_on_at_the_sample_where_it_was_and_says_that_it_was_broken",
        ],
    ),
    (
        Break::DishonestRefusals,
        &[
            "staging::whoever_refuses_to_stage_is_blamed_and_nobody_is_activated",
            "saving::dirty_bytes_are_refused_by_name_and_the_session_stays_where_it_was",
            "endings::a_refusal_of_any_code_ends_the_step_and_says_that_nothing_changed",
            "retention::checks_come_in_order",
        ],
    ),
    (
        Break::ImmortalParticipants,
        &[
            "endings::a_participant_that_is_killed_ends_the_epoch_by_name",
            "resuming::a_run_whose_world_died_equals_an_uninterrupted_one",
            "staging::whoever_is_not_there_is_named_before_anyone_stages",
            "seeking::a_seek_goes_on_from_a_failure_and_is_no_way_around_the_tainted",
        ],
    ),
    (
        Break::NobodyIsReplaced,
        &["restores::an_old_incarnation_is_not_heard_after_a_restore"],
    ),
    (
        Break::SecretTick,
        &[
            "order::sixty_hertz_over_milliseconds_is_16_17_17",
            "traces::every_order_and_number_of_agents_behaves_as_written_down",
        ],
    ),
    (
        Break::LosesRewards,
        &["traces::every_order_and_number_of_agents_behaves_as_written_down"],
    ),
    (
        Break::PoisonedByFarSteps,
        &[
            "retention::a_stray_request_for_a_far_step_poisons_nothing",
            "restores::participants_are_restored_to_a_lower_step_and_take_its_steps",
        ],
    ),
    (
        Break::TakesAnyStimulus,
        &["retention::an_undeclared_stimulus_never_reaches_a_brain"],
    ),
    (
        Break::MovesTwice,
        &[
            "repetition::a_duplicate_advance_replays_and_moves_nothing",
            "uncertainty::a_lost_advance_reply_resolves_to_one_advance",
        ],
    ),
    (
        Break::NoTime,
        &[
            "uncertainty::a_participant_that_hangs_is_given_up_by_name",
            "uncertainty::a_lost_request_is_sent_again_under_its_own_name",
        ],
    ),
    (
        Break::AcknowledgesAll,
        &[
            "retention::acknowledgments_in_any_order_expire_nothing_else",
            "retention::sixteen_unacknowledged_answers_are_kept_and_no_more",
        ],
    ),
    (
        Break::AnswersAnyone,
        &["retention::a_participant_says_who_it_is_to_nobody_else"],
    ),
    (
        Break::Reconnects,
        &["endings::a_participant_that_is_killed_ends_the_epoch_by_name"],
    ),
    (
        Break::NothingGoesWrong,
        &[
            "order::status_answers_during_compute_and_is_no_progress",
            "order::a_slow_agent_holds_the_world",
            "phases::a_pause_in_the_middle_of_a_step_lands_on_the_boundary_just_committed",
            "phases::only_legal_edges_are_taken",
            "phases::a_step_that_is_abandoned_ends_the_epoch",
            "phases::dirty_bytes_refuse_a_step_and_nothing_moves",
            "phases::a_capture_that_is_asked_for_during_a_step_neither_waits_for_ever_nor_captures",
            "repetition::an_exact_duplicate_of_a_running_operation_is_in_progress",
            "repetition::another_operation_while_one_runs_is_busy",
            "repetition::a_duplicate_of_a_running_beginning_is_in_progress",
            "retention::a_refused_operation_frees_its_key",
            "uncertainty::a_slow_participant_that_gets_on_is_waited_for",
            "uncertainty::a_slow_participant_that_does_not_is_given_up_by_name",
            "uncertainty::a_participant_that_hangs_is_given_up_by_name",
            "media::a_view_that_is_not_what_it_must_be_fails_the_step_before_any_reward",
            "media::a_sound_that_is_not_what_it_must_be_fails_the_step_before_any_reward",
            "media::whatever_else_the_world_says_wrong_fails_the_step_before_any_reward",
            "media::nothing_sounds_where_nothing_moved",
            "endings::one_failing_commit_after_another_succeeded_ends_the_epoch",
            "endings::a_world_that_did_not_move_by_its_batch_ends_the_epoch",
            "endings::a_brain_that_ran_a_tick_too_many_is_named",
            "endings::a_refusal_of_any_code_ends_the_step_and_says_that_nothing_changed",
            "publication::nothing_is_published_before_everyone_has_committed",
            "restores::three_stage_the_fourth_fails_and_nobody_goes_on",
            "restores::an_activation_that_fails_half_way_leaves_the_group_fenced",
            "restores::old_sound_is_never_taken_for_the_present",
            "staging::whoever_refuses_to_stage_is_blamed_and_nobody_is_activated",
            "staging::whoever_breaks_while_it_stages_is_tainted_itself",
            "staging::whoever_refuses_to_be_activated_is_blamed_and_everyone_is_tainted",
            "staging::whoever_is_killed_in_the_middle_of_a_restore_is_named_and_nobody_goes_on",
            "staging::a_restore_that_is_abandoned_leaves_a_fence_and_the_tainted",
            "fencing::a_capture_is_refused_anywhere_but_at_a_boundary",
            "fencing::a_capture_returns_to_where_it_came_from",
            "saving::dirty_bytes_are_refused_by_name_and_the_session_stays_where_it_was",
        ],
    ),
    (
        Break::SecretTickInAnotherLife,
        &[
            "resuming::a_run_whose_world_died_equals_an_uninterrupted_one",
            "resuming::a_run_whose_agent_died_equals_an_uninterrupted_one",
            "resuming::delays_and_remainders_survive",
        ],
    ),
    (
        Break::TakesAnyState,
        &[
            "corruption::one_bit_in_any_payload_is_refused_by_whoever_reads_it",
            "corruption::a_state_that_does_not_read_is_refused_by_its_owner",
            "corruption::the_state_of_another_is_refused_by_its_owner",
            "corruption::a_frame_that_lies_about_its_length_is_refused",
            "corruption::a_state_that_contradicts_the_rest_is_refused_by_who_compares",
        ],
    ),
    (
        Break::HearsOldEpochs,
        &[
            "restores::an_old_incarnation_is_not_heard_after_a_restore",
            "fencing::a_restore_token_activates_once_and_no_other_in_its_place",
        ],
    ),
    (
        Break::RecyclesImages,
        &["resuming::artifacts_of_the_old_epoch_are_not_those_of_the_new"],
    ),
    (
        Break::StoreFindsNothing,
        &[
            "saving::a_save_whose_reply_is_lost_is_found_under_its_name_and_never_saved_again",
            "saving::a_deadline_of_a_caller_ends_its_waiting_and_not_the_save",
        ],
    ),
    (
        Break::StoreSavesTwice,
        &[
            "saving::a_save_whose_reply_is_lost_is_found_under_its_name_and_never_saved_again",
            "saving::a_deadline_of_a_caller_ends_its_waiting_and_not_the_save",
            "queueing::a_replaceable_capture_that_waits_gives_its_place_to_the_next",
        ],
    ),
    (
        Break::StoreDeniesLosses,
        &[
            "saving::a_save_whose_reply_is_lost_is_found_under_its_name_and_never_saved_again",
            "saving::a_store_that_ends_ends_nothing_else",
            "queueing::what_becomes_of_a_save_is_told_once_and_in_order",
        ],
    ),
    (
        Break::StoreHushesUpDamage,
        &["corruption::a_damaged_file_is_told_and_an_older_one_taken_only_if_asked_for"],
    ),
    (
        Break::StoreForgetsEpochs,
        &[
            "resuming::a_coordinator_that_starts_anew_over_a_store_goes_on",
            "resuming::a_machine_that_went_down_in_the_middle_of_a_save_goes_on_from_the_one_before",
        ],
    ),
    (
        Break::StoreTakesTheNewest,
        &[
            "corruption::a_copy_without_a_change_restores",
            "fencing::a_checkpoint_of_an_episode_that_was_left_is_not_taken_for_the_present",
            "seeking::going_back_and_on_again_repeats_what_was_recorded",
        ],
    ),
    (
        Break::StoreAnswersAtOnce,
        &[
            "queueing::a_full_queue_turns_away_before_anyone_is_asked_and_nothing_else_stops",
            "queueing::a_replaceable_capture_that_waits_gives_its_place_to_the_next",
            "queueing::a_durable_capture_is_never_replaced",
            "saving::a_deadline_of_a_caller_ends_its_waiting_and_not_the_save",
            "queueing::who_closes_hears_of_every_save_within_the_time_given",
        ],
    ),
    (
        Break::WhitewashesViews,
        &["media::a_view_that_is_not_what_it_must_be_fails_the_step_before_any_reward"],
    ),
];

/// Whether a scenario holds on a stage, and what it says where not.
fn play(name: &str, what: Break) -> Result<(), String> {
    let scenario = SCENARIOS.iter().find(|it| it.name == name);
    let scenario = scenario.unwrap_or_else(|| panic!("no scenario is called {name}"));
    let verdict = VirtualTime::run(|time| {
        let stage: Rc<dyn Stage> = BrokenStage::new(what, time);
        (scenario.run)(stage)
    });
    match verdict {
        Ok(verdict) => verdict.map_err(|failure| failure.to_string()),
        Err(stalled) => Err(stalled.to_string()),
    }
}

#[test]
fn what_is_broken_is_noticed() {
    let mut silent = Vec::new();
    for (what, names) in CANARIES {
        for name in *names {
            match play(name, *what) {
                Ok(()) => silent.push(format!("{name} holds where {what:?}")),
                Err(noticed) => println!("{what:?}, {name}: {noticed}"),
            }
        }
    }
    assert!(silent.is_empty(), "{}", silent.join("\n"));
}

/// What notices is the break and not the stage: unbroken, the same scenarios hold on it.
#[test]
fn where_nothing_is_broken_nothing_is_noticed() {
    let mut names: Vec<&str> = CANARIES
        .iter()
        .flat_map(|(_, names)| *names)
        .copied()
        .collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        assert_eq!(play(name, Break::Nothing), Ok(()), "{name}");
    }
}
