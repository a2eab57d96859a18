"""A question that leans on those before it, completed by the model that will answer it."""

import asyncio

from unchunk.chat.events import Warned
from unchunk.chat.parts import ChatParts
from unchunk.chat.request import Asked
from unchunk.errors import UnchunkError
from unchunk.ports import Sampling

# The answer waits for this: a model that is slower is not waited for.
_SECONDS = 10.0
_TOKENS = 80
_LONGEST = 400
_TURNS, _READ = 6, 600
_TASK = (
    "Rewrite the last question so that it can be understood without the conversation: put in what"
    " its pronouns stand for, change nothing else, and do not answer it. Reply with the question"
    " alone."
)


async def rewrite(parts: ChatParts, asked: Asked) -> tuple[str, list[Warned]]:
    """Empty where the question stands alone, or the model gave nothing that is a question."""
    plan = parts.analyzer.analyze(asked.request.question, asked.history)
    if parts.model is None or not plan.follow_up:
        return "", []
    said = "\n".join(f"{one.role}: {one.content[:_READ]}" for one in asked.history[-_TURNS:])
    task = f"{_TASK}\n\nConversation:\n{said}\n\nLast question: {plan.question}"
    sampling = Sampling(asked.request.sampling.model, 0.0, _TOKENS)
    try:
        async with (
            asyncio.timeout(_SECONDS),
            parts.model.stream(
                [{"role": "user", "content": task}], sampling, request_id=asked.request_id
            ) as deltas,
        ):
            text = "".join([delta.text async for delta in deltas])
    except (UnchunkError, TimeoutError) as error:
        reason = str(error) or f"no answer within {_SECONDS:.0f} s"
        return "", [Warned("rewrite", f"the model could not complete the question: {reason}")]
    line = text.strip().partition("\n")[0].strip().strip('"')
    return (line if len(line) <= _LONGEST else "", [])
