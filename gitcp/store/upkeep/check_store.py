"""Every promise of the stored data, looked at in one pass (doc/behaviour.md "Upkeep")."""

from __future__ import annotations

from gitcp.core.git.ids import CHECKPOINTS
from gitcp.store.git.prefetch import Prefetched
from gitcp.store.repair import repairs
from gitcp.store.upkeep import (
    check_committed,
    check_files,
    check_links,
    check_objects,
    check_states,
)
from gitcp.store.upkeep.survey import Survey
from gitcp.store.v1 import committed_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.core.record_types import Finding
    from gitcp.repo import Repo


def check(repo: Repo, *, secrets: bool = False, repair: bool = False) -> Iterator[Finding]:
    """Findings of everything of ours in the repository, as they come.

    Few git processes: those of a few workers, and one more for each 500 links.  Memory for what
    commits and checkpoints are called, not for their objects.
    secrets: search what is stored as well.  repair: mend what can be mended without loss.
    """
    with Prefetched(repo) as objects:
        survey = Survey(repo, objects)
        for finding in _all(survey, secrets):
            yield repairs.repaired(repo, objects, finding) if repair else finding


def _all(survey: Survey, secrets: bool) -> Iterator[Finding]:
    for one in check_files.refs(survey):
        yield one
        survey.renew()  # whoever takes the finding may have repaired it
    sources = committed_refs.sources(survey.repo)
    refs = [ref for ref in sources if not ref.endswith("/entire/sessions")]
    there = {*survey.refs, CHECKPOINTS}
    extra = [ref for ref in sources if ref not in there]
    yield from check_objects.check(survey, extra, secrets)
    yield from check_states.check(survey)
    yield from check_files.check(survey)
    yield from check_committed.check(survey.repo, survey.objects, refs)
    every = [ref for ref in committed_refs.everywhere(survey.repo) if "entire" in ref]
    stored = check_committed.trees_of(survey.repo, survey.objects, every)
    yield from check_links.check(survey, stored)
