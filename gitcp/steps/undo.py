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
from gitcp.steps import undo_tree
from gitcp.steps.step import CHECKPOINT, FILE, INDEX, NOTE, REF, STASH, LogPlace, Step, parse_step
from gitcp.text import console, json, replace, shapes, term, value_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.steps.step import Effect
    from gitcp.text.record_types import Entry, Record

PREFIX = "refs/gitcp/undo/"
_ROOT = b"gitcp: undo log"  # the message of the first commit
_LOG = "log -z --reverse --first-parent --no-show-signature --no-notes --no-color"
_TRIES = 20
_FORMAT = "--format=%H%x00%ct%x00%B"


@value_class
class Written:
    """The commit of a step, and the tip of the log on which it was written, None for none."""

    commit: str
    tip: str | None


@value_class
class Ends:
    """The trees of the worktree before and after a step."""

    before: str
    after: str


def get_ref(repo: Repo) -> str:
    """The ref of this worktree's log."""
    return PREFIX + repo.worktree_hash


def read_tip(repo: Repo) -> str | None:
    """The newest commit of this worktree's log; None for no step."""
    return refs.read_ref(repo, get_ref(repo))


def read_steps(repo: Repo, log: str = "") -> list[Step]:
    """Every step, oldest first, with `commit` and `time`.

    `<commit>:before` and `<commit>:after` are its trees; they are absent if the step changed no
    file of the worktree.  log: its ref, '' for this worktree's.  Commits that are no steps
    are passed over, with a warning.
    """
    ref = log or get_ref(repo)
    if refs.read_ref(repo, ref) is None:
        return []
    fields = repo.git.read_records(*_LOG.split(), _FORMAT, ref, "--")
    steps: list[Step] = []
    unknown = 0
    for start in range(0, len(fields) - 2, 3):
        oid, time, message = fields[start : start + 3]
        _, _, body = message.partition(b"\n\n")
        stored = format.parse_json(body) or {}
        conforming, _ = schema.select_conforming(stored, schema.SHAPES["step"])
        step = parse_step(conforming, LogPlace(oid.decode(), int(time or 0)))
        if step:
            steps.append(step)
        elif message.strip() != _ROOT:
            unknown += 1
    if unknown:
        console.warn_lacking(f"{unknown} of the commits of '{ref}' are not steps of gitcp")
    return steps


def record_step(repo: Repo, kind: str, reason: str, effects: Iterable[Effect]) -> str:
    """Record a step that a command has taken, so that `gitcp undo` can undo it; return its id.

    kind: the command's name.  reason: what it did, on one line, redacted.  effects: what it
    changed; they are made already, and the caller may hold any lock.  Raises Moved when the log
    keeps moving.
    """
    step = make_step(kind, reason, effects)
    for tries_left in reversed(range(_TRIES)):
        try:
            append_step(repo, write_step(repo, step, None))
            break
        except Moved:  # another step was recorded meanwhile
            if not tries_left:
                raise
    return step.id


def make_step(kind: str, reason: str, effects: Iterable[Effect] = ()) -> Step:
    """Make a step, which write_step() puts at the end of the log."""
    return Step(make_id(), kind, reason, list(effects))


def write_step(repo: Repo, step: Step, ends: Ends | None) -> Written:
    """Write the commit of a step, for append_step().  ends: None if no file was changed."""
    tip = read_tip(repo)
    placed = replace(
        step,
        parent=undo_tree.UndoTree(read_steps(repo)).position,
        head=refs.read_head(repo) or "",
        branch=refs.read_branch(repo),
    )
    message = f"gitcp: {step.describe()}\n\n{json.dumps(placed.make_record())}"
    root = write_tree(repo.objects, _list_entries(step, ends))
    needed = _list_needed_commits(step)
    first = tip  # the first parent is the log
    if first is None and needed:
        first = write_empty_root(repo)
    parents: list[str] = []
    if first:
        parents = [first, *needed]
    return Written(write_commit(repo, root, parents, message), tip)


def _list_entries(step: Step, ends: Ends | None) -> dict[str, Entry]:
    """The entries of the tree of a step's commit: its ends, and what undo needs."""
    entries: dict[str, Entry] = {}
    if ends:
        entries["before"] = TREE, ends.before
        entries["after"] = TREE, ends.after
    blobs: list[str] = []
    trees: list[str] = []
    for effect in step.effects:
        if effect.kind == NOTE:
            blobs += effect.list_ends()
        elif effect.kind in (CHECKPOINT, INDEX):
            trees += effect.list_ends()
    for _, oid in (step.raw or {}).values():
        if oid:
            blobs.append(oid)
    for oid in blobs:
        entries[f"blob-{oid}"] = "100644", oid
    for oid in trees:
        entries[f"tree-{oid}"] = TREE, oid
    return entries


def _list_needed_commits(step: Step) -> list[str]:
    """The commits that undo needs: parents keep them from git's pruning."""
    tips: list[str] = []
    moved: list[str] = []
    stashed: list[str] = []
    for effect in step.effects:
        if effect.kind == REF and effect.old:
            tips.append(effect.old)
        if effect.kind == STASH:
            stashed.append(effect.subject)
        move = effect.index.move
        if move:
            moved += filter(None, (move.old, move.new))
    return [*tips, *moved, *stashed]


def write_empty_root(repo: Repo) -> str:
    """An empty commit, the first parent of the first step of a log."""
    return write_commit(repo, write_tree(repo.objects, {}), [], _ROOT.decode())


def append_step(repo: Repo, written: Written) -> None:
    """Set the log to the commit of write_step(); raises Moved if another step was recorded."""
    refs.update_refs(repo, [(get_ref(repo), written.commit, written.tip)], "gitcp: undo log")


def withdraw_step(repo: Repo, written: Written) -> None:
    """Remove the newest step from the log, because it could not be carried out."""
    refs.update_refs(repo, [(get_ref(repo), written.tip, written.commit)], "gitcp: undo log")


def hold_log(repo: Repo, worktree: str = "", timeout: float = 10.0) -> exclusive:
    """The lock under which one process at a time takes steps in a worktree (its hash, '' for this
    one); raises Busy after timeout seconds."""
    return exclusive(repo, f"rewind-{worktree or repo.worktree_hash}", timeout)


def find_tree(objects: Objects, commit: str, part: str) -> str | None:
    """The tree `before` or `after` of a step; None if it has none."""
    obj = objects.read(f"{commit}:{part}")
    if obj is None:
        return None
    return obj[0]


def open_tree(objects: Objects, commit: str, part: str) -> Lookup:
    """A lookup in the tree `before` or `after` of a step."""
    return Lookup(objects, find_tree(objects, commit, part))


def list_young(steps: Sequence[Step], before: float) -> Sequence[Step]:
    """The steps from the first one that is not older than before, seconds since 1970."""
    for number, step in enumerate(steps):
        if step.time >= before:
            return steps[number:]
    return []


def list_contents(steps: Iterable[Step]) -> set[str]:
    """The names of the kept contents that the effects of steps need."""
    names: set[str] = set()
    for step in steps:
        for effect in step.effects:
            if effect.kind == FILE:
                names.update(effect.list_ends())
    return names


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
            parent = _move_step(repo, step.commit, parent)
        refs.update_refs(repo, [(ref, parent or None, tip)], "gitcp: clean")
        return list_points(repo.objects, ref, steps[: len(steps) - len(remaining)])


def list_points(objects: Objects, ref: str, steps: Iterable[Step]) -> list[Record]:
    """The points of steps, as records of record.stream.stream_list."""
    records: list[Record] = []
    for step in steps:
        if find_tree(objects, step.commit, "before"):
            message = undo_tree.name_worktree_before(step, term.format_clock(step.time))
            records.append(
                {
                    "id": step.commit,
                    "kind": "safety",
                    "time": step.time,
                    "message": message,
                    "session_id": "",
                    "base_commit": "",
                    "worktree": ref.removeprefix(PREFIX),
                }
            )
    return records


def _move_step(repo: Repo, oid: str, parent: str) -> str:
    """Write a step's commit with another first parent; its other parents stay."""
    header, _, message = repo.objects.need(oid, "commit").partition(b"\n\n")
    tree, *lines = header.split(b"\n")
    parents = [line for line in lines if line.startswith(b"parent ")]
    fields = [line for line in lines if line not in parents]
    first = parent
    if not first and parents[1:]:
        first = write_empty_root(repo)
    if first:
        parents[:1] = [b"parent %s" % first.encode()]
    else:
        parents[:1] = []
    return repo.objects.write("commit", b"\n".join([tree, *parents, *fields]) + b"\n\n" + message)


@value_class
class NewCommits:
    """How many commits HEAD has that it had not after a step, and the newest as `1a2b3c4
    Subject`."""

    count: int
    newest: str


def count_commits_since(repo: Repo, step: Step) -> NewCommits | None:
    """The commits of HEAD since a step; None for none, and if that is not known: a step of an older
    version does not name HEAD."""
    old = step.head
    for effect in step.effects:
        if effect.index.move:
            old = effect.index.move.new
            break
    if not old or not shapes.is_object_name(old) or refs.read_head(repo) in (None, old):
        return None
    status, count = repo.git.run("rev-list", "--count", f"{old}..HEAD", "--", ok=(0, 128))
    if status or not int(count):
        return None
    shown = repo.git.run("log", "-1", "--no-show-signature", "--no-color", "--format=%h %s")[1]
    return NewCommits(int(count), decode_name(shown.rstrip(b"\n")))


def name_branch(ref: str) -> str:
    """A branch as git names it for people; a detached HEAD is `HEAD`."""
    return ref.removeprefix("refs/heads/")
