"""The journal's lines in refs/gitcp/edits/<session>: which session a ref there is of, and the lines
that a journal has lost."""

from __future__ import annotations

from gitcp.git.objects import find_entry, read_commit
from gitcp.git.objects.object_lists import list_commits
from gitcp.record.journal import credit
from gitcp.record.journal.line_kinds import Edit, JournalLine, Settlement, parse_lines
from gitcp.record.session import others
from gitcp.text import value_class
from gitcp.text.ids import EDITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Commit

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
    united = _unite_lines(repo, worktree_hash, remaining)
    if not united.lost:
        return united.lines
    lost_names: dict[str, list[list[object]]] = {}
    for edit in credit.list_edits(united.lost):
        lost_names.setdefault(edit.path, []).append(edit.name)
    settled: dict[str, list[object]] = {}
    for edit in credit.list_open_edits(united.lines):
        if edit.name in lost_names.get(edit.path, ()) and not _is_named(repo, edit):
            settled.setdefault(edit.path, []).append(edit.name)
    if settled:
        line = Settlement({"taken": settled, "at": united.lost[-1].at})
        return [*united.lines, line]
    return united.lines


def _is_named(repo: Repo, edit: Edit) -> bool:
    """Whether the state of an edit's session names its path, or there is no such state."""
    session_id = edit.author[0]
    if not session_id:
        return True
    state = others.peek_state(repo, session_id)
    return not state or edit.path in state.get("files_touched", ())


def unite_edits(repo: Repo, journal_lines: Iterable[JournalLine]) -> list[Edit]:
    """The edits of the journal and those that only the sessions' refs hold, by time."""
    return credit.list_edits(_unite_lines(repo, repo.worktree_hash, [*journal_lines]).lines)


def read_lines(repo: Repo, worktree_hash: str, session_id: str = "") -> list[JournalLine]:
    """The edits of a worktree and what settled them, by time, from the refs of one session; by
    default from those of all sessions."""
    lines: dict[bytes, JournalLine] = {}
    for oid in _list_holding(repo, f"{EDITS}{session_id}*"):
        commit = read_commit(repo.objects, oid)
        if commit and _get_worktree(commit) == worktree_hash:
            for line in _read_entries(repo, commit):
                lines.setdefault(line.dump(), line)
    return _sort_lasting(lines.values())


def read_all_lines(repo: Repo, without: Collection[str]) -> dict[str, list[JournalLine]]:
    """The hash of a worktree -> what read_lines() gives of it, for each of which the sessions' refs
    have something.  without: the hashes of those that are left out."""
    lines: dict[str, dict[bytes, JournalLine]] = {}
    for oid in _list_holding(repo, f"{EDITS}*"):
        commit = read_commit(repo.objects, oid)
        worktree_hash = _get_worktree(commit) if commit else ""
        if commit is None or not worktree_hash or worktree_hash in without:
            continue
        known = lines.setdefault(worktree_hash, {})
        for line in _read_entries(repo, commit):
            known.setdefault(line.dump(), line)
    return {key: _sort_lasting(known.values()) for key, known in lines.items()}


def _list_holding(repo: Repo, glob: str) -> Iterable[str]:
    """The commits that refs named like this have."""
    return list_commits(repo, "--first-parent", f"--max-count={_MOST}", f"--glob={glob}")


def _get_worktree(commit: Commit) -> str:
    """The hash of the worktree whose lines a commit has; '' for none."""
    return commit["message"].partition(_WORKTREE)[2].partition("\n")[0]


def _read_entries(repo: Repo, commit: Commit) -> list[JournalLine]:
    entry = find_entry(repo.objects, commit["tree"], "entries")
    if entry is None:
        return []
    return parse_lines(repo.objects.need(entry[1], "blob"))


def _sort_lasting(lines: Iterable[JournalLine]) -> list[JournalLine]:
    return sorted(credit.list_lasting(lines), key=lambda line: line.at)


@value_class
class _United:
    """The lines of a journal, with those that only refs hold at their times; lost: the latter."""

    lines: list[JournalLine]
    lost: list[JournalLine]


def _unite_lines(repo: Repo, worktree_hash: str, remaining: list[JournalLine]) -> _United:
    """The remaining lines of a journal in their order, with those that only the sessions' refs
    hold."""
    known = {line.dump() for line in remaining}
    lost = [line for line in read_lines(repo, worktree_hash) if line.dump() not in known]
    dated: list[tuple[int, JournalLine]] = []
    newest = 0  # a line without a time stays behind the one before it
    for line in remaining:
        newest = max(newest, line.at)
        dated.append((newest, line))
    dated += [(line.at, line) for line in lost]
    dated.sort(key=lambda item: item[0])
    return _United([line for _, line in dated], lost)
