"""What is looked at each time a person asks for the status: what keeps gitcp from recording or
sending, and what a killed command has left."""

from __future__ import annotations

import os

from gitcp.checkpoints import stored
from gitcp.checkpoints.share import places, remote
from gitcp.git import refs
from gitcp.record.unheard import unrecorded
from gitcp.setup.care import bad_packs, installation, leftovers, mend_objects, unfinished
from gitcp.setup.care.case import Case
from gitcp.setup.care.checks import search_case
from gitcp.setup.care.findings import ERROR, WARNING, Diagnosis, Finding, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gitcp.git.repo import Repo
    from gitcp.setup.care.checks import Checks
    from gitcp.setup.care.findings import Mend
    from gitcp.text.record_types import State

    Repair = Callable[[Repo, str], str]  # mends a subject; returns what was done


def mend_subject(mend: Repair) -> Mend:
    """Mend the subject of a finding."""
    return lambda case, found: mend(case.repo, found.subject)


def _mend_pack(case: Case, found: Finding) -> str:
    return mend_objects.mend_pack(case.repo, found.subject)


def look_at_unrecorded(case: Case) -> Iterator[Finding]:
    """Compare the conversations that clients keep of this repository with what was recorded."""
    found = unrecorded.read_current(case.repo).list_unrecorded()
    if found:
        names = tuple(one.session for one in found)
        reason = unrecorded.describe(found)
        yield Finding("unrecorded", case.repo.common, reason, remedy="gitcp import", sessions=names)


def look_at_withheld(case: Case) -> Iterator[Finding]:
    """Report what the last pushes held back."""
    if not os.path.exists(places.locate_searched(case.repo)):
        return
    for held in remote.list_held(case.repo):
        reason = remote.describe(held)
        remedy = remote.describe_remedy(held)
        yield Finding("withheld", held.name, f"not pushed: {reason}", remedy=remedy)


def look_at_deleted_store(case: Case) -> Iterator[Finding]:
    """Report that the branch of checkpoints was deleted, and how to get it back."""
    reason = stored.explain_deletion(case.repo)
    if reason:
        what, _, remedy = reason.partition(": ")
        yield Finding("deleted-store", refs.REF, what, remedy=remedy)


_PACK = ("repair", _mend_pack)
REMOVE = ("repair", mend_subject(leftovers.remove_leftover), "remove it")
PACKS: Checks = {
    bad_packs.look_at_packs: (
        Row("bad-pack", ERROR, "git cannot open a pack of gitcp", *_PACK),
        Row("unindexed-pack", WARNING, "a pack of gitcp has no index", *_PACK),
    ),
}  # fmt: skip
SCRATCH: Checks = {
    leftovers.look_at_scratch_worktrees: (
        Row("killed-command", WARNING, "a killed command left its scratch directory", *REMOVE),
    ),
}  # fmt: skip
STORE: Checks = {
    look_at_deleted_store: (
        Row("deleted-store", ERROR, "the branch of checkpoints was deleted"),
    ),
    look_at_withheld: (
        Row("withheld", WARNING, "a push leaves out what looks like a secret"),
    ),
}  # fmt: skip
UNFINISHED: Checks = {
    unfinished.look_at_unfinished: (
        Row("unfinished", WARNING, "a command was killed half way",
            "finish", unfinished.finish_all),
    ),
}  # fmt: skip
UNRECORDED: Checks = {
    look_at_unrecorded: (
        Row("unrecorded", WARNING, "a conversation of a client was not recorded"),
    ),
}  # fmt: skip
_SHOWN = {
    **installation.CHECKS,
    **installation.CLIENT_CHECKS,
    **installation.ROOM,
    **installation.FAILURES,
    **UNRECORDED,
    **STORE,
    **UNFINISHED,
    **SCRATCH,
    **PACKS,
}


def list_findings(repo: Repo, states: list[State]) -> list[Diagnosis]:
    """The findings that a status shows, each once.  states: show which agents have run a hook."""
    found: dict[tuple[str, str, str], Diagnosis] = {}
    with Case(repo, states=states) as case:
        for diagnosis in search_case(case, _SHOWN):
            finding = diagnosis.finding
            found[finding.kind, finding.subject, finding.reason] = diagnosis
    return list(found.values())
