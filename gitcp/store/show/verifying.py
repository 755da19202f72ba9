"""Verifying the checkpoints of linked commits: signature, hashes, and the commit's content."""

from __future__ import annotations

from gitcp.core.git import ids
from gitcp.errors import Error
from gitcp.record import decode_name
from gitcp.store.git import commit_changes
from gitcp.store.git.commit import read_commit
from gitcp.store.git.prefetch import Prefetched
from gitcp.store.match import candidates
from gitcp.store.show import commit_list
from gitcp.store.v1 import committed_read, committed_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitcp.core.record_types import Record
    from gitcp.repo import Repo
    from gitcp.store.v1.committed_read import Checkpoint

_SIGNED = ("log", "-1", "--format=%H%x00%G?%x00%GS%x00%GK")
# git's letters for the state of a signature.
_WORDS = {
    "G": "good",
    "U": "good, of unknown validity",
    "X": "good, expired",
    "Y": "good, by a key that expired",
    "R": "by a key that was revoked",
    "E": "cannot be checked",
    "B": "bad",
    "N": "none",
}
_BAD = ("B", "R")


def verify_links(
    repo: Repo, revisions: Sequence[str], need_signed: bool = False
) -> Iterator[Record]:
    """A record of type verified for each checkpoint of each linked commit of the revisions (none:
    HEAD): signature, signer, key, hashes (session -> match, differs or absent), content, and
    failures, the errors found.

    need_signed: a signature that is missing or cannot be checked is a failure.
    """
    with Prefetched(repo) as objects:
        places = committed_refs.Places(repo, objects)
        for commit in commit_list.list_bare_commits(repo, revisions):
            for link in commit["checkpoints"]:
                if link["linked"] != "text":
                    yield _verify_checkpoint(
                        repo, objects, places, commit["oid"], link["checkpoint_id"], need_signed
                    )
            objects.forget()


def _verify_checkpoint(
    repo: Repo,
    objects: Prefetched,
    places: committed_refs.Places,
    oid: str,
    checkpoint_id: str,
    need_signed: bool,
) -> Record:
    record: Record = {"type": "verified", "commit": oid, "checkpoint_id": checkpoint_id}
    try:
        place = places.find_checkpoint(checkpoint_id)
    except Error as e:
        return {**record, "failures": [str(e)]}
    if place is None:
        return {**record, "failures": ["it is not stored here"]}
    checkpoint = committed_read.Parts(objects, checkpoint_id).load_checkpoint(*place)
    letter, signer, key = _read_signature(repo, checkpoint_id, place[0])
    hashes = {}
    for entry in checkpoint["sessions"]:
        stored = committed_read.read_session(objects, checkpoint, entry["index"])
        hashes[entry["session_id"]] = stored["hash"]
    content = _holds_content(objects, oid, checkpoint)
    signed = letter in "GUXY"
    failures = [f"its signature is {_WORDS[letter]}"] if letter in _BAD else []
    if need_signed and not signed and not failures:
        failures.append(f"its signature: {_WORDS[letter]}")
    differing = [session for session, state in hashes.items() if state == "differs"]
    failures += [f"the transcript of '{name}' is not what its hash says" for name in differing]
    failures += [] if content else ["the commit has nothing of it"]
    failures += checkpoint["lacks"]
    return {
        **record,
        "signature": _WORDS[letter],
        "signer": signer,
        "key": key,
        "hashes": hashes,
        "content": content,
        "failures": failures,
    }


def _read_signature(repo: Repo, checkpoint_id: str, ref: str) -> tuple[str, str, str]:
    """(git's letter, signer, key) of the store's last commit that changed a checkpoint."""
    own = ids.parse_checkpoint_ref(ref)
    paths = () if own else ("--", f"{checkpoint_id[:2]}/{checkpoint_id[2:]}")
    line = decode_name(repo.git.run(*_SIGNED, ref, *paths)[1]).rstrip("\n")
    fields = [*line.split("\0"), "", "", ""]
    return (fields[1] if fields[1] in _WORDS else "N"), fields[2], fields[3]


def _holds_content(objects: Prefetched, oid: str, checkpoint: Checkpoint) -> bool:
    """Whether a commit has content of a checkpoint, by evidence."""
    commit = read_commit(objects, oid)
    changed = commit_changes.read_changes(objects, commit)[1] if commit else {}
    edits = candidates.extract_edits(objects, checkpoint, changed)
    return not edits or candidates.has_work(objects, edits, changed)
