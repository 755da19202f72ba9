"""The parts of a page, as data: names of authors, links to a forge, hunks, the order of files,
and the timeline."""

from __future__ import annotations

import json
import os
import re
from bisect import bisect_left
from itertools import repeat
from urllib.parse import quote

from gitcp.text import prompt_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, TypedDict

    from gitcp.git.objects.patches import Hunk

    Step = tuple[str, str, str, Sequence[Hunk]]  # a commit, a file's blob before and after, hunks
    Origin = tuple[str, int]  # commit, line there from 1
    Links = Mapping[str, str]  # "commit", "file": an address with {oid}, {path}
    Spans = list[tuple[int, int]]  # first and end of runs of lines, from 0

    class View(TypedDict):
        """old, new: the first line shown, from 1.  hidden: the number of lines before it that no
        hunk shows; more: the last of them.  rows: [sign, line, author] with the sign ' ', '-' or
        '+', the author only with '+'."""

        old: int
        new: int
        hidden: int
        more: list[Any]
        rows: list[list[Any]]

    class Changed(TypedDict):
        """A changed file.  added: its added lines by `agent`, `person`, `unknown`."""

        path: str
        added: Mapping[str, int]

    class Bar(TypedDict):
        """Lines that commits added by kind, and what was spent, from a time on, or by a commit."""

        time: float
        lines: dict[str, int]
        tokens: int
        cost: float

    class Plot(TypedDict):
        """days: those of a bar, 0 if each is a commit."""

        days: int
        bars: list[Bar]


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
        text, last = first, first
        for part in rest:
            text += (_JOINER if last[-1:] > "\u2000" else _JOINED) + part
            last = part
    return text.translate(_NAMES)


def embed_json(value: Any) -> str:
    """value as JSON for the inside of a script element: nothing in it can end that."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


# Name the authors on a page: a session by its first prompt, a person by initials.
NOBODY = {"unknown": "?", "unrecorded": "-"}


def take_line(prompt: str) -> str:
    """The first line of a prompt's name, without the marks of Markdown around it."""
    lines = (line.strip("#*->` \t") for line in prompt_text.name_prompt(prompt).splitlines())
    return next((line for line in lines if line), "")


def name_session(asked: Iterable[str], agent: str) -> str:
    """A session's name, to be cut: the first words of its first prompt."""
    first = next((line for text in asked if (line := take_line(text))), "")
    return prompt_text.make_subject(first, agent)


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
        blob, end = new, 0  # end: of the last hunk in old
        lines: list[Origin | None] = []
        for start, removed, first, added in hunks:
            begin = start - 1 if removed else start
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
    host, path = match[1].lower(), match[2].strip("/").removesuffix(".git")
    if kind == "auto":
        kind = _HOSTS.get(host, "") or next((name for name in _WAYS if name in host), "")
    if kind not in _WAYS or not path or ".." in path.split("/"):
        return {}
    base = f"https://{host}/{quote(path)}/"
    commit, file = _WAYS[kind]
    return {"commit": base + commit, "file": base + file}


def link_commit(links: Links, oid: str) -> str:
    """The address of a commit; '' without a forge."""
    return links["commit"].format(oid=quote(oid)) if links else ""


def link_file(links: Links, oid: str, path: str) -> str:
    """The address of a file of a commit; '' without a forge."""
    return links["file"].format(oid=quote(oid), path=quote(path)) if links else ""


# Cut a file's edits into hunks, with lines of context, more of which can be unfolded.
AROUND = 3  # lines of context on each side
FOLDED = 20  # further lines that a click shows
MOST_ROWS = 5000  # rows of a file that are shown


def cut_hunks(
    edits: Sequence[Hunk], old: Sequence[Any], new: Sequence[Any], authors: Mapping[int, int]
) -> tuple[list[View], int]:
    """(the hunks of a file, the number of rows left out after MOST).

    edits: as `git diff -U0` has them.  old, new: the lines of the file before and after.
    authors: line of new, from 1 -> a number for its author.
    """
    hunks: list[View] = []
    end = rows = omitted = 0  # end: of the lines of new that are shown
    for start, removed, first, added in edits:
        before, after = start - bool(removed), first - bool(added)  # from 0
        gone = min(removed, MOST_ROWS - rows)
        came = min(added, MOST_ROWS - rows - gone)
        omitted += removed + added - gone - came
        if not gone + came:
            continue
        rows += gone + came
        if not hunks or after - end > 2 * AROUND + 1:
            if hunks:
                hunks[-1]["rows"] += _build_context(new, end, end + AROUND)
                end += AROUND
            hunks.append(_begin_hunk(new, before, after, end))
            end = hunks[-1]["new"] - 1
        view = hunks[-1]["rows"]
        view += _build_context(new, end, after)
        view += (["-", line] for line in old[before : before + gone])
        lines = new[after : after + came]
        view += (["+", line, authors.get(n, 0)] for n, line in enumerate(lines, after + 1))
        end = after + came
    if hunks:
        hunks[-1]["rows"] += _build_context(new, end, end + AROUND)
    return hunks, omitted


def _begin_hunk(new: Sequence[Any], before: int, after: int, end: int) -> View:
    """An empty hunk for an edit at these places; end: of what is shown before."""
    top = max(end, after - AROUND)
    return {
        "old": before - (after - top) + 1,
        "new": top + 1,
        "hidden": top - end,
        "more": list(new[max(end, top - FOLDED) : top]),
        "rows": [],
    }


def _build_context(lines: Sequence[Any], first: int, end: int) -> list[list[Any]]:
    return [[" ", line] for line in lines[first:end]]


def list_shown(edits: Sequence[Hunk]) -> tuple[Spans, Spans]:
    """The lines, from 0, of a file (before, after) that cut_hunks() reads, with those that a click
    shows beside the hunks."""
    beside = AROUND + FOLDED
    gone = [(start - 1, start - 1 + removed) for start, removed, _, _ in edits if removed]
    came = [
        (max(0, first - 1 - beside), first + max(added, 1) + beside) for _, _, first, added in edits
    ]
    return gone, came


def list_added(edits: Sequence[Hunk]) -> list[tuple[int, int]]:
    """(first, last) of the runs of lines that edits add."""
    return [(first, first + added - 1) for _, _, first, added in edits if added]


# Choose the files of a change that a reviewer should see first.
LARGE = 50  # lines that agents added
MOST_FILES = 6
RULE = (
    f"Files in which agents wrote at least half of what came, no person wrote a line since, "
    f"{LARGE} lines or more came from agents, and no test with the file's name changed; "
    "by how many of these hold, then by size."
)
_CODE = frozenset(
    ".bash .c .cc .cpp .cs .css .go .h .hpp .java .js .jsx .kt .lua .m .mjs .php .pl .py .rb .rs "
    ".scala .sh .sql .svelte .swift .ts .tsx .vue .zig".split()
)


def is_test(path: str) -> bool:
    """Whether a path looks like a test's."""
    *directories, name = path.lower().split("/")
    words = os.path.splitext(name)[0].replace("-", "_").replace(".", "_").split("_")
    return {"test", "tests", "spec"} & {*words, *directories} != set()


def choose_files(files: Sequence[Changed]) -> list[tuple[str, list[str]]]:
    """(path, reasons) of the files to look at first, the most urgent first."""
    tested = " ".join(os.path.basename(f["path"]).lower() for f in files if is_test(f["path"]))
    chosen = []
    for file in files:
        added, path = file["added"], file["path"]
        agent, total = added.get("agent", 0), sum(added.values())
        if is_test(path) or not total or agent * 2 < total:
            continue
        stem, kind = os.path.splitext(os.path.basename(path).lower())
        rules = {
            "no line by a person": not added.get("person"),
            f"{agent} lines by agents": agent >= LARGE,
            "no test changed with it": kind in _CODE and stem not in tested,
        }
        reasons = [reason for reason, holds in rules.items() if holds]
        if len(reasons) > 1:
            chosen.append((-len(reasons), -agent, path, reasons))
    return [(path, reasons) for _, _, path, reasons in sorted(chosen)[:MOST_FILES]]


# Lay out the timeline: time runs from left to right, and each session has a lane.
LANES = 6  # of commits
_DAY = 86400
MOST_BARS = 100  # of a plot


def build_plot(
    commits: Sequence[tuple[float, Mapping[str, int]]],
    spent: Iterable[tuple[float, int, float]],
) -> Plot | None:
    """The lines that commits added over time, and beside them tokens and costs.

    commits: (time, lines by kind).  spent: (time, tokens, cost) of turns.  By day in UTC, several
    days together if there are more than MOST_BARS; within two days by commit, with what was spent
    before it.  None if there is one bar.
    """
    days = [int(time // _DAY) for time, _ in commits]
    by_day = max(days) - min(days) > 1 or len(commits) > MOST_BARS
    step = 1 + (max(days) - min(days)) // MOST_BARS
    ends = sorted(time for time, _ in commits)
    count = (max(days) - min(days)) // step + 1 if by_day else len(ends)
    if count < 2:
        return None

    def find_bar(time: float) -> int:
        n = (int(time // _DAY) - min(days)) // step if by_day else bisect_left(ends, time)
        return min(max(0, n), count - 1)

    start = min(days) * _DAY
    times = [start + n * step * _DAY for n in range(count)] if by_day else ends
    bars: list[Bar] = [{"time": t, "lines": {}, "tokens": 0, "cost": 0.0} for t in times]
    for time, lines in commits:
        sums = bars[find_bar(time)]["lines"]
        for kind, number in lines.items():
            sums[kind] = sums.get(kind, 0) + number
    for time, tokens, cost in spent:
        bar = bars[find_bar(time)]
        bar["tokens"], bar["cost"] = bar["tokens"] + tokens, bar["cost"] + cost
    return {"days": step if by_day else 0, "bars": bars}


def assign_lanes(commits: Sequence[tuple[str, Sequence[str]]]) -> list[int]:
    """The lane of each commit (oid, parents), newest first: 0 has the first parents of the newest.
    Commits beyond LANES share the last one."""
    waiting: list[str] = []  # for each lane the commit that comes next in it
    lanes = []
    for oid, parents in commits:
        if oid not in waiting:
            _wait(waiting, oid)
        lane = waiting.index(oid)
        lanes.append(min(lane, LANES - 1))
        waiting = ["" if commit == oid else commit for commit in waiting]
        for number, parent in enumerate(parents):
            if not number and (parent not in waiting or waiting.index(parent) > lane):
                waiting = ["" if commit == parent else commit for commit in waiting]
                waiting[lane] = parent
            elif parent not in waiting:
                _wait(waiting, parent)
    return lanes


def _wait(waiting: list[str], oid: str) -> None:
    """Let a commit come next in the first lane that is free."""
    if "" not in waiting:
        waiting.append("")
    waiting[waiting.index("")] = oid


def list_strings(value: Any) -> Iterator[str]:
    """Every string in a value, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
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
