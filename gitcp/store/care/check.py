"""The findings that `fsck`, `doctor` and `status` show, and their repair."""

from __future__ import annotations

from gitcp.console import notice
from gitcp.core.upkeep.findings import NOTE
from gitcp.errors import Busy, Error, Moved
from gitcp.store.care import clients, installation
from gitcp.store.care.case import Case, search_case
from gitcp.store.care.installation import ENABLE
from gitcp.store.care.table import DOCTOR, STORE, STORED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gitcp.core.record_types import Finding, State
    from gitcp.repo import Repo
    from gitcp.store.care.case import Mend, Row


_PASSES = 4


def check_store(repo: Repo, *, secrets: bool = False, repair: bool = False) -> Iterator[Finding]:
    """The findings on everything that gitcp stores in the repository, as they come.

    It starts a few git processes, and one more for each 500 links.  It keeps the ids of commits
    and checkpoints in memory, not their objects.
    secrets: search stored data for secrets too.  repair: mend what can be mended without loss,
    and check it again.
    """
    if repair:
        yield from _repair_store(repo, secrets)
        return
    with Case(repo, secrets) as case:
        for _, finding in search_case(case, STORED):
            yield finding


def _repair_store(repo: Repo, secrets: bool) -> list[Finding]:
    def find(mends: bool) -> Iterator[Finding]:
        with Case(repo, secrets) as case:
            for row, item in search_case(case, STORED):
                yield mend_finding(case, row.mend, item) if mends else item

    return mend_all(find, "repaired")


def mend_all(find: Callable[[bool], Iterable[Finding]], word: str) -> list[Finding]:
    """Mend until nothing more is mended: a mend may uncover findings, or make way for another.

    find(mends) yields every finding, with what was done under word if it mends.  Returns what was
    mended and is gone, then what is left, with the reason.
    """
    mended: dict[tuple[str, ...], Finding] = {}
    for mends in (*[True] * _PASSES, False):
        with notice.Collected() as warnings:
            left = list(find(mends))
        for warning in warnings:  # the findings say what is lacking
            notice.warn(warning)
        if not (done := {_get_key(item): item for item in left if word in item}):
            break
        mended |= done
    keys = {_get_key(item) for item in left}
    return [item for key, item in mended.items() if key not in keys] + left


def mend_finding(case: Case, mend: Mend | None, item: Finding, word: str = "repaired") -> Finding:
    """Mend a finding; return it with what was done under word, or with the reason why nothing was:
    it is locked, has changed, or what it needs is not here."""
    if mend is None:
        return item
    try:
        if done := mend(case, item):
            return {**item, word: done}
        why = "what it needs is not here"
    except (Busy, Moved, OSError, Error) as e:
        why = str(e)
    return {**item, "reason": f"{item['reason']}; not {word}: {why}"}


def _get_key(item: Finding) -> tuple[str, ...]:
    """What identifies a finding between two checks."""
    return item["kind"], item["subject"], str(item.get("checkpoint_id"))


def diagnose(repo: Repo) -> list[tuple[Row, Finding]]:
    """Every finding but notes, with `remedy` and `fix`; those that stop recording come first."""
    with Case(repo) as case:
        return [
            (row, _add_remedy(row, finding))
            for row, finding in search_case(case, DOCTOR)
            if finding["severity"] != NOTE
        ]


def _add_remedy(row: Row, item: Finding) -> Finding:
    if "remedy" in item:
        fix = item.get("fix", row.fix)
        mends = fix != ENABLE or item["remedy"].startswith("gitcp enable")
        return {**item, "fix": fix if mends and "--force" not in item["remedy"] else ""}
    return {
        **item,
        "reason": f"{item['subject']}: {item['reason']}",
        "remedy": row.remedy,
        "fix": row.fix,
    }


_INSTALLED = {**installation.CHECKS, **clients.CHECKS, **installation.FAILURES, **STORE}


def list_findings(repo: Repo, states: list[State]) -> list[Finding]:
    """The findings on the installation.  states: show which agents have run a hook."""
    with Case(repo, states=states) as case:
        findings = [_add_remedy(row, finding) for row, finding in search_case(case, _INSTALLED)]
    return list({(f["kind"], f["subject"], f["reason"]): f for f in findings}.values())
