"""Name the authors on a page: a session by its first prompt, a person by initials."""

from __future__ import annotations

from gitcp.core.message import prompts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

NOBODY = {"unknown": "?", "unrecorded": "-"}


def take_line(prompt: str) -> str:
    """The first line of a prompt with text, without the marks of Markdown around it."""
    lines = (line.strip("#*->` \t") for line in prompt.splitlines())
    return next((line for line in lines if line), "")


def name_session(asked: Iterable[str], agent: str) -> str:
    """A session's name, to be cut: the first words of its first prompt."""
    first = next((line for text in asked if (line := take_line(text))), "")
    return prompts.make_subject(first, agent)


def mark_session(number: int) -> str:
    """The letters of a session, by its number from 0: A to Z, then AA."""
    letters = ""
    while number >= 0:
        letters = chr(ord("A") + number % 26) + letters
        number = number // 26 - 1
    return letters


def mark_person(name: str) -> str:
    """The initials of a person, in small letters so that no session's mark looks like them."""
    words = [word for word in name.replace(".", " ").replace("-", " ").split() if word[0].isalnum()]
    if not words:
        return "·"
    first = words[0][:2] if len(words) == 1 else words[0][0] + words[-1][0]
    return first.lower()
