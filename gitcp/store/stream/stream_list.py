"""The streams there are: live, suffix and archived, who is on each, and why."""

from __future__ import annotations

from gitcp.core.git import ids
from gitcp.errors import Error
from gitcp.store.stream import recall, shadow_refs, stream_history

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.core.record_types import Record, State, Tip
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


def listing(repo: Repo, objects: Objects, states: Iterable[State]) -> list[Record]:
    """A record of type stream for every stream, newest first.

    states: of all sessions; what they name of a stream are its files and decisions.  Three
    processes of git, however many streams there are.
    """
    return _records(repo, objects, shadow_refs.listing(repo, objects), states)


def newest(
    repo: Repo, objects: Objects, states: Iterable[State], most: int
) -> tuple[list[Record], int]:
    """The same for the newest streams alone; how many refs are left out."""
    refs = shadow_refs.list_refs(repo, newest_first=True)
    tips = shadow_refs.read_all(objects, refs[:most])
    return _records(repo, objects, tips, states), len(refs[most:])


def _records(
    repo: Repo, objects: Objects, tips: list[Tip], states: Iterable[State]
) -> list[Record]:
    of: dict[str, list[State]] = {}
    for state in states:
        for stream in {stream["id"] for stream in state["streams"]}:
            of.setdefault(stream, []).append(state)
    chains = stream_history.chains(repo, tips)
    records = [_record(objects, t, len(chains[t["ref"]]), of.get(t["stream"], [])) for t in tips]
    for record, tip in zip(records, tips, strict=True):
        if tip["stream"] not in of and _is_settled(repo, objects, tip):
            record["settled"] = True
    return records


def _is_settled(repo: Repo, objects: Objects, tip: Tip) -> bool:
    """Whether commits have all of a stream: 'gitcp clean' takes it in time."""
    orphaned = recall.orphaned(repo, objects, tip)
    return orphaned and not recall.forsaken(repo, objects, tip)


def _record(objects: Objects, tip: Tip, count: int, on: list[State]) -> Record:
    kind, worktree = place(tip["ref"])
    sessions = [
        p.removeprefix(shadow_refs.METADATA) for p in shadow_refs.metadata(objects, tip["tree"])
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
        "files": _files(objects, tip, on),
        "decisions": [_decision(s) for s in on if current(s) == tip["stream"] and _decision(s)],
    }


def place(ref: str) -> tuple[str, str]:
    """(kind, worktree hash) that a stream's ref tells: live, suffix or archived; '' for a
    name from before worktrees had their own."""
    parsed = ids.parse_shadow(ref)
    suffix = parsed and parsed["suffix"] is not None
    kind = "archived" if ref.startswith(shadow_refs.ARCHIVE) else "suffix" if suffix else "live"
    return kind, (parsed["worktree"] or "") if parsed else ""


def current(state: State) -> str:
    """The id of the stream a session is on, '' when it is on none."""
    return str(state["streams"][-1]["id"]) if state["streams"] else ""


def _files(objects: Objects, tip: Tip, on: list[State]) -> list[str]:
    """What is unsettled of a stream; of one that no state names, all it records."""
    named = [x["files"] for s in on for x in s["streams"] if x["id"] == tip["stream"]]
    if named:
        return sorted({path for files in named for path in files})
    try:
        return sorted(shadow_refs.recorded(objects, tip))
    except Error:  # its base is not in this repository any more
        return []


def _decision(state: State) -> Record:
    verdict = state.get("last_verdict")
    if not isinstance(verdict, dict):
        return {}
    words = {key: str(verdict.get(key, "")) for key in ("verdict", "reason")}
    return {"session_id": state["session_id"], **words}


def find(repo: Repo, objects: Objects, name: str) -> Tip:
    """The stream of a ref, full or short, or of an id or its beginning.

    Raises Error when there is none, or when several ids begin so: it lists them.
    """
    tips = shadow_refs.listing(repo, objects)
    starts = ("", "refs/", "refs/heads/", *shadow_refs.PLACES)
    full = {start + name for start in starts}
    full |= {place + ids.stream_name(name) for place in shadow_refs.PLACES}
    exact = [t for t in tips if t["ref"] in full or t["stream"] == name]
    matching = exact or [t for t in tips if name and t["stream"].startswith(name)]
    if not matching:
        raise Error(f"no such stream: '{name}'")
    if len({t["ref"] for t in matching}) > 1:
        raise Error(f"ambiguous stream '{name}': {' '.join(t['ref'] for t in matching)}")
    return matching[0]
