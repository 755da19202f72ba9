"""A session's edits as a tree of their own (doc/guard.md "A session's own change").

With `deny` each tool call that wrote becomes a commit on refs/gitcp/edits/<session>.  Its `change`
is the project with this session's edits alone, so that two commits of the ref differ by one call.
An edit that does not apply to it, because it changes another's lines, begins a new part:
refs/gitcp/edits/<session>.<n>.
"""

from __future__ import annotations

from functools import partial

from gitcp.core.back import three_way
from gitcp.core.credit import entries
from gitcp.store.back.merging import merge_blobs
from gitcp.store.git import refs
from gitcp.store.git.commit import read_commit
from gitcp.store.git.tree import edit_tree, find_entry
from gitcp.store.journal import edits_ref
from gitcp.store.journal.journal import Journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.core.record_types import JournalLine, Version
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

    Edit = tuple[str, Version, Version]  # path, before, after


def record_call(repo: Repo, objects: Objects, event: dict[str, Any]) -> str:
    """Commit the edits that the journal has of a tool call; return the ref, '' if it has none.

    The caller holds the session's lock.
    """
    tool, session_id = event.get("tool") or {}, event["session_id"]
    with Journal(repo) as journal:
        edits = _list_edits(journal.lines, session_id, str(tool.get("id") or ""))
        if not edits:
            return ""
        ref, tree = find_newest(repo, objects, session_id)
        after, clean = _apply_edits(repo, objects, tree, edits) if tree else ("", False)
        if clean and after == tree:
            return ref
        if not clean:
            first = edits_ref.PREFIX + session_id
            ref = f"{first}.{edits_ref.parse_part_number(ref, first) + 1}" if tree else first
            start = _build_start(repo, objects, edits)
            subject = f"Where the edits of {session_id} begin"
            edits_ref.hold_edits(repo, objects, journal, session_id, subject, ref, start)
            after = edit_tree(objects, start, {path: entry for path, _, entry in edits})
        edits_ref.hold_edits(
            repo, objects, journal, session_id, _format_subject(event, edits), ref, after
        )
        return ref


def find_newest(repo: Repo, objects: Objects, session_id: str) -> tuple[str, str]:
    """(the ref of a session's last part, the tree of its `change` or '')."""
    first = edits_ref.PREFIX + session_id
    parts = [
        ref
        for ref in refs.list_refs(repo, first, first + ".*")
        if edits_ref.parse_part_number(ref, first)
    ]
    ref = max(parts, key=lambda name: edits_ref.parse_part_number(name, first), default=first)
    tip = read_commit(objects, ref)
    entry = find_entry(objects, tip["tree"], "change") if tip else None
    return ref, entry[1] if entry else ""


def _list_edits(lines: list[JournalLine], session_id: str, call: str) -> list[Edit]:
    """The edits of a call, by the journal's lines since it was opened.

    The edits of a file tool are what its paths became since its start.  Those of any other call
    are the edits that name the call.
    """
    opened = (n for n, line in enumerate(lines) if line.get("open") == call)
    start = max((n for n in opened if lines[n].get("session") == session_id), default=-1)
    looked = lines[start].get("looked", {}) if start >= 0 else {}
    since = [line for line in entries.list_edits(lines[start + 1 :]) if line.get("kept", True)]
    if looked:
        last = {line["path"]: entries.parse_entry(line["after"]) for line in since}
        pairs = ((path, entries.parse_entry(entry)) for path, entry in looked.items())
        return [(path, old, last[path]) for path, old in pairs if last.get(path, old) != old]
    return [
        (line["path"], entries.parse_entry(line["before"]), entries.parse_entry(line["after"]))
        for line in since
        if entries.get_cause(line)[::2] == (session_id, call)
    ]


def _apply_edits(repo: Repo, objects: Objects, tree: str, edits: list[Edit]) -> tuple[str, bool]:
    """(the tree with the edits applied, whether all of them applied)."""
    merge = partial(merge_blobs, repo, objects)
    for path, before, after in edits:
        ours = find_entry(objects, tree, path)
        version, is_clean = three_way.merge_versions(before, ours, after, merge)
        if not is_clean:
            return tree, False
        tree = edit_tree(objects, tree, {path: version})
    return tree, True


def _build_start(repo: Repo, objects: Objects, edits: list[Edit]) -> str:
    """The tree of HEAD with the edited paths as they were before the edits."""
    head = refs.read_head(repo)
    commit = read_commit(objects, head) if head else None
    before_edits: dict[str, Version] = {}
    for path, before, _ in edits:
        before_edits.setdefault(path, before)
    return edit_tree(objects, commit["tree"] if commit else None, before_edits)


def _format_subject(event: dict[str, Any], edits: list[Edit]) -> str:
    paths = list(dict.fromkeys(path for path, _, _ in edits))
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"{(event.get('tool') or {}).get('name', 'Edit')} {paths[0]!r}{more}"
