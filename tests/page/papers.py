"""What the page's tests read: documents whose every section is about something else."""

from adapters.extract.making import pdf

OIL = "The store holds four hundred gallons of colza oil."
_SECTIONS = {
    "Lamp": "The lamp is lit at dusk and put out at dawn 🗼. Its wick is trimmed every four hours",
    "Foghorn": "The foghorn sounds twice a minute while the bell buoy cannot be seen",
    "Stairs": "The stairs have one hundred and ninety steps, and the rail is oiled in spring",
    "Boat": "The tender carries six barrels of oil and lands on the lee side of the rock",
    "Larder": "The larder holds flour, salt beef and limes for ninety days without relief",
    "Weather": "The barometer is read at noon and a fall of four lines means a gale 🌊",
    "Birds": "Petrels strike the glass on moonless nights and are laid out for the naturalist",
    "Wages": "A keeper is paid forty guineas a year, an assistant twenty-five",
    "Visitors": "Visitors sign the ledger, wipe their boots and do not touch the prisms",
}
_FILLING = {
    "Lamp": "Colza burns clean; the spare glass stands in straw beside the winding gear.",
    "Foghorn": "Its boiler wants fresh water, and the valve is greased with tallow.",
    "Stairs": "Whoever climbs with a load rests on the third landing, below the window.",
    "Boat": "Ropes are coiled with the sun, oars are stowed under the thwarts.",
    "Larder": "Weevils are sifted out on Mondays, and the cask nearest the door goes first.",
    "Weather": "The clerk copies each figure into the green book, in ink, without blots.",
    "Birds": "A note of the wind goes with every wing that is posted to the museum.",
    "Wages": "Arrears are settled at Michaelmas by the paymaster of the commissioners.",
    "Visitors": "Ladies are shown the gallery first; dogs wait in the coal shed.",
}


def handbook() -> str:
    """Markdown of nine sections, a chunk or two each, with signs of two UTF-16 units."""
    parts = ["# The keeper's handbook\n"]
    for title, fact in _SECTIONS.items():
        parts.append(f"## {title}\n\n{fact}.\n\n" + f"{_FILLING[title]} " * 8 + "\n")
    return "\n".join(parts)


def ledger() -> bytes:
    """A PDF of three pages, each longer than one chunk; `OIL` stands on its second."""
    facts = {
        "Frost": "The ledger was begun in the year of the great frost.",
        "Oil": OIL,
        "Repairs": "The northern window was broken by a goose and glazed in May.",
    }
    return pdf("\n".join([title, fact, *_lines(title)]) for title, fact in facts.items())


def _lines(title: str) -> list[str]:
    return [
        f"{title}, entry {number}: seen, weighed, and signed by the keeper." for number in range(20)
    ]


def torn() -> bytes:
    """What calls itself a PDF and is none."""
    return b"%PDF-1.7\n" + bytes(range(256)) * 8
