"""Resolving a name to a commit, a checkpoint or a session."""

from __future__ import annotations

from gitcp.core.git import ids
from gitcp.errors import Error, InputError
from gitcp.store.session import state as states
from gitcp.store.stream import shadow_refs
from gitcp.store.turn import session_read
from gitcp.store.v1 import committed_list, committed_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

    Subject = tuple[str, str]  # "commit", "temporary", "checkpoint" or "session"; oid or id

_HEX = frozenset("0123456789abcdef")
_STORED = (
    "Checkpoint: ",
    "Finalize transcript for Checkpoint: ",
    "Follow lines of Checkpoint: ",
)


class Unknown(Error):
    """A name that no commit, checkpoint or session has."""


def resolve_name(repo: Repo, objects: Objects, name: str) -> Subject:
    """Resolve a revision of git, or the beginning of the id of a checkpoint or a session.

    A full checkpoint id goes before a commit whose id begins so.  Raises Unknown for an unknown
    name, and Error with a list for an ambiguous one.
    """
    if not name or any(c < " " for c in name):
        raise InputError(f"not a name: {name!a}")
    if ids.is_checkpoint_id(name) and committed_refs.find_checkpoint(repo, objects, name):
        return "checkpoint", name
    commit = _find_commit(repo, objects, name)
    if commit:
        return _identify_commit(objects, commit)
    subject = find_recorded(repo, objects, name)
    if subject is None and name == "HEAD":
        raise Error("there is no commit yet")
    if subject is None:
        raise Unknown(f"no such commit, checkpoint or session: '{name}'")
    return subject


def find_recorded(
    repo: Repo, objects: Objects, name: str, *, every: bool = False
) -> Subject | None:
    """The checkpoint or session whose id begins with name; None if there is none.

    Sessions with a state go before those that are only stored, unless every is set.  Raises Error
    with a list for an ambiguous name.
    """
    checkpoints = committed_list.find_ids(repo, objects, name)
    sessions = [n for n in states.list_ids(repo) if n.startswith(name)]
    if every:
        sessions = sorted({*sessions, *_list_stored(repo, name)})
    if name not in (*checkpoints, *sessions) and len(checkpoints) + len(sessions) > 1:
        raise Error(f"ambiguous name '{name}': {' '.join([*checkpoints, *sessions][:20])}")
    if sessions:
        return "session", name if name in sessions else sessions[0]
    if checkpoints:
        return "checkpoint", checkpoints[0]
    stored = _list_stored(repo, name)
    return ("session", session_read.pick_id(name, stored)) if stored else None


def find_temporary(repo: Repo, objects: Objects, name: str) -> str | None:
    """The oid of a temporary checkpoint; None if name is none, or the id of a committed one.
    Raises Error for an ambiguous name."""
    if not name or any(c < " " for c in name):
        raise InputError(f"not a name: {name!a}")
    try:
        if ids.is_checkpoint_id(name) and committed_refs.find_checkpoint(repo, objects, name):
            return None
    except Error:
        return None  # a damaged committed one, which its reader reports
    commit = _find_commit(repo, objects, name)
    kind, oid = _identify_commit(objects, commit) if commit else ("", "")
    return oid if kind == "temporary" else None


def _find_commit(repo: Repo, objects: Objects, name: str) -> str | None:
    """The oid of a commit by git's rules; None if there is none."""
    if commit := objects.read(f"{name}^{{commit}}"):
        return commit[0]
    if len(name) < 4 or not _HEX.issuperset(name):
        return None
    oids = repo.git.read_records("rev-parse", f"--disambiguate={name}", sep=b"\n")
    if len(oids) > 1:
        kinds = repo.git.run("cat-file", "--batch-check", stdin=b"\n".join(oids) + b"\n")[1]
        commits = [line.split()[0].decode() for line in kinds.splitlines() if b" commit " in line]
        if commits:
            ids.pick_match("commit", name, commits)
    return None


def _identify_commit(objects: Objects, oid: str) -> Subject:
    message = objects.need(oid, "commit").partition(b"\n\n")[2].decode(errors="replace")
    subject = message.partition("\n")[0]
    if shadow_refs.find_trailer(message, "Entire-Session"):
        last = subject.rpartition(" ")[2]
        if subject.startswith(_STORED) and ids.is_checkpoint_id(last):
            return "checkpoint", last
        return "temporary", oid
    return "commit", oid


def _list_stored(repo: Repo, name: str) -> list[str]:
    return [
        session["session_id"]
        for checkpoint in committed_list.list_checkpoints(repo, brief=True)
        for session in checkpoint["sessions"]
        if session["session_id"].startswith(name)
    ]
