"""Open edits that are away in another worktree: work that was stashed there and popped here.  A
commit in this worktree may have them, by evidence."""

from __future__ import annotations

import os
import time

from gitcp import git
from gitcp.agents.transcripts import shell_words
from gitcp.errors import Error, Late
from gitcp.git import ANY, decode_name, files
from gitcp.git.objects import reading
from gitcp.git.repo import Repo
from gitcp.record import journal, looks, session
from gitcp.record.journal import Journal, LastSeen, credit, held_lines, read_clock, read_last_seen
from gitcp.record.journal.edits import Work, collect_work, list_open_paths_in
from gitcp.record.looks import credit_cases, windows
from gitcp.record.match import holding
from gitcp.record.snapshot import scan
from gitcp.text import ids
from gitcp.text.ids import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from typing import Any

    from gitcp.agents.transcripts.shell_words import Discard
    from gitcp.git import Running
    from gitcp.git.objects import Changes
    from gitcp.record.journal.edits import Stretch
    from gitcp.text.record_types import JournalLine, Recorded, State, Version, Writer

    Act = Callable[[Journal, State, JournalLine, list[str], int], None]
    ShellAct = Callable[[Journal, int], None]

# A look at the files that a command may discard, where a full look costs too much.
_MANY = 20  # paths that are reported one by one


def look_at_losses(
    journal: Journal, command: str, cwd: str, at: int
) -> tuple[list[str], list[str]]:
    """Look at the files that a command, run in cwd, may discard: those that it names and HEAD
    has, and those in its reach that git reports as changed.

    Returns the paths, from the root of the worktree, that were looked at, and those that were not
    within gitcp.loss-budget.  If the latter are many or unknown, they are the paths that the
    command names; '.' for the whole worktree.
    """
    root = journal.repo.worktree
    losses = find_losses(journal.repo, command, cwd)
    if not losses:
        return [], []
    until = time.monotonic() + int(journal.repo.config.get_option("gitcp.loss-budget")) / 1000
    reached = {path for loss in losses for path in loss["paths"] or ["."]}
    seen = read_last_seen(journal.repo, journal.lines)
    ignored = {line["path"] for line in journal.lines if line.get("kept") is False}
    known = seen.paths - ignored
    named = {path for path in reached if path in known or seen.get_committed(path)}
    unsure = {path for path in reached - named if _may_exist(os.path.join(root, path))}
    if unsure:
        queries = _ask_git(journal.repo, losses)
    else:
        queries = []
    named |= {path for path in known if any(shell_words.covers(x, path) for x in losses)}
    unseen = _look_until(until, journal, named, at)
    try:
        changed = _read_answers(queries, losses, until) - named
        unseen |= _look_until(until, journal, changed, at)
        named |= changed
    except Late:
        unseen |= unsure
    return sorted(named - unseen), sorted(unseen if len(unseen) <= _MANY else reached)


def find_losses(repo: Repo, command: str, cwd: str, taking: bool = False) -> list[Discard]:
    """What a command, run in cwd, may discard, or take (shell_words.find_discards()); its paths are
    spelled as git does."""
    root = repo.worktree
    folder = os.path.realpath(cwd or repo.worktree)
    if not session.has_many_names(repo):
        return shell_words.find_discards(command, folder, root, taking=taking)
    losses = shell_words.find_discards(command, folder, root, reading.fold_name, taking)
    for loss in losses:
        loss["paths"] = [session.find_relative_path(repo, path) or path for path in loss["paths"]]
    return losses


def _look_until(until: float, journal: Journal, paths: Collection[str], at: int) -> set[str]:
    """Look at each path until a monotonic time; return the paths that are left."""
    remaining = sorted(paths, reverse=True)
    while remaining and time.monotonic() < until:
        looks.record_paths(journal, [remaining.pop()], at)
    return set(remaining)


def _may_exist(path: str) -> bool:
    return os.path.lexists(path) or any(c in path for c in "*?[")


def _ask_git(repo: Repo, losses: Collection[Discard]) -> list[tuple[bool, Running]]:
    """Start git on the changed files in reach of the losses: (whether it lists tracked files, the
    running git)."""
    reaches = {loss["reach"] for loss in losses}
    queries = []
    if reaches - {shell_words.UNTRACKED}:
        command = "-c core.fsmonitor=false diff-index --name-only -z HEAD"
        queries.append((True, repo.git.start(*command.split())))
    if reaches - {shell_words.TRACKED}:
        command = "-c core.fsmonitor=false ls-files --others --exclude-standard -z"
        queries.append((False, repo.git.start(*command.split())))
    return queries


def _read_answers(
    queries: Iterable[tuple[bool, Running]], losses: Collection[Discard], until: float
) -> set[str]:
    """The paths that git lists and losses cover; raises Late if git is not done in time."""
    lost = set[str]()
    exceeded = []
    for tracked, running in queries:
        try:
            limit = max(0.001, until - time.monotonic())
            out = running.finish(ok=ANY, limit=limit)[1]
        except Late as e:
            exceeded.append(e)  # finish the other query, too
            continue
        paths = map(decode_name, out.split(b"\0")[:-1])
        lost |= {
            path for path in paths if any(shell_words.covers(x, path, tracked) for x in losses)
        }
    if exceeded:
        raise exceeded[0]
    return lost


def look_as_stranger(other: Repo, paths: Iterable[str]) -> None:
    """Look at these paths of another repository, by default at all if that is cheap: what changed
    there is by a session whose call did not begin there, and is unknown.  What is wrong there
    concerns no session here."""
    try:
        _look(other, session.resolve_paths(other, paths))
    except (Error, OSError) as e:
        git.append_trace("journal", f"{other.worktree}: {e}")


def _look(other: Repo, paths: Collection[str]) -> None:
    with Journal(other) as held:
        held.stranger = True
        at = read_clock(other)
        if not paths:
            looks.scan_if_cheap(held, at, first=True)
        else:
            looks.record_paths(held, paths, at)
        marker = other.join_own(journal.VISITED)
        open_edits = credit.list_open_edits(held.lines)
        is_strange = any(map(credit.is_strange, open_edits))
        if not is_strange and os.path.lexists(marker):
            files.remove_private(other, marker)


def build_edits(
    journal: Journal,
    seen: LastSeen,
    call: JournalLine,
    writer: Writer,
    path: str,
    after: Version,
    at: int,
) -> list[JournalLine]:
    """The edits of a path from its last seen entry to after, one of them by the ending call."""
    before = seen.get_entry(path)
    steps = _split_steps(journal, call, writer, path, before, after)
    if not steps:
        return [credit.build_edit(path, before, after, writer, "tool", at)]
    other_windows = [window for window in windows.list_windows(journal) if window["who"] != writer]
    edits = []
    for old, new, is_own in steps:
        change = looks.describe_change(journal.repo, seen, path, old, new, False)
        verdict = credit_cases.attribute_change(change, [] if is_own else other_windows)
        if is_own:
            who = writer
            how = "tool"
        elif verdict["by"] is None and old != before:
            # The client's own formatter, or a person: what is formatted keeps its author.
            who = UNKNOWN
            how = verdict["how"]
        else:
            who = verdict["who"]
            how = verdict["how"]
        edits.append(credit.build_edit(path, old, new, who, how, at))
    return edits


def _split_steps(
    journal: Journal,
    call: JournalLine,
    writer: Writer,
    path: str,
    before: Version,
    after: Version,
) -> list[tuple[Version, Version, bool]]:
    """(entry, next entry, whether the call made the step) for each step from before to after; []
    if the call's words do not tell."""
    if after is None:
        return []
    oids = (entry[1] if entry else None for entry in (before, after))
    contents = [journal.repo.objects.read_blob(oid) or b"" for oid in oids]
    ends = credit.derive_contents(call, *contents)
    if ends is None:
        return []
    start, end = ((after[0], journal.repo.objects.write("blob", data)) for data in ends)
    edits = credit.list_edits_since_opening(journal.lines, writer[0], writer[2])
    if end in [credit.parse_entry(line["after"]) for line in edits if line["path"] == path]:
        start = end = before or end  # an earlier look has recorded the call's part
    if before and before[1] == start[1]:
        start = before
    steps = [(before, start, False), (start, end, True), (end, after, False)]
    return [step for step in steps if step[0] != step[1]]


def list_worktrees(repo: Repo, session: Mapping[str, Any]) -> list[str]:
    """The ids of the other worktrees in which a session, by its state or marker, may have open
    edits."""
    worktree_ids = [session.get("worktree_id") or "", *session.get("visits", ())]
    return [
        worktree_id
        for worktree_id in dict.fromkeys(worktree_ids)
        if worktree_id != repo.worktree_id
    ]


def list_records(repo: Repo, session: Mapping[str, Any], paths: Collection[str]) -> list[Recorded]:
    """The records, in the form that match() takes, of a session's edits at these paths that are
    away in other worktrees."""
    away = [
        pair
        for worktree_id in list_worktrees(repo, session)
        for pair in _list_away(repo, worktree_id, session, paths)
    ]
    lines = journal.read_journal(repo) if away else []
    return [
        {**stretch.build_record(path), "live": False}
        for path, stretch in away
        if not _is_brought(lines, session["session_id"], path, stretch)
    ]


def bring_edits(repo: Repo, state: State, paths: Collection[str]) -> None:
    """Move a session's edits at these paths that are away in other worktrees to this journal."""
    for worktree_id in list_worktrees(repo, state):
        stretches = list(_list_away(repo, worktree_id, state, paths))
        if not stretches:
            continue
        with Journal(repo) as held:
            at = read_clock(repo)
            lines = []
            for path, stretch in stretches:
                if not _is_brought(held.lines, state["session_id"], path, stretch):
                    lines += _make_stated_edits(stretch, at)
            held.append(lines)
        other = journal.find_worktree(repo, worktree_id)
        if other:
            _settle_edits(other, stretches)
        _note_visit(state, repo)


def bring_renamed(repo: Repo, state: State, former: Collection[str], changes: Changes) -> None:
    """State a session's edits at these paths, whose files were renamed since, anew under the names
    that a commit with these changes has of them, and put them on the same streams."""
    lines: list[JournalLine] = []
    taken: dict[str, list[Any]] = {}
    with Journal(repo) as held:
        work = collect_work(held.lines, state["session_id"])
        at = read_clock(repo)
        streams = credit.map_recorded_files(held.lines, state["session_id"])
        for path in former:
            for stretch in work.list_stretches(path):
                entries = [stretch.build_record(path)]
                read = repo.objects.read_blob
                is_gone = former.__contains__
                for _, name, _ in holding.pair_renamed(entries, changes, read, is_gone):
                    lines += [{**line, "path": name} for line in _make_stated_edits(stretch, at)]
                    names = map(credit.get_edit_name, stretch.edits)
                    taken.setdefault(path, []).extend(names)
                    lines += _rename_recorded(streams.values(), path, name, at)
        held.append([*lines, {"taken": taken, "at": at}] if taken else [])


def _rename_recorded(
    streams: Iterable[Mapping[str, JournalLine] | None], path: str, name: str, at: int
) -> list[JournalLine]:
    """The lines that put the file which streams have at a path on them under another name."""
    lines = [files[path] for files in streams if files and path in files]
    renamed = [{**line, "files": {name: line["files"][path]}, "at": at} for line in lines]
    return [{key: value for key, value in line.items() if key != "out"} for line in renamed]


def _is_brought(lines: list[JournalLine], session_id: str, path: str, stretch: Stretch) -> bool:
    """Whether a journal has these edits already.  Edits of a deleted worktree cannot be marked as
    settled there, so this may see them twice."""
    return any(
        line.get("path") == path
        and line["how"] == credit.STATED
        and credit.get_author(line)[0] == session_id
        and credit.parse_entry(line["after"]) == stretch.written
        for line in lines
    )


def _make_stated_edits(stretch: Stretch, at: int) -> list[JournalLine]:
    lines = [
        {**edit, "how": credit.STATED, "at": at, "made": credit.time_made(edit)}
        for edit in stretch.edits
    ]
    return [{key: value for key, value in line.items() if key != "left"} for line in lines]


def _settle_edits(other: Repo, stretches: Iterable[tuple[str, Stretch]]) -> None:
    settled: dict[str, list[Any]] = {}
    for path, stretch in stretches:
        settled.setdefault(path, []).extend(map(credit.get_edit_name, stretch.edits))
    with Journal(other) as held:
        held.append([{"taken": settled, "at": read_clock(other)}])


def _list_away(
    repo: Repo, worktree_id: str, session: Mapping[str, Any], paths: Collection[str]
) -> Iterator[tuple[str, Stretch]]:
    """The stretches of a session that its worktree does not hold; all if that worktree is gone."""
    session_id = session["session_id"]
    exists = os.path.isdir(journal.get_git_dir(repo, worktree_id))
    if not exists and list_open_paths_in(repo, worktree_id, session_id).isdisjoint(paths):
        return
    work = read_work(repo, worktree_id, session_id)
    open_paths = sorted({*work.list_paths()} & {*paths})
    other = None
    if open_paths and exists:
        other = journal.find_worktree(repo, worktree_id)
    if other:
        with Journal(other) as held:
            looks.record_paths(held, open_paths, read_clock(other))
            work = collect_work(held.lines, session_id)
    for path in open_paths:
        for stretch in work.list_stretches(path):
            if not (exists and stretch.live):
                yield path, stretch


def read_work(repo: Repo, worktree_id: str, session_id: str) -> Work:
    """The open edits of a session in a worktree; those in its ref if the worktree is gone."""
    git_dir = journal.get_git_dir(repo, worktree_id)
    if os.path.isdir(git_dir):
        return collect_work(journal.read_journal(repo, git_dir), session_id)
    return collect_work(
        held_lines.read_lines(repo, ids.hash_worktree(worktree_id), session_id), session_id
    )


# A session that works in other worktrees than its home: its calls and turns there, and `visits` of
# its state, the worktrees in which it has open edits.


def take_call(
    repo: Repo, state: State, call: JournalLine, act: Act, groups: Mapping[str, list[str]]
) -> bool:
    """Record a file tool's start or end in the journals of other worktrees; return whether the
    state's `visits` changed.  act: calls.begin_call() or end_call().  groups: as
    group_by_worktree() returns them."""
    before = list(state.get("visits", ()))
    for root, paths in groups.items():
        other = Repo.find(root)
        with Journal(other) as held:
            act(held, state, call, session.resolve_paths(other, paths), read_clock(other))
        _note_visit(state, other)
    return before != state.get("visits", [])


def take_shell_call(state: State, others: Iterable[Repo], act: ShellAct) -> bool:
    """Record a shell call's start or end in the journals of other worktrees; return whether the
    state's `visits` changed.  act: records it in a journal, at a time by its clock."""
    before = list(state.get("visits", ()))
    for other in others:
        try:
            with Journal(other) as held:
                act(held, read_clock(other))
        except (Error, OSError) as e:
            git.append_trace("journal", f"{other.worktree}: {e}")  # it is being removed
            continue
        _note_visit(state, other)
    return before != state.get("visits", [])


def _note_visit(state: State, other: Repo) -> None:
    state["visits"] = list(dict.fromkeys((*state.get("visits", ()), other.worktree_id)))


def begin_turn(repo: Repo, state: State) -> None:
    """Close the calls of the last turn in other worktrees that no event closed."""
    for other in _list_visited(repo, state):
        with Journal(other) as held:
            looks.close_calls(held, state, read_clock(other))


def end_turn(repo: Repo, state: State, subject: str, tasks: Collection[str]) -> None:
    """End a turn in other worktrees: look at the paths that its transcript names there, and at all
    where its calls have not been looked at since; close its calls, and let the session's ref hold
    the contents.  tasks: as for looks.end_turn()."""
    written = [] if state.get("tool_events") else _list_written_paths(repo, state)
    groups = journal.group_by_worktree(repo, written)
    visited = [other.worktree for other in _list_visited(repo, state)]
    for root in dict.fromkeys([*groups, *visited]):
        try:
            other = Repo.find(root)
            _look_at_calls(other, state)
            _end_turn_in(other, state, subject, groups.get(root, []), tasks)
        except (Error, OSError):
            continue  # the worktree is gone
    forget_visits(repo, state)


def _list_visited(repo: Repo, state: State) -> list[Repo]:
    """The worktrees of a state's `visits` that are there."""
    found = (journal.find_worktree(repo, worktree_id) for worktree_id in state.get("visits", ()))
    return [other for other in found if other and other.worktree_id != repo.worktree_id]


def _look_at_calls(other: Repo, state: State) -> None:
    """Look at another worktree if a call of the turn worked there without a look at its end."""
    is_due = False
    turn = state["session_id"], state.get("turn_id", "")
    for line in journal.read_journal(other):
        if "look" in line:
            is_due = False
        elif "open" in line and line.get("kind") == credit.SHELL:
            is_due = is_due or (line["session"], line.get("turn")) == turn
    if not is_due:
        return
    look = looks.look_at_worktree(other)
    head = look.scan.head or "0" * len(other.empty_tree)
    dirty = scan.resolve_changes(other.objects, look.scan, write=False)
    look.take(head, dirty, telling=state["session_id"])


def _end_turn_in(
    other: Repo, state: State, subject: str, paths: list[str], tasks: Collection[str]
) -> None:
    with Journal(other) as held:
        at = read_clock(other)
        held.guests = [{**session.build_marker(state), "phase": "active"}]
        looks.record_paths(held, session.resolve_paths(other, paths), at)
        looks.close_calls(held, state, at, {*tasks})
        journal.hold_edits(other, held, state["session_id"], subject)
    _note_visit(state, other)


def _list_written_paths(repo: Repo, state: State) -> Iterable[str]:
    base = session.read_baseline(repo, state["session_id"])
    agent = state.get("agent_type", "")
    if base:
        return windows.list_transcript_paths(agent, base, int(base.get("offset", 0)))
    return ()


def forget_visits(repo: Repo, state: State) -> None:
    """Remove from a state's `visits` the worktrees without open edits and calls of its session."""
    session_id = state["session_id"]
    visits = state.pop("visits", [])
    remaining = [x for x in visits if _is_at_work(repo, x, session_id)]
    if remaining:
        state["visits"] = remaining


def _is_at_work(repo: Repo, worktree_id: str, session_id: str) -> bool:
    """Whether a session has an open edit, or an open call, in a worktree."""
    if read_work(repo, worktree_id, session_id).list_paths():
        return True
    git_dir = journal.get_git_dir(repo, worktree_id)
    if os.path.isdir(git_dir):
        lines = journal.read_journal(repo, git_dir)
    else:
        lines = []
    calls = credit.list_calls(lines)
    return any(call["session"] == session_id and call["end"] is None for call in calls)
