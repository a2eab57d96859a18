"""Variables that a `.env` file in the working directory sets for a command."""

import os
import re
from io import StringIO
from pathlib import Path

import click

# Somebody else may have filled the folder, and other variables can decide which code runs:
# PYTHONPATH, LD_PRELOAD, OPENSSL_CONF, AWS_CONFIG_FILE and more.
_READ = re.compile(
    r"(UNCHUNK|RAG|OPENAI|AZURE)_\w+|CHUNKENIZER_API_URL"
    r"|AWS_(ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN|REGION)|PGPASSWORD"
)
_ON = ("1", "true", "t", "yes", "y")


def load_env_file(path: Path = Path(".env")) -> None:
    """Set the variables of unchunk and of providers that are in `path`, unless already set.

    What cannot be read is ignored with a warning: the command may not need it. Other variables
    are ignored without one: they are meant for other programs.
    """
    # python-dotenv's own switch, which only its `load_dotenv` respects.
    if os.environ.get("PYTHON_DOTENV_DISABLED", "").casefold() in _ON:
        return
    try:
        if not path.is_file():
            return
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        _warn(f"{path} is ignored, because it cannot be read: {reason}")
        return
    # Most folders have no such file, and loading these would only take time.
    from dotenv import dotenv_values  # noqa: PLC0415
    from dotenv.parser import parse_stream  # noqa: PLC0415

    kept = []
    for one in parse_stream(StringIO(text)):
        if one.error or "\0" in one.original.string:
            statement = one.original.string.lstrip()
            blank = one.original.string.removesuffix(statement)
            line = one.original.line + blank.count("\n")
            _warn(f"{path}:{line} is ignored, because it is not NAME=VALUE")
        elif one.key and one.key not in os.environ:
            kept.append(one.original.string)
    # Any variable can be part of a value that is read, as in UNCHUNK_CHAT_URL=http://${HOST}/v1.
    for name, value in dotenv_values(stream=StringIO("".join(kept))).items():
        if value is not None and _READ.fullmatch(name):
            os.environ[name] = value


def _warn(message: str) -> None:
    click.echo(f"Warning: {message}", err=True)
