"""The authors of a commit's lines, for the metadata of its sessions and for lines.json."""

from __future__ import annotations

from itertools import count

from gitcp.checkpoints import stored
from gitcp.git import format_now
from gitcp.git.objects import Lookup, Objects, find_tree
from gitcp.lines import edit_lines
from gitcp.record import journal, unheard
from gitcp.record.journal import credit
from gitcp.record.journal.line_kinds import Opening, Settlement, WrittenLine
from gitcp.record.journal.stretches import collect_work
from gitcp.text import console, line_credit
from gitcp.text.ids import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from gitcp.git.objects import Changes
    from gitcp.git.repo import Repo
    from gitcp.lines.committed.history import History
    from gitcp.record.journal.line_kinds import JournalLine
    from gitcp.text.line_credit import PathCredit
    from gitcp.text.record_types import Commit, Entry, State, Writer

_MOST = 40  # paths of a commit whose history is read, since the person waits


def _open_history(repo: Repo, commit: Commit) -> History:
    """What earlier commits say of the lines of contents."""
    from gitcp.lines.committed import evidence, history

    parent = ""
    if commit["parents"]:
        parent = commit["parents"][0]
    committed = evidence.Evidence(repo, worktree=False, proven_alone=True)
    return history.History(repo, committed.blame_lines, parent, commit["oid"])


def _read_entries(repo: Repo, oid: str, paths: Iterable[str]) -> dict[str, Entry]:
    """The entries that a commit has at these paths."""
    look_up = Lookup(repo.objects, find_tree(repo.objects, oid))
    entries: dict[str, Entry] = {}
    for path in paths:
        entry = look_up(path)
        if entry:
            entries[path] = entry
    return entries


def _leave_silent(repo: Repo, paths: Mapping[str, PathCredit], replaced: Iterable[str]) -> None:
    """Set the person's lines to UNKNOWN that a replaced commit had without an author."""

    with Objects(repo):
        from gitcp.lines.committed.evidence import Evidence

        evidence = Evidence(repo, worktree=False, proven_alone=True)
        for old in replaced:
            for path, part in paths.items():
                typed = part.list_persons_lines()
                if typed:
                    silent = evidence.list_silent_lines(old, path, part.oid)
                    part.correct({line: UNKNOWN for line in typed if line in silent})


def _list_commits_since(lines: Sequence[JournalLine], writer: Writer) -> list[str]:
    """The commits that settled edits since the first one of an author."""
    commits = []
    has_begun = False
    for line in lines:
        if isinstance(line, WrittenLine):
            has_begun = has_begun or line.author == writer
        elif has_begun and isinstance(line, Settlement) and line.commit:
            commits.append(line.commit)
    return commits


class Credit:
    """A commit's lines with their authors, computed once for all of its sessions."""

    def __init__(
        self,
        repo: Repo,
        commit: Commit,
        changes: Changes,
        sessions: Iterable[State],
        replaced: Sequence[str] = (),
    ) -> None:
        """replaced: the oids of the commits that this one may replace."""
        self.lines = journal.read_journal(repo)
        self.checkpoints: dict[Writer, str] = {}  # of authors of lines that were committed before
        counter = count()

        def find_committed(path: str, oid: str, holder: str) -> dict[int, Writer]:
            if next(counter) >= _MOST:
                return {}
            # A person commits, and asks for no history: of what a clone lacks nothing is said.
            with console.Collected(), Objects(repo):
                history = _open_history(repo, commit)
                writers = history.find_authors(path, oid, holder)
            self.checkpoints |= history.checkpoints
            return writers

        other_parents = [_read_entries(repo, oid, changes) for oid in commit["parents"][1:]]
        edits = edit_lines.Edits(repo.objects, self.lines, find_committed)
        self.paths = edits.credit_paths(changes, other_parents)
        if replaced:
            _leave_silent(repo, self.paths, replaced)
        if unheard.may_lack_some(repo):
            from gitcp.record.unheard import unrecorded

            unrecorded.credit_nobody(repo, commit, self.paths)
        own = {state["session_id"] for state in sessions}
        own.add("")
        writers = set()
        for part in self.paths.values():
            for _, writer in part.added:
                writers.add(writer)
        for writer in writers - self.checkpoints.keys():
            if writer[0] not in own:
                self._find_checkpoint(repo, writer)

    def _find_checkpoint(self, repo: Repo, writer: Writer) -> None:
        """Find the checkpoint of the commit that took the work of an author in the journal."""
        from gitcp.checkpoints import listing

        for oid in _list_commits_since(self.lines, writer):
            for checkpoint_id in listing.list_linked(repo.objects, oid):
                if writer[0] in stored.list_session_ids(repo, checkpoint_id):
                    self.checkpoints[writer] = checkpoint_id
                    return

    def compute_attribution(self, session_id: str) -> dict[str, Any]:
        """initial_attribution of a session in the whole commit."""
        counts = line_credit.compute_attribution(session_id, self.paths.values())
        return {"calculated_at": format_now(), **counts}

    def list_touched(self, session_id: str) -> set[str]:
        """The paths in which a session wrote or removed lines that no earlier commit has."""
        return {
            path
            for path in collect_work(self.lines, session_id).list_paths()
            if path in self.paths and session_id in self.paths[path].list_sessions()
        }

    def build_ranges(self, session_id: str) -> dict[str, list[dict[str, Any]]]:
        """The session's ranges for lines.json."""
        return line_credit.build_entries(session_id, self.paths, self.checkpoints)

    def list_turns(self, session_id: str, path: str) -> list[str]:
        """The turns of a session that wrote lines of a path; if none did, those that changed it."""
        part: PathCredit | None = self.paths.get(path)
        turns: list[str] = []
        if part:
            turns = part.list_turns(session_id)
        return turns or list(dict.fromkeys(w[1] for w, _ in self._list_edits(session_id, path)))

    def is_by_window(self, session_id: str, path: str) -> bool:
        """Whether the session's writes of a path are known only by windows."""
        hows = [how for _, how in self._list_edits(session_id, path)]
        return bool(hows) and all(how in ("window", "turn") for how in hows)

    def map_tools(self, session_id: str) -> dict[str, dict[str, str]]:
        """tool use id -> model and agent, by the journal, of the tool uses that wrote a session's
        lines."""
        tool_ids: set[str] = set()
        for part in self.paths.values():
            for _, (writer_session, _, tool_id) in part.added:
                if writer_session == session_id and tool_id:
                    tool_ids.add(tool_id)
        tools: dict[str, dict[str, str]] = {}
        for line in self.lines:
            if isinstance(line, Opening) and line.session == session_id and line.call in tool_ids:
                named = {"model": line.model, "agent": line.agent}
                tools[line.call] = {key: value for key, value in named.items() if value}
        return tools

    def _list_edits(self, session_id: str, path: str) -> list[tuple[Writer, str]]:
        edits = credit.list_edits(self.lines)
        own = [edit for edit in edits if edit.path == path and edit.author[0] == session_id]
        return [(edit.author, edit.how) for edit in own]


def keep_ai_note(repo: Repo, commits: Iterable[str]) -> None:
    """With gitcp.ai-notes write what is recorded of commits (full oids) into their notes."""
    if repo.config.get_option("gitcp.ai-notes"):
        oids = list(dict.fromkeys(commits))
        if oids:
            from gitcp.lines import exports

            exports.write_notes(repo, oids, "--no-walk=unsorted")
