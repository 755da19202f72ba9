"""What a push would send of the store, as far as is known without asking anybody."""

from __future__ import annotations

from typing import NamedTuple

from gitcp.checkpoints import listing
from gitcp.checkpoints import stored as checkpoints
from gitcp.checkpoints.redact import REDACTED
from gitcp.checkpoints.share import remote, sync
from gitcp.git import refs
from gitcp.git.objects.object_lists import list_files
from gitcp.text.ids import is_checkpoint_id, parse_checkpoint_ref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.checkpoints.listing import Tips
    from gitcp.checkpoints.share.places import SharedPlace
    from gitcp.checkpoints.share.remote import Held
    from gitcp.git.repo import Repo

_MOST_FILES = 100_000  # of one checkpoint


class Outgoing(NamedTuple):
    """A checkpoint that would be sent."""

    checkpoint_id: str
    agents: list[str]
    prompt: str  # the first one
    files: list[str]  # paths that its sessions touched
    size: int  # bytes of what is stored
    redactions: int  # how often REDACTED stands there


class Preview(NamedTuple):
    """What a push to a place would send."""

    checkpoints: list[Outgoing]
    other_refs: list[str]  # notes and summaries
    held: list[Held]  # what would be held back


def preview_push(repo: Repo, place: SharedPlace, timeout: float) -> Preview:
    """What a push would send to a place.  Raises Error if the search for secrets takes longer than
    timeout seconds."""
    known = listing.read_pushed(repo, place.url)
    tips = sync.choose_outgoing(repo, known)
    secrets = remote.search_new(repo, tips, known, timeout)
    held: list[Held] = []
    others: list[str] = []
    for ref, oid in tips.items():
        if known.get(ref) == oid:
            continue
        held += remote.name_held(repo.objects, ref, oid, secrets)
        if not _is_store(ref):
            others.append(ref)
    held_ids = {item.name for item in held if is_checkpoint_id(item.name)}
    ids = listing.list_changed(repo.objects, _select_store(tips), _select_store(known))
    outgoing = [describe(repo, name) for name in sorted(ids - held_ids)]
    return Preview(outgoing, others, held)


def _is_store(ref: str) -> bool:
    return ref == refs.REF or bool(parse_checkpoint_ref(ref))


def _select_store(tips: Tips) -> Tips:
    return {ref: oid for ref, oid in tips.items() if _is_store(ref)}


def describe(repo: Repo, checkpoint_id: str) -> Outgoing:
    """A checkpoint that is stored here as it would be sent."""
    checkpoint = checkpoints.read_checkpoint(repo, checkpoint_id)
    record = listing.build_record(checkpoint)
    prompts: list[str] = []
    for session in checkpoint["sessions"]:
        parts = checkpoints.Parts(repo.objects, checkpoint_id)
        prompts += parts.read_prompts(session["files"], session["directory"])
    size = 0
    redactions = 0
    blobs = [oid for _, (_, oid) in list_files(repo.objects, checkpoint["tree"], _MOST_FILES)]
    for blob in repo.objects.read_each(blobs):
        if blob:
            size += len(blob[2])
            redactions += blob[2].count(REDACTED)
    return Outgoing(
        checkpoint_id,
        record["agents"],
        prompts[0] if prompts else "",
        record["files_touched"],
        size,
        redactions,
    )
