"""Tests of the end-to-end suite that need a server within the process of the test, and why.

What they test is tested there; nothing of it is another thing on many machines.
"""

_PATCHES = "it changes the code of its own server"
_LOOKS = "it looks into the memory or the folders of one server"
_DISK = "it damages files in the home of one server"
_WIDTH = "it sets how a server takes documents in, which is the workers' here"
_CLOCK = "it changes what time it is for its server"
_EACH = "the limit is that of each server, not of all together"
_MODEL = "a real model takes its time, and is the same here"
_SQLITE = "it damages a SQLite database"
_FILE = "it writes the file by which commands find the library here"
_SCORES = "scores depend on how rare words are in the whole index, which many share here"
_ALONE = "on PostgreSQL a library is for as many servers as one likes"
_ENDS = "it ends and starts its server"

EXEMPT: dict[str, str] = {
    "server/test_server_documents.py::test_the_list_reads_no_text": _PATCHES,
    "server/test_server_documents.py::test_an_upload_that_breaks_off_leaves_nothing": _LOOKS,
    "server/test_server_documents.py::"
    "test_of_uploads_that_race_for_one_name_each_is_told_what_became_of_it": _LOOKS,
    "server/test_server_documents.py::"
    "test_texts_from_before_tokens_were_kept_are_counted_by_and_by": _PATCHES,
    "server/test_server_documents.py::test_a_full_disk_is_told": _PATCHES,
    "server/test_server_documents.py::"
    "test_an_upload_whose_document_is_deleted_meanwhile_was_overtaken": _PATCHES,
    "server/test_server_reading.py::test_an_original_that_is_gone_is_told": _DISK,
    "server/test_server_reading.py::test_a_page_that_cannot_be_drawn_says_why": _DISK,
    "server/test_server_reading.py::test_nothing_is_kept_of_the_pages_of_what_was_deleted": _LOOKS,
    "server/test_server_chunkenizer.py::test_an_upload_that_breaks_off_leaves_nothing": _LOOKS,
    "server/openai_sdk/test_sdk_batches.py::"
    "test_what_is_on_its_way_is_in_progress_until_it_is_cancelled": _PATCHES,
    "server/openai_sdk/test_sdk_faults.py::"
    "test_what_nobody_foresaw_tells_nothing_of_the_inside": _PATCHES,
    "server/openai_sdk/test_sdk_faults.py::"
    "test_what_is_away_for_a_while_says_when_to_come_again": _PATCHES,
    "server/openai_sdk/test_sdk_files.py::"
    "test_a_file_that_is_too_large_is_refused_and_nothing_of_it_is_kept": _LOOKS,
    "server/openai_sdk/test_sdk_files.py::test_a_file_may_have_an_end": _CLOCK,
    "server/openai_sdk/test_sdk_stores.py::test_an_expired_store_says_so_and_takes_nothing": _CLOCK,
    "server/openai_talk/test_talk_responses.py::"
    "test_a_conversation_does_not_grow_for_ever": _PATCHES,
    "server/openai_talk/test_talk_streams.py::"
    "test_a_server_that_ends_says_so_and_begins_nothing": _ENDS,
    "server/openai_talk/test_talk_streams.py::"
    "test_nobody_has_more_answers_written_at_once_than_the_limit": _EACH,
    "agents/test_mcp_http.py::test_a_key_that_is_revoked_is_good_for_nothing_more": _LOOKS,
    "agents/test_mcp_http.py::test_a_key_for_the_figures_alone_is_none_for_agents": _LOOKS,
    "server/test_server_jobs.py::test_of_many_jobs_those_to_be_done_are_told_of_before_those_that_were": _WIDTH,
    "server/test_server_jobs.py::test_so_many_come_in_at_once_and_the_rest_waits_for_its_turn": _WIDTH,
    "server/test_server_jobs.py::test_owners_take_turns": _WIDTH,
    "server/test_server_jobs.py::test_what_is_deleted_ends_its_job": _WIDTH,
    "server/test_server_jobs.py::test_a_folder_that_is_deleted_ends_the_jobs_of_what_is_in_it": _WIDTH,
    "server/test_server_jobs.py::test_what_waits_for_the_embedder_is_tried_again_by_itself": _WIDTH,
    "server/test_server_jobs.py::test_what_waits_is_tried_at_once_where_somebody_asks": _WIDTH,
    "server/test_server_jobs.py::test_of_ended_jobs_only_some_are_kept": _LOOKS,
    "server/test_server_jobs.py::test_ended_jobs_are_kept_for_a_while": _CLOCK,
    "server/test_server_jobs.py::test_a_server_that_ends_lets_a_job_come_to_its_end": _ENDS,
    "server/test_server_jobs.py::test_a_job_that_does_not_end_is_parked_and_goes_on_at_the_next_start": _ENDS,
    "server/test_server_jobs.py::test_what_was_on_its_way_in_goes_on_for_every_owner": _ENDS,
    "server/test_server_jobs.py::test_a_server_that_is_ended_amid_its_jobs_loses_nothing": _ENDS,
    "server/test_server_jobs.py::test_what_another_process_may_be_at_is_left_to_it": _ENDS,
    "server/test_server_jobs.py::test_a_server_whose_catalog_fails_at_first_answers_all_the_same": _PATCHES,
    "server/test_server_jobs.py::test_a_job_is_the_same_after_a_restart": _ENDS,
    "server/test_server_jobs.py::test_a_draft_that_nobody_has_a_job_for_comes_in_at_the_next_start": _ENDS,
    "server/test_server_jobs.py::test_a_server_that_ends_begins_no_job": _ENDS,
    "server/test_whole_answers.py::test_the_log_line_of_a_retrieval_has_all_its_parts": _LOOKS,
    "server/test_whole_answers.py::test_two_hundred_aborted_streams_leave_nothing_behind": _LOOKS,
    "server/test_whole_answers.py::test_what_one_conversation_says_stays_after_a_restart": _ENDS,
    "server/test_whole_answers.py::test_a_real_model_streams_an_answer_from_the_documents": _MODEL,
    "server/test_whole_answers.py::test_stopping_an_answer_of_a_real_model_frees_it": _MODEL,
    "cli/test_library_commands.py::test_a_damaged_document_is_named_and_the_rest_is_exported": _SQLITE,
    "cli/test_library_commands.py::test_a_changed_setting_names_the_command_that_migrates": _FILE,
    "server/openai_talk/test_talk_responses.py::test_a_tool_bounds_what_is_read": _SCORES,
    "server/openai_talk/test_talk_responses.py::"
    "test_a_threshold_of_nothing_lets_all_through_as_it_does_in_a_search": _SCORES,
    "server/openai_talk/test_talk_streams.py::test_whoever_goes_away_stops_the_model": _LOOKS,
    "server/test_whole_answers.py::test_a_second_server_on_a_library_is_refused_at_once": _ALONE,
}
