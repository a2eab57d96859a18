"""Variables that a `.env` file in the working directory sets for a command."""

import re
from io import StringIO
from pathlib import Path

import click

# A file in a folder that somebody else filled must not decide which code runs.
_REFUSED = re.compile(r"(PYTHON|LD_|DYLD_)\w*|PATH", re.IGNORECASE)


def load_env_file(path: Path = Path(".env")) -> None:
    """Set the variables that `path` names and that are not set already.

    What cannot be read is left out with a warning: the command may not need it.
    """
    try:
        if not path.is_file():
            return
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        _warn(f"{path} is ignored, because it cannot be read: {reason}")
        return
    # Few folders have such a file, and the others need not wait for what reads it.
    from dotenv import load_dotenv  # noqa: PLC0415
    from dotenv.parser import parse_stream  # noqa: PLC0415

    kept = []
    for one in parse_stream(StringIO(text)):
        if one.error or "\0" in one.original.string:
            statement = one.original.string.lstrip()
            blank = one.original.string.removesuffix(statement)
            line = one.original.line + blank.count("\n")
            _warn(f"{path}:{line} is ignored, because it is not NAME=VALUE")
        elif _REFUSED.fullmatch(one.key or ""):
            _warn(f"{path}: {one.key} is ignored, because it decides which code is run")
        else:
            kept.append(one.original.string)
    load_dotenv(stream=StringIO("".join(kept)))


def _warn(message: str) -> None:
    click.echo(f"Warning: {message}", err=True)
