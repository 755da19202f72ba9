"""The undo log of a worktree: refs/gitcp/undo/<worktree hash>, one commit a step.

A commit has the worktree before and after the step as two trees, and the step as JSON in its
message (gitcp-formats(5)).  The log only grows: no undone step is lost to gc, to a new turn or to
another step.  `gitcp clean` removes the oldest steps.
"""

from __future__ import annotations

from gitcp.checkpoints import format
from gitcp.checkpoints.format import schema
from gitcp.errors import Moved
from gitcp.git import decode_name, refs
from gitcp.git.files import exclusive
from gitcp.git.objects import TREE, Lookup, write_commit, write_tree
from gitcp.record.session import make_id
from gitcp.steps.back import plan
from gitcp.text import console, json, shapes, term

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.steps.back.plan import Step
    from gitcp.text.record_types import Record

    Effect = dict[str, Any]  # {index|note|checkpoint|ref|file, old, new}: record_step()

PREFIX = "refs/gitcp/undo/"
_ROOT = b"gitcp: undo log"  # the message of the first commit
_LOG = "log -z --reverse --first-parent --no-show-signature --no-notes --no-color"
_TRIES = 20
_NEEDED = ("id", "kind", "reason", "parent", "effects")
_FORMAT = "--format=%H%x00%ct%x00%B"


def get_ref(repo: Repo) -> str:
    """The ref of this worktree's log."""
    return PREFIX + repo.worktree_hash


def read_tip(repo: Repo) -> str | None:
    """The newest commit of this worktree's log; None for no step."""
    return refs.read_ref(repo, get_ref(repo))


def read_steps(repo: Repo, name: str = "") -> list[Step]:
    """Every step, oldest first, with `commit` and `time`.

    `<commit>:before` and `<commit>:after` are its trees; they are absent if the step changed no
    file of the worktree.  name: the log's ref, '' for this worktree's.  Commits that are no steps
    are passed over, with a warning.
    """
    ref = name or get_ref(repo)
    if refs.read_ref(repo, ref) is None:
        return []
    fields = repo.git.read_records(*_LOG.split(), _FORMAT, ref, "--")
    steps: list[Step] = []
    unknown = 0
    for start in range(0, len(fields) - 2, 3):
        oid, time, message = fields[start : start + 3]
        step = _parse_step(message.partition(b"\n\n")[2])
        if step:
            steps.append({**step, "commit": oid.decode(), "time": int(time or 0)})
        elif message.strip() != _ROOT:
            unknown += 1
    if unknown:
        console.warn_lacking(f"{unknown} of the commits of '{ref}' are not steps of gitcp")
    return steps


def _parse_step(body: bytes) -> Step | None:
    """A step in the body of a message; None if it is none."""
    stored = format.parse_json(body)
    step, _ = schema.select_conforming(stored or {}, schema.SHAPES["step"])
    is_move = step.get("kind") in plan.MOVES
    if step.keys() >= {*_NEEDED, *(["target"] if is_move else [])}:
        return step
    return None


def record_step(repo: Repo, kind: str, reason: str, effects: Sequence[Effect]) -> str:
    """Record a step that a command has taken, so that `gitcp undo` can undo it; return its id.

    kind: the command's name.  reason: what it did, on one line, redacted.  effects: what it
    changed, each {'note': commit, 'old', 'new'} (blobs of refs/notes/gitcp), {'checkpoint': id,
    'old', 'new'} (trees of the permanent store), {'ref': name, 'old', 'new'} (oids),
    {'file': absolute path, 'old', 'new'} (names by keep_bytes()) or that of describe_staging() or
    describe_commits(); None for absent.  The effects are made already, and the caller may hold any
    lock.  Raises Moved when the log keeps moving.
    """
    step = make_step(kind, reason, effects)
    for tries_left in reversed(range(_TRIES)):
        try:
            append_step(repo, write_step(repo, step, None))
            break
        except Moved:  # another step was recorded meanwhile
            if not tries_left:
                raise
    return str(step["id"])


def make_step(kind: str, reason: str, effects: Iterable[Effect] = (), **more: Any) -> Step:
    """Make a step, which write_step() puts at the end of the log."""
    return {"id": make_id(), "kind": kind, "reason": reason, "effects": list(effects), **more}


def write_step(repo: Repo, step: Step, trees: tuple[str, str] | None) -> tuple[str, str | None]:
    """Write the commit of a step; return (its oid, the log's tip), for append_step().

    trees: the worktree before and after.
    """
    tip = read_tip(repo)
    log = read_steps(repo)
    place = {"head": refs.read_head(repo) or "", "branch": refs.read_branch(repo)}
    position = plan.get_position(log)
    # An undo has its own position.
    recorded = {"parent": position, "position": step["id"], **place, **step}
    message = f"gitcp: {step['kind']}: {step['reason']}\n\n{json.dumps(recorded)}"
    if trees:
        entries = {"before": (TREE, trees[0]), "after": (TREE, trees[1])}
    else:
        entries = {}
    # The tree and the parents keep what undo needs from git's pruning.
    ends = [(e, e[end]) for e in step["effects"] for end in ("old", "new") if e[end]]
    blobs = [oid for e, oid in ends if "note" in e]
    blobs += [oid for _, oid in step.get("raw", {}).values() if oid]
    entries |= {f"blob-{oid}": ("100644", oid) for oid in blobs}
    trees_kept = (oid for e, oid in ends if get_kind(e) in ("checkpoint", "index"))
    entries |= {f"tree-{oid}": (TREE, oid) for oid in trees_kept}
    root = write_tree(repo.objects, entries)
    old_tips = [e["old"] for e in step["effects"] if "ref" in e and e["old"]]
    old_tips += [oid for e in step["effects"] for oid in e.get("commits", ()) if oid]
    old_tips += [e["stash"] for e in step["effects"] if "stash" in e]
    first = tip or (write_empty_root(repo) if old_tips else None)
    parents = [first, *old_tips] if first else []
    return write_commit(repo, root, parents, message), tip


def write_empty_root(repo: Repo) -> str:
    """An empty commit, the first parent of the first step of a log."""
    return write_commit(repo, write_tree(repo.objects, {}), [], _ROOT.decode())


def append_step(repo: Repo, written: tuple[str, str | None]) -> None:
    """Set the log to the commit of write_step(); raises Moved if another step was recorded."""
    oid, tip = written
    refs.update_refs(repo, [(get_ref(repo), oid, tip)], "gitcp: undo log")


def withdraw_step(repo: Repo, written: tuple[str, str | None]) -> None:
    """Remove the newest step from the log, because it could not be carried out."""
    oid, tip = written
    refs.update_refs(repo, [(get_ref(repo), tip, oid)], "gitcp: undo log")


def hold_log(repo: Repo, worktree: str = "", timeout: float = 10.0) -> exclusive:
    """The lock under which one process at a time takes steps in a worktree (its hash, '' for this
    one); raises Busy after timeout seconds."""
    return exclusive(repo, f"rewind-{worktree or repo.worktree_hash}", timeout)


def find_tree(objects: Objects, commit: str, part: str) -> str | None:
    """The tree `before` or `after` of a step; None if it has none."""
    obj = objects.read(f"{commit}:{part}")
    return obj[0] if obj else None


def open_tree(objects: Objects, commit: str, part: str) -> Lookup:
    """A lookup in the tree `before` or `after` of a step."""
    return Lookup(objects, find_tree(objects, commit, part))


def list_young(steps: Sequence[Step], before: float) -> Sequence[Step]:
    """The steps from the first one that is not older than before, seconds since 1970."""
    start = next((n for n, step in enumerate(steps) if step["time"] >= before), len(steps))
    return steps[start:]


def list_contents(steps: Iterable[Step]) -> set[str]:
    """The names of the kept contents that the effects of steps need."""
    effects = (effect for step in steps for effect in step["effects"])
    files = (effect for effect in effects if get_kind(effect) == "file")
    return {name for effect in files for name in (effect["old"], effect["new"]) if name}


def shorten_log(repo: Repo, ref: str, tip: str, before: float) -> list[Record] | None:
    """Remove the steps of a log that are older than before; return their points.

    The other steps keep their ids, dates and trees.  None, with nothing changed, if ref is not at
    tip any more.
    """
    with hold_log(repo, ref.removeprefix(PREFIX)):
        if refs.read_ref(repo, ref) != tip:
            return None
        steps = read_steps(repo, ref)
        remaining = list_young(steps, before)
        parent = ""
        for step in remaining:
            parent = _move_step(repo, step["commit"], parent)
        refs.update_refs(repo, [(ref, parent or None, tip)], "gitcp: clean")
        return list_points(repo.objects, ref, steps[: len(steps) - len(remaining)])


def list_points(objects: Objects, ref: str, steps: Iterable[Step]) -> list[Record]:
    """The points of steps, as records of store.stream.stream_list."""
    return [
        {
            "id": step["commit"],
            "kind": "safety",
            "time": step["time"],
            "message": plan.name_worktree_before(step, term.format_clock(step["time"])),
            "session_id": "",
            "base_commit": "",
            "worktree": ref.removeprefix(PREFIX),
        }
        for step in steps
        if find_tree(objects, step["commit"], "before")
    ]


def _move_step(repo: Repo, oid: str, parent: str) -> str:
    """Write a step's commit with another first parent; its other parents stay."""
    header, _, message = repo.objects.need(oid, "commit").partition(b"\n\n")
    tree, *lines = header.split(b"\n")
    parents = [line for line in lines if line.startswith(b"parent ")]
    fields = [line for line in lines if line not in parents]
    first = parent or (write_empty_root(repo) if parents[1:] else "")
    if first:
        parents[:1] = [b"parent %s" % first.encode()]
    else:
        parents[:1] = []
    return repo.objects.write("commit", b"\n".join([tree, *parents, *fields]) + b"\n\n" + message)


def count_commits_since(repo: Repo, step: Step) -> tuple[int, str]:
    """(how many commits HEAD has that it had not after a step, the newest as `1a2b3c4 Subject`).

    (0, '') also if that is not known: a step of an older version does not name HEAD."""
    moved = (effect["commits"][-1] for effect in step["effects"] if effect.get("commits"))
    old = next(moved, step.get("head"))
    if not old or not shapes.is_object_name(old) or refs.read_head(repo) in (None, old):
        return 0, ""
    status, count = repo.git.run("rev-list", "--count", f"{old}..HEAD", "--", ok=(0, 128))
    if status or not int(count):
        return 0, ""
    shown = repo.git.run("log", "-1", "--no-show-signature", "--no-color", "--format=%h %s")[1]
    return int(count), decode_name(shown.rstrip(b"\n"))


def name_branch(ref: str) -> str:
    """A branch as git names it for people; a detached HEAD is `HEAD`."""
    return ref.removeprefix("refs/heads/")


def get_kind(effect: Effect) -> str:
    """What an effect changed."""
    kinds = ("stash", "index", "note", "checkpoint", "ref", "file")
    return next(kind for kind in kinds if kind in effect)
