"""Lists the streams, live, suffixed and archived, with their sessions and verdicts, and the
checkpoints of each, newest first."""

from __future__ import annotations

from gitcp.core.git import ids
from gitcp.core.v1 import summary
from gitcp.errors import Error
from gitcp.record import decode_name, encode_lines
from gitcp.store.git.commit import read_commit
from gitcp.store.git.tree import Lookup, compare_trees, find_tree
from gitcp.store.stream import recall, shadow_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitcp.core.record_types import Record, State, Tip
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

    Step = tuple[str, str, str, int, str]  # oid, parent or '', tree, time, message

_FORMAT = "--format=%H%x00%P%x00%T%x00%ct%x00%B%x00%x00"
_LOG = ("log", "--no-show-signature", "--no-notes", "--no-color", _FORMAT, "--stdin")


def list_streams(repo: Repo, objects: Objects, states: Iterable[State]) -> list[Record]:
    """A record of type "stream" for every stream, newest first.

    states: those of all sessions, from which the files and decisions come.  This takes three
    processes of git for any number of streams.
    """
    return _build_records(repo, objects, shadow_refs.list_tips(repo, objects), states)


def list_newest(
    repo: Repo, objects: Objects, states: Iterable[State], limit: int
) -> tuple[list[Record], int]:
    """(the records for the newest streams, at most limit; the number of refs left out)."""
    refs = shadow_refs.list_refs(repo, newest_first=True)
    tips = shadow_refs.read_tips(objects, refs[:limit])
    return _build_records(repo, objects, tips, states), len(refs[limit:])


def _build_records(
    repo: Repo, objects: Objects, tips: list[Tip], states: Iterable[State]
) -> list[Record]:
    states_by_stream: dict[str, list[State]] = {}
    for state in states:
        for stream in {stream["id"] for stream in state["streams"]}:
            states_by_stream.setdefault(stream, []).append(state)
    steps = read_chains(repo, tips)
    records = [
        _build_record(objects, tip, len(steps[tip["ref"]]), states_by_stream.get(tip["stream"], []))
        for tip in tips
    ]
    for record, tip in zip(records, tips, strict=True):
        if tip["stream"] not in states_by_stream and _is_settled(repo, objects, tip):
            record["settled"] = True
    return records


def _is_settled(repo: Repo, objects: Objects, tip: Tip) -> bool:
    """Whether commits have everything of a stream: 'gitcp clean' will remove it."""
    orphaned = recall.is_orphaned(repo, objects, tip)
    return orphaned and not recall.holds_lost_work(repo, objects, tip)


def _build_record(objects: Objects, tip: Tip, count: int, states: list[State]) -> Record:
    kind, worktree = parse_ref(tip["ref"])
    sessions = [
        p.removeprefix(shadow_refs.METADATA)
        for p in shadow_refs.read_metadata(objects, tip["tree"])
    ]
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
    kind = "archived" if ref.startswith(shadow_refs.ARCHIVE) else "suffix" if suffix else "live"
    return kind, (parsed["worktree"] or "") if parsed else ""


def get_current(state: State) -> str:
    """The id of the stream that a session is on; '' without one."""
    return str(state["streams"][-1]["id"]) if state["streams"] else ""


def _list_files(objects: Objects, tip: Tip, states: list[State]) -> list[str]:
    """The unsettled paths of a stream; all its paths if no state names it."""
    recorded_files = [
        stream["files"]
        for state in states
        for stream in state["streams"]
        if stream["id"] == tip["stream"]
    ]
    if recorded_files:
        return sorted({path for files in recorded_files for path in files})
    try:
        return sorted(shadow_refs.read_changes(objects, tip))
    except Error:  # its base is gone
        return []


def _build_decision(state: State) -> Record:
    verdict = state.get("last_verdict")
    if not isinstance(verdict, dict):
        return {}
    words = {key: str(verdict.get(key, "")) for key in ("verdict", "reason")}
    return {"session_id": state["session_id"], **words}


def find_stream(repo: Repo, objects: Objects, name: str) -> Tip:
    """The stream named by a ref, full or short, or by an id or a prefix of it.

    Raises Error if there is none, or several, which it lists.
    """
    tips = shadow_refs.list_tips(repo, objects)
    starts = ("", "refs/", "refs/heads/", *shadow_refs.PREFIXES)
    full_names = {start + name for start in starts}
    full_names |= {prefix + ids.parse_stream_name(name) for prefix in shadow_refs.PREFIXES}
    exact = [tip for tip in tips if tip["ref"] in full_names or tip["stream"] == name]
    matches = exact or [tip for tip in tips if name and tip["stream"].startswith(name)]
    ids.pick_match("stream", name, list(dict.fromkeys(tip["ref"] for tip in matches)))
    return matches[0]


def read_chains(repo: Repo, tips: Iterable[Tip]) -> dict[str, list[Record]]:
    """ref -> the records of its checkpoints, newest first, by one `git log`.

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


def find_newest(repo: Repo, objects: Objects, session_id: str) -> Record | None:
    """The newest checkpoint of a session on any stream; None without one."""
    chains = read_chains(repo, shadow_refs.list_tips(repo, objects)).values()
    steps = [step for chain in chains for step in chain if step["session_id"] == session_id]
    return max(steps, key=lambda step: int(step["time"]), default=None)


def _read_steps(repo: Repo, oids: list[str]) -> dict[str, Step]:
    _, out = repo.git.run(*_LOG, stdin=encode_lines(oids))
    steps = {}
    for item in decode_name(out).split("\0\0\n"):
        if item:
            oid, parents, tree, time, message = item.split("\0", 4)
            steps[oid] = (oid, parents.partition(" ")[0], tree, int(time or 0), message)
    return steps


def _walk_down(steps: dict[str, Step], tip: Tip) -> Iterator[Step]:
    step = steps.get(tip["oid"])
    while step and shadow_refs.find_trailer(step[4], "Entire-Session"):
        yield step
        step = steps.get(step[1])


def _describe_step(tip: Tip, step: Step) -> Record:
    oid, parent, tree, time, message = step
    task = shadow_refs.find_trailer(message, "Entire-Metadata-Task")
    return {
        "type": "checkpoint",
        "oid": oid,
        "ref": tip["ref"],
        "stream": tip["stream"],
        "parent": parent,
        "tree": tree,
        "base_commit": shadow_refs.find_trailer(message, "Base-Commit") or tip["base"],
        "session_id": shadow_refs.find_trailer(message, "Entire-Session"),
        "strategy": shadow_refs.find_trailer(message, "Entire-Strategy"),
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
    folder = shadow_refs.METADATA + checkpoint["session_id"]
    prompt_entry = lookup(f"{folder}/{summary.PROMPT}")
    prompts = decode_name(objects.need(prompt_entry[1], "blob")) if prompt_entry else ""
    base = find_tree(objects, checkpoint["base_commit"])
    parent = read_commit(objects, checkpoint["parent"]) if checkpoint["parent"] else None
    old_base = shadow_refs.find_trailer(parent["message"], "Base-Commit") if parent else ""
    has_moved = old_base not in ("", checkpoint["base_commit"])
    base_lookup = Lookup(objects, base if has_moved else None)
    previous = find_tree(objects, checkpoint["parent"]) if checkpoint["parent"] else base
    files = {
        path: "added" if old is None else "deleted" if new is None else "modified"
        for path, old, new in compare_trees(objects, previous, checkpoint["tree"])
        if not path.startswith(".entire/") and not (has_moved and base_lookup(path) == new)
    }
    return {**checkpoint, "prompt": prompts.rpartition(summary.SEPARATOR)[2], "files": files}
