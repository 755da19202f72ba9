"""The open edits of other sessions in a working copy that a command discards."""

from __future__ import annotations

from functools import partial

from gitcp import guard
from gitcp.agents.transcripts.shell_words import covers
from gitcp.git import refs
from gitcp.git.objects import (
    Lookup,
    edit_tree,
    find_entry,
    find_file,
    find_tree,
    merging,
    read_commit,
)
from gitcp.git.objects.merging import merge_blobs
from gitcp.record import get_call
from gitcp.record.journal import Journal, credit, hold_edits, read_journal
from gitcp.record.journal.line_kinds import Edit, parse_entry
from gitcp.record.journal.stretches import collect_work
from gitcp.record.snapshot.index import list_staged
from gitcp.text.ids import EDITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.agents.transcripts.shell_words import Discard
    from gitcp.git.repo import Repo
    from gitcp.record.journal.line_kinds import JournalLine
    from gitcp.text.record_types import Event, Version

    PathEdit = tuple[str, Version, Version]  # path, before, after


def find_lost(repo: Repo, session_id: str, discards: Sequence[Discard]) -> dict[str, list[str]]:
    """session -> the paths of its open edits that the discards of a command of session_id cover,
    for sessions whose agent runs."""
    lines = read_journal(repo)
    lost = dict[str, list[str]]()
    tree = find_tree(repo.objects, "HEAD")
    head = Lookup(repo.objects, tree)
    staged = list_staged(repo, tree or repo.empty_tree)
    for other in guard.list_open(repo, session_id):
        work = collect_work(lines, other)
        for path in filter(work.is_present, work.list_paths()):
            tracked: bool | None = bool(staged.get(path) or find_file(head, path))
            if path in staged and not staged[path]:  # HEAD alone has it: either reaches it
                tracked = None
            if any(covers(discard, path, tracked) for discard in discards):
                lost.setdefault(other, []).append(path)
    return lost


def find_discarded(repo: Repo, session_id: str, call_id: str) -> dict[str, list[str]]:
    """session -> the paths of its open edits that a call of session_id has deleted or taken back,
    by the look at its end, for sessions whose agent runs."""
    lines = read_journal(repo)
    lost = dict[str, list[str]]()
    made: dict[str, Edit] = {}  # path -> the call's last edit there
    moved = set()
    start = len(lines)
    for number, line in enumerate(lines):
        if isinstance(line, Edit) and line.cause[::2] == (session_id, call_id):
            start = min(start, number)
            made[line.path] = line
            moved.add(line.follows)
    for path in moved:
        made.pop(path, None)
    if not made:
        return lost
    for other in guard.list_open(repo, session_id):
        before = collect_work(lines[:start], other)
        after = collect_work(lines, other)
        for path, edit in made.items():
            if before.is_present(path) and (edit.after is None or not after.is_present(path)):
                lost.setdefault(other, []).append(path)
    return lost


def record_call(repo: Repo, event: Event) -> str:
    """Commit the edits that the journal has of a tool call; return the ref, '' if it has none.

    The caller holds the session's lock.
    """
    call_id = get_call(event).get("id") or ""
    session_id = event["session_id"]
    with Journal(repo) as journal:
        edits = _list_edits(journal.lines, session_id, call_id)
        if not edits:
            return ""
        ref, tree = find_newest(repo, session_id)
        after, clean = _apply_edits(repo, tree, edits) if tree else ("", False)
        if clean and after == tree:
            return ref
        if not clean:
            first = EDITS + session_id
            if tree:
                ref = f"{first}.{parse_part_number(ref, first) + 1}"
            else:
                ref = first
            start = _build_start(repo, edits)
            subject = f"Where the edits of {session_id} begin"
            hold_edits(repo, journal, session_id, subject, ref, start)
            after = edit_tree(repo.objects, start, {path: entry for path, _, entry in edits})
        hold_edits(repo, journal, session_id, _format_subject(event, edits), ref, after)
        return ref


def find_newest(repo: Repo, session_id: str) -> tuple[str, str]:
    """(the ref of a session's last part, the tree of its `change` or '')."""
    first = EDITS + session_id
    parts = [
        ref for ref in refs.list_refs(repo, first, first + ".*") if parse_part_number(ref, first)
    ]
    ref = max(parts, key=lambda name: parse_part_number(name, first), default=first)
    tip = read_commit(repo.objects, ref)
    entry = None
    if tip:
        entry = find_entry(repo.objects, tip["tree"], "change")
    return ref, entry[1] if entry else ""


def _list_edits(lines: list[JournalLine], session_id: str, call: str) -> list[PathEdit]:
    """The edits of a call, by the journal's lines since it was opened.

    The edits of a file tool are what its paths became since its start.  Those of any other call
    are the edits that name the call.
    """
    opening = credit.find_opening(lines, session_id, call)
    since = credit.list_edits_since_opening(lines, session_id, call)
    since = [edit for edit in since if edit.is_kept]
    if opening and opening.looked:
        last = {edit.path: edit.after for edit in since}
        changes = []
        for path, looked in opening.looked.items():
            before = parse_entry(looked)
            if last.get(path, before) != before:
                changes.append((path, before, last[path]))
        return changes
    own = [edit for edit in since if edit.cause[::2] == (session_id, call)]
    return [(edit.path, edit.before, edit.after) for edit in own]


def _apply_edits(repo: Repo, tree: str, edits: list[PathEdit]) -> tuple[str, bool]:
    """(the tree with the edits applied, whether all of them applied)."""
    merge = partial(merge_blobs, repo)
    for path, before, after in edits:
        ours = find_entry(repo.objects, tree, path)
        version, is_clean = merging.merge_versions(before, ours, after, merge)
        if not is_clean:
            return tree, False
        tree = edit_tree(repo.objects, tree, {path: version})
    return tree, True


def _build_start(repo: Repo, edits: list[PathEdit]) -> str:
    """The tree of HEAD with the edited paths as they were before the edits."""
    head = refs.read_head(repo)
    commit = None
    if head:
        commit = read_commit(repo.objects, head)
    before_edits: dict[str, Version] = {}
    for path, before, _ in edits:
        before_edits.setdefault(path, before)
    return edit_tree(repo.objects, commit["tree"] if commit else None, before_edits)


def _format_subject(event: Event, edits: list[PathEdit]) -> str:
    paths = list(dict.fromkeys(path for path, _, _ in edits))
    others = ""
    if len(paths) > 1:
        others = f" and {len(paths) - 1} more"
    tool = get_call(event).get("name") or "Edit"
    return f"{tool} {paths[0]!r}{others}"


def parse_part_number(ref: str, first: str) -> int:
    """The number of the part of a session's edits that a ref holds; 0 for any other ref.  first:
    the ref of part 1."""
    if ref == first:
        return 1
    number = ref.removeprefix(f"{first}.")
    return int(number) if number.isdecimal() else 0
