"""Checks, and the findings that come of them with their rows of the table."""

from __future__ import annotations

from gitcp.errors import Error, format_error
from gitcp.setup.care.findings import ERROR, Diagnosis, Finding, Row
from gitcp.text import term

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gitcp.setup.care.case import Case

    Check = Callable[[Case], Iterator[Finding]]
    Checks = Mapping[Check, tuple[Row, ...]]  # check -> the rows of its findings

BLIND = Row("not-looked", ERROR, "something could not be checked",
    remedy="repair what else is found, then check again")  # fmt: skip


def search_case(case: Case, checks: Checks) -> Iterator[Diagnosis]:
    """Run the checks in their order; yield each finding with its row, as it comes."""
    for number, (look, rows) in enumerate(checks.items()):
        term.show_count("checking", number, len(checks))
        table = {row.code: row for row in rows}
        try:
            for finding in look(case):
                yield Diagnosis(table[finding.kind], finding)
        except (Error, OSError) as e:  # a check that fails does not hide the findings of others
            why = f"the check could not finish: {format_error(e)}"
            yield Diagnosis(BLIND, Finding(BLIND.code, case.repo.common, why))
    term.hide_progress()
