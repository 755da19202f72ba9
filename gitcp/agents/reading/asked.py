"""Finds the prompt of a transcript with which a turn began, by its text and time."""

from __future__ import annotations

from gitcp.core.transcript.tool_ends import parse_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Prompt = tuple[str, str, str]  # text, time as written, the leaf before it


def find_prompt(prompts: Sequence[Prompt], asked: str, until: int) -> Prompt | None:
    """The prompt of the turn with this text (its beginning, redacted) and its first edit at until,
    in seconds since 1970; None without an earlier prompt.

    The newest of several equal prompts counts; without an equal text, the newest by time.
    """
    end = (until + 1) * 10**9
    earlier = [prompt for prompt in prompts if (parse_time(prompt[1]) or 0) < end]
    equal = [prompt for prompt in earlier if asked and prompt[0].startswith(asked)]
    candidates = equal or [prompt for prompt in earlier if parse_time(prompt[1]) is not None]
    return candidates[-1] if candidates else None
