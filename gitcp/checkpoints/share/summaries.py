"""The summaries of what was given up (doc/behaviour.md "What was given up").

<common>/gitcp/abandoned has those of this clone that outlive the edits, a JSON object on each line,
at most MOST.  REF has those that clones share: a tree like one of notes, a file for each turn.  A
file is a JSON object with the keys _SHARED; one without files says that the work is back, one with
`forgotten`, a time, and the session alone that the turn was forgotten.
"""

from __future__ import annotations

import json
import time
from itertools import accumulate

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
    from collections.abc import Callable, Collection, Iterable

    from gitcp.git.refs import Update
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Record

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
    data = files.read_cache(_get_path(repo))
    loaded = (transcripts.load_entry(line) for line in data.split(b"\n") if line)
    return [record for record in loaded if record and _is_record(record, (*_TEXTS, *_NOT_SHARED))]


def write_kept(repo: Repo, records: Iterable[Record]) -> None:
    lines = (json.dumps(record, separators=(",", ":")) + "\n" for record in records)
    files.write_private(repo, _get_path(repo), "".join(lines).encode())


def _get_path(repo: Repo) -> str:
    return repo.join_shared("abandoned")


def _is_record(record: Record, texts: Collection[str]) -> bool:
    times = (record.get("time"), record.get("written", 0))
    files = record.get("files")
    return (
        all(isinstance(record.get(key), str) for key in texts)
        and all(isinstance(time, int) and 0 <= time < _END for time in times)
        and isinstance(files, dict)
        and all(map(_is_file, files.values()))
    )


def _is_file(file: object) -> bool:
    return (
        isinstance(file, dict)
        and isinstance(file.get("how"), str)
        and all(isinstance(file.get(key), int) for key in _COUNTS)
    )


def read_shared(repo: Repo) -> list[Record]:
    """The records that clones share, this one's too."""
    return [
        {**dict.fromkeys(_NOT_SHARED, ""), **{key: record[key] for key in _SHARED}}
        for record in _load_shared(repo).values()
        if record.get("files")
    ]


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
    record = (transcripts.load_entry(data) if len(data) <= _LARGEST else None) or {}
    if _is_forgotten(record) and isinstance(record.get("session_id"), str):
        return {key: record[key] for key in ("forgotten", "session_id")}
    return record if _is_record(record, _TEXTS) else None


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
    wanted = {turn: _build_shared(repo, r) for r in records if all(turn := get_turn(r))}

    def attempt_move() -> None:
        tip = read_commit(repo.objects, REF)
        shared = _load_shared(repo)
        edits = {}
        for turn in {**dict.fromkeys(recorded), **wanted}:
            path = _locate(repo, turn)
            old = shared.get(path, {})
            new: Record = wanted.get(turn) or (old and {**old, "files": {}})
            if _is_forgotten(old) or not new:
                continue
            if any(new[key] != old.get(key) for key in _SHARED):
                written = max(int(time.time()), old.get("written", 0) + 1)
                edits[path] = BLOB, _write(repo, {**new, "written": written})
        times = {p: r.get("forgotten", r.get("time")) for p, r in shared.items() if p not in edits}
        excess = max(0, len(times) + len(edits) - _MOST_SHARED)
        oldest = sorted(times, key=lambda path: (times[path], path))[:excess]
        changes = {**edits, **dict.fromkeys(oldest)}
        if changes:
            tree = edit_tree(repo.objects, tip["tree"] if tip else None, changes)
            commit = write_commit(repo, tree, [tip["oid"]] if tip else [], _SUBJECT)
            refs.update_refs(repo, [(REF, commit, tip["oid"] if tip else None)], "gitcp: push")

    refs.retry_moved(repo, "notes", attempt_move)


def _build_shared(repo: Repo, record: Record) -> Record:
    """What others may read of a record, redacted by today's rules."""
    is_by_itself = record["by"] in ("", record["session_id"])
    redact = redactor.make_redaction(repo, record["session_id"])
    prompts = {
        "prompt": record["prompt"],
        "next_prompt": record["next_prompt"] if is_by_itself else "",
    }
    shared = {key: record[key] for key in _SHARED}
    shared |= {key: redact(text)[:_PROMPT] for key, text in prompts.items()}
    room = accumulate(len(path) + _REST_OF_FILE for path in record["files"])
    pairs = zip(record["files"].items(), room, strict=True)
    return {**shared, "files": dict(item for item, size in pairs if size <= _MOST_PATHS)}


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
    records = [*read_kept(repo), *read_shared(repo)]
    return len({get_turn(r) for r in records if chosen(r["session_id"], r["time"])})


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
        if remaining:
            write_kept(
                repo, ({**r, "next_prompt": ""} if r["by"] in sessions else r for r in remaining)
            )
        elif records:
            files.remove_private(repo, _get_path(repo))
        return refs.retry_moved(repo, "notes", lambda: _forget_shared(repo, chosen))


def _forget_shared(repo: Repo, chosen: Chosen) -> list[Update]:
    tip = read_commit(repo.objects, REF)
    shared = _load_shared(repo)
    forgotten = {
        path: {"forgotten": int(time.time()), "session_id": record["session_id"]}
        for path, record in shared.items()
        if "files" in record and chosen(record["session_id"], record["time"])
    }
    if not (forgotten and tip):
        return []
    emptied = {path: (BLOB, _write(repo, record)) for path, record in forgotten.items()}
    tree = edit_tree(repo.objects, tip["tree"], emptied)
    roots = merging.list_roots(repo, tip["oid"])
    lines = [_SUBJECT, "", *(f"{merge_rules.TRAILER}: {root}" for root in sorted(roots))]
    update = REF, write_commit(repo, tree, [], "\n".join(lines)), tip["oid"]
    refs.update_refs(repo, [update], "gitcp: forget")
    return [update]
