"""Options that say which stores files are to be got back from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, get_args

import click

from unchunk.ports import LostFiles
from unchunk.settings import CHUNKENIZER, Settings
from unchunk.wiring.rescue import Kind, collections, vector_stores

P = ParamSpec("P")
T = TypeVar("T")

_OPTIONS = (
    click.option(
        "--vector-store",
        "ids",
        multiple=True,
        metavar="ID",
        help="Vector store such as vs_abc123; may be given several times.",
    ),
    click.option("--base-url", help="Server that speaks OpenAI's API. Default: OPENAI_BASE_URL."),
    click.option("--azure", is_flag=True, help="Azure OpenAI, by its own variables."),
    click.option(
        "--from",
        "kind",
        type=click.Choice(get_args(Kind)),
        default="openai",
        show_default=True,
        help="Which kind of store it is.",
    ),
    click.option("--url", default="", help="Where Qdrant, Chroma or Chunkenizer is."),
    click.option(
        "--collection",
        "names",
        multiple=True,
        metavar="NAME",
        help="Collection of Qdrant or Chroma; may be given several times.",
    ),
    click.option(
        "--fields",
        default="",
        help="What their chunks carry: pages, langchain or llama-index. Default: found out.",
    ),
    click.option(
        "--field",
        "named",
        multiple=True,
        help="Which field holds what: text=body; may be given several times.",
    ),
    click.option(
        "--patience",
        type=click.FloatRange(min=1),
        default=120.0,
        show_default=True,
        help="Seconds for all attempts at one call.",
    ),
    click.option(
        "--max-reply",
        type=click.IntRange(1),
        default=128,
        show_default=True,
        metavar="MB",
        help="Megabytes of one reply of OpenAI's API, and of all chunks of one file.",
    ),
)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The stores that a command names. Nothing is opened before `open`."""

    kind: Kind
    ids: tuple[str, ...]
    base_url: str | None
    azure: bool
    url: str
    names: tuple[str, ...]
    fields: str
    named: tuple[str, ...]
    patience: float
    max_reply: int

    def check(self) -> None:
        of_openai = bool(self.ids or self.base_url or self.azure)
        of_others = bool(self.url or self.names or self.fields or self.named)
        if self.kind == "openai":
            _usage("--url, --collection and --field(s) go with another --from", ok=not of_others)
            _usage("say which store: --vector-store vs_...", ok=bool(self.ids))
        else:
            _usage(
                f"--vector-store, --base-url and --azure do not go with --from {self.kind}",
                ok=not of_openai,
            )
        for one in self.named:
            _usage(f"--field {one}: write it as text=body", ok=all(_parted(one)))
        if self.kind in ("qdrant", "chroma"):
            _usage("say where and what: --url and --collection", ok=bool(self.url and self.names))

    def open(self, settings: Settings, environment: Mapping[str, str]) -> list[LostFiles]:
        if self.kind == "openai":
            return vector_stores(
                self.ids,
                environment,
                base_url=self.base_url,
                azure=self.azure,
                patience=self.patience,
                max_reply=self.max_reply * 1024 * 1024,
            )
        return collections(
            self.kind,
            self.url or settings.chunkenizer_url or CHUNKENIZER,
            self.names,
            fields={part: name for part, _, name in map(_parted, self.named)} or self.fields,
            key=settings.collection_key,
            timeout=self.patience,
        )


def with_stores(work: Callable[Concatenate[Chosen, P], T]) -> Callable[P, T]:
    """A command that is told which stores were chosen, before all else."""

    @wraps(work)
    def run(*arguments: P.args, **options: P.kwargs) -> T:
        given: dict[str, Any] = {name: options.pop(name) for name in Chosen.__dataclass_fields__}
        chosen = Chosen(**given)
        chosen.check()
        return work(chosen, *arguments, **options)

    for option in reversed(_OPTIONS):
        run = option(run)
    return run


def _parted(one: str) -> tuple[str, str, str]:
    return one.partition("=")


def _usage(message: str, *, ok: bool) -> None:
    if not ok:
        raise click.UsageError(message)
