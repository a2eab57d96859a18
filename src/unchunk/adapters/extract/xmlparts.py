"""XML read as a stream of events, by a parser that expands and fetches nothing.

The standard library's expat fetches no outside entity by itself; files that declare entities
of their own, which no office program writes, are refused before one is expanded.
"""

from collections.abc import Callable, Iterable, Mapping
from xml.parsers import expat

from unchunk.errors import ExtractionError

Attributes = Mapping[str, str]


class Reader:
    """Receives the events of one XML part. Names come without their namespace.

    Office formats differ in namespaces (a strict and a transitional one) more than in names.
    Only attributes that name a relationship keep a prefix: `r:id` is another thing than `id`.
    """

    def start(self, name: str, attributes: Attributes) -> None: ...

    def end(self, name: str) -> None: ...

    def data(self, text: str) -> None: ...


def parse(part: str, pieces: Iterable[bytes], reader: Reader) -> None:
    """Feed `reader` with the part that is called `part`, which comes in pieces."""
    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True
    parser.buffer_size = 65536
    local: dict[str, str] = {}

    def short(name: str) -> str:
        known = local.get(name)
        if known is None:
            space, _, known = name.rpartition("}")
            if space.endswith("/relationships") and known != "Relationship":
                known = f"r:{known}"
            local[name] = known
        return known

    def start(name: str, attributes: dict[str, str]) -> None:
        if attributes:
            attributes = {short(key): value for key, value in attributes.items()}
        reader.start(short(name), attributes)

    def end(name: str) -> None:
        reader.end(short(name))

    def refuse(*_: object) -> None:
        raise ExtractionError(
            "damaged", f"its part {part} declares entities, which an office program never does"
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = reader.data
    parser.EntityDeclHandler = refuse
    try:
        for piece in pieces:
            parser.Parse(piece, False)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise ExtractionError("damaged", f"its part {part} is not valid XML: {error}") from error


class _Finder(Reader):
    def __init__(self, wanted: str, found: Callable[[Attributes], None]) -> None:
        self._wanted, self._found = wanted, found

    def start(self, name: str, attributes: Attributes) -> None:
        if name == self._wanted:
            self._found(attributes)


def attributes_of(part: str, pieces: Iterable[bytes], element: str) -> list[Attributes]:
    """The attributes of every element of that name."""
    found: list[Attributes] = []
    parse(part, pieces, _Finder(element, found.append))
    return found


class _FirstText(Reader):
    def __init__(self, wanted: str) -> None:
        self._wanted, self._inside = wanted, False
        self.parts: list[str] = []

    def start(self, name: str, attributes: Attributes) -> None:  # noqa: ARG002
        self._inside = name == self._wanted and not self.parts

    def end(self, name: str) -> None:  # noqa: ARG002
        self._inside = False

    def data(self, text: str) -> None:
        if self._inside:
            self.parts.append(text)


def first_text(part: str, pieces: Iterable[bytes], element: str) -> str:
    """The text of the first element of that name that has some."""
    reader = _FirstText(element)
    parse(part, pieces, reader)
    return "".join(reader.parts)
