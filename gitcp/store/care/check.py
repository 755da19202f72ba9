"""Filters of the table of findings: what is wrong, and what mending made of it."""

from __future__ import annotations

from gitcp.core.upkeep.findings import NOTE
from gitcp.errors import Busy, Error, Moved
from gitcp.store.care import clients, installation
from gitcp.store.care.case import Case, search_case
from gitcp.store.care.installation import ENABLE
from gitcp.store.care.table import DOCTOR, STORED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.core.record_types import Finding, State
    from gitcp.repo import Repo
    from gitcp.store.care.case import Mend, Row


_PASSES = 4  # what a repair uncovers is repaired in the next one


def check_store(repo: Repo, *, secrets: bool = False, repair: bool = False) -> Iterator[Finding]:
    """Findings of everything of ours in the repository, as they come.

    Few git processes: those of a few workers, and one more for each 500 links.  Memory for what
    commits and checkpoints are called, not for their objects.
    secrets: search what is stored as well.  repair: mend what can be mended without loss, and look
    at it again.
    """
    if repair:
        yield from _repair_store(repo, secrets)
        return
    with Case(repo, secrets) as case:
        for _, one in search_case(case, STORED):
            yield one


def _repair_store(repo: Repo, secrets: bool) -> list[Finding]:
    """The findings, with `repaired` for what is gone by a repair."""
    seen: dict[tuple[str, ...], Finding] = {}
    for _ in range(_PASSES):
        with Case(repo, secrets) as case:
            left = [mend_finding(case, row.mend, one) for row, one in search_case(case, STORED)]
        for one in left:
            seen.setdefault(get_key(one), one)
        if not any("repaired" in one for one in left):
            break
    else:
        with Case(repo, secrets) as case:
            left = [one for _, one in search_case(case, STORED)]
    still = {get_key(one): one for one in left}
    return [still.get(name, one) for name, one in seen.items()]


def mend_finding(case: Case, mend: Mend | None, item: Finding, word: str = "repaired") -> Finding:
    """A finding with what was done under word; one that is locked, or is not as it was found,
    stays."""
    try:
        done = mend(case, item) if mend else ""
    except (Busy, Moved, OSError, Error) as e:
        return {**item, "reason": f"{item['reason']}; not {word}: {e}"}
    return {**item, word: done} if done else item


def get_key(item: Finding) -> tuple[str, ...]:
    """What a finding is known by when it is looked for again."""
    return item["kind"], item["subject"], str(item.get("checkpoint_id"))


def diagnose(repo: Repo) -> list[tuple[Row, Finding]]:
    """Every complaint but notes, with remedy, what a person can do, and fix, what mends it; the
    gravest for what is recorded from now on first."""
    with Case(repo) as case:
        return [
            (row, _add_remedy(row, one))
            for row, one in search_case(case, DOCTOR)
            if one["severity"] != NOTE
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


ROWS = (*installation.ROWS, *clients.ROWS, installation.FAILURES)


def list_findings(repo: Repo, states: list[State]) -> list[Finding]:
    """The findings; states: those that may tell which agents have called."""
    with Case(repo, states=states) as case:
        each = [_add_remedy(row, one) for row, one in search_case(case, ROWS)]
    return list({(f["kind"], f["subject"], f["reason"]): f for f in each}.values())
