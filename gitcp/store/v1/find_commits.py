"""From checkpoint ids to commits: trailers on any branch, and notes."""

from __future__ import annotations

from gitcp.console import notice
from gitcp.core.git.ids import CHECKPOINT_ID
from gitcp.core.message import links
from gitcp.errors import Error
from gitcp.record import decode_name, encode_name
from gitcp.store.git import notes
from gitcp.store.git.commit import list_commits, read_commit
from gitcp.store.v1 import committed_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitcp.core.record_types import Commit
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.v1.committed_refs import Places

_MOST = 50  # commits beside HEAD that are looked at
# All branches and tags, without the histories that nobody's commits are on.
ALL = (
    "--exclude=refs/heads/entire/*",
    "--exclude=refs/remotes/*/entire/*",
    "--exclude=refs/notes/*",
    "--exclude=refs/gitcp/*",
    "--exclude=refs/entire/*",
    "--all",
)
# Those of them that carry an id, as far as git can tell.
CARRYING = ("-E", "--regexp-ignore-case", "--grep=^Entire-Checkpoint:", *ALL)


def find_carriers(repo: Repo, objects: Objects, ids: Iterable[str]) -> dict[str, list[str]]:
    """checkpoint id -> the commits that carry it, newest first, then those with a note.

    One `git log --grep` over all branches and tags.  A line anywhere in a message counts: who
    asks knows that the checkpoint exists.  An id without commits has an empty list.
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
    """(oid, message) of each commit that may carry one of the ids, as git finds them."""
    names = list(ids)
    # Few ids narrow the search; many are looked for in all commits that carry any.
    pattern = "|".join(names) if len(names) <= 100 else CHECKPOINT_ID
    args = ["log", "-z", "--no-show-signature", "--no-notes", "--format=%H%n%B", "-E"]
    args += [f"--grep=^Entire-Checkpoint:[[:space:]]*({pattern})", "--regexp-ignore-case"]
    for item in repo.git.stream_records(*args, *ALL):
        oid, _, message = item.partition(b"\n")
        yield decode_name(oid), message


def list_beside_head(
    repo: Repo, objects: Objects, tips: Iterable[str] = (), paths: Iterable[str] | None = None
) -> list[Commit]:
    """The newest commits that HEAD has not and that carry an id, on any ref and before these tips;
    oldest first.  paths: those alone that change one of them."""
    args = [f"--max-count={_MOST}", "--no-merges", *CARRYING, *tips, "--not", "HEAD"]
    names = b"\n".join(encode_name(path) for path in paths or () if "\n" not in path)
    if paths is not None and not names:
        return []
    lines = b"--\n" + names + b"\n" if names else b""
    oids = list_commits(repo, *args, *(["--stdin"] if names else []), stdin=lines)
    return [commit for oid in reversed(oids) if (commit := read_commit(objects, oid))]


def list_ids(repo: Repo, objects: Objects, commit: str) -> list[str]:
    """The checkpoint ids of one commit (full oid), for reading: those it is linked to, then
    those of checkpoints that exist and have a line elsewhere in its message."""
    return find_ids(*read_texts(objects, commit), committed_refs.Places(repo, objects))


def find_ids(message: bytes, note: bytes, places: Places) -> list[str]:
    """list_ids() for who has the commit's message and its note at hand."""
    ids, buried = links.find_ids(message, note)
    return [*ids, *filter(places.find_checkpoint, buried)]


def list_linked(objects: Objects, commit: str) -> list[str]:
    """The checkpoint ids that one commit (full oid) is linked to: its last trailer block, then
    its note, without what the note takes away."""
    return list(links.list_carried(*read_texts(objects, commit)))


def list_refused(objects: Objects, commits: Iterable[str]) -> dict[str, str]:
    """id -> reason, of what persons took off some commits (full oids) and none of them has."""
    each = [read_texts(objects, oid) for oid in commits]
    has = {one for text in each for one in links.list_carried(*text)}
    gone = {one: why for _, note in each for one, why in links.list_removed(note).items()}
    return {one: why for one, why in gone.items() if one not in has}


def read_texts(
    objects: Objects, commit: str, reader: notes.Reader | None = None
) -> tuple[bytes, bytes]:
    """The message of a commit (full oid), and its note; empty where there is none."""
    answer = objects.read(commit)
    message = answer[2].partition(b"\n\n")[2] if answer and answer[1] == "commit" else b""
    return message, (reader or notes.Reader(objects)).read_note(commit) or b""
