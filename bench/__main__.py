"""Every measure, beside the field: `python -m bench [--quick] [--only NAME ...] [--page]`.

Makes the peers' environments, runs the measures one after the other, and writes bench/results,
docs/benchmarks.md and its plots. A quick run writes below .bench/quick instead: its figures are
no news. Where some measures have never been made here, the page is written below .bench/part: the
one in docs has all of them.
"""

import argparse
import json
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path

from bench import environments, figures, machine, page
from bench.running import Run

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".bench"
# In the order of the page.
MEASURES = (
    *("start", "extraction", "chunking", "ingestion", "asking", "growth", "stitching", "quality"),
)
# Those that need few; all others have all peers.
NEEDED: dict[str, Sequence[str]] = {
    "chunking": ["chunkers"],
    "extraction": ["pdf", "langchain", "llamaindex", "haystack"],
    "stitching": [],
}


def main() -> int:
    given = _given()
    results = CACHE / "quick" / "results" if given.quick else ROOT / "bench" / "results"
    if given.page:
        return _write_page(results)
    chosen = [name for name in MEASURES if not given.only or name in given.only]
    wanted = {one for name in chosen for one in NEEDED.get(name, environments.names())}
    made = environments.make(CACHE / "environments", sorted(wanted), print)
    if given.environments:
        for name, python in made.pythons.items():
            print(f"{name}: {python}")
        return 1 if made.absent else 0
    about = _with_earlier(results, machine.about(made, is_quick=given.quick))
    for name in chosen:
        about = _measure(name, results, about, made)
        _write_about(results, about)
    return _write_page(results) or (1 if any(name in about.failed for name in chosen) else 0)


def _given() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sets, few repetitions")
    parser.add_argument(
        "--only", nargs="+", action="extend", choices=MEASURES, default=[], metavar="NAME"
    )
    parser.add_argument("--page", action="store_true", help="make only the page, of what is there")
    parser.add_argument(
        "--environments", action="store_true", help="make only those, and say where they are"
    )
    return parser.parse_args()


def _measure(
    name: str, results: Path, about: machine.About, made: environments.Environments
) -> machine.About:
    """A measure that fails is told on the page; the others go on."""
    begun = time.monotonic()
    run = Run(CACHE, about.is_quick, made.pythons, made.absent, _saying(name, begun))
    run.say("begins")
    try:
        tables: list[figures.Table] = import_module(f"bench.measures.{name}").measure(run)
    except Exception as error:  # noqa: BLE001 -- the edge of the program
        traceback.print_exc()
        told = f"{type(error).__name__}: {error}".splitlines()[0]
        return replace(about, failed={**about.failed, name: told})
    figures.write(results / f"{name}.json", tables)
    run.say("done")
    day = machine.now(time.monotonic() - begun, about.commit)
    failed = {one: why for one, why in about.failed.items() if one != name}
    return replace(about, measured={**about.measured, name: day}, failed=failed)


def _saying(name: str, begun: float) -> Callable[[str], None]:
    def say(text: str) -> None:
        print(f"{name} [{time.monotonic() - begun:4.0f} s] {text}", flush=True)

    return say


def _with_earlier(results: Path, about: machine.About) -> machine.About:
    """What other measures gave before on this machine stays on the page, with its day and commit."""
    path = results / "about.json"
    if not path.exists():
        return about
    earlier = machine.About(**json.loads(path.read_text("utf-8")))
    if (earlier.machine, earlier.python) != (about.machine, about.python):
        return about
    return replace(
        about,
        versions={**earlier.versions, **about.versions},
        measured=earlier.measured,
        failed=earlier.failed,
    )


def _write_about(results: Path, about: machine.About) -> None:
    results.mkdir(parents=True, exist_ok=True)
    (results / "about.json").write_text(json.dumps(asdict(about), indent=1) + "\n", "utf-8")


def _write_page(results: Path) -> int:
    path = results / "about.json"
    if not path.exists():
        print("Nothing has been measured yet: run `make bench`.", file=sys.stderr)
        return 1
    about = machine.About(**json.loads(path.read_text("utf-8")))
    tables = {
        name: figures.read(results / f"{name}.json") for name in MEASURES if name in about.measured
    }
    print(f"The page: {page.write(place_of(about), tables, about).relative_to(ROOT)}")
    return 0


def place_of(about: machine.About) -> Path:
    if about.is_quick:
        return CACHE / "quick"
    return ROOT / "docs" if about.measured.keys() >= set(MEASURES) else CACHE / "part"


if __name__ == "__main__":
    sys.exit(main())
