"""Any sequence of calls leaves the catalog as a simple model of it, and no blob is lost."""

import asyncio
import tempfile
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
)

from unchunk.adapters.catalog import SqlCatalog, open_database
from unchunk.domain import Remains, Version, Whole
from unchunk.errors import NotFoundError
from unchunk.testing.catalogs import whole_of

OWNERS = st.sampled_from(["me", "you"])
NAMES = st.sampled_from(["a", "b"])
CONTENTS = st.sampled_from(["one", "two", "three"])


@dataclass
class Model:
    """A document; versions by generation."""

    owner: str
    name: str
    live: Version | None = None
    draft: Version | None = None
    last: int = 0
    rewriting: int = 0
    taken: int = 0
    error: str = ""
    attributes: dict[str, int] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)


class Catalogs(RuleBasedStateMachine):
    wholes: Bundle[Whole] = Bundle("wholes")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.runner = asyncio.Runner()
        self.documents: dict[str, Model] = {}
        self.remains: dict[tuple[str, int], Remains] = {}
        self.texts: dict[tuple[str, int], str] = {}
        self.blobs: set[str] = set()
        self.purged: set[str] = set()
        self.given = 0
        self.open()

    def open(self) -> None:
        where = Path(self.folder.name) / "c.db"
        self.catalog = SqlCatalog(self.runner.run(open_database(where)))

    def teardown(self) -> None:
        self.runner.run(self.catalog.close())
        self.runner.close()
        self.folder.cleanup()

    def retire(self, identity: str, owner: str, version: Version) -> None:
        model = self.documents[identity]
        seen = {it.blob for it in (model.live, model.draft) if it is not None}
        blob = "" if version.blob in seen else version.blob
        self.remains[identity, version.generation] = Remains(
            owner, identity, version.generation, blob, version.space, gone=False
        )

    # What may happen.

    @rule(target=wholes, owner=OWNERS, name=NAMES, content=CONTENTS)
    def begin(self, owner: str, name: str, content: str) -> Whole:
        self.given += 1
        blob = f"blob {self.given}"
        found = self.runner.run(
            self.catalog.begin(owner, "", name, checksum=content, size=3, blob=blob)
        )
        model = self.documents.get(found.id)
        if model is None:
            assert all((it.owner, it.name) != (owner, name) for it in self.documents.values())
            model = self.documents[found.id] = Model(owner, name)
        if model.live is not None and model.live.checksum == content:
            if model.draft is not None:
                unwanted, model.draft, model.error = model.draft, None, ""
                self.retire(found.id, owner, unwanted)
            assert found.draft is None
            return whole_of(model.live, content)
        if model.draft is None or model.draft.checksum != content or model.error:
            old, model.last = model.draft, model.last + 1
            model.draft = Version(found.id, model.last, content, 3, blob)
            model.used.add(model.last)
            model.error = ""
            self.blobs.add(blob)
            if old is not None:
                self.retire(found.id, owner, old)
        assert found.draft == model.draft
        assert model.draft is not None
        return whole_of(model.draft, content)

    @rule(target=wholes, whole=wholes, space=st.sampled_from(["s", "t"]))
    def write_anew(self, whole: Whole, space: str) -> Whole:
        """Of any version that ever was, also of one that is long gone."""
        identity = whole.version.document
        if identity not in self.documents:
            return whole
        generation = self.runner.run(self.catalog.next_generation(identity))
        model = self.documents[identity]
        model.last += 1
        assert generation == model.last
        model.rewriting = generation
        self.remains[identity, generation] = Remains(
            model.owner, identity, generation, "", "", gone=False
        )
        return replace(whole, version=replace(whole.version, generation=generation, space=space))

    @rule(target=wholes, whole=wholes)
    def renew(self, whole: Whole) -> Whole:
        version = whole.version
        model = self.documents.get(version.document)
        draft = None if model is None else model.draft
        taking = self.catalog.renew(version.document, version.generation)
        if model is None or draft is None or draft.generation != version.generation:
            with pytest.raises(NotFoundError):
                self.runner.run(taking)
            return whole
        found = self.runner.run(taking)
        if model.taken == draft.generation:
            model.last += 1
            model.draft = replace(draft, generation=model.last)
            model.used.add(model.last)
            self.retire(version.document, model.owner, draft)
        assert found.draft == model.draft
        assert model.draft is not None
        model.taken = model.draft.generation
        return replace(whole, version=replace(version, generation=model.draft.generation))

    @rule(wholes=st.lists(wholes, max_size=4))
    def go_live(self, wholes: list[Whole]) -> None:
        expected: dict[str, None] = {}
        old: list[tuple[str, str, Version]] = []
        for whole in wholes:
            version = whole.version
            model = self.documents.get(version.document)
            if model is not None and self.goes_live(model, version, old):
                expected[version.document] = None
        assert self.runner.run(self.catalog.go_live(wholes)) == list(expected)
        for identity, owner, version in old:
            self.retire(identity, owner, version)

    def goes_live(
        self, model: Model, version: Version, old: list[tuple[str, str, Version]]
    ) -> bool:
        live, draft = model.live, model.draft
        if live is not None and live.generation == version.generation:
            return True
        is_draft = draft is not None and draft.generation == version.generation
        is_listed = (version.document, version.generation) in self.remains
        is_given_out = model.rewriting == version.generation and is_listed
        is_same_as = [it for it in (live, draft) if it is not None and it.blob == version.blob]
        if not is_draft and not (is_given_out and is_same_as):
            return False
        if is_given_out:
            del self.remains[version.document, version.generation]
        model.rewriting = 0
        if live is not None:
            old.append((version.document, model.owner, live))
        if draft is not None and (is_draft or draft in is_same_as):
            if not is_draft:
                old.append((version.document, model.owner, draft))
            model.draft, model.error = None, ""
        model.live = version
        model.used.add(version.generation)
        self.texts[version.document, version.generation] = version.checksum
        return True

    @rule(whole=wholes)
    def fail(self, whole: Whole) -> None:
        version = whole.version
        self.runner.run(self.catalog.fail(version.document, version.generation, "damaged", "no"))
        model = self.documents.get(version.document)
        draft = None if model is None else model.draft
        if model is not None and draft is not None and draft.generation == version.generation:
            model.error = "damaged"

    @precondition(lambda self: self.documents)
    @rule(data=st.data(), said=st.dictionaries(NAMES, st.integers(0, 1)))
    def describe(self, data: st.DataObject, said: dict[str, int]) -> None:
        identity = data.draw(st.sampled_from(sorted(self.documents)))
        model = self.documents[identity]
        found = self.runner.run(self.catalog.describe(model.owner, identity, said))
        assert found.attributes == said
        model.attributes = said

    @precondition(lambda self: self.documents)
    @rule(data=st.data())
    def bury(self, data: st.DataObject) -> None:
        identity = data.draw(st.sampled_from(sorted(self.documents)))
        model = self.documents[identity]
        draft, live = model.draft, model.live
        model.draft = None
        if draft is not None:
            self.retire(identity, model.owner, draft)
        model.live = None
        if live is not None:
            self.retire(identity, model.owner, live)
        del self.documents[identity]
        for key, remains in self.remains.items():
            if key[0] == identity:
                self.remains[key] = remains._replace(gone=True)
        mine = [remains for key, remains in sorted(self.remains.items()) if key[0] == identity]
        assert self.runner.run(self.catalog.bury(model.owner, identity)) == mine

    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        some = data.draw(st.sets(st.sampled_from(sorted(self.remains)))) if self.remains else set()
        gone = [self.remains.pop(key) for key in some]
        self.purged |= {remains.blob for remains in gone}
        self.runner.run(self.catalog.forget(gone))

    @rule()
    def reopen(self) -> None:
        self.runner.run(self.catalog.close())
        self.open()

    # What must be so at any time.

    @invariant()
    def every_document_is_as_in_the_model(self) -> None:
        found = self.runner.run(self.catalog.find())
        places = [(document.name, document.owner) for document in found]
        assert places == sorted(places)
        assert {document.id for document in found} == set(self.documents)
        for document in found:
            model = self.documents[document.id]
            assert (document.live, document.draft) == (model.live, model.draft)
            assert document.error_code == model.error
            assert document.attributes == model.attributes
            if document.live is not None:
                key = document.id, document.live.generation
                assert self.runner.run(self.catalog.text(document.live)) == self.texts[key]

    @invariant()
    def documents_are_found_by_what_is_said_of_them(self) -> None:
        for owner, name, value in product(("me", "you"), ("a", "b"), (0, 1)):
            found = self.runner.run(self.catalog.matching(owner, attributes=[(name, value)]))
            assert found == sorted(
                identity
                for identity, model in self.documents.items()
                if model.owner == owner and model.live and model.attributes.get(name) == value
            )

    @invariant()
    def the_remains_are_as_in_the_model(self) -> None:
        found = self.runner.run(self.catalog.remains())
        assert found == [remains for _, remains in sorted(self.remains.items())]

    @invariant()
    def no_blob_is_lost_and_none_in_use_is_to_go(self) -> None:
        used = {
            version.blob
            for model in self.documents.values()
            for version in (model.live, model.draft)
            if version is not None
        }
        going = {remains.blob for remains in self.remains.values()} | self.purged
        assert not used & going
        assert self.blobs == (used | going) - {""}


TestCatalogs = Catalogs.TestCase
TestCatalogs.settings = settings(
    max_examples=25,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
