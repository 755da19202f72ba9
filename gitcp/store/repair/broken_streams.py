"""Streams that lack objects: built again from what is there, or set aside, so that git can work.

A prune at the wrong moment, a disk or a hand may take any object of a stream.  What is left of
its checkpoints is kept, each commit under its message; what its sessions' states know besides
is put in again.  A stream of which nothing is known any more is noted and let go.
"""

from __future__ import annotations

import os

from gitcp.core.git import ids
from gitcp.errors import GitError
from gitcp.lock import exclusive
from gitcp.process.regular_file import place_aside
from gitcp.record import raw, text
from gitcp.store.git import files, partial, refs
from gitcp.store.git.commit import parse_commit, read_commit, write_commit
from gitcp.store.repair.rebuilt_tree import Rebuilder
from gitcp.store.repair.written_again import write_again
from gitcp.store.session import session_read
from gitcp.store.stream import shadow_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gitcp.core.record_types import Commit, State, Stream
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

    Named = list[tuple[State, Stream]]  # a state, and what it says of the stream

_SUBJECT = "Rebuilt from what was left of it"
WALK = ("rev-list", "--objects", "--missing=print", "--quiet")


def is_stream(ref: str) -> bool:
    """Whether a ref has the name of a stream."""
    return ref.startswith(shadow_refs.ARCHIVE) or ids.parse_shadow(ref) is not None


def lacking(repo: Repo, name: str, *options: str) -> set[str]:
    """The oids of objects that a ref or commit needs and that are missing; one that git cannot
    even walk is in it itself.  What a partial clone left with its remote is no lack."""
    try:
        _, out = repo.git.run(*WALK, *options, "--end-of-options", name)
    except GitError:
        return {refs.read(repo, name) or name}
    missing = {text(line[1:]) for line in out.splitlines() if line.startswith(b"?")}
    return partial.unpromised(repo, [name], missing)


def mend(repo: Repo, objects: Objects, ref: str) -> str:
    """Make a stream whole again; what was done, '' where it is whole or the person's."""
    with exclusive(repo, lock_of(repo, ref)):
        old = refs.read(repo, ref)
        gone = lacking(repo, ref) if old else set()
        if old is None or not gone:
            return ""
        if (again := write_again(repo, objects, gone)) and not lacking(repo, ref):
            return f"wrote {len(again)} missing objects again"
        log = log_of(repo, ref)
        commits = chain([old, *log], lambda oid: _checkpoint(objects, oid))
        named = _named(repo, objects, ref, commits)
        if not commits and not named and not ref.startswith(shadow_refs.ARCHIVE):
            return ""  # nothing says that it is ours
        kept = note(repo, ref, old, log)
        rebuilder = Rebuilder(repo, objects)
        tip = _rebuild(repo, rebuilder, commits)
        tip = _complete(repo, objects, rebuilder, tip, named)
        refs.update(repo, [(ref, tip, old)], "gitcp: fsck")
        forget_log(repo, {ref, f"refs/heads/{archived(ref)}"})
        return _report(commits, rebuilder, tip, kept)


def lock_of(repo: Repo, ref: str) -> str:
    """The lock under which the streams of a ref's worktree change; this one's where its name
    does not tell."""
    parsed = ids.parse_shadow(ref) or ids.parse_shadow(archived(ref))
    return f"stream-{(parsed and parsed['worktree']) or repo.worktree_hash}"


def archived(ref: str) -> str:
    """The branch that an archive came from, without refs/heads/."""
    return "entire/" + ref.removeprefix(shadow_refs.ARCHIVE).rpartition("/")[0]


def log_of(repo: Repo, ref: str) -> list[str]:
    """Where a ref was before, newest first, as its reflog has it."""
    log = files.peek(os.path.join(os.fsencode(repo.common), b"logs", raw(ref)))
    lines = log.decode("utf-8", "replace").splitlines()
    return [oid for line in reversed(lines) for oid in reversed(line.split(" ", 2)[:2])]


def forget_log(repo: Repo, names: set[str]) -> None:
    """Empty the reflogs of a branch, or of the one an archive came from: they would still name
    what git cannot read."""
    for ref in names:
        if os.path.exists(os.path.join(os.fsencode(repo.common), b"logs", raw(ref))):
            repo.git.run("reflog", "expire", "--expire=all", "--expire-unreachable=all", ref)


def chain(tips: list[str], read: Callable[[str], Commit | None]) -> list[Commit]:
    """The commits down from the first of tips that read() knows, newest first."""
    commits: list[Commit] = []
    for oid in dict.fromkeys(tips):
        commit = read(oid)
        while commit:
            commits.append(commit)
            commit = read(commit["parents"][0]) if commit["parents"] else None
        if commits:
            break
    return commits


def _checkpoint(objects: Objects, oid: str) -> Commit | None:
    answer = objects.read(oid)
    commit = parse_commit(oid, answer[2]) if answer and answer[1] == "commit" else None
    session = shadow_refs.trailer(commit["message"], "Entire-Session") if commit else ""
    return commit if session else None


def _named(repo: Repo, objects: Objects, ref: str, commits: list[Commit]) -> Named:
    """What states say of a stream: by its id; where no commit tells that, of the streams that
    had this name and stand nowhere else."""
    known = shadow_refs.trailer(commits[0]["message"], "Gitcp-Stream") if commits else ""
    there = {tip["stream"] for tip in shadow_refs.listing(repo, objects) if tip["ref"] != ref}
    name = archived(ref) if ref.startswith(shadow_refs.ARCHIVE) else ref
    return [
        (state, stream)
        for state in session_read.every(repo)
        for stream in state["streams"]
        if stream["id"] == known
        or (not known and stream["ref"].endswith(name) and stream["id"] not in there)
    ]


def note(repo: Repo, ref: str, old: str, log: list[str]) -> str:
    """Write down what a ref was; the path of the note."""
    path = place_aside(repo.common, ref)
    with open(path, "x") as f:
        f.writelines(f"{line}\n" for line in [f"{ref} {old}", *log])
    return path


def _rebuild(repo: Repo, rebuilder: Rebuilder, commits: list[Commit]) -> str | None:
    tip = None
    for commit in reversed(commits):
        tip = rebuilder.commit(commit, tip, lacking(repo, commit["oid"], "--no-walk"))
    return tip


def _complete(
    repo: Repo, objects: Objects, rebuilder: Rebuilder, tip: str | None, named: Named
) -> str | None:
    """The tip with what the states know of it; without a tip, a first checkpoint of theirs."""
    if not named:
        return tip
    commit = read_commit(objects, tip) if tip else None
    state, stream = named[-1]
    base = read_commit(objects, str(stream.get("base_commit") or ""))
    before = commit["tree"] if commit else base["tree"] if base else None
    tree = rebuilder.with_states(before, named, everything=commit is None)
    if commit and tree == commit["tree"]:
        return tip
    upon = base["oid"] if base else shadow_refs.zeros(repo)
    message = shadow_refs.message(_SUBJECT, state["session_id"], upon, stream["id"])
    return write_commit(objects, repo, tree, [tip] if tip else [], message)


def _report(commits: list[Commit], rebuilder: Rebuilder, tip: str | None, kept: str) -> str:
    if tip is None:
        return f"nothing of it could be read: removed, noted in '{kept}'"
    lost = sorted(rebuilder.lost)
    rest = f"; lost: {' '.join(lost[:10])}{' ...' if lost[10:] else ''}" if lost else ""
    return f"built it again from {len(commits)} checkpoints and its states{rest}"


def broken(repo: Repo, names: list[str]) -> Iterator[tuple[str, int]]:
    """(ref, how many objects it lacks) of the streams among names that lack any."""
    for ref in names:
        if is_stream(ref) and (gone := lacking(repo, ref)):
            yield ref, len(gone)
