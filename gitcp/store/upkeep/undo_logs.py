"""Undo logs that are old, as a whole or in part, and contents that no log needs any more."""

from __future__ import annotations

import os

from gitcp.core.decide.orphan_rules import days, orphan
from gitcp.store.git import files
from gitcp.store.undo import undo_log
from gitcp.store.upkeep import check_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.core.decide.orphan_rules import Ages
    from gitcp.core.record_types import Finding
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.upkeep.survey import Survey

LOG, STEPS, KEPT = "expired-undo", "expired-steps", "kept-file"


def find(survey: Survey, ages: Ages) -> Iterator[Finding]:
    """Steps expire like archives; what one needs is kept as long as it."""
    repo, before = survey.repo, ages.now - ages.archive
    needed: set[str] = set()
    for ref, oid in survey.refs.items():
        if not ref.startswith(undo_log.PREFIX):
            continue
        steps = undo_log.read(repo, ref)
        left = undo_log.young(steps, before)
        needed |= undo_log.names(left)
        if steps and not left:
            age = days(ages.now - steps[-1]["time"])
            yield orphan(LOG, ref, f"its last step is {age} old", oid=oid, ref=ref)
        elif len(left) < len(steps):
            count = f"{len(steps) - len(left)} of {len(steps)} steps are"
            reason = f"{count} older than {days(ages.archive)}"
            yield orphan(STEPS, ref, reason, oid=oid, before=int(before))
    for name in files.listed(repo.shared("kept")):
        path = repo.shared("kept", name)
        if name not in needed and files.older(path, check_files.SCRATCH_AGE):
            yield orphan(KEPT, path, "no step of an undo log needs it")


def shorten(repo: Repo, objects: Objects, one: Finding) -> bool:
    """Cut a log as a finding says; whether it was still the one that was looked at."""
    from gitcp.store.stream import expired

    gone = undo_log.shorten(repo, objects, one["subject"], one["oid"], one["before"])
    expired.note(repo, gone or [])
    return gone is not None


def remove(path: str) -> bool:
    """Remove a content that no step needs, unless one has begun to since."""
    if not files.older(path, check_files.SCRATCH_AGE):
        return False
    os.unlink(path)
    return True
