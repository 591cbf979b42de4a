//! [`RECOVERY`]: what is demanded of a session that is interrupted, and the scenarios that hold it to that.

/// One demand, and where it is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Its number in the acceptance of recovery, such as `B.1`.
    pub number: &'static str,
    /// What is demanded, in short.
    pub says: &'static str,
    /// Names of [`SCENARIOS`](crate::SCENARIOS) that fail where it is not so.
    pub scenarios: &'static [&'static str],
}

const fn demand(
    number: &'static str,
    says: &'static str,
    scenarios: &'static [&'static str],
) -> Demand {
    Demand {
        number,
        says,
        scenarios,
    }
}

/// Every demand of recovery, in order.
pub const RECOVERY: &[Demand] = &[
    demand(
        "B.1",
        "a resumed run equals an uninterrupted one",
        &[
            "resuming::a_run_whose_world_died_equals_an_uninterrupted_one",
            "resuming::a_run_whose_agent_died_equals_an_uninterrupted_one",
            "resuming::delays_and_remainders_survive",
            "resuming::a_run_that_was_interrupted_three_times_equals_an_uninterrupted_one",
            "resuming::a_checkpoint_disturbs_nothing",
            "resuming::a_stimulus_that_waits_is_in_the_checkpoint",
            "restores::a_group_goes_on_under_a_new_epoch",
            "restores::participants_are_restored_to_a_lower_step_and_take_its_steps",
        ],
    ),
    demand(
        "B.2",
        "a corrupt payload is refused by who reads it, and the intact bytes restore",
        &[
            "corruption::a_copy_without_a_change_restores",
            "corruption::one_bit_in_any_payload_is_refused_by_whoever_reads_it",
            "corruption::a_state_that_does_not_read_is_refused_by_its_owner",
            "corruption::the_state_of_another_is_refused_by_its_owner",
            "corruption::a_state_that_contradicts_the_rest_is_refused_by_who_compares",
            "corruption::an_agent_that_agrees_with_itself_alone_is_refused_by_who_compares",
            "corruption::a_frame_that_lies_about_its_length_is_refused",
            "corruption::every_payload_says_whose_it_is",
            "corruption::a_damaged_file_is_told_and_an_older_one_taken_only_if_asked_for",
        ],
    ),
    demand(
        "B.3",
        "lost replies, uncommitted manifests and a caller's deadline are told for what they are",
        &[
            "saving::a_save_whose_reply_is_lost_is_found_under_its_name_and_never_saved_again",
            "saving::a_save_that_is_not_published_failed_and_is_found_nowhere",
            "saving::a_deadline_of_a_caller_ends_its_waiting_and_not_the_save",
            "queueing::what_becomes_of_a_save_is_told_once_and_in_order",
            "saving::a_store_that_ends_ends_nothing_else",
            "saving::a_panic_of_a_save_is_its_own_failure",
            "saving::a_name_is_given_once",
            "queueing::who_closes_hears_of_every_save_within_the_time_given",
        ],
    ),
    demand(
        "B.4",
        "a refused activation is blamed, fenced, and taints everyone",
        &[
            "staging::whoever_refuses_to_be_activated_is_blamed_and_everyone_is_tainted",
            "staging::whoever_is_gone_before_its_answer_comes_is_tainted_too",
            "staging::whoever_is_killed_in_the_middle_of_a_restore_is_named_and_nobody_goes_on",
            "restores::an_activation_that_fails_half_way_leaves_the_group_fenced",
        ],
    ),
    demand(
        "B.5",
        "a refused staging is blamed, and nobody is activated",
        &[
            "staging::whoever_refuses_to_stage_is_blamed_and_nobody_is_activated",
            "staging::whoever_breaks_while_it_stages_is_tainted_itself",
            "staging::whoever_is_not_there_is_named_before_anyone_stages",
            "staging::a_restore_that_is_abandoned_leaves_a_fence_and_the_tainted",
            "restores::three_stage_the_fourth_fails_and_nobody_goes_on",
            "restores::lost_lifecycle_replies_resolve",
        ],
    ),
    demand(
        "B.6",
        "a full queue turns away before anyone is asked",
        &["queueing::a_full_queue_turns_away_before_anyone_is_asked_and_nothing_else_stops"],
    ),
    demand(
        "B.7",
        "a replaceable capture gives way at the default capacity, a durable one never",
        &[
            "queueing::a_replaceable_capture_that_waits_gives_its_place_to_the_next",
            "queueing::a_durable_capture_is_never_replaced",
        ],
    ),
    demand(
        "B.8",
        "old media never cross",
        &[
            "resuming::artifacts_of_the_old_epoch_are_not_those_of_the_new",
            "resuming::sound_goes_on_at_the_sample_where_it_was_and_says_that_it_was_broken",
            "restores::old_sound_is_never_taken_for_the_present",
        ],
    ),
    demand(
        "B.9",
        "a checkpoint of another make is refused by the name of the field and both values",
        &[
            "identity::every_compatibility_field_is_named_with_both_values",
            "identity::everything_else_that_a_checkpoint_is_of_is_named_with_both_values",
            "identity::a_store_of_another_make_is_not_taken_for_an_empty_one",
            "identity::participants_of_another_make_do_not_take_the_checkpoint",
            "identity::another_sessions_checkpoint_is_not_restored",
            "fencing::a_checkpoint_of_an_episode_that_was_left_is_not_taken_for_the_present",
        ],
    ),
    demand(
        "B.10",
        "a token activates once, and an old epoch is stale",
        &[
            "fencing::a_restore_token_activates_once_and_no_other_in_its_place",
            "fencing::a_token_that_a_session_used_is_used_up",
            "restores::an_old_incarnation_is_not_heard_after_a_restore",
        ],
    ),
    demand(
        "B.11",
        "only a coherent restore lifts the fence",
        &[
            "fencing::behind_the_fence_nothing_is_possible_but_a_restore",
            "fencing::a_restore_is_refused_where_nothing_failed",
            "fencing::a_generation_that_is_not_there_changes_nothing",
        ],
    ),
    demand(
        "B.12",
        "a capture is taken at a committed boundary only, and returns to where it came from",
        &[
            "fencing::a_capture_is_refused_anywhere_but_at_a_boundary",
            "fencing::a_capture_returns_to_where_it_came_from",
            "phases::a_capture_that_is_asked_for_during_a_step_neither_waits_for_ever_nor_captures",
        ],
    ),
    demand(
        "B.13",
        "a coordinator that starts anew over a store goes on",
        &[
            "resuming::a_coordinator_that_starts_anew_over_a_store_goes_on",
            "resuming::a_machine_that_went_down_in_the_middle_of_a_save_goes_on_from_the_one_before",
            "seeking::a_coordinator_that_starts_anew_can_go_to_a_checkpoint",
        ],
    ),
    demand(
        "B.14",
        "tainted bytes are in no checkpoint",
        &["saving::dirty_bytes_are_refused_by_name_and_the_session_stays_where_it_was"],
    ),
    demand(
        "seek",
        "going to a boundary repeats what was recorded, or says what differs",
        &[
            "seeking::going_back_and_on_again_repeats_what_was_recorded",
            "seeking::a_seek_to_where_it_stands_only_pauses",
            "seeking::a_seek_goes_on_from_a_failure_and_is_no_way_around_the_tainted",
            "seeking::going_on_otherwise_is_a_branch_and_forgets_what_came_after",
            "seeking::what_cannot_be_gone_to_is_refused_before_anything_ends",
            "seeking::a_seek_tells_how_far_it_is_and_ends_at_a_boundary_when_it_is_stopped",
            "seeking::what_is_repeated_otherwise_is_said_and_where",
        ],
    ),
];
