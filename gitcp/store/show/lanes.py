"""The data of lanes in a terminal: git's own graph, and the turns of sessions by the journal."""

from __future__ import annotations

from gitcp.core.credit import entries
from gitcp.core.decide.difference import build_change
from gitcp.core.lines import attribution
from gitcp.errors import GitError
from gitcp.record import decode_name
from gitcp.store.git import refs
from gitcp.store.git.commit import build_log_args
from gitcp.store.git.tree import Lookup, find_tree
from gitcp.store.journal import journal
from gitcp.store.lines import edit_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.core.record_types import JournalLine, Record
    from gitcp.core.render.lane_lines import Drawn
    from gitcp.repo import Repo
    from gitcp.store.git.commit_changes import Changes
    from gitcp.store.git.objects import Objects

_GRAPH = "log --graph --no-color --no-show-signature --no-notes --format=%x01%H"


def read_graph(
    repo: Repo, revisions: Sequence[str], options: Sequence[str], paths: Sequence[str]
) -> dict[str, Drawn]:
    """oid -> (the graph before the commit, the rows of graph below it), newest first."""
    args = build_log_args(options, revisions, paths)
    graph: dict[str, Drawn] = {}
    below: list[str] = []
    try:
        for line in repo.git.read_records(*_GRAPH.split(), *args, sep=b"\n"):
            before, mark, oid = decode_name(line).partition("\1")
            if mark:
                below = []
                graph[oid] = (before, below)
            else:
                below.append(before)
    except GitError as e:
        raise e.shorten() from None
    return graph


def list_lanes(repo: Repo, objects: Objects, session_ids: Sequence[str]) -> list[Record]:
    """A lane {session_id, turns, calls, lines} for each of the sessions with open work; times in
    seconds since 1970, lines by author.  The last lane is the person's, whose calls are edits."""
    lines = journal.read(repo)
    edits = entries.list_open_edits(lines)
    changes = _list_changes(repo, objects, edits)
    credits = edit_lines.Edits(objects, lines).credit_paths(changes).values()
    authors = [entries.get_author(edit) for edit in edits]
    working = {author[:2] for author in authors}
    lanes = []
    for name in session_ids:
        calls = [c for c in entries.list_calls(lines) if (name, c["turn"]) in working]
        own = [c for c in calls if c["session"] == name]
        edited = [(who[1], e) for who, e in zip(authors, edits, strict=True) if who[0] == name]
        if turns := _list_spans([*((c["turn"], c) for c in own), *edited]):
            agent = attribution.compute_attribution(name, credits)["lines_added"]["agent"]
            times = [call["at"] / 1e9 for call in own]
            lanes.append(_build_lane(name, turns, times, {"agent": agent}))
    people = attribution.compute_attribution("", credits)["lines_added"]
    if lanes and (people["person"] or people["unknown"]):
        times = [e["at"] / 1e9 for who, e in zip(authors, edits, strict=True) if not who[0]]
        lanes.append(_build_lane("person", [], times, {**people, "agent": 0}))
    return lanes


def _build_lane(name: str, turns: object, calls: object, lines: dict[str, int]) -> Record:
    return {"session_id": name, "turns": turns, "calls": calls, "lines": lines}


def _list_changes(repo: Repo, objects: Objects, edits: Sequence[JournalLine]) -> Changes:
    """The changes that the edits made to HEAD's files."""
    head = Lookup(objects, find_tree(objects, refs.read_head(repo)))
    newest = {edit["path"]: entries.parse_entry(edit["after"]) for edit in edits}
    return {
        path: build_change(head(path), entry)
        for path, entry in newest.items()
        if head(path) != entry
    }


def _list_spans(pairs: Sequence[tuple[str, JournalLine]]) -> list[tuple[float, float]]:
    """(start, end) of each turn, by the calls and edits in it."""
    spans: dict[str, tuple[float, float]] = {}
    for turn, line in pairs:
        start, end = line["at"] / 1e9, (line.get("end") or line["at"]) / 1e9
        span = spans.get(turn, (start, end))
        spans[turn] = (min(span[0], start), max(span[1], end))
    return sorted(spans.values())
