"""The pages that are made from the program itself: `python docs/generate.py` writes them anew.

A test compares them with what is here, so that they stay true.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import click

from unchunk.cli import main
from unchunk.engine import Engine
from unchunk.server.app import create_app

HERE = Path(__file__).parent
_NOTE = "<!-- made by docs/generate.py: do not edit -->\n"
_WIDTH = 100
Schema = Mapping[str, Any]


def pages() -> dict[Path, str]:
    """What each generated page should hold."""
    return {HERE / "help.md": "".join(_help()), HERE / "routes.md": "".join(_routes())}


def _help() -> Iterator[str]:
    yield f"{_NOTE}# Every command\n\nAs `--help` tells it; [commands](commands.md) tells more.\n"
    for path, command in _commands("unchunk", main):
        context = click.Context(command, info_name=path, max_content_width=_WIDTH)
        lines = command.get_help(context).splitlines()
        text = "\n".join(line.rstrip() for line in lines)
        yield f"\n## {path}\n\n```text\n{text}\n```\n"


def _commands(path: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            part = command.get_command(context, name)
            assert part is not None
            yield from _commands(f"{path} {name}", part)


def _routes() -> Iterator[str]:
    # Routes are described without a library: it is opened only when the application starts.
    api = create_app(cast("Engine", object())).openapi()
    yield (
        f"{_NOTE}# Every route\n\nAs `/openapi.json` of a running server tells it; [HTTP](http.md)"
        " tells how they belong together.\n"
    )
    about = {tag["name"]: tag.get("description", "") for tag in api.get("tags", ())}
    groups: dict[str, list[str]] = {name: [] for name in about}
    for path, methods in api["paths"].items():
        for method, operation in methods.items():
            tag = operation.get("tags", ["other"])[0]
            groups.setdefault(tag, []).append("".join(_route(api, path, method, operation)))
    for tag, told in groups.items():
        yield f"\n## {tag.capitalize()}\n"
        yield f"\n{about[tag]}\n" if about.get(tag) else ""
        yield from told


def _route(api: Schema, path: str, method: str, operation: Schema) -> Iterator[str]:
    yield f"\n### {method.upper()} {path}\n\n{operation.get('description', operation['summary'])}\n"
    fields = [
        (
            f"`{one['name']}`",
            one["in"],
            _kind(api, one.get("schema", {})),
            one.get("description", ""),
        )
        for one in operation.get("parameters", ())
    ]
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        schema = _resolved(api, content.get("schema", {}))
        needed = schema.get("required", ())
        where = "form" if "form" in kind else "body"
        fields += [
            (f"`{name}`{' *' if name in needed else ''}", where, _kind(api, it), _about(api, it))
            for name, it in schema.get("properties", {}).items()
        ]
    if fields:
        yield "\n| field | in | type | meaning |\n|---|---|---|---|\n"
        yield from (f"| {' | '.join(map(_cell, one))} |\n" for one in fields)
    replies = (f"{status}" for status in operation["responses"])
    yield f"\nReplies: {', '.join(replies)}.\n"


def _resolved(api: Schema, schema: Schema) -> Schema:
    """What a reference stands for; of one that may be null, the other."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return _resolved(api, api["components"]["schemas"][name])
    for one in schema.get("anyOf", ()):
        if one.get("type") != "null":
            return _resolved(api, one)
    return schema


def _kind(api: Schema, schema: Schema) -> str:
    found = _resolved(api, schema)
    if "enum" in found:
        kind = ", ".join(f"`{one}`" for one in found["enum"])
    elif found.get("type") == "array":
        kind = f"list of {_kind(api, found.get('items', {}))}"
    else:
        kind = str(found.get("type", "any"))
    default = schema.get("default")
    return f"{kind}, {json.dumps(default)}" if default not in (None, "", []) else kind


def _about(api: Schema, schema: Schema) -> str:
    told: str = schema.get("description") or _resolved(api, schema).get("description", "")
    return told


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    for page, content in pages().items():
        page.write_text(content, "utf-8")
        sys.stdout.write(f"{page.name}: {len(content)} characters\n")
