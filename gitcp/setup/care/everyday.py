"""What is looked at each time a person asks for the status: what keeps gitcp from recording or
sending, and what a killed command has left."""

from __future__ import annotations

from gitcp.setup.care import (
    installation,
    leftovers,
    mend_objects,
    session_findings,
    stored,
    stored_objects,
    unfinished,
)
from gitcp.setup.care.case import Case
from gitcp.setup.care.checks import search_case
from gitcp.setup.care.findings import ERROR, WARNING, Diagnosis, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gitcp.git.repo import Repo
    from gitcp.setup.care.checks import Checks
    from gitcp.setup.care.findings import Mend
    from gitcp.text.record_types import State

    Repair = Callable[[Repo, str], str]  # mends a subject; returns what was done


def mend_subject(mend: Repair) -> Mend:
    """Mend the subject of a finding."""
    return lambda case, found: mend(case.repo, found.subject)


_PACK = ("repair", mend_subject(mend_objects.mend_pack))
REMOVE = ("repair", mend_subject(leftovers.remove_leftover), "remove it")
PACKS: Checks = {
    stored_objects.look_at_packs: (
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
    stored.look_at_deleted_store: (
        Row("deleted-store", ERROR, "the branch of checkpoints was deleted"),
    ),
    stored.look_at_withheld: (
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
    session_findings.look_at_unrecorded: (
        Row("unrecorded", WARNING, "a conversation of a client was not recorded"),
    ),
}  # fmt: skip
_SHOWN = {
    **installation.CHECKS,
    **installation.CLIENT_CHECKS,
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
