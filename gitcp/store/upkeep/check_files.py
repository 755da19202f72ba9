"""Files beside the objects: broken refs, locks and scratch files left behind, hooks."""

from __future__ import annotations

import os

from gitcp.core.upkeep.findings import finding
from gitcp.errors import Error
from gitcp.store.git import files
from gitcp.store.session import markers
from gitcp.store.setup import manifest
from gitcp.store.upkeep.survey import OURS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.core.record_types import Finding
    from gitcp.store.upkeep.survey import Survey

LOCK_AGE = 60  # seconds: no transaction of git takes so long
SCRATCH_AGE = 3600


def check(survey: Survey) -> Iterator[Finding]:
    """Scratch files, and what enable installed."""
    for path in leftovers(survey):
        yield finding("leftover", path, "nothing has touched it for an hour")
    yield from _installed(survey)


def leftovers(survey: Survey) -> Iterator[str]:
    """Scratch files, and directories of such, that no process can still be writing."""
    folder = survey.repo.shared("tmp")
    for name in files.listed(folder):
        path = os.path.join(folder, name)
        if files.older(path, SCRATCH_AGE):
            yield path


def refs(survey: Survey) -> Iterator[Finding]:
    """Refs of ours that git cannot read, and their locks."""
    common = survey.repo.common
    for start in OURS:
        for path in _below(os.path.join(common, start)):
            ref = os.path.relpath(path, common)
            if not path.endswith(".lock"):
                if ref not in survey.refs:
                    yield finding("bad-ref", ref, "git cannot read it")
            elif files.older(path, LOCK_AGE):
                yield finding("lock", path, "nobody has let go of it for a minute")


def _below(path: str) -> Iterator[str]:
    """Every file at path or below it, and path's own lock."""
    yield from (p for p in (path, f"{path}.lock") if os.path.isfile(p))
    for folder, _, names in os.walk(path):
        yield from (os.path.join(folder, name) for name in sorted(names))


def _installed(survey: Survey) -> Iterator[Finding]:
    repo = survey.repo
    try:
        known = manifest.Manifest(repo.shared("installed"), repo.common)
    except Error as e:
        yield finding("changed-hook", repo.shared("installed"), str(e))
        return
    if not known.entries:
        if any(markers.unsettled(state) for state in survey.states):
            yield finding(
                "no-hook", repo.common, "sessions are open; 'gitcp enable' installs hooks"
            )
        return
    for entry in known.entries:
        path = known.path(entry)
        data = files.read(path)
        if data is None:
            yield finding("no-hook", path, "it is gone; 'gitcp enable' writes it again")
        elif entry["kind"] == "hook" and not os.access(path, os.X_OK):
            yield finding("changed-hook", path, "git cannot run it; 'gitcp enable' mends that")
        elif entry["kind"] == "hook" and files.digest(data) != entry["after"]:
            yield finding("changed-hook", path, "it was changed since 'gitcp enable' wrote it")
