"""What can be asked under which name.

`unchunk` answers from the whole library, `unchunk/vs_...` from a store of the asker's; a chat model
that is set up is there under its own name, and so is the library's embedder.
"""

import time

from fastapi import APIRouter
from starlette.responses import Response

from unchunk.domain import OwnerId
from unchunk.errors import NotFoundError
from unchunk.ports import Page, StoreId
from unchunk.server.access import House, InHouse, Owner
from unchunk.server.openai.shapes import Shape
from unchunk.server.rendering import reply

router = APIRouter(prefix="/models")

LIBRARY = "unchunk"
_OF_STORE = f"{LIBRARY}/"
# Of an owner's stores, so many are listed; the others can be asked all the same.
_LISTED, _AT_ONCE = 300, 100


class NoModelError(NotFoundError):
    code = "model_not_found"


def store_of(model: str) -> StoreId | None:
    """The store that a model's name stands for, if it does."""
    return model.removeprefix(_OF_STORE) if model.startswith(_OF_STORE) else None


def is_ours(model: str) -> bool:
    """Whether a model answers from documents by its name alone."""
    return model == LIBRARY or model.startswith(_OF_STORE)


def no_chat_model(model: str) -> NoModelError:
    """For what is asked without documents."""
    helps = f"ask {LIBRARY!r} for what the documents say"
    if is_ours(model):
        helps = "let it search, with a `tool_choice` that is not 'none'"
    return NoModelError(
        f"no chat model is set up that could answer as {model[:100]!r}: {helps}, or set `chat` in"
        " the server's settings"
    )


@router.get("")
async def list_models(house: InHouse, owner: Owner) -> Response:
    data = _general(house)
    after = ""
    for _ in range(0, _LISTED, _AT_ONCE):
        stores, has_more = await house.engine.stores.page(Page(_AT_ONCE, after), owner=owner)
        data += [_shape(f"{_OF_STORE}{one.id}", int(one.created_at.timestamp())) for one in stores]
        if not has_more:
            break
        after = stores[-1].id
    return reply({"object": "list", "data": data})


@router.get("/{model:path}")
async def retrieve_model(model: str, house: InHouse, owner: Owner) -> Response:
    if store := store_of(model):
        return reply(await _store(house, store, owner))
    for one in _general(house):
        if one["id"] == model:
            return reply(one)
    raise NoModelError(f"there is no model {model[:100]!r}: GET /v1/models lists them")


async def _store(house: House, store: StoreId, owner: OwnerId) -> Shape:
    found = await house.engine.stores.get(store, owner=owner)
    return _shape(f"{_OF_STORE}{found.id}", int(found.created_at.timestamp()))


def _general(house: House) -> list[Shape]:
    """What is the same for all, since the server began."""
    began = int(time.time() - house.uptime())
    embedder = house.engine.embedder
    others = (house.engine.chat_model, embedder.name if embedder else "")
    names = dict.fromkeys((LIBRARY, *filter(None, others)))
    return [_shape(one, began, LIBRARY if one == LIBRARY else "provider") for one in names]


def _shape(name: str, created: int, owner: str = LIBRARY) -> Shape:
    return {"id": name, "object": "model", "created": created, "owned_by": owner}
