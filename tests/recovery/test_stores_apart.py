"""Two stores at once: what one shows of how it cuts is no word on the other."""

from pathlib import Path

from foreign import chars
from recovery.recovering import recovered
from recovery.vector_stores import Held, VectorStores, prose

# A blank where the second window begins, and none where any ends: with its ends stripped, nothing
# but its last newline is gone, and nothing of it contradicts that all white space is there.
WORDS = "A title\n\n" + "".join(f"word{number:04}" for number in range(450))
STRIPPED = f"{WORDS[:400]} {WORDS[400:]}\n"


def test_a_store_that_keeps_white_space_makes_no_file_of_another_sure(
    server: VectorStores, tmp_path: Path
) -> None:
    chunks = [chunk.rstrip() for chunk in chars(500, 100).cut(STRIPPED)]
    whole = chars(500, 100).cut("A title\n\n" + prose(2000, 1))
    server.put("vs_1", Held("file-1", "a.pdf", size=None, chunks=chunks))
    server.put("vs_2", Held("file-2", "b.pdf", size=None, chunks=whole))
    for stores in (["vs_1"], ["vs_1", "vs_2"], ["vs_2", "vs_1"]):
        done = recovered(server, tmp_path / "-".join(stores), stores=stores)
        verdicts = {result.name: result.verdict for result in done.results}
        assert verdicts["a.pdf"] not in ("verified", "consensus", "exact")
        assert verdicts.get("b.pdf", "exact") == "exact"
