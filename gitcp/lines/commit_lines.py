"""The authors of a commit's lines, for the metadata of its sessions and for lines.json."""

from __future__ import annotations

import os
from itertools import count

from gitcp.checkpoints import stored
from gitcp.git import format_now
from gitcp.git.objects import Lookup, Objects, find_tree
from gitcp.lines import edit_lines
from gitcp.record import journal, unheard
from gitcp.record.journal import credit
from gitcp.record.journal.line_kinds import Opening, Settlement, WrittenLine
from gitcp.record.journal.stretches import collect_work
from gitcp.text import console, line_replay
from gitcp.text.ids import PERSON, UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from gitcp.git.objects import Changes
    from gitcp.git.repo import Repo
    from gitcp.record.journal.line_kinds import JournalLine
    from gitcp.text.line_replay import PathCredit
    from gitcp.text.record_types import Commit, State, Writer

_MOST = 40  # paths of a commit whose history is read, since the person waits


def _find_committed_authors(
    repo: Repo, commit: Commit, path: str, oid: str, holder: str
) -> tuple[dict[int, Writer], dict[Writer, str]]:
    """(the authors of a content in earlier commits, their checkpoints); holder: a commit that has
    the content, "" if unknown.  Of what a partial or shallow clone lacks for it nothing is said: a
    person commits, and asks for no history."""

    parent = ""
    if commit["parents"]:
        parent = commit["parents"][0]
    with console.Collected(), Objects(repo):
        from gitcp.lines.committed import evidence

        committed = evidence.Evidence(repo, worktree=False, proven_alone=True)
        from gitcp.lines.committed import history

        before = history.History(repo, committed.blame_lines, parent, commit["oid"])
        return before.find_authors(path, oid, holder), before.checkpoints


def _leave_silent(repo: Repo, paths: Mapping[str, PathCredit], replaced: Iterable[str]) -> None:
    """Set the person's lines to UNKNOWN that a replaced commit had without an author."""

    with Objects(repo):
        from gitcp.lines.committed.evidence import Evidence

        evidence = Evidence(repo, worktree=False, proven_alone=True)
        for old in replaced:
            for path, part in paths.items():
                if any(writer == PERSON for _, writer in part["added"]):
                    silent = evidence.list_silent_lines(old, path, part["oid"])
                    part["added"] = [
                        (n, UNKNOWN if writer == PERSON and n in silent else writer)
                        for n, writer in part["added"]
                    ]


def _find_checkpoints(
    repo: Repo, lines: Sequence[JournalLine], authors: Iterable[Writer]
) -> dict[Writer, str]:
    """For each author in the journal, the checkpoint of the commit that took his work."""
    checkpoints: dict[Writer, str] = {}
    for writer in authors:
        commits = _list_commits_since(lines, writer)

        from gitcp.checkpoints import listing

        for i in (i for oid in commits for i in listing.list_linked(repo.objects, oid)):
            if writer[0] in stored.list_session_ids(repo, i):
                checkpoints[writer] = i
                break
    return checkpoints


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
            writers, checkpoints = _find_committed_authors(repo, commit, path, oid, holder)
            self.checkpoints |= checkpoints
            return writers

        lookups = [
            Lookup(repo.objects, find_tree(repo.objects, oid)) for oid in commit["parents"][1:]
        ]
        other_parents = [{p: e for p in changes if (e := lookup(p))} for lookup in lookups]
        edits = edit_lines.Edits(repo.objects, self.lines, find_committed)
        self.paths = edits.credit_paths(changes, other_parents)
        if replaced:
            _leave_silent(repo, self.paths, replaced)
        if os.path.exists(repo.join_shared(unheard.FLAG)):
            from gitcp.record.unheard import unrecorded

            unrecorded.credit_nobody(repo, commit, self.paths)
        own = {"", *(state["session_id"] for state in sessions)}
        writers = set()
        for part in self.paths.values():
            for _, writer in part["added"]:
                writers.add(writer)
        foreign = {w for w in writers - self.checkpoints.keys() if w[0] not in own}
        if foreign:
            self.checkpoints |= _find_checkpoints(repo, self.lines, foreign)

    def compute_attribution(self, session_id: str) -> dict[str, Any]:
        """initial_attribution of a session in the whole commit."""
        counts = line_replay.compute_attribution(session_id, self.paths.values())
        return {"calculated_at": format_now(), **counts}

    def list_touched(self, session_id: str) -> set[str]:
        """The paths in which a session wrote or removed lines that no earlier commit has."""
        return {
            path
            for path in collect_work(self.lines, session_id).list_paths()
            if path in self.paths and session_id in line_replay.list_sessions(self.paths[path])
        }

    def build_ranges(self, session_id: str) -> dict[str, list[dict[str, Any]]]:
        """The session's ranges for lines.json."""
        return line_replay.build_entries(session_id, self.paths, self.checkpoints)

    def list_turns(self, session_id: str, path: str) -> list[str]:
        """The turns of a session that wrote lines of a path; if none did, those that changed it."""
        credit: PathCredit | None = self.paths.get(path)
        if credit:
            turns = line_replay.list_turns(session_id, credit)
        else:
            turns = []
        return turns or list(dict.fromkeys(w[1] for w, _ in self._list_edits(session_id, path)))

    def is_by_window(self, session_id: str, path: str) -> bool:
        """Whether the session's writes of a path are known only by windows."""
        hows = [how for _, how in self._list_edits(session_id, path)]
        return bool(hows) and all(how in ("window", "turn") for how in hows)

    def map_tools(self, session_id: str) -> dict[str, dict[str, str]]:
        """tool use id -> model and agent, by the journal, of the tool uses that wrote a session's
        lines."""
        tool_ids = {
            tool_id
            for credit in self.paths.values()
            for _, (writer_session, _, tool_id) in credit["added"]
            if writer_session == session_id and tool_id
        }
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
