"""Reading committed checkpoints, in every shape they were ever written (E§2.6)."""

from __future__ import annotations

from gitcp.core.transcript import chunks
from gitcp.core.v1 import summary
from gitcp.errors import Error
from gitcp.record import text
from gitcp.store.git.tree import TREE, lookup, read_tree, walk
from gitcp.store.v1.committed_tree import numbers
from gitcp.store.v1.committed_write import REF

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TypedDict

    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.git.tree import Tree

    class SessionEntry(TypedDict):
        """A session in a checkpoint; directory is "" where it lies at the root (legacy)."""

        index: int
        directory: str
        tree: str
        session_id: str
        metadata: dict[str, Any]

    class Checkpoint(TypedDict):
        """A checkpoint without its transcripts; summary is the JSON as it is stored."""

        checkpoint_id: str
        ref: str
        tree: str
        summary: dict[str, Any]
        sessions: list[SessionEntry]

    class Content(TypedDict):
        """What one session stored; hash tells "match", "differs" or "absent"."""

        index: int
        session_id: str
        metadata: dict[str, Any]
        transcript: bytes
        prompts: list[str]
        context: str
        content_hash: str
        hash: str
        tasks: list[str]


_PATTERNS = (
    REF,
    "refs/remotes/**/entire/checkpoints/v1",
    "refs/heads/entire/sessions",
    "refs/remotes/**/entire/sessions",
)


def sources(repo: Repo) -> list[str]:
    """The refs that hold checkpoints: ours, or the remotes' where it is absent; then legacy."""
    found = repo.git.lines("for-each-ref", "--format=%(refname)", *_PATTERNS, sep=b"\n")
    names = [text(name) for name in found]

    def pick(branch: str) -> list[str]:
        local = f"refs/heads/{branch}"
        if local in names:
            return [local]
        remote = [n for n in names if n.endswith(f"/{branch}")]
        return sorted(remote, key=lambda n: (not n.startswith("refs/remotes/origin/"), n))

    return pick("entire/checkpoints/v1") + pick("entire/sessions")


def everywhere(repo: Repo) -> list[str]:
    """sources(), and behind them the remotes' branches that ours stands before."""
    found = repo.git.lines("for-each-ref", "--format=%(refname)", *_PATTERNS, sep=b"\n")
    return list(dict.fromkeys([*sources(repo), *map(text, found)]))


def find(repo: Repo, objects: Objects, checkpoint_id: str) -> tuple[str, str] | None:
    """(ref, tree) of a checkpoint; None when no ref has it."""
    at = f"{checkpoint_id[:2]}/{checkpoint_id[2:]}"
    tip = objects.read(f"{REF}^{{tree}}")
    if tip and (entry := lookup(objects, tip[0], at)):
        return REF, entry[1]
    for ref in everywhere(repo):
        tip = objects.read(f"{ref}^{{tree}}")
        if tip and (entry := lookup(objects, tip[0], at)):
            return ref, entry[1]
    return None


def read(repo: Repo, objects: Objects, checkpoint_id: str) -> Checkpoint:
    """A checkpoint by its full id; raise Error when there is none."""
    found = find(repo, objects, checkpoint_id)
    if found is None:
        raise Error(f"no such checkpoint: '{checkpoint_id}'")
    return load(objects, checkpoint_id, *found)


def load(objects: Objects, checkpoint_id: str, ref: str, tree: str) -> Checkpoint:
    """The checkpoint whose directory is tree."""
    entries = read_tree(objects, tree)
    root = _json(objects, entries) or {}
    sessions: list[SessionEntry] = []
    for name in directories(entries, root):
        at = entries[name][1] if name else tree
        metadata = summary.modern(_json(objects, read_tree(objects, at)) or {})
        sessions.append(
            {
                "index": len(sessions),
                "directory": name,
                "tree": at,
                "session_id": metadata.get("session_id", ""),
                "metadata": metadata,
            }
        )
    return {
        "checkpoint_id": checkpoint_id,
        "ref": ref,
        "tree": tree,
        "summary": root,
        "sessions": sessions,
    }


def directories(entries: Tree, root: dict[str, Any]) -> list[str]:
    """The session directories of a checkpoint: as sessions[] lists them, then unlisted ones.

    Paths there may be doubled or wrong: only the number before the file name counts.  "" is the
    checkpoint's own directory, where the legacy layout has its newest session.
    """
    there = numbers(entries)
    listed = []
    given = root.get("sessions")
    for item in given if isinstance(given, list) else ():
        path = item.get("metadata") if isinstance(item, dict) else None
        parts = path.split("/") if isinstance(path, str) else []
        if len(parts) > 1 and parts[-2] in there:
            listed.append(parts[-2])
    own = [""] if "session_id" in root and "sessions" not in root else []
    return list(dict.fromkeys([*own, *listed, *there]))


def session(objects: Objects, checkpoint: Checkpoint, which: int | str) -> Content:
    """What one session of a checkpoint stored, by index or session id.

    A hash that does not match is told, never an error (formats.md).  Raises Error when the
    checkpoint has no such session.
    """
    entry = _pick(checkpoint, which)
    files = read_tree(objects, entry["tree"])

    def content(name: str) -> bytes:
        return objects.need(files[name][1], "blob") if name in files else b""

    transcript = b"\n".join(pieces(objects, files))
    stored = text(content(summary.HASH)).strip()
    tasks = files.get("tasks") or read_tree(objects, checkpoint["tree"]).get("tasks")
    under = walk(objects, tasks[1]) if tasks and tasks[0] == TREE else ()
    prompts = text(content(summary.PROMPT))
    return {
        "index": entry["index"],
        "session_id": entry["session_id"],
        "metadata": entry["metadata"],
        "transcript": transcript,
        "prompts": prompts.split(summary.SEPARATOR) if prompts else [],
        "context": text(content(summary.CONTEXT)),
        "content_hash": stored,
        "hash": _compare(stored, transcript),
        "tasks": [path for path, _ in under],
    }


def pieces(objects: Objects, files: Tree) -> Iterator[bytes]:
    """The chunks of a session's transcript in order; joined with newlines they are it."""
    found = {n: oid for name, (_, oid) in files.items() if (n := chunks.number(name)) is not None}
    for _, oid in sorted(found.items()):
        yield objects.need(oid, "blob")


def _pick(checkpoint: Checkpoint, which: int | str) -> SessionEntry:
    # Real data has a session twice in one checkpoint: the later one is the fuller.
    found = [e for e in checkpoint["sessions"] if which in (e["index"], e["session_id"])]
    if found:
        return found[-1]
    raise Error(f"no session '{which}' in checkpoint '{checkpoint['checkpoint_id']}'")


def _compare(stored: str, transcript: bytes) -> str:
    if not stored:
        return "absent"
    from gitcp.store.v1.transcript import content_hash

    return "match" if stored == content_hash(transcript) else "differs"


def _json(objects: Objects, entries: Tree) -> dict[str, Any] | None:
    entry = entries.get(summary.METADATA)
    return summary.load(objects.need(entry[1], "blob")) if entry else None
