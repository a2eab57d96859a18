"""Which tests run with `--stack cluster`, and which of those cannot; a plugin for that run alone."""

from pathlib import Path

import pytest

import towns
from cluster.exempt import EXEMPT

TESTS = Path(__file__).parents[1]
# All that a user of the service does by HTTP, by a client of OpenAI, by tools or by commands.
SUITE = (
    "adapters/sources/test_lost_chunkenizer.py",
    "agents/test_mcp_http.py",
    "cli/test_conversation_commands.py",
    "cli/test_library_commands.py",
    "cluster/test_chaos.py",
    "cluster/test_service.py",
    "recovery/test_round_trip.py",
    "server/openai_sdk/test_sdk_azure.py",
    "server/openai_sdk/test_sdk_batches.py",
    "server/openai_sdk/test_sdk_faults.py",
    "server/openai_sdk/test_sdk_files.py",
    "server/openai_sdk/test_sdk_stores.py",
    "server/openai_talk/test_talk_azure.py",
    "server/openai_talk/test_talk_completions.py",
    "server/openai_talk/test_talk_models.py",
    "server/openai_talk/test_talk_response_events.py",
    "server/openai_talk/test_talk_responses.py",
    "server/openai_talk/test_talk_streams.py",
    "server/test_server_access_routes.py",
    "server/test_server_chunkenizer.py",
    "server/test_server_documents.py",
    "server/test_server_jobs.py",
    "server/test_server_reading.py",
    "server/test_server_retrieving.py",
    "server/test_whole_answers.py",
)
_COUNTS = {"run": 0, "exempt": 0}


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    if collection_path.suffix != ".py" or not collection_path.name.startswith("test_"):
        return None
    return collection_path.relative_to(TESTS).as_posix() not in SUITE or None


def pytest_sessionstart() -> None:
    towns.turn_on()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        name = f"{item.path.relative_to(TESTS).as_posix()}::{item.name.partition('[')[0]}"
        reason = EXEMPT.get(name)
        _COUNTS["exempt" if reason else "run"] += 1
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        report.sections.append(("what the services said", towns.logs()))


def pytest_sessionfinish() -> None:
    towns.leave()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    run, exempt = _COUNTS["run"], _COUNTS["exempt"]
    terminalreporter.write_line(f"against the stack: {run} tests run, {exempt} exempted")
