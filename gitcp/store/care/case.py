"""A case, which checks look at; and the rows of the table of findings."""

from __future__ import annotations

from functools import cached_property

from gitcp.core.upkeep.findings import ERROR, make_finding
from gitcp.errors import Error
from gitcp.store.care.survey import Survey
from gitcp.store.git.prefetch import Prefetched
from gitcp.store.turn import session_read
from gitcp.store.v1 import committed_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gitcp.context import Context
    from gitcp.core.decide.orphan_rules import Ages
    from gitcp.core.record_types import Finding, State
    from gitcp.repo import Repo


class Case:
    """A repository that checks look at; a context manager that reads each part when first needed.

    secrets: search stored data for secrets.  ages: when settled things expire, None for the
    configured ages.  states: the states to check, None for all.  ctx: for the mends of sessions.
    """

    def __init__(
        self,
        repo: Repo,
        secrets: bool = False,
        ages: Ages | None = None,
        states: list[State] | None = None,
        ctx: Context | None = None,
    ) -> None:
        self.repo, self.secrets, self.ages = repo, secrets, ages
        self._states, self._ctx = states, ctx
        self._opened: list[Prefetched] = []

    @property
    def objects(self) -> Prefetched:
        if not self._opened:
            self._opened.append(Prefetched(self.repo))
        return self._opened[0]

    @property
    def ctx(self) -> Context:
        assert self._ctx is not None
        return self._ctx

    @cached_property
    def survey(self) -> Survey:
        return Survey(self.repo, self.objects)

    @cached_property
    def states(self) -> list[State]:
        return session_read.list_states(self.repo) if self._states is None else self._states

    @cached_property
    def sources(self) -> list[str]:
        """The refs that have committed checkpoints."""
        return committed_refs.list_sources(self.repo)

    def __enter__(self) -> Case:
        return self

    def __exit__(self, *_: object) -> None:
        for objects in self._opened:
            objects.close()


if TYPE_CHECKING:
    Check = Callable[[Case], Iterator[Finding]]
    Mend = Callable[[Case, Finding], str]  # returns what was done, '' for nothing


class Row:
    """A row of the table of findings.

    words: the meaning of the code, as gitcp-check-store(1) has it.  fix: the name of mend in the
    records of gitcp-doctor(1), '' if only a person can mend it.  remedy: what the person can do.
    choices: word -> another mend that the person may choose at a terminal.
    """

    def __init__(
        self,
        code: str,
        severity: str,
        words: str,
        fix: str = "",
        mend: Mend | None = None,
        remedy: str = "",
        choices: Mapping[str, Mend] | None = None,
    ) -> None:
        self.code, self.severity, self.words = code, severity, words
        self.fix, self.mend = fix, mend
        self.remedy = remedy or ("mend it" if fix else "see gitcp-check-store(1)")
        self.choices = choices or {}


if TYPE_CHECKING:
    Checks = Mapping[Check, tuple[Row, ...]]  # check -> the rows of its findings

BLIND = Row("not-looked", ERROR, "something could not be checked because of other damage")


def search_case(case: Case, checks: Checks) -> Iterator[tuple[Row, Finding]]:
    """Run the checks in their order; yield each finding with its row, as it comes."""
    for look, rows in checks.items():
        table = {row.code: row for row in rows}
        try:
            for finding in look(case):
                row = table[finding["kind"]]
                yield row, {**finding, "severity": finding["severity"] or row.severity}
        except Error as e:  # a check that fails does not hide the findings of others
            why = f"the check could not finish: {e}"
            finding = make_finding(BLIND.code, case.repo.common, why)
            yield BLIND, {**finding, "severity": BLIND.severity}
