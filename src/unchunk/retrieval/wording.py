"""Words that tell how much of a document a question wants. English as data; lists can be set."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Words:
    """Words and phrases that ask for whole documents, or that continue a conversation.

    `idioms` are phrases in which a listed word asks for nothing.
    """

    detail: tuple[str, ...] = (
        "explain",
        "explanation",
        "elaborate",
        "summarize",
        "summary",
        "detail",
        "detailed",
        "full",
        "in depth",
        "in-depth",
        "thorough",
        "thoroughly",
        "deep dive",
        "step by step",
        "walk me through",
        "overview",
        "recap",
        "gist",
        "sum up",
    )
    temporal: tuple[str, ...] = (
        "throughout",
        "over time",
        "progression",
        "evolution",
        "evolve",
        "over the years",
        "over the course of",
        "from beginning to end",
        "from start to finish",
        "timeline",
        "chronology",
        "chronological",
    )
    scope: tuple[str, ...] = (
        "all",
        "every",
        "whole",
        "comprehensive",
        "entire",
        "entirety",
        "everything",
        "big picture",
    )
    analytical: tuple[str, ...] = (
        "relationship",
        "arc",
        "theme",
        "analysis",
        "analyze",
        "motif",
        "symbolism",
        "compare and contrast",
        "main idea",
        "main point",
    )
    follow_up: tuple[str, ...] = (
        "more",
        "also",
        "else",
        "what else",
        "continue",
        "expand",
        "elaborate",
        "further",
        "tell me more",
        "go on",
        "go deeper",
        "keep going",
        "carry on",
    )
    idioms: tuple[str, ...] = (
        "after all",
        "all day",
        "all night",
        "all right",
        "at all",
        "full name",
        "full time",
        "of all time",
        "theme park",
        "theme song",
        "whole milk",
        "whole number",
    )
