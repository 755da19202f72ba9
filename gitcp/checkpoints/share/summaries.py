"""The summaries of what was given up (doc/behaviour.md "What was given up").

<common>/gitcp/abandoned has those of this clone that outlive the edits, a JSON object on each line,
at most MOST.  REF has those that clones share: a tree like one of notes, a file for each turn.  A
file is a JSON object with the keys _SHARED; one without files says that the work is back, one with
`forgotten`, a time, and the session alone that the turn was forgotten.
"""

from __future__ import annotations

import json
import time

from gitcp.agents import transcripts
from gitcp.checkpoints import merging, redactor
from gitcp.checkpoints.format import merge_rules
from gitcp.checkpoints.stored import BLOB
from gitcp.errors import Error
from gitcp.git import files, refs
from gitcp.git.files import exclusive
from gitcp.git.objects import edit_tree, read_commit, write_commit
from gitcp.git.objects.object_lists import list_files
from gitcp.text import console
from gitcp.text.ids import ABANDONED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from gitcp.git.refs import Update
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Commit, Entry, Record

    Turn = tuple[str, str]  # a session's id, a turn's
    Chosen = Callable[[str, float], bool]  # by a session's id and the time of a turn's last edit
    Shared = dict[str, Record]  # path in REF -> what it says

REF = ABANDONED
MOST = 1000
_MOST_SHARED = 5000  # turns, forgotten ones among them; a push leaves out the oldest
_MOST_READ = 100_000  # files in REF
_LARGEST = 1 << 18  # bytes of a file in REF
_PROMPT = 1000  # characters of a prompt that is shared
_MOST_PATHS = 1 << 14  # characters of a turn's files that are shared
_REST_OF_FILE = 50  # characters of a file in REF beside its path
_TEXTS = ("session_id", "turn", "agent", "prompt", "how", "next_prompt")
_SHARED = (*_TEXTS, "time", "files")
_COUNTS = ("added", "removed")
_END = 253_402_300_800  # s since 1970: the year 10000, for which no date can be written
_NOT_SHARED = ("by", "worktree", "restore")  # texts that are not shared
_SUBJECT = "Summaries of what was given up"


def get_turn(record: Record) -> Turn:
    """The turn that a summary is of."""
    return record["session_id"], record["turn"]


def read_kept(repo: Repo) -> list[Record]:
    """The records that this clone keeps."""
    records: list[Record] = []
    for line in files.read_cache(_get_path(repo)).split(b"\n"):
        record = transcripts.load_entry(line) if line else None
        if record and _is_record(record, (*_TEXTS, *_NOT_SHARED)):
            records.append(record)
    return records


def write_kept(repo: Repo, records: Iterable[Record]) -> None:
    lines = (json.dumps(record, separators=(",", ":")) + "\n" for record in records)
    files.write_private(repo, _get_path(repo), "".join(lines).encode())


def _get_path(repo: Repo) -> str:
    return repo.join_shared("abandoned")


def _is_record(record: Record, texts: Collection[str]) -> bool:
    if not all(isinstance(record.get(key), str) for key in texts):
        return False
    if not _is_moment(record.get("time")) or not _is_moment(record.get("written", 0)):
        return False
    by_path = record.get("files")
    return isinstance(by_path, dict) and all(map(_is_file, by_path.values()))


def _is_moment(value: object) -> bool:
    return isinstance(value, int) and 0 <= value < _END


def _is_file(file: object) -> bool:
    if not isinstance(file, dict) or not isinstance(file.get("how"), str):
        return False
    return all(isinstance(file.get(key), int) for key in _COUNTS)


def read_shared(repo: Repo) -> list[Record]:
    """The records that clones share, this one's too."""
    records: list[Record] = []
    for stored in _load_shared(repo).values():
        if stored.get("files"):
            record: Record = dict.fromkeys(_NOT_SHARED, "")
            for key in _SHARED:
                record[key] = stored[key]
            records.append(record)
    return records


def _load_shared(repo: Repo) -> Shared:
    """What REF has; a file that is no summary, or too large, is left out."""
    tip = read_commit(repo.objects, REF)
    if not tip:
        return {}
    try:
        found = {path: oid for path, (_, oid) in list_files(repo.objects, tip["tree"], _MOST_READ)}
    except Error as e:
        console.warn_lacking(f"'{REF}': {e}")
        return {}
    loaded: Shared = {}
    for path, obj in zip(found, repo.objects.read_each(found.values()), strict=True):
        if obj:
            record = _parse(obj[2])
            if record:
                loaded[path] = record
    return loaded


def _parse(data: bytes) -> Record | None:
    """What a file of REF says; None if it is no summary, or too large."""
    if len(data) > _LARGEST:
        return None
    record = transcripts.load_entry(data)
    if not record:
        return None
    if _is_forgotten(record) and isinstance(record.get("session_id"), str):
        return {key: record[key] for key in ("forgotten", "session_id")}
    if _is_record(record, _TEXTS):
        return record
    return None


def _is_forgotten(record: Record) -> bool:
    return isinstance(record.get("forgotten"), int)


def join(a: bytes, b: bytes) -> bytes:
    """Of two summaries of a turn the one that is forgotten, else the one that was written last."""

    def rank(data: bytes) -> tuple[tuple[bool, int], bytes]:
        record = _parse(data) or {}
        return (_is_forgotten(record), record.get("written", 0)), data

    return max(a, b, key=rank)


def write_shared(repo: Repo, records: Iterable[Record], recorded: Collection[Turn]) -> None:
    """Bring REF up to date; prompts of other sessions are left out.

    records: what was given up here.  recorded: the turns with edits here; if one of them is in REF
    and not in records, its work is back."""
    wanted: dict[Turn, Record] = {}
    for record in records:
        turn = get_turn(record)
        if all(turn):
            wanted[turn] = _build_shared(repo, record)
    turns = {**dict.fromkeys(recorded), **wanted}

    def attempt_move() -> None:
        tip = read_commit(repo.objects, REF)
        shared = _load_shared(repo)
        changes: dict[str, Entry | None] = {}
        for turn in turns:
            path = _locate(repo, turn)
            new = _renew(shared.get(path), wanted.get(turn))
            if new:
                changes[path] = BLOB, _write(repo, new)
        changes |= dict.fromkeys(_list_excess(shared, changes))
        if changes:
            _commit_shared(repo, tip, changes)

    refs.retry_moved(repo, "notes", attempt_move)


def _renew(old: Record | None, wanted: Record | None) -> Record | None:
    """The record of a turn that takes the place of the old one, None to leave that.

    wanted: what is to stand there; None if the work is back."""
    if old is None:
        if wanted is None:
            return None
        old = {}
    if _is_forgotten(old):
        return None
    new = wanted or {**old, "files": {}}
    if all(new[key] == old.get(key) for key in _SHARED):
        return None
    return {**new, "written": max(int(time.time()), old.get("written", 0) + 1)}


def _list_excess(shared: Shared, changed: Collection[str]) -> list[str]:
    """The paths of the oldest records that are too many beside those that are changed."""
    times: dict[str, int] = {}
    for path, record in shared.items():
        if path not in changed:
            times[path] = record["forgotten"] if "forgotten" in record else record["time"]
    count = max(0, len(times) + len(changed) - _MOST_SHARED)
    return sorted(times, key=lambda path: (times[path], path))[:count]


def _commit_shared(repo: Repo, tip: Commit | None, changes: Mapping[str, Entry | None]) -> None:
    """Move REF from its tip to a commit with these changes."""
    before = None
    old = None
    parents: list[str] = []
    if tip:
        before = tip["tree"]
        old = tip["oid"]
        parents.append(old)
    tree = edit_tree(repo.objects, before, changes)
    commit = write_commit(repo, tree, parents, _SUBJECT)
    refs.update_refs(repo, [(REF, commit, old)], "gitcp: push")


def _build_shared(repo: Repo, record: Record) -> Record:
    """What others may read of a record, redacted by today's rules."""
    redact = redactor.make_redaction(repo, record["session_id"])
    shared = {key: record[key] for key in _SHARED}
    shared["prompt"] = redact(record["prompt"])[:_PROMPT]
    shared["next_prompt"] = ""
    if record["by"] in ("", record["session_id"]):
        shared["next_prompt"] = redact(record["next_prompt"])[:_PROMPT]
    size = 0
    shared["files"] = {}
    for path, file in record["files"].items():
        size += len(path) + _REST_OF_FILE
        if size <= _MOST_PATHS:
            shared["files"][path] = file
    return shared


def _locate(repo: Repo, turn: Turn) -> str:
    name = repo.objects.hash_object("blob", "\0".join(turn).encode("utf-8", "surrogatepass"))
    return f"{name[:2]}/{name[2:]}"


def _write(repo: Repo, record: Record) -> str:
    """Write a file of REF, with each letter as it is, since the check of a push reads it as
    text."""
    text = json.dumps(record, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return repo.objects.write("blob", text.encode("utf-8", "surrogatepass") + b"\n")


def count_chosen(repo: Repo, chosen: Chosen) -> int:
    """The number of turns that forget() would forget."""
    turns: set[Turn] = set()
    for record in [*read_kept(repo), *read_shared(repo)]:
        if chosen(record["session_id"], record["time"]):
            turns.add(get_turn(record))
    return len(turns)


def has_session(repo: Repo, session_id: str) -> bool:
    """Whether a summary is of this session, also one that was forgotten."""
    records = [*read_kept(repo), *_load_shared(repo).values()]
    return any(record["session_id"] == session_id for record in records)


def forget(repo: Repo, chosen: Chosen, sessions: Collection[str]) -> list[Update]:
    """Remove the chosen summaries, and the prompts of these sessions from those of others; return
    the update of REF, whose new history has nothing of them."""
    with exclusive(repo, "abandoned"):
        records = read_kept(repo)
        remaining = [r for r in records if not chosen(r["session_id"], r["time"])]
        for record in remaining:
            if record["by"] in sessions:
                record["next_prompt"] = ""
        if remaining:
            write_kept(repo, remaining)
        elif records:
            files.remove_private(repo, _get_path(repo))
        return refs.retry_moved(repo, "notes", lambda: _forget_shared(repo, chosen))


def _forget_shared(repo: Repo, chosen: Chosen) -> list[Update]:
    tip = read_commit(repo.objects, REF)
    shared = _load_shared(repo)
    now = int(time.time())
    emptied: dict[str, Entry | None] = {}
    for path, record in shared.items():
        if "files" in record and chosen(record["session_id"], record["time"]):
            forgotten = {"forgotten": now, "session_id": record["session_id"]}
            emptied[path] = BLOB, _write(repo, forgotten)
    if not emptied or not tip:
        return []
    tree = edit_tree(repo.objects, tip["tree"], emptied)
    roots = merging.list_roots(repo, tip["oid"])
    lines = [_SUBJECT, "", *(f"{merge_rules.TRAILER}: {root}" for root in sorted(roots))]
    update = REF, write_commit(repo, tree, [], "\n".join(lines)), tip["oid"]
    refs.update_refs(repo, [update], "gitcp: forget")
    return [update]
