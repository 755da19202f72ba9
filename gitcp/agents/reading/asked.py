"""Which prompt of a transcript a turn began with: by what was asked, and when."""

from __future__ import annotations

from gitcp.core.transcript.tool_ends import parse_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Prompt = tuple[str, str, str]  # the text, its time as written, the leaf before it


def find_prompt(prompts: Sequence[Prompt], asked: str, until: int) -> Prompt | None:
    """The prompt of the turn that asked this (its beginning, redacted) and first wrote something
    at until, in seconds since 1970; None where no prompt is before that.

    Of several equal ones the newest counts; where no text is equal, time alone tells.
    """
    end = (until + 1) * 10**9
    earlier = [one for one in prompts if (parse_time(one[1]) or 0) < end]
    equal = [one for one in earlier if asked and one[0].startswith(asked)]
    timed = [one for one in earlier if parse_time(one[1]) is not None]
    meant = equal or timed
    return meant[-1] if meant else None
