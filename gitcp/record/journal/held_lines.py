"""The journal's lines in refs/gitcp/edits/<session>: which session a ref there is of, and the lines
that a journal has lost."""

from __future__ import annotations

from itertools import accumulate

from gitcp.git.objects import find_entry, read_commit
from gitcp.git.objects.object_lists import list_commits
from gitcp.record.journal import credit
from gitcp.record.session import others
from gitcp.text.ids import EDITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from gitcp.git.repo import Repo
    from gitcp.text.record_types import JournalLine

_WORKTREE = "\nGitcp-Worktree: "
_MOST = 100_000  # commits of all sessions that are read to rebuild a journal


def find_session(ref: str, sessions: Iterable[str]) -> str:
    """The session whose edits a ref holds; '' for any other ref.  sessions: the ids that exist:
    they may end like the number of a part."""
    if not ref.startswith(EDITS):
        return ""
    name = ref.removeprefix(EDITS)
    session_id, _, number = name.rpartition(".")
    if session_id and number.isdecimal() and name not in sessions:
        return session_id
    return name


def rebuild_journal(
    repo: Repo, worktree_hash: str, remaining: list[JournalLine]
) -> list[JournalLine]:
    """A worktree's journal from its remaining lines, and the edits and what settled them in the
    sessions' refs, by time.  An edit of the refs at a path that its session's state does not name
    counts as settled."""
    lines, lost = _unite_lines(repo, worktree_hash, remaining)
    names: dict[str, list[list[object]]] = {}
    for line in credit.list_edits(lost):
        names.setdefault(line["path"], []).append(credit.get_edit_name(line))
    settled: dict[str, list[object]] = {}
    if lost:
        for edit in credit.list_open_edits(lines):
            session_id = credit.get_author(edit)[0]
            name = credit.get_edit_name(edit)
            is_lost = name in names.get(edit["path"], ())
            state = None
            if session_id and is_lost:
                state = others.peek_state(repo, session_id)
            if state and edit["path"] not in state.get("files_touched", ()):
                settled.setdefault(edit["path"], []).append(name)
    if settled:
        return [*lines, {"taken": settled, "at": int(lost[-1]["at"])}]
    return lines


def unite_edits(repo: Repo, journal_lines: list[JournalLine]) -> list[JournalLine]:
    """The edits of the journal and those that only the sessions' refs hold, by time."""
    return credit.list_edits(_unite_lines(repo, repo.worktree_hash, journal_lines)[0])


def read_lines(repo: Repo, worktree_hash: str, session_id: str = "") -> list[JournalLine]:
    """The edits of a worktree and what settled them, by time, from the refs of one session; by
    default from those of all sessions."""
    lines: dict[bytes, JournalLine] = {}
    trailer = f"{_WORKTREE}{worktree_hash}\n"
    glob = f"--glob={EDITS}{session_id}*"
    for oid in list_commits(repo, "--first-parent", f"--max-count={_MOST}", glob):
        commit = read_commit(repo.objects, oid)
        is_wanted = commit is not None and trailer in commit["message"]
        entry = None
        if commit and is_wanted:
            entry = find_entry(repo.objects, commit["tree"], "entries")
        if entry:
            for line in credit.parse_lines(repo.objects.need(entry[1], "blob")):
                lines.setdefault(credit.dump_line(line), line)
    return _sort_lasting(lines.values())


def read_all_lines(repo: Repo, without: Collection[str]) -> dict[str, list[JournalLine]]:
    """The hash of a worktree -> what read_lines() gives of it, for each of which the sessions' refs
    have something.  without: the hashes of those that are left out."""
    lines: dict[str, dict[bytes, JournalLine]] = {}
    for oid in list_commits(repo, "--first-parent", f"--max-count={_MOST}", f"--glob={EDITS}*"):
        commit = read_commit(repo.objects, oid)
        message = commit["message"] if commit else ""
        worktree_hash = message.partition(_WORKTREE)[2].partition("\n")[0]
        if not commit or not worktree_hash or worktree_hash in without:
            continue
        entry = find_entry(repo.objects, commit["tree"], "entries")
        data = b""
        if entry:
            data = repo.objects.need(entry[1], "blob")
        known = lines.setdefault(worktree_hash, {})
        for line in credit.parse_lines(data):
            known.setdefault(credit.dump_line(line), line)
    return {key: _sort_lasting(known.values()) for key, known in lines.items()}


def _sort_lasting(lines: Iterable[JournalLine]) -> list[JournalLine]:
    return sorted(credit.list_lasting(lines), key=lambda line: int(line["at"]))


def _unite_lines(
    repo: Repo, worktree_hash: str, remaining: list[JournalLine]
) -> tuple[list[JournalLine], list[JournalLine]]:
    """(the remaining lines of a journal in their order, with those that only the sessions'
    refs hold at their times; the latter)."""
    known = set(map(credit.dump_line, remaining))
    lost = [x for x in read_lines(repo, worktree_hash) if credit.dump_line(x) not in known]
    # A line without a time stays behind the one before it.
    times = accumulate((int(line.get("at", 0)) for line in remaining), max)
    dated = [*zip(times, remaining, strict=True), *((int(line["at"]), line) for line in lost)]
    return [line for _, line in sorted(dated, key=lambda item: item[0])], lost
