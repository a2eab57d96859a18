"""How far a file may go before it is refused. Each refusal names the limit that it met."""

from dataclasses import asdict, dataclass, fields
from typing import Self

from unchunk.errors import ExtractionError, InvalidSettingError

MiB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """What one file may cost.

    `max_expanded_bytes` and `max_expansion` are for archives, which every office format is:
    all members together, and how many times larger than the file they may be. The ratio counts
    from 32 MiB on: small texts of one letter shrink a thousandfold and harm nobody.
    `max_text` counts characters. `seconds` is the time on the clock for one file, `memory` the
    bytes that its process may allocate. Messages use the names that the settings have.
    """

    max_bytes: int = 200 * MiB
    max_pages: int = 20_000
    max_text: int = 100_000_000
    max_expanded_bytes: int = 1024 * MiB
    max_expansion: int = 200
    seconds: float = 180.0
    memory: int = 2048 * MiB

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            whole = field.name != "seconds"
            if type(value) not in ((int,) if whole else (int, float)) or not value > 0:
                kind = "a whole number" if whole else "a number"
                raise InvalidSettingError(f"{field.name} must be {kind} above 0, not {value!r}")

    def as_record(self) -> dict[str, float]:
        return asdict(self)

    @classmethod
    def from_record(cls, record: dict[str, float]) -> Self:
        return cls(**record)  # type: ignore[arg-type]  # the other side of as_record

    def check_size(self, size: int) -> None:
        if size > self.max_bytes:
            raise ExtractionError(
                "too-big", f"it has {size:,} bytes, and max_bytes is {self.max_bytes:,}"
            )

    def check_pages(self, pages: int) -> None:
        if pages > self.max_pages:
            raise ExtractionError(
                "too-many-pages",
                f"it has {pages:,} pages or more, and max_pages is {self.max_pages:,}:"
                " raise max_pages or split the file",
            )

    def check_text(self, length: int) -> None:
        if length > self.max_text:
            raise ExtractionError(
                "too-big",
                f"its text is longer than {self.max_text:,} characters:"
                " raise max_characters or split the file",
            )

    def check_expansion(self, expanded: int, size: int) -> None:
        if expanded > self.max_expanded_bytes:
            raise ExtractionError(
                "expands-too-far",
                f"it expands to {expanded:,} bytes or more, and max_expanded_bytes is"
                f" {self.max_expanded_bytes:,}",
            )
        if expanded > 32 * MiB and expanded > self.max_expansion * size:
            raise ExtractionError(
                "expands-too-far",
                f"it expands to more than {self.max_expansion} times its size (max_expansion):"
                " it is damaged, or made to do harm",
            )

    def too_slow(self) -> ExtractionError:
        return ExtractionError(
            "too-slow",
            f"it was not read within {self.seconds:g} seconds: raise extract_seconds"
            " or split the file",
        )

    def too_much_memory(self) -> ExtractionError:
        return ExtractionError(
            "too-much-memory",
            f"it needs more memory than {self.memory // MiB:,} MiB: raise extract_memory"
            " or split the file",
        )
