"""Checks of files outside the object database: refs, locks, scratch files and installed files."""

from __future__ import annotations

import os

from gitcp.core.upkeep.findings import make_finding
from gitcp.errors import Error
from gitcp.process import files
from gitcp.store.care.survey import OURS
from gitcp.store.repair.leftovers import LOCK_AGE, SCRATCH_AGE
from gitcp.store.session import markers
from gitcp.store.setup import manifest
from gitcp.store.v1 import committed_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.core.record_types import Finding
    from gitcp.store.care.case import Case
    from gitcp.store.care.survey import Survey


def look_at_refs(case: Case) -> Iterator[Finding]:
    """Check that git can read gitcp's refs, and look for locks left behind."""
    survey, common = case.survey, case.repo.common
    for start in OURS:
        logs = os.path.join(common, "logs")
        for path in _list_files(os.path.join(logs, start)):
            ref = os.path.relpath(path, logs)
            place = os.path.join(common, ref)
            if ref not in survey.refs and (os.path.isdir(place) or not os.path.lexists(place)):
                yield make_finding("bad-ref", ref, "it is gone, and its reflog remains")
                survey.read_refs()
        for path in _list_files(os.path.join(common, start)):
            ref = os.path.relpath(path, common)
            if not path.endswith(".lock"):
                if ref not in survey.refs:
                    yield make_finding("bad-ref", ref, "git cannot read it")
                    survey.read_refs()  # the caller may have repaired it
            elif files.is_older(path, LOCK_AGE):
                yield make_finding("lock", path, "it was not released for a minute")


def look_at_deleted_store(case: Case) -> Iterator[Finding]:
    """Report that the branch of checkpoints was deleted, and how to get it back."""
    if reason := committed_refs.explain_deletion(case.repo):
        what, _, remedy = reason.partition(": ")
        yield make_finding("deleted-store", committed_refs.REF, what, remedy=remedy)


def _list_files(path: str) -> Iterator[str]:
    """What stands in the place of the directory path or of that above it, the lock of path, and
    every file below path."""
    places = (os.path.dirname(path), path, f"{path}.lock")
    yield from (p for p in places if os.path.lexists(p) and not os.path.isdir(p))
    for folder, _, names in os.walk(path):
        yield from (os.path.join(folder, name) for name in sorted(names))


def look_at_scratch(case: Case) -> Iterator[Finding]:
    """Report scratch files that a killed process left behind."""
    for path in list_leftovers(case.survey):
        yield make_finding("leftover", path, "nothing has touched it for an hour")


def list_leftovers(survey: Survey) -> Iterator[str]:
    """The scratch files and directories that are too old for a process to be writing them."""
    folder = survey.repo.join_shared("tmp")
    for name in files.list_names(folder):
        path = os.path.join(folder, name)
        if files.is_older(path, SCRATCH_AGE):
            yield path


def look_at_installed(case: Case) -> Iterator[Finding]:
    """Check the files that enable wrote against its record."""
    repo, survey = case.repo, case.survey
    try:
        record = manifest.load(repo)
    except Error as e:
        yield make_finding("changed-hook", repo.join_shared("installed"), str(e))
        return
    if not record.entries and any(markers.is_unsettled(state) for state in survey.states):
        reason = "sessions are open, and no hooks are installed; 'gitcp enable' installs them"
        yield make_finding("no-hook", repo.common, reason)
    for entry in record.entries:
        path = record.get_path(entry)
        try:
            data = files.read_bytes(path)
        except Error:
            if entry["kind"] == "hook":
                raise
            continue  # another person's settings in a shared repository
        if data is None:
            yield make_finding("no-hook", path, "it is gone; 'gitcp enable' writes it again")
        elif entry["kind"] == "hook" and not os.access(path, os.X_OK):
            yield make_finding("changed-hook", path, "git cannot run it; 'gitcp enable' mends that")
        elif entry["kind"] == "hook" and files.hash_bytes(data) != entry["after"]:
            yield make_finding("changed-hook", path, "it was changed since 'gitcp enable' wrote it")
