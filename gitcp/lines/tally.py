"""The lines that a commit adds and removes, by author.

Every screen that shows such a number has it from here: count_commit() counts a commit, once."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gitcp.agents import transcripts
from gitcp.checkpoints.format import line_authors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from gitcp.checkpoints.format.line_authors import Author, LineRecord
    from gitcp.git.objects.patches import Change, Patch

    class CommitCounts(Change):
        """linked: it names a checkpoint.  known: path -> line -> author.  unsaid: the author of the
        other lines."""

        linked: bool
        unsaid: Author
        records: Sequence[LineRecord]
        known: Mapping[str, Mapping[int, Author]]

    Counts = dict[str, int]
    # (agent, model, session), or a word of WHO -> lines
    Shares = dict[tuple[str, str, str] | str, int]

WHO = ("agent", "person", "unknown", "unrecorded")


@dataclass(slots=True)
class FileTally:
    """A file of a commit.  path: its later name; added: lines by author; removed: lines.
    by_neighbours: of the added ones those that only their neighbours prove."""

    path: str
    added: Shares
    removed: int
    by_neighbours: int


@dataclass(slots=True)
class SessionTally:
    """What a checkpoint of a commit stored of a session.

    turns: their ids.  model: '' if its turns name none or several.  spent: its tokens.
    removed_by: agent and person -> the lines that they removed; None if it does not say.
    """

    checkpoint_id: str
    session_id: str
    agent: str
    turns: list[str]
    model: str
    spent: dict[str, Any] | None
    removed_by: Counts | None


@dataclass(slots=True)
class Tally:
    """The counts of a commit.

    time: of the commit, seconds since 1970.  unsaid: the author, a word of WHO, of lines without a
    known one.  attested: the agent that a commit without a checkpoint names.  is_merge: its lines
    count in the merged commits.
    """

    oid: str
    time: int
    linked: bool
    unsaid: str
    attested: str
    is_merge: bool
    files: list[FileTally]
    sessions: list[SessionTally]

    def pack(self) -> tuple[Any, ...]:
        """The same in types that marshal writes."""
        files = [(f.path, f.added, f.removed, f.by_neighbours) for f in self.files]
        sessions = [
            (s.checkpoint_id, s.session_id, s.agent, s.turns, s.model, s.spent, s.removed_by)
            for s in self.sessions
        ]
        facts = self.oid, self.time, self.linked, self.unsaid, self.attested, self.is_merge
        return *facts, files, sessions

    def limit(self, is_chosen: Callable[[str], bool]) -> Tally:
        """The counts of the chosen paths alone."""
        return replace(self, files=[file for file in self.files if is_chosen(file.path)])

    def sum_added(self) -> Counts:
        """The lines that it adds, by a word of WHO."""
        counts = make_counts()
        for file in self.files:
            for who, lines in file.added.items():
                counts[get_word(who)] += lines
        return counts

    def sum_sessions(self) -> Counts:
        """session id -> the lines of it that the commit adds."""
        counts: Counts = {}
        for file in self.files:
            for who, lines in file.added.items():
                if not isinstance(who, str):
                    counts[who[2]] = counts.get(who[2], 0) + lines
        return counts

    def map_files(self) -> dict[str, Counts]:
        """path -> session id, or a word of WHO -> the lines that the commit adds there."""
        files: dict[str, Counts] = {}
        for file in self.files:
            row = files.setdefault(file.path, {})
            for who, lines in file.added.items():
                if isinstance(who, str):
                    key = who
                else:
                    _, _, key = who
                row[key] = row.get(key, 0) + lines
        return files

    def sum_removed(self) -> Counts:
        """The lines that it removes, by a word of WHO, of those who removed them."""
        counts = make_counts()
        total = sum([file.removed for file in self.files])
        if not total:
            return counts
        if not self.linked:
            counts[self.unsaid] = total
            return counts
        told = [s.removed_by for s in self.sessions if s.removed_by is not None]
        agents = sum([by["agent"] for by in told])
        persons = max([by["person"] for by in told], default=0)
        counts["agent"] = min(agents, total)
        counts["person"] = min(persons, total - counts["agent"])
        counts["unknown"] = total - counts["agent"] - counts["person"]
        return counts

    def build_lines(self) -> dict[str, Any]:
        """The key `lines` of a commit's record (gitcp-record(5))."""
        return {
            "added": self.sum_added(),
            "removed": self.sum_removed(),
            "sessions": self.sum_sessions(),
            "by_neighbours": sum([file.by_neighbours for file in self.files]),
        }


def unpack_tally(packed: Sequence[Any]) -> Tally:
    """The tally of which this is the result of pack()."""
    facts = list(packed)
    facts[-2] = [FileTally(*file) for file in packed[-2]]
    facts[-1] = [SessionTally(*session) for session in packed[-1]]
    return Tally(*facts)


def count_commit(commit: CommitCounts) -> Tally:
    """Count the lines of a commit by author."""
    files = [
        FileTally(
            p["path"] or p["old"],
            count_added(commit, p),
            _count_removed_lines(p),
            _count_by_neighbours(commit, p),
        )
        for p in list_patches(commit)
    ]
    return Tally(
        commit["oid"],
        int(commit["committer"].rpartition(" ")[2] or 0),
        commit["linked"],
        get_default_owner(commit),
        commit["unsaid"]["agent"],
        len(commit["parents"]) > 1,
        files,
        [_describe_session(record) for record in commit["records"]],
    )


def _describe_session(record: LineRecord) -> SessionTally:
    metadata = record["metadata"]
    agent = str(metadata.get("agent") or "")
    turns = metadata.get("turns")
    ids: list[str] = []
    if isinstance(turns, dict):
        ids = list(turns)
    spent: dict[str, Any] | None = None
    used = metadata.get("token_usage_delta")
    if isinstance(used, dict):
        spent = used
    return SessionTally(
        record["checkpoint_id"],
        record["session_id"],
        agent,
        ids,
        find_model(turns),
        spent,
        _read_removed(metadata),
    )


def _read_removed(metadata: Mapping[str, Any]) -> Counts | None:
    """The lines that the agent and the person removed, by `initial_attribution`."""
    attribution = metadata.get("initial_attribution")
    if not isinstance(attribution, dict):
        return None
    by = attribution.get("lines_removed")
    if not isinstance(by, dict):
        return None
    return {who: transcripts.parse_count(by.get(who)) for who in ("agent", "person")}


def find_model(turns: object) -> str:
    """The model of the turns; '' if they name none or several."""
    if not isinstance(turns, dict):
        return ""
    about = [turn for turn in turns.values() if isinstance(turn, dict)]
    models = {str(turn["model"]) for turn in about if turn.get("model")}
    if len(models) == 1:
        return models.pop()
    return ""


def make_counts() -> Counts:
    """No lines of anybody."""
    return dict.fromkeys(WHO, 0)


def get_word(who: tuple[str, str, str] | str) -> str:
    """The word of WHO for an author of Shares."""
    return who if isinstance(who, str) else "agent"


def list_patches(commit: CommitCounts) -> Sequence[Patch]:
    """The patches that count: none of a merge, whose lines count in the merged commits."""
    if len(commit["parents"]) < 2:
        return commit["patches"]
    return ()


def count_added(commit: CommitCounts, patch: Patch) -> Shares:
    """The number of lines that a patch adds by each author: (agent, model, session), or of WHO."""
    known = commit["known"].get(patch["path"], {})
    shares: Shares = {}
    for _, _, first, count in patch["hunks"]:
        for author, lines in line_authors.group_runs(known, first, count):
            who = _get_owner(author, commit)
            shares[who] = shares.get(who, 0) + lines
    return shares


def get_default_owner(commit: CommitCounts) -> str:
    """The author, a word of WHO, of a commit's lines without a known one."""
    return commit["unsaid"]["who"]


def _get_owner(author: Author | None, commit: CommitCounts) -> tuple[str, str, str] | str:
    if author is None:
        return get_default_owner(commit)
    if author["who"] != "session":
        return author["who"]
    return author["agent"], author["model"], author["session_id"]


def _count_removed_lines(patch: Patch) -> int:
    return sum([hunk[1] for hunk in patch["hunks"]])


def _count_by_neighbours(commit: CommitCounts, patch: Patch) -> int:
    known = commit["known"].get(patch["path"], {})
    if not known:
        return 0
    new = line_authors.list_new_lines(patch["hunks"])
    return sum([line in known and "by_neighbours" in known[line] for line in new])
