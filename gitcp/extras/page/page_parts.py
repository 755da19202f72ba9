"""The parts of a page, as data: texts that are safe to show, names and letters of prompts, where
lines come from, and links to a forge."""

from __future__ import annotations

import re
from itertools import repeat
from urllib.parse import quote

from gitcp.text import prompt_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.git.objects.patches import Hunk

    Step = tuple[str, str, str, Sequence[Hunk]]  # a commit, a file's blob before and after, hunks
    Origin = tuple[str, int]  # commit, line there from 1
    Links = Mapping[str, str]  # "commit", "file": an address with {oid}, {path}

_JOINER = "\u200d"  # it joins emoji into one
# Characters that turn the direction of text, break its lines, or are invisible.
_HIDDEN = (
    *range(0x7F, 0xA0),
    *range(0x200B, 0x2010),
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    *(0x00AD, 0x034F, 0x061C, 0x070F, 0x115F, 0x1160, 0x180E, 0x3164, 0xFEFF, 0xFFA0),
    *range(0xFFF9, 0xFFFC),
    *range(0x13430, 0x13440),
    *range(0x1BCA0, 0x1BCA4),
    *range(0x1D173, 0x1D17B),
    *range(0xE0000, 0xE0080),
)
_NAMES = {code: f"⟨U+{code:04X}⟩" for code in _HIDDEN}
_JOINED = _NAMES.pop(ord(_JOINER))
_NAMES |= {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"}
_USUAL = b"\n\t" + bytes(range(0x20, 0x7F))  # that have no other name
_NAMES |= dict.fromkeys(range(0xD800, 0xE000), "\N{REPLACEMENT CHARACTER}")


def name_hidden(text: str) -> str:
    """text with control and bidi characters shown by their names, half characters as U+FFFD."""
    special = text.encode("utf-8", "surrogatepass").translate(None, _USUAL)
    unusual = {*special.decode("utf-8", "surrogatepass")}
    if _NAMES.keys().isdisjoint(map(ord, unusual)) and _JOINER not in unusual:
        return text
    if _JOINER in unusual:
        first, *rest = text.split(_JOINER)
        text = first
        last = first
        for part in rest:
            if last[-1:] > "\u2000":
                text += _JOINER + part
            else:
                text += _JOINED + part
            last = part
    return text.translate(_NAMES)


# Name prompts by their first lines and by letters.


def name_prompt(prompt: str) -> str:
    """The first line of a prompt, as other screens have it; of one that its client wrote, the
    first line that there is."""
    lines = prompt.strip().splitlines()
    return prompt_text.read_first_line(prompt) or "".join(lines[:1])


def make_letters(number: int) -> str:
    """The letters of a prompt, by its number from 0: A to Z, then AA."""
    letters = ""
    while number >= 0:
        letters = chr(ord("A") + number % 26) + letters
        number = number // 26 - 1
    return letters


def trace_lines(steps: Sequence[Step], before: str, after: str) -> dict[int, Origin] | None:
    """Line of a file, from 1 -> its origin, for the lines that steps added.

    steps: newest first, as git log has them.  before, after: the file's blobs at the ends.  None
    if the steps do not lead from before to after, as those of two branches do not.
    """
    origins: list[Origin | None] = []  # all lines after them were there before
    blob = before
    for commit, old, new, hunks in reversed(steps):
        if not old or old != blob:
            return None
        # end: of the last hunk in old
        blob = new
        end = 0
        lines: list[Origin | None] = []
        for start, removed, first, added in hunks:
            begin = start
            if removed:
                begin -= 1
            unchanged = origins[end:begin]
            lines += [*unchanged, *repeat(None, begin - end - len(unchanged))]
            lines += [(commit, n) for n in range(first, first + added)]
            end = begin + removed
        origins = [*lines, *origins[end:]]
    if blob != after:
        return None
    return {n: origin for n, origin in enumerate(origins, 1) if origin}


# Derive a forge's addresses of commits and files from the address of a remote.
_SSH = re.compile(r"(?:[\w.-]+@)?([\w.-]+\.[a-z]{2,}):(?!//)(?:\d+/)?(.+)")
_URL = re.compile(r"(?:https?|ssh|git)://(?:[^@/]*@)?([\w.-]+\.[a-z]{2,})(?::\d+)?/(.+)")
_WAYS = {
    "github": ("commit/{oid}", "blob/{oid}/{path}"),
    "gitlab": ("-/commit/{oid}", "-/blob/{oid}/{path}"),
    "gitea": ("commit/{oid}", "src/commit/{oid}/{path}"),
}
KINDS = ("auto", "none", *_WAYS)
_HOSTS = {"codeberg.org": "gitea"}


def find_links(remote: str, kind: str = "auto") -> Links:
    """The addresses of the forge at a remote's URL; {} for an unknown forge.

    kind: one of KINDS; `auto` derives the forge from the host's name.
    """
    match = _URL.fullmatch(remote) or _SSH.fullmatch(remote)
    if not match or kind == "none":
        return {}
    host = match[1].lower()
    path = match[2].strip("/").removesuffix(".git")
    if kind == "auto":
        kind = _guess_kind(host)
    if kind not in _WAYS or not path or ".." in path.split("/"):
        return {}
    base = f"https://{host}/{quote(path)}/"
    commit, file = _WAYS[kind]
    return {"commit": base + commit, "file": base + file}


def _guess_kind(host: str) -> str:
    """The kind of forge at a host; '' if its name does not tell."""
    if host in _HOSTS:
        return _HOSTS[host]
    for name in _WAYS:
        if name in host:
            return name
    return ""


def link_commit(links: Links, oid: str) -> str:
    """The address of a commit; '' without a forge."""
    if links:
        return links["commit"].format(oid=quote(oid))
    return ""


def link_file(links: Links, oid: str, path: str) -> str:
    """The address of a file of a commit; '' without a forge."""
    if links:
        return links["file"].format(oid=quote(oid), path=quote(path))
    return ""


def list_added(edits: Sequence[Hunk]) -> list[tuple[int, int]]:
    """(first, last) of the runs of lines that edits add."""
    return [(first, first + added - 1) for _, _, first, added in edits if added]


def list_strings(value: Any) -> Iterator[str]:
    """Every string in a value, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from list_strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from list_strings(item)


def map_strings(value: Any, change: Callable[[str], str]) -> Any:
    """value with change applied to every string in it."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: map_strings(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [map_strings(item, change) for item in value]
    return value
