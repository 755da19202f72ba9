"""refs/gitcp/edits/<session>: the contents that the journal's lines name, kept from pruning.

It has one commit for each turn.  The commit's tree has `entries`, the recorded lines, and
`contents/<oid>`, their blobs before and after, whoever wrote them.  Lines that a
journal lost are put back from it.
"""

from __future__ import annotations

from itertools import accumulate

from gitcp.core.credit import entries
from gitcp.store.git import refs
from gitcp.store.git.commit import list_commits, read_commit, write_commit
from gitcp.store.git.objects import Objects
from gitcp.store.git.tree import TREE, edit_tree, find_entry
from gitcp.store.session import state as states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.core.record_types import JournalLine
    from gitcp.repo import Repo
    from gitcp.store.journal.journal import Journal

PREFIX = "refs/gitcp/edits/"
_BLOBS = ("100644", "100755", "120000")
_MOST = 100_000  # commits of all sessions that are read to rebuild a journal


def hold_edits(
    repo: Repo,
    objects: Objects,
    journal: Journal,
    session_id: str,
    subject: str,
    ref: str = "",
    change: str = "",
) -> None:
    """Commit the journal's new lines to the session's ref as write_edits() does.

    The caller holds the locks of the session and of the journal.
    """
    update = write_edits(repo, objects, journal, session_id, subject, ref, change)
    if update:
        refs.update_refs(repo, [update], "gitcp: edits")
        journal.note_held(update[1])


def write_edits(
    repo: Repo,
    objects: Objects,
    journal: Journal,
    session_id: str,
    subject: str,
    ref: str = "",
    change: str = "",
) -> refs.Update | None:
    """Write a commit of the lines that the journal has gained since a ref last held it.

    Returns the update of the session's ref; None if there is nothing to hold.
    ref: the ref of a part instead of the session's (store.guard.session_change).  change: the
    tree of its `change`; without one it keeps the previous `change`.
    """
    start = max((n + 1 for n, line in enumerate(journal.lines) if "held" in line), default=0)
    lines = entries.list_lasting(journal.lines[start:])
    if not lines and not change:
        return None
    ref = ref or PREFIX + session_id
    tip = read_commit(objects, ref)
    previous_change = find_entry(objects, tip["tree"], "change") if tip and not change else None
    files = _build_files(objects, lines)
    if change or previous_change:
        files["change"] = previous_change or (TREE, change)
    tree = edit_tree(objects, None, files)
    trailer = f"Gitcp-Worktree: {repo.worktree_hash}"
    message = f"{subject}\n\n{trailer}\nClaude-Session-Id: {session_id}"
    oid = write_commit(objects, repo, tree, [tip["oid"]] if tip else [], message)
    return ref, oid, tip["oid"] if tip else None


def parse_part_number(ref: str, first: str) -> int:
    """The number of the part of a session's edits that a ref holds; 0 for any other ref.  first:
    the ref of part 1."""
    if ref == first:
        return 1
    number = ref.removeprefix(f"{first}.")
    return int(number) if number.isdecimal() else 0


def find_session(ref: str, sessions: Iterable[str]) -> str:
    """The session whose edits a ref holds; '' for any other ref.  sessions: the ids that exist:
    they may end like the number of a part."""
    if not ref.startswith(PREFIX):
        return ""
    name = ref.removeprefix(PREFIX)
    session_id, _, number = name.rpartition(".")
    return session_id if session_id and number.isdecimal() and name not in sessions else name


def _build_files(objects: Objects, lines: list[JournalLine]) -> dict[str, tuple[str, str] | None]:
    data = b"".join(map(entries.dump_line, lines))
    files: dict[str, tuple[str, str] | None] = {"entries": ("100644", objects.write("blob", data))}
    for line in entries.list_edits(lines):
        for entry in (entries.parse_entry(line["before"]), entries.parse_entry(line["after"])):
            if entry and entry[0] in _BLOBS and line.get("kept", True):
                files[f"contents/{entry[1]}"] = ("100644", entry[1])
    absent = objects.list_absent(entry[1] for entry in files.values() if entry)
    return {name: entry for name, entry in files.items() if entry and entry[1] not in absent}


def rebuild_lines(repo: Repo, worktree_hash: str, left: list[JournalLine]) -> list[JournalLine]:
    """A worktree's journal from the lines that are left of it, and the edits and what settled
    them in the sessions' refs, by time.  An edit of the refs at a path that its session's state
    does not name counts as settled."""
    lines, lost = _unite_lines(repo, worktree_hash, left)
    names: dict[str, list[list[object]]] = {}
    for line in entries.list_edits(lost):
        names.setdefault(line["path"], []).append(entries.get_edit_name(line))
    settled: dict[str, list[object]] = {}
    for edit in entries.list_open_edits(lines) if lost else ():
        session_id, name = entries.get_author(edit)[0], entries.get_edit_name(edit)
        is_lost = name in names.get(edit["path"], ())
        state = states.peek(repo, session_id) if session_id and is_lost else None
        if state and edit["path"] not in state.get("files_touched", ()):
            settled.setdefault(edit["path"], []).append(name)
    return [*lines, {"taken": settled, "at": int(lost[-1]["at"])}] if settled else lines


def unite_edits(repo: Repo, journal_lines: list[JournalLine]) -> list[JournalLine]:
    """The edits of the journal and those that only the sessions' refs hold, by time."""
    return entries.list_edits(_unite_lines(repo, repo.worktree_hash, journal_lines)[0])


def read_lines(repo: Repo, worktree_hash: str, session_id: str = "") -> list[JournalLine]:
    """The edits of a worktree and what settled them, by time, from the refs of one session; by
    default from those of all sessions."""
    objects = Objects.get_shared(repo)
    lines: dict[bytes, JournalLine] = {}
    trailer = f"\nGitcp-Worktree: {worktree_hash}\n"
    glob = f"--glob={PREFIX}{session_id}*"
    for oid in list_commits(repo, "--first-parent", f"--max-count={_MOST}", glob):
        commit = read_commit(objects, oid)
        is_wanted = commit is not None and trailer in commit["message"]
        entry = find_entry(objects, commit["tree"], "entries") if commit and is_wanted else None
        for line in entries.parse_lines(objects.need(entry[1], "blob")) if entry else ():
            lines.setdefault(entries.dump_line(line), line)
    return sorted(entries.list_lasting(lines.values()), key=lambda line: int(line["at"]))


def _unite_lines(
    repo: Repo, worktree_hash: str, left: list[JournalLine]
) -> tuple[list[JournalLine], list[JournalLine]]:
    """(the lines that are left of a journal in their order, with those that only the sessions'
    refs hold at their times; the latter)."""
    known = set(map(entries.dump_line, left))
    lost = [x for x in read_lines(repo, worktree_hash) if entries.dump_line(x) not in known]
    # A line without a time stays behind the one before it.
    times = accumulate((int(line.get("at", 0)) for line in left), max)
    dated = [*zip(times, left, strict=True), *((int(line["at"]), line) for line in lost)]
    return [line for _, line in sorted(dated, key=lambda item: item[0])], lost
