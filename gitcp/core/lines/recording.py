"""Read when work was recorded, and which agent a commit names as its author.

A clone writes a line when it begins and when it ends to record the work of its person:
`Gitcp-Recording: <clone> begun|ended <seconds> <mail>`.  Lines of clones may come in any order.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Period = tuple[int, int | None]  # first and last second; None: it has not ended
    Periods = Mapping[str, Sequence[Period]]  # by mail

KEY = "Gitcp-Recording"
BEGUN, ENDED = "begun", "ended"
_LINE = re.compile(rf"{KEY}: ([0-9a-f]+) ({BEGUN}|{ENDED}) (\d{{1,12}}) (\S.*)")
_TRAILER = re.compile(rb"^Co-authored-by:[ \t]*(.+)$", re.M | re.I)
_LINK = re.compile(rb"^(Claude-Session|Agent-Logs-Url):[ \t]*https?://\S+[ \t]*$", re.M | re.I)
_LINKS = {b"claude-session": "Claude Code", b"agent-logs-url": "Copilot CLI"}
# Substrings of an agent's `Name <mail>` in lower case; its name alone may be a person's.
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
    """The line of a clone; word: BEGUN or ENDED."""
    return f"{KEY}: {clone} {word} {seconds} {mail}\n"


def parse_lines(text: str) -> list[tuple[str, str, int, str]]:
    """(clone, word, seconds, mail) of the lines in a text that format_line() wrote."""
    matches = map(_LINE.fullmatch, text.splitlines())
    return [(m[1], m[2], int(m[3]), m[4]) for m in matches if m]


def build_periods(lines: Iterable[tuple[str, str, int, str]]) -> dict[str, list[Period]]:
    """The recorded periods of each mail; lines: parse_lines() of all clones."""
    periods: dict[str, list[Period]] = {}
    begun: dict[str, tuple[int, str]] = {}
    for clone, word, seconds, mail in sorted(set(lines), key=lambda e: (e[2], e[1] == BEGUN)):
        if clone in begun and (word == ENDED or begun[clone][1] != mail):
            start, mail_before = begun.pop(clone)
            periods.setdefault(mail_before, []).append((start, seconds))
        if word == BEGUN:
            begun.setdefault(clone, (seconds, mail))
    for start, mail in begun.values():
        periods.setdefault(mail, []).append((start, None))
    return periods


def covers(recorded: Periods, mail: str, seconds: int) -> bool:
    """Whether the work of a mail's person was recorded at that time."""
    return any(a <= seconds and (b is None or seconds <= b) for a, b in recorded.get(mail, ()))


def find_attested_agent(author: str, message: bytes) -> str:
    """The agent that a commit's author or a trailer in its message names; '' for none."""
    names = [author, *(m.decode("utf-8", "replace") for m in _TRAILER.findall(message))]
    agents = (agent for name in names for sign, agent in _AGENTS.items() if sign in name.lower())
    links = (_LINKS[key.lower()] for key in _LINK.findall(message))
    return next(agents, "") or next(links, "")
