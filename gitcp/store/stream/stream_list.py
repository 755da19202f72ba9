"""The streams there are: live, suffix and archived, who is on each, and why; and the checkpoints of
each, newest first, read from their commits without a process each."""

from __future__ import annotations

from gitcp.core.git import ids
from gitcp.core.v1 import summary
from gitcp.errors import Error
from gitcp.record import decode_name, encode_lines
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
    """A record of type stream for every stream, newest first.

    states: of all sessions; what they name of a stream are its files and decisions.  Three
    processes of git, however many streams there are.
    """
    return _build_records(repo, objects, shadow_refs.list_tips(repo, objects), states)


def list_newest(
    repo: Repo, objects: Objects, states: Iterable[State], most: int
) -> tuple[list[Record], int]:
    """The same for the newest streams alone; how many refs are left out."""
    refs = shadow_refs.list_refs(repo, newest_first=True)
    tips = shadow_refs.read_tips(objects, refs[:most])
    return _build_records(repo, objects, tips, states), len(refs[most:])


def _build_records(
    repo: Repo, objects: Objects, tips: list[Tip], states: Iterable[State]
) -> list[Record]:
    of: dict[str, list[State]] = {}
    for state in states:
        for stream in {stream["id"] for stream in state["streams"]}:
            of.setdefault(stream, []).append(state)
    steps = read_chains(repo, tips)
    records = [
        _build_record(objects, t, len(steps[t["ref"]]), of.get(t["stream"], [])) for t in tips
    ]
    for record, tip in zip(records, tips, strict=True):
        if tip["stream"] not in of and _is_settled(repo, objects, tip):
            record["settled"] = True
    return records


def _is_settled(repo: Repo, objects: Objects, tip: Tip) -> bool:
    """Whether commits have all of a stream: 'gitcp clean' takes it in time."""
    orphaned = recall.is_orphaned(repo, objects, tip)
    return orphaned and not recall.holds_lost_work(repo, objects, tip)


def _build_record(objects: Objects, tip: Tip, count: int, on: list[State]) -> Record:
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
        "sessions": sorted({*sessions, *(s["session_id"] for s in on)}),
        "checkpoints": count,
        "time": tip["time"],
        "files": _list_files(objects, tip, on),
        "decisions": [
            _build_decision(s) for s in on if get_current(s) == tip["stream"] and _build_decision(s)
        ],
    }


def parse_ref(ref: str) -> tuple[str, str]:
    """(kind, worktree hash) that a stream's ref tells: live, suffix or archived; '' for a
    name from before worktrees had their own."""
    parsed = ids.parse_shadow(ref)
    suffix = parsed and parsed["suffix"] is not None
    kind = "archived" if ref.startswith(shadow_refs.ARCHIVE) else "suffix" if suffix else "live"
    return kind, (parsed["worktree"] or "") if parsed else ""


def get_current(state: State) -> str:
    """The id of the stream a session is on, '' when it is on none."""
    return str(state["streams"][-1]["id"]) if state["streams"] else ""


def _list_files(objects: Objects, tip: Tip, on: list[State]) -> list[str]:
    """What is unsettled of a stream; of one that no state names, all it records."""
    named = [x["files"] for s in on for x in s["streams"] if x["id"] == tip["stream"]]
    if named:
        return sorted({path for files in named for path in files})
    try:
        return sorted(shadow_refs.read_recorded(objects, tip))
    except Error:  # its base is not in this repository any more
        return []


def _build_decision(state: State) -> Record:
    verdict = state.get("last_verdict")
    if not isinstance(verdict, dict):
        return {}
    words = {key: str(verdict.get(key, "")) for key in ("verdict", "reason")}
    return {"session_id": state["session_id"], **words}


def find_stream(repo: Repo, objects: Objects, name: str) -> Tip:
    """The stream of a ref, full or short, or of an id or its beginning.

    Raises Error when there is none, or when several ids begin so: it lists them.
    """
    tips = shadow_refs.list_tips(repo, objects)
    starts = ("", "refs/", "refs/heads/", *shadow_refs.PLACES)
    full = {start + name for start in starts}
    full |= {place + ids.parse_stream_name(name) for place in shadow_refs.PLACES}
    exact = [t for t in tips if t["ref"] in full or t["stream"] == name]
    matching = exact or [t for t in tips if name and t["stream"].startswith(name)]
    if not matching:
        raise Error(f"no such stream: '{name}'")
    if len({t["ref"] for t in matching}) > 1:
        raise Error(f"ambiguous stream '{name}': {' '.join(t['ref'] for t in matching)}")
    return matching[0]


def read_chains(repo: Repo, tips: Iterable[Tip]) -> dict[str, list[Record]]:
    """ref -> the records of its checkpoints, newest first; one `git log` for all of them.

    A stream ends where a commit names no session: what the original program began on a
    person's commit goes no further.
    """
    wanted = list(tips)
    if not wanted:
        return {}
    steps = _read_steps(repo, [tip["oid"] for tip in wanted])
    return {
        tip["ref"]: [_describe_step(tip, step) for step in _walk_down(steps, tip)] for tip in wanted
    }


def find_newest(repo: Repo, objects: Objects, session_id: str) -> Record | None:
    """The newest checkpoint of a session on any stream; None when there is none."""
    every = read_chains(repo, shadow_refs.list_tips(repo, objects)).values()
    own = [step for chain in every for step in chain if step["session_id"] == session_id]
    return max(own, key=lambda step: int(step["time"]), default=None)


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
    """A checkpoint with its prompt and the files it changed since the one before it.

    files: path -> 'added', 'modified' or 'deleted'; of a stream's first checkpoint, since its
    base commit.  What only came with a new base is none of them.
    """
    look = Lookup(objects, checkpoint["tree"])
    own = shadow_refs.METADATA + checkpoint["session_id"]
    prompts = look(f"{own}/{summary.PROMPT}")
    joined = decode_name(objects.need(prompts[1], "blob")) if prompts else ""
    base = find_tree(objects, checkpoint["base_commit"])
    moved = checkpoint["parent"] and _read_base(objects, checkpoint["parent"]) not in (
        "",
        checkpoint["base_commit"],
    )
    based = Lookup(objects, base if moved else None)
    before = find_tree(objects, checkpoint["parent"]) if checkpoint["parent"] else base
    files = {
        path: "added" if was is None else "deleted" if now is None else "modified"
        for path, was, now in compare_trees(objects, before, checkpoint["tree"])
        if not path.startswith(".entire/") and not (moved and based(path) == now)
    }
    return {**checkpoint, "prompt": joined.rpartition(summary.SEPARATOR)[2], "files": files}


def _read_base(objects: Objects, commit: str) -> str:
    obj = objects.read(commit)
    return shadow_refs.find_trailer(decode_name(obj[2]), "Base-Commit") if obj else ""
