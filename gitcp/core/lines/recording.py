"""When work was recorded, and by whom a commit says that it was made.

Each clone tells when it began to record the work of its person, and when it ended, in a line
each: `Gitcp-Recording: <clone> begun|ended <seconds> <mail>`.  Lines of several clones stand
beside each other in any order.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Period = tuple[int, int | None]  # first and last second; None: it goes on
    Periods = Mapping[str, Sequence[Period]]  # by mail

KEY = "Gitcp-Recording"
BEGUN, ENDED = "begun", "ended"
_LINE = re.compile(rf"{KEY}: ([0-9a-f]+) ({BEGUN}|{ENDED}) (\d{{1,12}}) (\S.*)")
_TRAILER = re.compile(rb"^Co-authored-by:[ \t]*(.+)$", re.M | re.I)
# What `Name <mail>` of an agent has in it, in lower case; a person may have its name alone.
_AGENTS = {
    "<noreply@anthropic.com>": "Claude Code",
    "claude[bot]": "Claude Code",
    "<noreply@openai.com>": "Codex",
    "<codex@openai.com>": "Codex",
    "chatgpt-codex-connector[bot]": "Codex",
    "gemini-cli": "Gemini CLI",
    "gemini-code-assist": "Gemini CLI",
    "copilot@users.noreply.github.com>": "Copilot CLI",
    "copilot-swe-agent[bot]": "Copilot CLI",
    "<cursoragent@cursor.com>": "Cursor",
    "<noreply@opencode.ai>": "opencode",
    "@aider.chat>": "aider",
    "aider (": "aider",
    "devin-ai-integration[bot]": "Devin",
    "google-labs-jules[bot]": "Jules",
    "<amp@ampcode.com>": "Amp",
    "factory-droid[bot]": "Droid",
}


def format_line(clone: str, word: str, seconds: int, mail: str) -> str:
    """What a clone says of a moment; word: BEGUN or ENDED."""
    return f"{KEY}: {clone} {word} {seconds} {mail}\n"


def parse_lines(text: str) -> list[tuple[str, str, int, str]]:
    """(clone, word, seconds, mail) of the lines of a text that are format_line()'s."""
    matches = map(_LINE.fullmatch, text.splitlines())
    return [(m[1], m[2], int(m[3]), m[4]) for m in matches if m]


def build_periods(lines: Iterable[tuple[str, str, int, str]]) -> dict[str, list[Period]]:
    """When the work of each mail was recorded, by parse_lines() of all clones."""
    known: dict[str, list[Period]] = {}
    begun: dict[str, tuple[int, str]] = {}
    for clone, word, seconds, mail in sorted(set(lines), key=lambda e: (e[2], e[1] == BEGUN)):
        if clone in begun and (word == ENDED or begun[clone][1] != mail):
            start, before = begun.pop(clone)
            known.setdefault(before, []).append((start, seconds))
        if word == BEGUN:
            begun.setdefault(clone, (seconds, mail))
    for start, mail in begun.values():
        known.setdefault(mail, []).append((start, None))
    return known


def covers(recorded: Periods, mail: str, seconds: int) -> bool:
    """Whether what the person of a mail did at a second was recorded."""
    return any(a <= seconds and (b is None or seconds <= b) for a, b in recorded.get(mail, ()))


def find_attested_agent(author: str, message: bytes) -> str:
    """The agent that the author of a commit, or a trailer in its message, names; '' for none."""
    names = [author, *(m.decode("utf-8", "replace") for m in _TRAILER.findall(message))]
    agents = (agent for name in names for sign, agent in _AGENTS.items() if sign in name.lower())
    return next(agents, "")
