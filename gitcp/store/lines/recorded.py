"""What the sessions of checkpoints recorded, read for many checkpoints at once."""

from __future__ import annotations

from gitcp.core.exports import git_ai
from gitcp.core.lines import proven
from gitcp.core.v1 import summary
from gitcp.errors import Error
from gitcp.record import decode_name
from gitcp.store.git import notes
from gitcp.store.v1 import committed_list, committed_read, committed_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

    from gitcp.core.exports.git_ai import Log
    from gitcp.core.lines.authors import Author, Record
    from gitcp.repo import Repo
    from gitcp.store.git.prefetch import Prefetched


_LARGEST = 4 << 20  # bytes of a transcript that is searched for proofs


class Recorded:
    """The records of checkpoints by id, each read once until forget()."""

    def __init__(self, repo: Repo, objects: Prefetched) -> None:
        self._objects = objects
        self.places = committed_refs.Places(repo, objects)
        self._records: dict[str, list[Record]] = {}
        self._place_by_id: dict[str, tuple[str, str] | None] = {}  # id -> ref and tree
        self._loader = committed_list.Loader(objects, brief=True)

    def prefetch(self, ids: Iterable[str]) -> None:
        """Read these checkpoints in bulk."""
        unread = [i for i in dict.fromkeys(ids) if i not in self._records]
        self._objects.fetch(self.places.list_unread_shards(unread))
        trees = [place[1] for i in unread if (place := self._find_place(i))]
        self._loader.prepare(trees, summary.LINES)

    def read_records(self, checkpoint_id: str) -> list[Record]:
        """The record of each session of a checkpoint; [] if it is missing or unreadable."""
        if checkpoint_id not in self._records:
            place = self._find_place(checkpoint_id)
            records = self._load_records(checkpoint_id, *place) if place else []
            self._records[checkpoint_id] = records
        return self._records[checkpoint_id]

    def read_all_records(self, ids: Iterable[str]) -> list[Record]:
        """read_records() of several checkpoints, in their order."""
        return [record for checkpoint_id in ids for record in self.read_records(checkpoint_id)]

    def has_place(self, checkpoint_id: str) -> bool:
        """Whether a checkpoint is here."""
        return self._find_place(checkpoint_id) is not None

    def find_session(self, checkpoint_id: str, session_id: str) -> Record | None:
        """The record of a session in a checkpoint; None if there is none."""
        records = self.read_records(checkpoint_id) if checkpoint_id else ()
        return next((r for r in records if r["session_id"] == session_id), None)

    def read_transcripts(self, checkpoint_id: str) -> dict[str, bytes]:
        """session id -> transcript, of the sessions of a checkpoint that have one."""
        if not (place := self._find_place(checkpoint_id)):
            return {}
        sessions = self._loader.load(checkpoint_id, *place)["sessions"]
        parts = self._loader.make_parts(checkpoint_id)
        transcripts = {
            s["session_id"]: parts.read_transcript(s["files"], s["directory"]) for s in sessions
        }
        return {session: data for session, data in transcripts.items() if data}

    def forget(self) -> None:
        """Forget what was read, so that memory does not grow with the number of checkpoints."""
        self._records.clear()
        self._place_by_id.clear()
        self._loader.trees.clear()
        self._objects.forget()

    def _find_place(self, checkpoint_id: str) -> tuple[str, str] | None:
        if checkpoint_id not in self._place_by_id:
            try:
                self._place_by_id[checkpoint_id] = self.places.find_checkpoint(checkpoint_id)
            except Error:  # unreadable
                self._place_by_id[checkpoint_id] = None
        return self._place_by_id[checkpoint_id]

    def _load_records(self, checkpoint_id: str, ref: str, tree: str) -> list[Record]:
        parts = self._loader.make_parts(checkpoint_id)
        return [
            {
                "checkpoint_id": checkpoint_id,
                "session_id": entry["session_id"],
                "metadata": entry["metadata"],
                "lines": parts.read_lines(entry),
                "time": str(entry["metadata"].get("created_at") or ""),
            }
            for entry in self._loader.load(checkpoint_id, ref, tree)["sessions"]
            if entry["session_id"]  # else the metadata is damaged, and nobody can be named
        ]


def complete_records(
    repo: Repo,
    objects: Prefetched,
    commit: str,
    changed: Callable[[], Container[str]],
    records: list[Record],
) -> list[Record]:
    """The records of a commit; those without lines get the lines that their transcripts prove.

    changed: returns the paths that the commit changes; no other lines are its own.
    """
    complete = [record for record in records if record["lines"] is not None]
    if len(complete) == len(records):
        return records
    lacking = (record for record in records if record["lines"] is None)
    paths = changed()
    tried = [_prove_record(repo, objects, commit, paths, record) for record in lacking]
    unproven = [record for record in tried if record["lines"] is None]
    proved = proven.drop_contested_lines([r for r in tried if r["lines"] is not None])
    return [*complete, *unproven, *proved]


def list_touched_paths(record: Record) -> set[str]:
    """The paths that a session touched, by its record."""
    files = record["metadata"].get("files")
    listed = summary.list_strings(record["metadata"].get("files_touched"))
    return {*listed, *(files if isinstance(files, dict) else ())}


def _prove_record(
    repo: Repo, objects: Prefetched, commit: str, changed: Container[str], record: Record
) -> Record:
    specs = {f"{commit}:{path}": path for path in list_touched_paths(record)}
    contents = {}
    for spec, oid in objects.resolve(specs).items():
        blob = objects.read(oid) if oid else None
        if oid and blob and blob[1] == "blob":
            contents[specs[spec]] = oid, blob[2]
    if not contents:
        return record
    try:
        checkpoint = committed_read.read_checkpoint(repo, objects, record["checkpoint_id"])
        transcript = committed_read.read_session(objects, checkpoint, record["session_id"])[
            "transcript"
        ]
    except Error:
        return record
    if len(transcript) > _LARGEST:
        return record
    own = {path: content for path, content in contents.items() if path in changed}
    return proven.add_proven_lines(record, transcript, own)


class Attested:
    """The lines that notes of Git AI attest to sessions."""

    def __init__(self, objects: Prefetched) -> None:
        self._objects = objects
        self._reader = notes.Reader(objects, notes.AI)
        self._logs: dict[str, Log | None] = {}

    def prefetch(self, commits: Iterable[str]) -> None:
        """Read the notes on these commits in bulk."""
        self._objects.fetch(oid for commit in commits if (oid := self._reader.find_oid(commit)))

    def has_note(self, commit: str) -> bool:
        """Whether there is a note on a commit."""
        return bool(self._reader.find_oid(commit))

    def find_authors(self, commit: str, path: str) -> dict[int, Author]:
        """The authors of the lines (1-based) of path in commit that a note attests."""
        log = self._load_log(commit)
        if log is None:
            return {}
        return git_ai.find_authors(log, commit, path)

    def forget(self) -> None:
        """Forget what was read."""
        self._logs.clear()

    def _load_log(self, commit: str) -> Log | None:
        if commit not in self._logs:
            data = self._reader.read_note(commit)
            if data:
                self._logs[commit] = git_ai.parse_log(decode_name(data))
            else:
                self._logs[commit] = None
        return self._logs[commit]
