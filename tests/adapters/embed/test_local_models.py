import re

import pytest

from unchunk.adapters.embed.models import DEFAULT_MODEL, LocalModel, descriptions, local_model
from unchunk.errors import InvalidSettingError


@pytest.mark.parametrize("model", descriptions(), ids=lambda model: str(model.name))
def test_a_description_pins_the_package_and_every_file(model: LocalModel) -> None:

    assert re.fullmatch(r"[a-z0-9-]+==[0-9.]+", model.requirement)
    assert all(re.fullmatch(r"[0-9a-f]{64}", sha256) for sha256 in model.files.values())
    assert model.licence in ("Apache-2.0", "MIT")
    assert (model.tokenizer is None) == (model.format == "pack")
    assert 0 < model.identity.min_score < 1


def test_the_default_comes_first_and_is_found_by_its_name() -> None:
    assert descriptions()[0] is local_model(DEFAULT_MODEL)
    assert len({model.name for model in descriptions()}) == len(descriptions())


def test_an_unknown_name_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(InvalidSettingError, match=r"'word2vec'.*granite.*potion"):
        local_model("word2vec")
