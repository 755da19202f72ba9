"""Lists the streams, live, suffixed and archived, with their sessions and verdicts, and the
checkpoints of each, newest first."""

from __future__ import annotations

import json

from gitcp.agents import transcripts
from gitcp.checkpoints import format
from gitcp.checkpoints.redactor import Lazy, redact_text
from gitcp.errors import Error, InputError
from gitcp.git import decode_name, refs
from gitcp.git.files import read_cache, write_private
from gitcp.git.objects import (
    Lookup,
    compare_trees,
    find_tree,
    parse_commit,
    parse_ident,
    read_commit,
)
from gitcp.git.records import encode_lines
from gitcp.record import session
from gitcp.record.journal import edits
from gitcp.record.session import others
from gitcp.record.stream import (
    ARCHIVE,
    METADATA,
    PREFIXES,
    catch_up_state,
    find_current,
    find_trailer,
    holds_lost_work,
    list_refs,
    list_tips,
    read_changes,
    read_metadata,
    read_tips,
    writing,
)
from gitcp.record.stream.verdict import is_orphaned
from gitcp.text import ids
from gitcp.text.ids import EXECUTABLE, FILE, LINK, SESSION_KEY, STRATEGY_KEY, TASK_KEY, check_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Entry, Record, State, Tip

    Step = tuple[str, str, str, int, str]  # oid, parent or '', tree, time, message


# Streams: their refs and tips, what a tip keeps of its session, and where a turn continues.
#
# A stream's id (trailer Gitcp-Stream) stays when its ref moves.  A stream of the original program
# has no id; the first 12 digits of its tip are used instead.


def recall_state(repo: Repo, session_id: str) -> State | None:
    """The state of a session; None for an unknown one.

    A newer copy on its stream wins: a process was killed between the ref and the state.  A lost or
    damaged file is rebuilt from the copies and the marker.  The caller holds the session's lock.
    """
    head = refs.read_base(repo)
    return catch_up_state(repo, session_id, session.load_state(repo, session_id), head)


_FORMAT = "--format=%H%x00%P%x00%T%x00%ct%x00%B%x00%x00"
_FEW = 300  # checkpoints that are read in less time than git takes to start
_LOG = ("log", "--no-show-signature", "--no-notes", "--no-color", _FORMAT, "--stdin")


def list_streams(repo: Repo, states: Iterable[State]) -> list[Record]:
    """A record of type "stream" for every stream, newest first.

    states: those of all sessions, from which the files and decisions come.  Of many streams git
    reads the refs, the tips and the checkpoints, each by one process.
    """
    return _build_records(repo, list_tips(repo), states)


def list_newest(repo: Repo, states: Iterable[State], limit: int) -> tuple[list[Record], int]:
    """(the records for the newest streams, at most limit; the number of refs left out)."""
    names = list_refs(repo)
    if len(names) > limit:
        names = list_refs(repo, newest_first=True)
    tips = read_tips(repo.objects, names[:limit])
    return _build_records(repo, tips, states), len(names[limit:])


def _build_records(repo: Repo, tips: list[Tip], states: Iterable[State]) -> list[Record]:
    states_by_stream: dict[str, list[State]] = {}
    for state in states:
        for stream in {stream["id"] for stream in state["streams"]}:
            states_by_stream.setdefault(stream, []).append(state)
    steps = read_chains(repo, tips)
    records = [
        _build_record(
            repo.objects, tip, len(steps[tip["ref"]]), states_by_stream.get(tip["stream"], [])
        )
        for tip in tips
    ]
    for record, tip in zip(records, tips, strict=True):
        if tip["stream"] not in states_by_stream and _is_settled(repo, tip):
            record["settled"] = True
    return records


def _is_settled(repo: Repo, tip: Tip) -> bool:
    """Whether commits have everything of a stream: 'gitcp clean' will remove it."""
    orphaned = is_orphaned(repo, tip)
    return orphaned and not holds_lost_work(repo, tip)


def _build_record(objects: Objects, tip: Tip, count: int, states: list[State]) -> Record:
    kind, worktree = parse_ref(tip["ref"])
    sessions = [p.removeprefix(METADATA) for p in read_metadata(objects, tip["tree"])]
    return {
        "type": "stream",
        "id": tip["stream"],
        "ref": tip["ref"],
        "oid": tip["oid"],
        "base_commit": tip["base"],
        "worktree": worktree,
        "kind": kind,
        "sessions": sorted({*sessions, *(s["session_id"] for s in states)}),
        "checkpoints": count,
        "time": tip["time"],
        "files": _list_files(objects, tip, states),
        "decisions": [
            decision
            for state in states
            if get_current(state) == tip["stream"] and (decision := _build_decision(state))
        ],
    }


def parse_ref(ref: str) -> tuple[str, str]:
    """(kind, worktree hash) by a stream's ref.  kind: live, suffix or archived; hash: '' for an
    old name without one."""
    parsed = ids.parse_shadow(ref)
    suffix = parsed and parsed["suffix"] is not None
    if ref.startswith(ARCHIVE):
        kind = "archived"
    else:
        kind = "suffix" if suffix else "live"
    return kind, (parsed["worktree"] or "") if parsed else ""


def get_current(state: State) -> str:
    """The id of the stream that a session is on; '' without one."""
    if state["streams"]:
        return str(state["streams"][-1]["id"])
    return ""


def _list_files(objects: Objects, tip: Tip, states: list[State]) -> list[str]:
    """The unsettled paths of a stream; all its paths if no state names it."""
    recorded_files = []
    for state in states:
        for stream in state["streams"]:
            if stream["id"] == tip["stream"]:
                recorded_files.append(stream["files"])
    if recorded_files:
        return sorted({path for files in recorded_files for path in files})
    try:
        return sorted(read_changes(objects, tip))
    except Error:  # its base is gone
        return []


def _build_decision(state: State) -> Record:
    verdict = state.get("last_verdict")
    if not isinstance(verdict, dict):
        return {}
    words = {key: str(verdict.get(key, "")) for key in ("verdict", "reason")}
    return {"session_id": state["session_id"], **words}


def find_stream(repo: Repo, name: str) -> Tip:
    """The stream named by a ref, full or short, or by an id or a prefix of it.

    Raises Error if there is none, or several, which it lists.
    """
    tips = list_tips(repo)
    starts = ("", "refs/", "refs/heads/", *PREFIXES)
    full_names = {start + name for start in starts}
    full_names |= {prefix + ids.parse_stream_name(name) for prefix in PREFIXES}
    exact = [tip for tip in tips if tip["ref"] in full_names or tip["stream"] == name]
    matches = exact or [tip for tip in tips if name and tip["stream"].startswith(name)]
    ids.pick_match("stream", name, list(dict.fromkeys(tip["ref"] for tip in matches)))
    return matches[0]


def read_chains(repo: Repo, tips: Iterable[Tip]) -> dict[str, list[Record]]:
    """ref -> the records of its checkpoints, newest first.

    A stream ends at a commit that names no session, such as a person's commit on which the
    original program began a stream.
    """
    tips = list(tips)
    if not tips:
        return {}
    steps = _read_steps(repo, [tip["oid"] for tip in tips])
    return {
        tip["ref"]: [_describe_step(tip, step) for step in _walk_down(steps, tip)] for tip in tips
    }


def find_newest(repo: Repo, session_id: str) -> Record | None:
    """The newest checkpoint of a session on any stream; None without one."""
    chains = read_chains(repo, list_tips(repo)).values()
    steps = [step for chain in chains for step in chain if step["session_id"] == session_id]
    return max(steps, key=lambda step: int(step["time"]), default=None)


def _read_steps(repo: Repo, oids: list[str]) -> dict[str, Step]:
    """oid -> step, from the tips of streams on; git reads them if they are many."""
    steps: dict[str, Step] | None = {}
    for tip in oids:
        oid = tip
        while steps is not None and oid and oid not in steps:
            steps = _add_step(repo.objects, oid, steps)
            oid = steps[oid][1] if steps else ""
    if steps is None:
        return _log_steps(repo, oids)
    return steps


def _add_step(objects: Objects, oid: str, steps: dict[str, Step]) -> dict[str, Step] | None:
    """The steps with one more, read without git; None if git has to read them."""
    obj = objects.peek(oid) if len(steps) < _FEW else None
    if obj is None or obj[1] != "commit":
        return None
    commit = parse_commit(*obj[::2])
    time = parse_ident(commit["committer"])[1]
    is_step = find_trailer(commit["message"], SESSION_KEY)
    parent = ""
    if commit["parents"] and is_step:
        parent = commit["parents"][0]
    steps[oid] = (oid, parent, commit["tree"], time, commit["message"])
    return steps


def _log_steps(repo: Repo, oids: list[str]) -> dict[str, Step]:
    """_read_steps() by one `git log`."""
    _, out = repo.git.run(*_LOG, stdin=encode_lines(oids))
    steps = {}
    for item in decode_name(out).split("\0\0\n"):
        if item:
            oid, parents, tree, time, message = item.split("\0", 4)
            steps[oid] = (oid, parents.partition(" ")[0], tree, int(time or 0), message)
    return steps


def _walk_down(steps: dict[str, Step], tip: Tip) -> Iterator[Step]:
    step = steps.get(tip["oid"])
    while step and find_trailer(step[4], SESSION_KEY):
        yield step
        step = steps.get(step[1])


def _describe_step(tip: Tip, step: Step) -> Record:
    oid, parent, tree, time, message = step
    task = find_trailer(message, TASK_KEY)
    return {
        "type": "checkpoint",
        "oid": oid,
        "ref": tip["ref"],
        "stream": tip["stream"],
        "parent": parent,
        "tree": tree,
        "base_commit": find_trailer(message, "Base-Commit") or tip["base"],
        "session_id": find_trailer(message, SESSION_KEY),
        "strategy": find_trailer(message, STRATEGY_KEY),
        "time": time,
        "message": message.partition("\n")[0],
        "is_task_checkpoint": bool(task),
        "tool_use_id": task.rpartition("/")[2],
    }


def read_details(objects: Objects, checkpoint: Record) -> Record:
    """A checkpoint's record with its prompt and files: path -> 'added', 'modified' or 'deleted'.

    The files changed since the previous checkpoint, or since the base commit for a stream's first
    one.  Changes that came with a new base are left out.
    """
    lookup = Lookup(objects, checkpoint["tree"])
    folder = METADATA + checkpoint["session_id"]
    prompt_entry = lookup(f"{folder}/{format.PROMPT}")
    prompts = ""
    if prompt_entry:
        prompts = decode_name(objects.need(prompt_entry[1], "blob"))
    base = find_tree(objects, checkpoint["base_commit"])
    parent = None
    if checkpoint["parent"]:
        parent = read_commit(objects, checkpoint["parent"])
    old_base = ""
    if parent:
        old_base = find_trailer(parent["message"], "Base-Commit")
    has_moved = old_base not in ("", checkpoint["base_commit"])
    base_lookup = Lookup(objects, base if has_moved else None)
    if checkpoint["parent"]:
        previous = find_tree(objects, checkpoint["parent"])
    else:
        previous = base
    files = {
        path: "added" if old is None else "deleted" if new is None else "modified"
        for path, old, new in compare_trees(objects, previous, checkpoint["tree"])
        if not path.startswith(".entire/") and not (has_moved and base_lookup(path) == new)
    }
    return {**checkpoint, "prompt": prompts.rpartition(format.SEPARATOR)[2], "files": files}


# The list of expired points, whose content is gone: when each was recorded, and by whom.
#
# <common>/gitcp/expired has a JSON object on each line, the newest last, at most MOST.
MOST = 1000


def list_expiring(repo: Repo, tips: Iterable[Tip]) -> dict[str, list[Record]]:
    """ref -> the records of a stream's checkpoints for the list, oldest first.  A record has id,
    kind, time, message, session_id, base_commit, worktree (its hash)."""
    return {
        ref: [
            _build_expired_record(checkpoint, parse_ref(ref)[1]) for checkpoint in reversed(chain)
        ]
        for ref, chain in read_chains(repo, tips).items()
    }


def _build_expired_record(checkpoint: Record, worktree: str) -> Record:
    keys = ("time", "message", "session_id", "base_commit")
    details = {key: checkpoint[key] for key in keys}
    return {"id": checkpoint["oid"], "kind": "archived", **details, "worktree": worktree}


def add_records(repo: Repo, expired: Iterable[Record]) -> None:
    """Add records to the list, each once."""
    records = {record["id"]: record for record in list_records(repo)}
    records |= {record["id"]: record for record in expired}
    if records:
        _write_records(repo, list(records.values())[-MOST:])


def forget_expired(repo: Repo, sessions: Collection[str]) -> None:
    """Remove the records of these sessions."""
    records = list_records(repo)
    remaining = [record for record in records if record["session_id"] not in sessions]
    if len(remaining) < len(records):
        _write_records(repo, remaining)


def _write_records(repo: Repo, records: Iterable[Record]) -> None:
    lines = (json.dumps(record, separators=(",", ":")) + "\n" for record in records)
    write_private(repo, _get_path(repo), "".join(lines).encode())


def list_records(repo: Repo) -> list[Record]:
    """The records of the list, the newest last."""
    data = read_cache(_get_path(repo))
    loaded = (transcripts.load_entry(line) for line in data.split(b"\n") if line)
    return [record for record in loaded if record and _is_record(record)]


def _is_record(record: Record) -> bool:
    texts = ("id", "kind", "message", "session_id", "base_commit", "worktree")
    return all(isinstance(record.get(key), str) for key in texts) and isinstance(
        record.get("time"), int
    )


def _get_path(repo: Repo) -> str:
    return repo.join_shared("expired")


def build_notice(repo: Repo, tip: Tip | None, ref: str) -> str:
    """The notice for a stream that is about to be left: the session, the stash, and the ref that
    will keep its checkpoints; '' if no stash has its work."""
    match = None
    if tip:
        match = next(_match_stash(repo, {tip["stream"]: ref}), None)
    if match is None:
        return ""
    session_id = match["session_id"]
    stash = match["stash"]
    return f"gitcp: work of session '{session_id}' is in {stash}; '{ref}' keeps its checkpoints"


def _match_stash(repo: Repo, archived: dict[str, str]) -> Iterator[Record]:
    """Yield {session_id, stash, ref} of each stream with work in a stash.  archived: stream id ->
    the ref that keeps it."""
    stash = refs.Stash(repo).list_entries()
    if stash:
        for marker in others.read_here(repo):
            for stream in edits.list_open_streams(repo, marker):
                files = [
                    (path, (file["mode"], file["oid"])) for path, file in stream["files"].items()
                ]
                for number, entries in enumerate(stash if stream["id"] in archived else ()):
                    if any(entries.has(path, entry) for path, entry in files):
                        details = {"stash": f"stash@{{{number}}}", "ref": archived[stream["id"]]}
                        yield {"session_id": marker["session_id"], **details}
                        break


# Temporary checkpoints that a script describes instead of the worktree.
_MODES = (FILE, EXECUTABLE, LINK)


def write_stated(repo: Repo, state: State, head: str, record: Record) -> Record:
    """Write the checkpoint of a session that a record describes; a record of type "checkpoint".

    head: HEAD when the process began.  files: path -> [mode, oid], or None for deleted, for every
    path that differs from HEAD.  metadata: name -> text, which is redacted here.  Raises
    InputError, with nothing written.
    """
    session_id = state["session_id"]
    message = record.get("message")
    if not isinstance(message, str) or not message.strip():
        raise InputError("'message' of a checkpoint must be a text that is not empty")
    files = _parse_files(repo.objects, record)
    metadata = _store_metadata(repo, record)
    head_tree = find_tree(repo.objects, head)
    head_lookup = Lookup(repo.objects, head_tree)
    tip = find_current(repo, state, head)
    content: writing.Content = {
        "head": head,
        "head_tree": head_tree,
        "entries": files,
        "seen": tip["oid"] if tip else None,
        "mine": {path: entry for path, entry in files.items() if entry != head_lookup(path)},
        "undone": set(),
        "away": {},
        "start": {},
        "metadata": metadata,
        "subject": redact_text(repo, message, session_id).partition("\n")[0],
        "trailers": [],
    }
    stated_files = {
        path: (entry, state.get("turn_id", "")) for path, entry in content["mine"].items()
    }
    edits.record_edits(repo, session_id, head, stated_files)
    oid = writing.write_checkpoint(repo, state, content)
    return {"type": "checkpoint", "oid": oid, "ref": state["shadow_ref"], "session_id": session_id}


def _parse_files(objects: Objects, record: Record) -> dict[str, Entry | None]:
    files = record.get("files")
    if not isinstance(files, dict):
        raise InputError("'files' of a checkpoint must be an object")
    entries: dict[str, Entry | None] = {}
    for path, entry in files.items():
        entries[check_path(path)] = None if entry is None else _parse_entry(objects, path, entry)
    return entries


def _parse_entry(objects: Objects, path: str, entry: object) -> Entry:
    if not isinstance(entry, list) or len(entry) != 2 or not all(isinstance(e, str) for e in entry):
        raise InputError(f"'files' has no mode and oid for {path!a}")
    mode, oid = entry
    blob = None
    if mode in _MODES and len(oid) >= 40:
        blob = objects.read(oid)
    if blob is None or blob[1] != "blob":
        raise InputError(f"'files' names no blob for {path!a}")
    return mode, oid


def _store_metadata(repo: Repo, record: Record) -> dict[str, Entry]:
    metadata = record.get("metadata", {})
    if not isinstance(metadata, dict) or not all(isinstance(t, str) for t in metadata.values()):
        raise InputError("'metadata' of a checkpoint must be an object of texts")
    redactor = Lazy(repo, str(record.get("session_id")))
    entries = {}
    for name, text in metadata.items():
        if name.startswith(transcripts.NAME):
            redact = redactor.redact_jsonl
        else:
            redact = redactor.redact_text
        data = redact(text.encode("utf-8", "surrogateescape"))
        entries[check_path(name)] = (FILE, repo.objects.write("blob", data))
    return entries
