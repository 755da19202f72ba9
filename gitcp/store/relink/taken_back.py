"""Commits that were taken back and may be made again: their ids come back with their content.

A reset leaves them in ORIG_HEAD, an amend that leaves content out names what it replaced, and a
stash that was applied and kept can be applied on another branch.  While content of theirs is still
to be committed, <git-dir>/gitcp/taken-back lists them, so that the sh guard starts us although no
session is open; <git-dir>/gitcp/orig-head is the very file (a hard link) of the ORIG_HEAD that was
looked at last: git never writes into one, but makes another, be it to say the same
(doc/behaviour.md "Ids in a message").
"""

from __future__ import annotations

import os

from gitcp import trace
from gitcp.core.decide import overlap
from gitcp.core.upkeep.shapes import object_name
from gitcp.store.git import private, reflog
from gitcp.store.git.commit import read_commit, rev_list
from gitcp.store.git.tree import Lookup, tree_of
from gitcp.store.link import commit_changes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gitcp.core.decide.overlap import Recorded
    from gitcp.core.record_types import Commit
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.link.commit_changes import Changes
    from gitcp.store.v1.committed_read import Checkpoint

_MOST = 50  # commits taken back that are looked at
_RECENT = 50  # entries of HEAD's reflog


def ids(repo: Repo, objects: Objects, head: str, changes: Changes) -> list[str]:
    """The ids a commit with these changes on head gets again, oldest first: by evidence, each
    checkpoint's for itself.  Notes what is still to come for the commit after this one."""
    every = [*_listed(repo, objects), *_reset(repo, objects, head)]
    commits = list({commit["oid"]: commit for commit in every}.values())
    if not commits:
        _keep(repo, [])
        return []
    from gitcp.store.link import find_commits

    given: list[str] = []
    left: list[Commit] = []
    there = Lookup(objects, tree_of(objects, head))
    for commit in commits:
        pending = False
        for one in find_commits.linked(objects, commit["oid"]):
            record = entries(repo, objects, one, commit)
            again = holds(objects, record, changes, lambda path: there(path) is None)
            given += [one] if again else []
            pending = pending or _still_to_come(repo, objects, record, head)
        left += [commit] if pending else []
    _keep(repo, [commit["oid"] for commit in left])
    return list(dict.fromkeys(given))


def entries(
    repo: Repo, objects: Objects, checkpoint_id: str, commit: Commit | None = None
) -> list[Recorded]:
    """What a checkpoint holds of a commit that carries its id, as match() takes it: its sessions'
    files as they were committed.  Where the checkpoint does not tell, or has none of the files by
    their names there, all that the commit changed; [] without one."""
    from gitcp.store.v1 import committed_read, committed_refs

    if committed_refs.find(repo, objects, checkpoint_id) is None:
        return []
    changed = commit_changes.of_commit(objects, commit)[1] if commit else {}
    record = recorded(committed_read.read(repo, objects, checkpoint_id), changed)
    if changed.keys().isdisjoint(entry["path"] for entry in record):
        record += [_entry(path, *change[2:]) for path, change in changed.items()]
    return record


def recorded(checkpoint: Checkpoint, changed: Changes) -> list[Recorded]:
    """entries() of a checkpoint that was read, for a commit that changes this."""
    by_path: dict[str, Recorded] = {}
    for session in checkpoint["sessions"]:
        files = session["metadata"].get("files")
        for path, file in (files if isinstance(files, dict) else {}).items():
            given = [file.get(key) for key in ("mode", "oid")] if isinstance(file, dict) else []
            if given:  # by anybody who can push: not of any form
                mode, oid = (one if isinstance(one, str) else "" for one in given)
                by_path[path] = _entry(path, mode or overlap.ABSENT, oid)
        touched = session["metadata"].get("files_touched") or ()
        for path in changed.keys() & set(touched if isinstance(touched, list) else ()):
            by_path[path] = _entry(path, *changed[path][2:])
    return list(by_path.values()) or [_entry(p, *change[2:]) for p, change in changed.items()]


def _entry(path: str, mode: str, oid: str | None) -> Recorded:
    return {"path": path, "mode": mode, "oid": oid or None, "live": False}


def holds(
    objects: Objects,
    record: list[Recorded],
    changes: Changes,
    gone: Callable[[str], bool] = lambda _: False,
) -> bool:
    """Whether a commit with these changes has some of what is recorded, by evidence; gone: as
    match() asks it."""
    blob = commit_changes.blobs_of(objects)
    return bool(overlap.match(record, changes, blob, gone)["paths"])


def add(repo: Repo, commits: Iterable[str]) -> None:
    """Content of these commits may be committed again: ids() looks whether it can."""
    before = private.words(repo.own("taken-back"), object_name)
    _keep(repo, list(dict.fromkeys([*before, *commits])))


def _at(repo: Repo) -> str:
    return os.path.join(repo.git_dir, "ORIG_HEAD")


def _looked(repo: Repo) -> bool:
    """Whether ORIG_HEAD is the file that was looked at last."""
    try:
        return os.path.samefile(_at(repo), repo.own("orig-head"))
    except OSError:
        return False


def _look(repo: Repo, *, seen: bool) -> None:
    """ORIG_HEAD as it is now has been looked at, or is to be looked at again.  Where the file
    system has no hard links, it always is."""
    mark = repo.own("orig-head")
    private.remove(repo, mark)
    if seen:
        try:
            os.makedirs(os.path.dirname(mark), exist_ok=True)
            os.link(_at(repo), mark)
        except OSError as e:
            trace.note("commit", f"ORIG_HEAD cannot be marked: {e}")


def _reset(repo: Repo, objects: Objects, head: str) -> list[Commit]:
    """The commits with an id that only ORIG_HEAD has, oldest first; looked at once."""
    orig = "".join(private.words(_at(repo), object_name))
    # At HEAD nothing is taken back yet, but it may be, and git leave the file that says so.
    if not orig or (orig != head and _looked(repo)):
        return []
    _look(repo, seen=orig != head)
    # A stash, too, ends in a reset: the reflog tells of those before it.
    resets = [old for old, _, why in reflog.head(repo)[-_RECENT:] if why.startswith(b"reset:")]
    tips = [oid for oid in dict.fromkeys([*resets, orig]) if read_commit(objects, oid)]
    if not tips:
        return []
    args = ["--first-parent", f"--max-count={_MOST}", *tips]
    oids = rev_list(repo, *args, *([f"^{head}"] if head.strip("0") else []))
    return _linked(objects, reversed(oids))


def _listed(repo: Repo, objects: Objects) -> list[Commit]:
    return _linked(objects, private.words(repo.own("taken-back"), object_name))


def _linked(objects: Objects, oids: Iterable[str]) -> list[Commit]:
    commits = [commit for oid in oids if (commit := read_commit(objects, oid))]
    if not commits:
        return []
    from gitcp.store.link import find_commits

    return [commit for commit in commits if find_commits.linked(objects, commit["oid"])]


def _still_to_come(repo: Repo, objects: Objects, record: list[Recorded], head: str) -> bool:
    """Whether something recorded may be committed yet: HEAD has not got it, and the worktree has
    some of it, or a stash may; or an entry of the stash that was applied is still there, for other
    branches."""
    from gitcp.store.snapshot import blobs

    look_up = Lookup(objects, tree_of(objects, head))
    open_ = {e["path"]: e for e in record if (look_up(e["path"]) or ("", None))[1] != e["oid"]}
    stash = reflog.Stash(repo, objects).entries()
    if stash and open_:
        return True
    held = [(e["path"], (e["mode"], e["oid"])) for e in record if e["oid"]]
    if any(one.brings(path, entry) for one in stash for path, entry in held):
        return True
    now = blobs.at(repo, objects, sorted(open_), write=True)
    none = (overlap.ABSENT, None)
    changes = {
        path: (*(look_up(path) or none), *(entry or none))
        for path, entry in now.items()
        if entry != look_up(path)
    }
    return holds(objects, list(open_.values()), changes)


def _keep(repo: Repo, oids: list[str]) -> None:
    path = repo.own("taken-back")
    if oids:
        trace.note("commit", f"taken back, and still to come: {oids}")
        private.write_words(repo, path, oids[-_MOST:])
    else:
        private.remove(repo, path)
