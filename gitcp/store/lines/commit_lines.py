"""Whose lines a commit has, session by session: for its metadata, its files and lines.json."""

from __future__ import annotations

from itertools import count

from gitcp.core.credit import entries
from gitcp.core.lines import attribution
from gitcp.core.lines.replay import PERSON, UNKNOWN
from gitcp.record import format_now
from gitcp.start import late
from gitcp.store.git.prefetch import Prefetched
from gitcp.store.git.tree import Lookup, find_tree
from gitcp.store.journal import journal
from gitcp.store.journal.work import Work
from gitcp.store.lines import edit_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from gitcp.core.lines.attribution import PathCredit
    from gitcp.core.record_types import Commit, JournalLine, State, Writer
    from gitcp.repo import Repo
    from gitcp.store.git.commit_changes import Changes
    from gitcp.store.git.objects import Objects


_MOST = 40  # paths of a commit whose history is asked: it is in a person's way


def _find_committed_authors(
    repo: Repo, commit: Commit, path: str, oid: str, place: str
) -> tuple[dict[int, Writer], dict[Writer, str]]:
    """(the authors of a content by what was committed before, the checkpoints that tell of them);
    rare, and asks git."""
    from gitcp.store.lines import evidence, history

    parent = commit["parents"][0] if commit["parents"] else ""
    with Prefetched(repo) as objects:
        known = evidence.Evidence(repo, objects, worktree=False)
        before = history.History(repo, objects, known, parent, commit["oid"])
        return before.find_authors(path, oid, place), before.checkpoints


def _leave_silent(repo: Repo, paths: Mapping[str, PathCredit], replaced: Iterable[str]) -> None:
    """Take from the person what commits that are replaced had already and told nobody of."""
    from gitcp.store.lines.evidence import Evidence

    with Prefetched(repo) as objects:
        evidence = Evidence(repo, objects, worktree=False)
        for old in replaced:
            for path, part in paths.items():
                if any(who == PERSON for _, who in part["added"]):
                    silent = evidence.list_silent_lines(old, path, part["oid"])
                    part["added"] = [
                        (n, UNKNOWN if who == PERSON and n in silent else who)
                        for n, who in part["added"]
                    ]


def _find_checkpoints(
    repo: Repo, objects: Objects, lines: Sequence[JournalLine], authors: Iterable[Writer]
) -> dict[Writer, str]:
    """The checkpoint of the commit that took what an author of the journal's has written."""
    places: dict[Writer, str] = {}
    for who in authors:
        edits = [n for n, line in enumerate(lines) if entries.get_author(line) == who]
        after = lines[edits[0] :] if edits else ()
        commits = [line["commit"] for line in after if "commit" in line]
        for one in (one for oid in commits for one in late.find_commits.list_linked(objects, oid)):
            if who[0] in late.committed_read.list_session_ids(repo, objects, one):
                places[who] = one
                break
    return places


class Credit:
    """A commit's lines with their authors, worked out once for all of its sessions."""

    def __init__(
        self,
        repo: Repo,
        objects: Objects,
        commit: Commit,
        changes: Changes,
        sessions: Iterable[State],
        replaced: Sequence[str] = (),
    ) -> None:
        """replaced: the commits, by oid, that this one may stand in place of."""
        self.lines = journal.read(repo)
        self.checkpoints: dict[Writer, str] = {}  # of authors that came from elsewhere
        asked = count()

        def find_committed(path: str, oid: str, place: str) -> dict[int, Writer]:
            if next(asked) >= _MOST:
                return {}
            known, checkpoints = _find_committed_authors(repo, commit, path, oid, place)
            self.checkpoints |= checkpoints
            return known

        looks = [Lookup(objects, find_tree(objects, oid)) for oid in commit["parents"][1:]]
        other_parents = [{p: e for p in changes if (e := look(p))} for look in looks]
        edits = edit_lines.Edits(objects, self.lines, find_committed)
        self.paths = edits.credit_paths(changes, other_parents)
        if replaced:
            _leave_silent(repo, self.paths, replaced)
        own = {"", *(state["session_id"] for state in sessions)}
        wrote = {who for part in self.paths.values() for _, who in part["added"]}
        foreign = {who for who in wrote - self.checkpoints.keys() if who[0] not in own}
        if foreign:
            self.checkpoints |= _find_checkpoints(repo, objects, self.lines, foreign)

    def compute_attribution(self, session_id: str) -> dict[str, Any]:
        """initial_attribution of a session in the whole commit."""
        counts = attribution.compute_attribution(session_id, self.paths.values())
        return {"calculated_at": format_now(), **counts}

    def list_touched(self, session_id: str) -> set[str]:
        """The paths of which a session wrote or removed lines that no commit before has taken."""
        return {
            path
            for path in Work(self.lines, session_id).list_paths()
            if path in self.paths and session_id in attribution.list_sessions(self.paths[path])
        }

    def build_ranges(self, session_id: str) -> dict[str, list[dict[str, Any]]]:
        """What lines.json says of a session."""
        return attribution.build_entries(session_id, self.paths, self.checkpoints)

    def list_turns(self, session_id: str, path: str) -> list[str]:
        """The turns of a session that wrote lines of a path; where none did, those that
        changed it at all."""
        credit: PathCredit | None = self.paths.get(path)
        wrote = attribution.list_turns(session_id, credit) if credit else []
        return wrote or list(dict.fromkeys(who[1] for who, _ in self._list_edits(session_id, path)))

    def is_by_window(self, session_id: str, path: str) -> bool:
        """Whether only windows tell that a session wrote a path."""
        hows = [how for _, how in self._list_edits(session_id, path)]
        return bool(hows) and all(how in ("window", "turn") for how in hows)

    def map_tools(self, session_id: str) -> dict[str, dict[str, str]]:
        """The tool uses that wrote lines of a session's: id -> model and agent, as far as the
        journal knows them."""
        names = {
            who[2]
            for credit in self.paths.values()
            for _, who in credit["added"]
            if who[0] == session_id and who[2]
        }
        return {
            str(line["open"]): {key: line[key] for key in ("model", "agent") if line.get(key)}
            for line in self.lines
            if line.get("session") == session_id and line.get("open") in names
        }

    def _list_edits(self, session_id: str, path: str) -> list[tuple[Writer, str]]:
        own = [line for line in entries.list_edits(self.lines) if line["path"] == path]
        edits = [(entries.get_author(line), str(line["how"])) for line in own]
        return [(who, how) for who, how in edits if who[0] == session_id]
