"""The owners of the entries of `git stash`, which all sessions and worktrees of a repository share.

<common>/gitcp/stashes has a line for each entry that a call of a session made, or took off the
list.  An entry that no call is known to have made is the person's.
"""

from __future__ import annotations

import os

from gitcp import git
from gitcp.git import files, refs
from gitcp.git.files import Damaged
from gitcp.git.objects import compare_trees, find_tree, read_commit
from gitcp.record.journal.line_kinds import Closing, Opening
from gitcp.record.session import others
from gitcp.text import json, shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from gitcp.git.repo import Repo
    from gitcp.record.journal.line_kinds import JournalLine
    from gitcp.text.record_types import Record, Writer

MADE = "made"
TAKEN = "taken"
_LINE = {"oid": shapes.is_object_name, "what": str, "who": [str]}
_MOST = 1 << 17  # bytes of the file; the older half goes


def note_call(repo: Repo, who: Writer, before: Sequence[str], lines: Iterable[JournalLine]) -> None:
    """Note which entries a call that has ended made, and took off the list.

    before: the entries when it began.  lines: the journal's.  While a call of another session that
    may stash is open, nobody knows who made an entry, and none is noted.
    """
    after = refs.list_stashes(repo)
    made = set(after) - set(before)
    taken = set(before) - set(after)
    if made and may_be_anothers(lines, who):
        made = set()
    notes = [(MADE, oid) for oid in made] + [(TAKEN, oid) for oid in taken]
    if not notes:
        return
    path = locate_entries(repo)
    data = b"".join(
        json.dumps({"oid": oid, "what": what, "who": list(who)}).encode() + b"\n"
        for what, oid in sorted(notes)
    )
    if os.path.exists(path) and os.stat(path).st_size > _MOST:
        newer_half = files.read_cache(path, tail=_MOST // 2).partition(b"\n")[2]
        files.write_private(repo, path, newer_half + data)
        return
    try:
        fd = files.open_private(repo, path, os.O_WRONLY | os.O_APPEND)
    except OSError as e:  # the call itself is recorded all the same
        git.append_trace("stash", str(e))
        return
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


def may_be_anothers(lines: Iterable[JournalLine], who: Writer) -> bool:
    """Whether a call of another session that may stash is open, and may have made an entry."""
    opened = set()
    for line in lines:
        if isinstance(line, Opening):
            may_stash = line.stashes is not None and "stash" in line.names
            if may_stash and line.session != who[0]:
                opened.add(line.name)
        elif isinstance(line, Closing):
            opened.discard(line.name)
    return bool(opened)


def locate_entries(repo: Repo) -> str:
    """The list of the entries of the stash that calls have made or taken."""
    return repo.join_shared("stashes")


def read_writers(repo: Repo, what: str) -> dict[str, Writer]:
    """oid -> the last call that is noted for it.  what: MADE or TAKEN."""
    found: dict[str, Writer] = {}
    for data in files.read_cache(locate_entries(repo)).splitlines():
        try:
            line: Any = files.parse_checked(locate_entries(repo), data, _LINE)
        except Damaged:
            continue  # cut short by a kill
        if line["what"] == what and len(line["who"]) == 3:
            session_id, turn, call = line["who"]
            found[line["oid"]] = session_id, turn, call
    return found


def list_paths(repo: Repo, oid: str) -> list[str]:
    """The paths that an entry changes."""
    trees = [find_tree(repo.objects, f"{oid}{part}") for part in ("^1", "", "^3")]
    changed = [path for path, *_ in compare_trees(repo.objects, trees[0], trees[1])]
    untracked = compare_trees(repo.objects, None, trees[2])
    return sorted({*changed, *(path for path, *_ in untracked)})


def list_records(repo: Repo, sessions: Mapping[str, Sequence[str]]) -> list[Record]:
    """A record for each entry, newest first: {stash, oid, message, session_id ('' if it is the
    person's), prompt, paths, sessions}.  sessions: an entry's commit -> those whose work it has."""
    entries = refs.list_stashes(repo)
    made = read_writers(repo, MADE)
    records = []
    for number, oid in enumerate(entries):
        session_id, turn, _ = made.get(oid, ("", "", ""))
        state: Any = (others.peek_state(repo, session_id) if session_id else None) or {}
        commit = read_commit(repo.objects, oid)
        records.append(
            {
                "stash": f"stash@{{{number}}}",
                "oid": oid,
                "message": commit["message"].partition("\n")[0] if commit else "",
                "session_id": session_id,
                "prompt": (state.get("turns", {}).get(turn) or {}).get("prompt", ""),
                "paths": list_paths(repo, oid),
                "sessions": list(sessions.get(oid, ())),
            }
        )
    return records


def find_taken(repo: Repo, call: str) -> tuple[str, list[str]]:
    """(the id of a call whose id begins with call, the entries that it has taken off the list and
    that are not back); ('', []) if it has taken none, or several calls match."""
    taken = {oid: who for oid, who in read_writers(repo, TAKEN).items() if who[2].startswith(call)}
    calls = set(taken.values())
    if len(calls) != 1 or not call:
        return "", []
    entries = refs.list_stashes(repo)
    return calls.pop()[2], [oid for oid in taken if oid not in entries]
