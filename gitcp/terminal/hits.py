"""Draw what `gitcp search` found: a row for each session, below it commits and words in context."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from gitcp.terminal.rows import INDENT, NO_LIMIT, ScreenRow, draw_row
from gitcp.text import json, prompt_text
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import abbreviate, clip, count_cells, count_noun, join_words, shorten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import NotRequired, TypedDict

    from gitcp.text.spans import Ago, Line

    class HitCommit(TypedDict):
        """A commit that a found turn wrote.  time: in s since 1970.  live: a branch has it."""

        oid: str
        checkpoint_id: str
        author: str
        time: float
        message: str
        live: bool

    class Hit(TypedDict):
        """A turn that was found, as the record `hit` (gitcp-record(5)) has it.

        time: in s since 1970, 0: not known.  commits: the one that carried the words first.
        snippet: words around what matched, which stands between \\1 and \\2.  found_in: a key of
        _LABELS.  turn: its number in the index, until the hit is complete."""

        session_id: str
        number: int
        time: float
        agent: str
        branch: str
        prompt: str
        files: list[str]
        checkpoint_ids: list[str]
        commits: list[HitCommit]
        score: float
        snippet: str
        found_in: str
        turn: NotRequired[int]


_MOST = 2  # hits of a session that are shown
_COMPACT = 200  # bytes of a line of --compact
_LABELS = {"prompt": "> ", "answer": "said: ", "calls": "did: ", "files": "file: "}
_MARKED = re.compile("\1([^\1\2]*)\2")


@dataclass(slots=True)
class Parent:
    """The session that gave a task to another one, and what it is called."""

    session_id: str
    name: str


@dataclass(slots=True)
class _Session:
    """A session of which turns were found, the best first.  name: '' for that of its best turn."""

    session_id: str
    agent: str
    name: str = ""
    hits: list[Hit] = field(default_factory=list)


@dataclass(slots=True)
class FoundTurns:
    """What was found in a repository.  left: how many further turns.  parents: by the session of a
    task."""

    hits: Sequence[Hit]
    left: int = 0
    repository: str = ""
    parents: Mapping[str, Parent] = field(default_factory=dict)


def draw_hits(found: Iterable[FoundTurns], ago: Ago, width: int = NO_LIMIT) -> Iterator[Line]:
    """The sessions of each repository, those with the best turns first, and what to type next."""
    sessions: list[_Session] = []
    commits = set()
    left = 0
    for one in found:
        if one.repository:
            yield [(one.repository, "bold")]
        grouped = _group_hits(one)
        for session in grouped:
            yield from _draw_session(session, ago, width)
        sessions += grouped
        left += one.left
        commits |= {commit["oid"] for hit in one.hits for commit in hit["commits"][:1]}
    counts = [count_noun(len(sessions), "session"), count_noun(len(commits), "commit")]
    if left:
        counts.append(f"{count_noun(left, 'more prompt')} (-n)")
    best = ""
    if sessions:
        best = shorten_id(sessions[0].session_id)
    which = "it" if len(sessions) == 1 else "the first"
    yield [(f"{', '.join(counts)}. 'gitcp show {best}' opens {which}", "dim")]


def _group_hits(found: FoundTurns) -> list[_Session]:
    """The hits by session; those of a task by the session that gave it."""
    by_session: dict[str, _Session] = {}
    for hit in found.hits:
        parent = found.parents.get(hit["session_id"])
        if parent:
            session_id = parent.session_id
        else:
            session_id = hit["session_id"]
        if session_id not in by_session:
            name = parent.name if parent else ""
            by_session[session_id] = _Session(session_id, hit["agent"], name)
        by_session[session_id].hits.append(hit)
    return list(by_session.values())


def _draw_session(session: _Session, ago: Ago, width: int) -> Iterator[Line]:
    best = session.hits[0]
    name = session.name or _name_prompt(best)
    when = ago(best["time"]) if best["time"] else ""
    row = ScreenRow(shorten_id(session.session_id), when, session.agent or "Agent", name)
    words = set(_MARKED.findall(best["snippet"]))
    yield _mark_words(draw_row(row, width), words)
    seen = {name}
    above = ""
    shown = _choose_shown(session.hits)
    for hit in shown:
        heading = _name_commit(hit)
        if heading != above:
            yield _draw_commit(hit, width)
            above = heading
        is_task = hit["session_id"] != session.session_id
        yield from _draw_words(hit, seen, "in a task, " if is_task else "", width)
    left = len(session.hits) - len(shown)
    if left:
        yield [(f"{INDENT}and {count_noun(left, 'more prompt')} of this session", "dim")]


def _choose_shown(hits: Sequence[Hit]) -> list[Hit]:
    """The best hits of a session, each with other words."""
    by_words: dict[str, Hit] = {}
    for hit in hits:
        by_words.setdefault(hit["snippet"] or hit["prompt"], hit)
    return list(by_words.values())[:_MOST]


def _name_prompt(hit: Hit) -> str:
    name = prompt_text.read_first_line(hit["prompt"])
    return f"> {name}" if name else ""


def _name_commit(hit: Hit) -> str:
    if hit["commits"]:
        return str(hit["commits"][0]["oid"])
    return "not committed"


def _draw_commit(hit: Hit, width: int) -> Line:
    """The first commit of a turn; that it has none."""
    if not hit["commits"]:
        return [(INDENT, ""), ("not committed", "dim")]
    commit = hit["commits"][0]
    name = abbreviate(commit["oid"])
    note = "" if commit["live"] else "  (on no branch)"
    subject = join_words(commit["message"])
    if width != NO_LIMIT:
        room = width - len(INDENT) - len(name) - 2 - len(note)
        subject = shorten(subject, max(1, room))
    return [(INDENT, ""), (name, "yellow"), ("  ", ""), (subject, "bold"), (note, "dim")]


def _draw_words(hit: Hit, seen: set[str], place: str, width: int) -> Iterator[Line]:
    """The prompt of a turn unless it was seen, and the words in their context unless the prompt's
    name has them."""
    prompt = _name_prompt(hit)
    words = set(_MARKED.findall(hit["snippet"]))
    if prompt and prompt not in seen and not place:
        seen.add(prompt)
        if width != NO_LIMIT:
            text = shorten(prompt, width - len(INDENT))
        else:
            text = prompt
        yield _mark_words([(INDENT, ""), (text, "")], words)
    is_named = not place and all(word in prompt for word in words)
    if is_named:
        return
    start = f"{INDENT}{place}{_LABELS.get(hit.get('found_in', ''), '')}"
    if width != NO_LIMIT:
        room = width - count_cells(start)
    else:
        room = NO_LIMIT
    yield [(start, "dim"), *_fit_snippet(hit["snippet"], room)]


def _fit_snippet(snippet: str, room: int) -> Line:
    """A snippet in at most room cells, with its first match in them, and its matches in colour."""
    text = " ".join(snippet.split())
    if room != NO_LIMIT:
        before, mark, rest = text.partition("\1")
        match, _, _ = rest.partition("\2")
        excess = count_cells(before) + count_cells(match) + 1 - room
        if mark and excess > 0:
            text = f"…{before[excess + 1 :]}\1{rest}"
    line: Line = []
    left = room
    for number, part in enumerate(re.split("[\1\2]", text)):
        shown = _join_edges(part)
        if room != NO_LIMIT:
            shown, taken = clip(shown, left)
            left -= taken
        line.append((shown, "red" if number % 2 else ""))
    if room != NO_LIMIT and left == 0 and len(line) > 1:
        last, colour = line[-1]
        line[-1] = (last[:-1] + "…" if last else last, colour)
    return line


def _join_edges(part: str) -> str:
    """A part of a text on one line, escaped, with the spaces at its ends."""
    words = join_words(part)
    start = " " if part[:1] == " " else ""
    end = " " if words and part[-1:] == " " else ""
    return f"{start}{words}{end}"


def _mark_words(line: Line, words: set[str]) -> Line:
    """A line with some words in colour."""
    if not words:
        return line
    longest_first = sorted(words, key=len, reverse=True)
    pattern = re.compile("(" + "|".join(map(re.escape, longest_first)) + ")")
    marked: Line = []
    for text, colour in line:
        if colour:
            marked.append((text, colour))
            continue
        for number, part in enumerate(pattern.split(text)):
            marked.append((part, "red" if number % 2 else ""))
    return [(text, colour) for text, colour in marked if text]


def format_compact(hit: Hit) -> str:
    """A hit as one line of JSON of at most 200 bytes: ids, files, snippet."""
    row = {"turn": f"{shorten_id(hit['session_id'])} #{hit['number']}"}
    if hit["commits"]:
        row["commit"] = abbreviate(hit["commits"][0]["oid"])
        row["checkpoint"] = hit["commits"][0]["checkpoint_id"]
    elif hit["checkpoint_ids"]:
        row["checkpoint"] = hit["checkpoint_ids"][-1]
    text = _MARKED.sub(r"\1", hit["snippet"] or hit["prompt"])
    files = list(hit["files"])
    while True:
        line = json.dumps({**row, "files": files, "text": text})
        over = len(line.encode()) - _COMPACT
        if over <= 0 or not (text or files):
            return line
        if files and len(json.dumps(files)) > _COMPACT // 2:
            files.pop()
        elif text:
            text = text[: -max(1, over // 6)]
        else:
            files.pop()
