"""The checkpoints of streams, newest first, read from their commits without a process each."""

from __future__ import annotations

from gitcp.core.v1 import summary
from gitcp.record import one_a_line, text
from gitcp.store.git.tree import Lookup, diff_trees, tree_of
from gitcp.store.stream import shadow_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitcp.core.record_types import Record, Tip
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

    Step = tuple[str, str, str, int, str]  # oid, parent or '', tree, time, message

_FORMAT = "--format=%H%x00%P%x00%T%x00%ct%x00%B%x00%x00"
_LOG = ("log", "--no-show-signature", "--no-notes", "--no-color", _FORMAT, "--stdin")


def chains(repo: Repo, tips: Iterable[Tip]) -> dict[str, list[Record]]:
    """ref -> the records of its checkpoints, newest first; one `git log` for all of them.

    A stream ends where a commit names no session: what the original program began on a
    person's commit goes no further.
    """
    wanted = list(tips)
    if not wanted:
        return {}
    steps = _steps(repo, [tip["oid"] for tip in wanted])
    return {tip["ref"]: [_record(tip, step) for step in _down(steps, tip)] for tip in wanted}


def newest(repo: Repo, objects: Objects, session_id: str) -> Record | None:
    """The newest checkpoint of a session on any stream; None when there is none."""
    every = chains(repo, shadow_refs.listing(repo, objects)).values()
    own = [step for chain in every for step in chain if step["session_id"] == session_id]
    return max(own, key=lambda step: int(step["time"]), default=None)


def _steps(repo: Repo, oids: list[str]) -> dict[str, Step]:
    _, out = repo.git.run(*_LOG, stdin=one_a_line(oids))
    steps = {}
    for item in text(out).split("\0\0\n"):
        if item:
            oid, parents, tree, time, message = item.split("\0", 4)
            steps[oid] = (oid, parents.partition(" ")[0], tree, int(time or 0), message)
    return steps


def _down(steps: dict[str, Step], tip: Tip) -> Iterator[Step]:
    step = steps.get(tip["oid"])
    while step and shadow_refs.trailer(step[4], "Entire-Session"):
        yield step
        step = steps.get(step[1])


def _record(tip: Tip, step: Step) -> Record:
    oid, parent, tree, time, message = step
    task = shadow_refs.trailer(message, "Entire-Metadata-Task")
    return {
        "type": "checkpoint",
        "oid": oid,
        "ref": tip["ref"],
        "stream": tip["stream"],
        "parent": parent,
        "tree": tree,
        "base_commit": shadow_refs.trailer(message, "Base-Commit") or tip["base"],
        "session_id": shadow_refs.trailer(message, "Entire-Session"),
        "strategy": shadow_refs.trailer(message, "Entire-Strategy"),
        "time": time,
        "message": message.partition("\n")[0],
        "is_task_checkpoint": bool(task),
        "tool_use_id": task.rpartition("/")[2],
    }


def detailed(objects: Objects, checkpoint: Record) -> Record:
    """A checkpoint with its prompt and the files it changed since the one before it.

    files: path -> 'added', 'modified' or 'deleted'; of a stream's first checkpoint, since its
    base commit.  What only came with a new base is none of them.
    """
    look = Lookup(objects, checkpoint["tree"])
    own = shadow_refs.METADATA + checkpoint["session_id"]
    prompts = look(f"{own}/{summary.PROMPT}")
    joined = text(objects.need(prompts[1], "blob")) if prompts else ""
    base = tree_of(objects, checkpoint["base_commit"])
    moved = checkpoint["parent"] and _base(objects, checkpoint["parent"]) not in (
        "",
        checkpoint["base_commit"],
    )
    based = Lookup(objects, base if moved else None)
    before = tree_of(objects, checkpoint["parent"]) if checkpoint["parent"] else base
    files = {
        path: "added" if was is None else "deleted" if now is None else "modified"
        for path, was, now in diff_trees(objects, before, checkpoint["tree"])
        if not path.startswith(".entire/") and not (moved and based(path) == now)
    }
    return {**checkpoint, "prompt": joined.rpartition(summary.SEPARATOR)[2], "files": files}


def _base(objects: Objects, commit: str) -> str:
    obj = objects.read(commit)
    return shadow_refs.trailer(text(obj[2]), "Base-Commit") if obj else ""
