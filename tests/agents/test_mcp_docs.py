"""docs/agents.md names what there is."""

import json
import re
from pathlib import Path

from unchunk.mcp.tools import MOST_EVIDENCE, MOST_TEXT, TOOLS

PAGE = (Path(__file__).parents[2] / "docs" / "agents.md").read_text("utf-8")


def test_every_tool_and_every_argument_is_in_the_docs() -> None:
    rows = [line.split("|") for line in PAGE.splitlines() if line.startswith("| `")]
    told = {row[1].strip(" `"): row[2] for row in rows}
    assert list(told) == list(TOOLS)
    for name, tool in TOOLS.items():
        assert re.findall(r"`(\w+)`", told[name]) == list(tool.arguments.model_fields)
    assert f"{MOST_EVIDENCE:,} characters" in PAGE
    assert f"{MOST_TEXT:,} characters" in PAGE


def test_the_entries_for_other_programs_are_json() -> None:
    entries = [json.loads(one) for one in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
    assert [list(one["mcpServers"]) for one in entries] == [["unchunk"], ["unchunk"]]
