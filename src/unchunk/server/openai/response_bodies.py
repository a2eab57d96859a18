"""What is sent to be responded to. What is not done here, and would be missed, is refused by name."""

from typing import Annotated

from pydantic import BaseModel, Field, JsonValue, StrictBool

from unchunk.ports import Sampling
from unchunk.server.openai.asking import Search, search_of
from unchunk.server.openai.bodies import RankingBody
from unchunk.server.openai.completion_bodies import (
    Count,
    ExtensionBody,
    Temperature,
    check_format,
    not_done,
)
from unchunk.server.openai.faults import refuse
from unchunk.server.openai.fields import Id, Metadata, Name, Results, Text
from unchunk.server.openai.response_items import Input

FILE_SEARCH = "file_search"
RESULTS = "file_search_call.results"
_NOT_DONE = ("background", "conversation", "prompt", "moderation", "top_logprobs")
# All else belongs to things that no reply of ours has.
_MISSING = "message.output_text.logprobs"


class ToolBody(BaseModel):
    """The fields are those of `file_search`."""

    type: Name
    vector_store_ids: Annotated[list[Id], Field(max_length=50)] = []
    filters: JsonValue = None
    max_num_results: Results | None = None
    ranking_options: RankingBody | None = None

    def search(self) -> Search:
        ranking = self.ranking_options
        return Search(
            tuple(dict.fromkeys(self.vector_store_ids)),
            self.filters,
            "tools[0].filters",
            limit=self.max_num_results,
            # Without one, what is sensible for the embedder.
            min_score=ranking.score_threshold if ranking else None,
        )


class TextBody(BaseModel):
    format: JsonValue = None


class ResponseBody(BaseModel):
    model: Name = ""
    input: Input
    instructions: Text | None = None
    previous_response_id: Id | None = None
    tools: Annotated[list[ToolBody], Field(max_length=128)] | None = None
    tool_choice: JsonValue = None
    include: Annotated[list[Name], Field(max_length=20)] | None = None
    metadata: Metadata | None = None
    temperature: Temperature | None = None
    max_output_tokens: Count | None = None
    text: TextBody | None = None
    store: StrictBool | None = None
    stream: StrictBool | None = None
    parallel_tool_calls: StrictBool | None = None
    unchunk: ExtensionBody | None = None
    background: JsonValue = None
    conversation: JsonValue = None
    prompt: JsonValue = None
    moderation: JsonValue = None
    top_logprobs: JsonValue = None

    def check(self) -> None:
        """Raises for what is not done here."""
        for name in _NOT_DONE:
            if getattr(self, name):
                raise not_done(name)
        for at, tool in enumerate(self.tools or ()):
            if tool.type != FILE_SEARCH:
                raise not_done(f"tools[{at}].type", tool.type)
            if not tool.vector_store_ids:
                raise refuse("say which stores to search", param=f"tools[{at}].vector_store_ids")
        if len(self.tools or ()) > 1:
            raise refuse("one file_search can name all stores: send one", param="tools")
        if self.tool_choice not in (None, "none", "auto", "required", {"type": FILE_SEARCH}):
            raise not_done("tool_choice")
        for at, one in enumerate(self.include or ()):
            if one == _MISSING:
                raise not_done(f"include[{at}]", one)
        check_format(self.text.format if self.text else None, "text.format")

    def sampling(self) -> Sampling:
        """Without the model's name: whatever that is, what is set up answers."""
        return Sampling("", self.temperature, self.max_output_tokens)

    def search(self, model: str) -> Search | None:
        """Where to look; a tool or `unchunk` says it rather than the model's name."""
        more = self.unchunk
        if self.tool_choice == "none":
            return None
        if self.tools:
            search: Search | None = self.tools[0].search()
        else:
            search = None if more and more.vector_store_ids else search_of(model)
        if more is not None:
            search = more.over(search or Search())
        if search is None and self.tool_choice not in (None, "auto"):
            raise refuse("there is no tool to be chosen", param="tool_choice")
        return search
