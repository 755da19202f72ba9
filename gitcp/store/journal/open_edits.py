"""The open edits of a worktree, which no commit has taken: read for one, settled by one, stated."""

from __future__ import annotations

import os

from gitcp.core.credit import entries
from gitcp.core.decide import remaining
from gitcp.store.git import reflog, refs
from gitcp.store.git.tree import TREE, Lookup, find_tree
from gitcp.store.journal import journal, look
from gitcp.store.journal.journal import Journal, read_clock
from gitcp.store.journal.known import Known
from gitcp.store.journal.work import Work
from gitcp.store.session import markers, turn_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from gitcp.core.decide.difference import Staged
    from gitcp.core.record_types import Commit, JournalLine, Marker, Version
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.journal.work import Stretch

    Changes = Mapping[str, Staged]


def look_for_commit(
    repo: Repo,
    objects: Objects,
    changes: Collection[str] | None,
    visitors: Sequence[Marker] = (),
    guests: Sequence[Marker] = (),
) -> list[JournalLine]:
    """The journal's lines; with changes after a look at a commit's paths and at those of open
    edits: a commit scans nothing.

    visitors: sessions of other worktrees that make the commit; guests: those whose transcripts
    alone say what they write, as they may in this one.
    """
    if changes is None:
        return journal.read(repo)
    with Journal(repo) as held:
        held.visitors, held.guests = visitors, guests
        _look_at_open(objects, held, changes)
        return held.lines


def build_stay_check(repo: Repo, head: str) -> Callable[[str], bool]:
    """To ask whether an edit made on a commit stayed in the worktree when HEAD was at head: that is
    the commit, or HEAD came there from it without leaving the edit behind."""
    answers, now = {"": True, head: True}, refs.read_head(repo) or head

    def has_stayed(base: str) -> bool:
        if base not in answers:
            answers[base] = reflog.leads_to(repo, base, head) or (
                # It was made after head, and before HEAD got where it is.
                head != now
                and reflog.leads_to(repo, head, base)
                and reflog.leads_to(repo, base, now)
            )
        return answers[base]

    return has_stayed


def _look_at_open(objects: Objects, held: Journal, paths: Iterable[str]) -> None:
    """See what stands at the paths, and at those of open edits."""
    named = {line["path"] for line in entries.list_open_edits(held.lines)}
    look.look_at_paths(objects, held, sorted({*paths, *named}), read_clock(held.repo))


def settle_commit(
    repo: Repo,
    objects: Objects,
    commit: Commit,
    changes: Changes,
    sessions: Collection[str] | None = None,
    but: Collection[str] = (),
) -> None:
    """Write down what a commit with these changes settles.

    sessions: those whose part in the commit is decided, by default all but those named by but; the
    edits of others stay open.
    """
    if not os.path.exists(repo.join_own(journal.NAME)):
        return
    with Journal(repo) as held:
        again = any(line.get("commit") == commit["oid"] for line in held.lines)
        if not held.lines or (again and not entries.list_open_edits(held.lines)):
            return
        _look_at_open(objects, held, ())  # a commit may have taken its time
        known, look = Known(repo, objects, held.lines), _build_file_lookup(objects, commit["tree"])
        line = _build_commit_line(held.lines, commit, changes, known.get_entry, look)
        line["at"], done = (
            read_clock(repo),
            _build_done_check(objects, changes, known.get_entry, look),
        )
        for session_id in {
            entries.get_author(edit)[0] for edit in entries.list_open_edits(held.lines)
        } - {""}:
            decided = session_id not in but if sessions is None else session_id in sessions
            _divide_edits(line, Work(held.lines, session_id), done if decided else lambda *_: False)
        if not again and (ends := _read_transcript_ends(repo)):
            line["transcripts"] = ends
        if not again or entries.list_open_edits([*held.lines, line]) != entries.list_open_edits(
            held.lines
        ):
            held.append([line])
            held.cut_back()


def _build_file_lookup(objects: Objects, tree: str) -> Callable[[str], Version]:
    """To ask a tree for a file; None for a directory where one was."""
    lookup = Lookup(objects, tree)

    def look(path: str) -> Version:
        entry = lookup(path)
        return None if entry and entry[0] == TREE else entry

    return look


def _build_commit_line(
    lines: Iterable[JournalLine],
    commit: Commit,
    changes: Changes,
    worktree: Callable[[str], Version],
    head: Callable[[str], Version],
) -> JournalLine:
    """The paths that stand in the worktree as the commit has them, whoever wrote."""
    settled = [path for path in changes if worktree(path) == head(path)]
    moved = {x["follows"] for x in lines if "follows" in x and x["path"] in settled}
    settled += [path for path in sorted(moved) if not (worktree(path) or head(path))]
    return {"commit": commit["oid"], "settled": settled}


def _build_done_check(
    objects: Objects,
    changes: Changes,
    worktree: Callable[[str], Version],
    head: Callable[[str], Version],
) -> Callable[[str, Stretch], bool]:
    """To ask whether the commit has all of a stretch of edits at a path."""

    def read_blob(oid: str) -> bytes | None:
        content = objects.read(oid)
        return content[2] if content and content[1] == "blob" else None

    def is_done(path: str, stretch: Stretch) -> bool:
        now = head(path)
        # What a commit has all lines of is done, whatever else is left of the file.
        record = stretch.build_record(path)
        for there in (
            (worktree(path), now) if stretch.live and path in changes else (worktree(path),)
        ):
            if remaining.explain_settled(record, changes, there, now, read_blob):
                return True
        return False

    return is_done


def _divide_edits(line: JournalLine, work: Work, is_done: Callable[[str, Stretch], bool]) -> None:
    """Name in a commit's line what it left of a session at the paths it settles, and what it took
    at others."""
    for path in work.list_paths():
        for one in work.list_stretches(path):
            done = is_done(path, one)
            if done != (path in line["settled"]):
                names = line.setdefault("taken" if done else "left", {}).setdefault(path, [])
                names += map(entries.get_edit_name, one.edits)


def let_edits_go(repo: Repo, session_id: str, paths: Iterable[str]) -> None:
    """Settle what a session has open at these paths: no commit takes it any more."""
    with Journal(repo) as held:
        work = Work(held.lines, session_id)
        every = {path: work.list_stretches(path) for path in paths}
        taken = {
            path: [entries.get_edit_name(edit) for one in stretches for edit in one.edits]
            for path, stretches in every.items()
            if stretches
        }
        held.append([{"taken": taken, "at": read_clock(repo)}] if taken else [])


def record_edits(
    repo: Repo,
    objects: Objects,
    session_id: str,
    base: str,
    files: Mapping[str, tuple[Version, str]],
) -> None:
    """Take in edits that nobody saw, told of by a script or recorded by another program: upon the
    commit base, path -> (what a session made of it, the turn).  They count as the session's work,
    never as what stands in the worktree; what its open edits have is left as it is."""
    before = Lookup(objects, find_tree(objects, base))
    with Journal(repo) as held:
        work, at, held.base = Work(held.lines, session_id), read_clock(repo), base
        held.append(
            [
                entries.build_edit(
                    path, before(path), now, (session_id, turn, ""), entries.STATED, at
                )
                for path, (now, turn) in sorted(files.items())
                if not any(one.own == now for one in work.list_stretches(path))
            ]
        )


def _read_transcript_ends(repo: Repo) -> JournalLine:
    """How far the transcripts go of sessions in a turn whose client tells nothing of its tools."""
    ends: JournalLine = {}
    for marker in markers.read_recent(repo):
        if marker["phase"] == "active" and not marker["tool_events"]:
            base = turn_log.read_baseline(repo, marker["session_id"])
            if base and (size := turn_log.read_size(base.get("transcript"))):
                ends[marker["session_id"]] = {"turn": str(base.get("turn", "")), "size": size}
    return ends
