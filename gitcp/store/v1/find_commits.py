"""From checkpoint ids to commits: trailers on any branch, and notes."""

from __future__ import annotations

from gitcp.console import notice
from gitcp.core.git.ids import CHECKPOINT_ID
from gitcp.core.message import links
from gitcp.errors import Error, GitError
from gitcp.record import decode_name, encode_name
from gitcp.store.git import notes
from gitcp.store.git.commit import read_commit
from gitcp.store.v1 import committed_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitcp.core.record_types import Commit
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.v1.committed_refs import Places

# All branches and tags but those that gitcp writes.
ALL = (
    "--exclude=refs/heads/entire/*",
    "--exclude=refs/remotes/*/entire/*",
    "--exclude=refs/notes/*",
    "--exclude=refs/gitcp/*",
    "--exclude=refs/entire/*",
    "--all",
)
# Their commits whose message has a line with an id.
CARRYING = ("-E", "--regexp-ignore-case", "--grep=^Entire-Checkpoint:", *ALL)
_LOG = "log", "--format=%H", "--no-show-signature", "--no-follow"


def find_carriers(repo: Repo, objects: Objects, ids: Iterable[str]) -> dict[str, list[str]]:
    """checkpoint id -> the commits that carry it, newest first, then those with a note.

    A line anywhere in a message counts: the caller knows that the checkpoints exist.  An id
    without commits has an empty list.
    """
    carriers: dict[str, list[str]] = {i: [] for i in ids}
    if not carriers:
        return carriers
    reader = notes.Reader(objects)
    for oid, message in _grep_messages(repo, carriers):
        for checkpoint_id in links.list_links(message, reader.read_note(oid) or b""):
            if checkpoint_id in carriers:
                carriers[checkpoint_id].append(oid)
    for oid, checkpoint_id in _find_noted(objects, carriers):
        kind = objects.read(oid)
        if kind and kind[1] == "commit" and oid not in carriers[checkpoint_id]:
            carriers[checkpoint_id].append(oid)
    return carriers


def _find_noted(objects: Objects, ids: Iterable[str]) -> list[tuple[str, str]]:
    try:
        return [(oid, i) for oid, names in notes.list_links(objects) for i in names if i in ids]
    except Error as e:
        notice.warn_lacking(f"'{notes.REF}': {e}")
        return []


def _grep_messages(repo: Repo, ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Yield (oid, message) of each commit that may carry one of the ids, in git's order."""
    ids = list(ids)
    pattern = "|".join(ids) if len(ids) <= 100 else CHECKPOINT_ID
    args = ["log", "-z", "--no-show-signature", "--no-notes", "--format=%H%n%B", "-E"]
    args += [f"--grep=^Entire-Checkpoint:[[:space:]]*({pattern})", "--regexp-ignore-case"]
    for item in repo.git.stream_records(*args, *ALL):
        oid, _, message = item.partition(b"\n")
        yield decode_name(oid), message


def list_beside(
    repo: Repo,
    objects: Objects,
    bases: Iterable[str],
    most: int,
    tips: Iterable[str] = (),
    paths: Iterable[str] | None = None,
) -> list[Commit]:
    """The newest commits, at most so many, that carry an id, also in their note, and that no base
    has in its history, reachable from any ref or from tips; oldest first.  paths: only commits
    that change one of them."""
    args = [f"--max-count={most}", "--no-merges", *CARRYING, *tips, "--not", *bases]
    path_lines = b"\n".join(encode_name(path) for path in paths or () if "\n" not in path)
    if paths is not None and not path_lines:
        return []
    lines = b"--\n" + path_lines + b"\n" if path_lines else b""
    args += ["--stdin"] if path_lines else []
    try:
        out = repo.git.run(*_LOG, f"--notes={notes.REF}", *args, stdin=lines)[1]
    except GitError:  # the ref of the notes is damaged
        out = repo.git.run(*_LOG, "--no-notes", *args, stdin=lines)[1]
    oids = out.decode().split()
    return [commit for oid in reversed(oids) if (commit := read_commit(objects, oid))]


def list_carriers(repo: Repo, checkpoint_id: str, tip: str, since: int) -> list[str]:
    """The commits in the history of tip, made after a time in s since 1970, whose message or note
    has a line with the id, newest first."""
    grep = f"--grep=^Entire-Checkpoint:[[:space:]]*{checkpoint_id}"
    args = ["-E", "--regexp-ignore-case", grep, f"--since=@{since}", tip]
    try:
        out = repo.git.run(*_LOG, f"--notes={notes.REF}", *args)[1]
    except GitError:  # the ref of the notes is damaged
        out = repo.git.run(*_LOG, "--no-notes", *args)[1]
    return out.decode().split()


def list_ids(repo: Repo, objects: Objects, commit: str) -> list[str]:
    """The checkpoint ids of one commit (full oid), for readers: those it is linked to, then those
    of stored checkpoints that are elsewhere in its message."""
    return find_ids(*read_texts(objects, commit), committed_refs.Places(repo, objects))


def find_ids(message: bytes, note: bytes, places: Places) -> list[str]:
    """list_ids() by the commit's message and note."""
    ids, buried = links.find_ids(message, note)
    return [*ids, *filter(places.find_checkpoint, buried)]


def list_linked(objects: Objects, commit: str) -> list[str]:
    """The checkpoint ids that one commit (full oid) is linked to: those of its last trailer block,
    then of its note, less those that the note removes."""
    return list(links.list_carried(*read_texts(objects, commit)))


def list_refused(objects: Objects, commits: Iterable[str]) -> dict[str, str]:
    """id -> reason of the links that persons removed from commits (full oids); without ids that
    another of the commits still has."""
    texts = [read_texts(objects, oid) for oid in commits]
    carried = {i for text in texts for i in links.list_carried(*text)}
    removed = {i: why for _, note in texts for i, why in links.list_removed(note).items()}
    return {i: why for i, why in removed.items() if i not in carried}


def read_texts(
    objects: Objects, commit: str, reader: notes.Reader | None = None
) -> tuple[bytes, bytes]:
    """The message and the note of a commit (full oid); b"" for a missing one."""
    answer = objects.read(commit)
    message = answer[2].partition(b"\n\n")[2] if answer and answer[1] == "commit" else b""
    return message, (reader or notes.Reader(objects)).read_note(commit) or b""
