"""A case: the repository that the looks of the table of findings look at; and a row of that."""

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
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from gitcp.context import Context
    from gitcp.core.decide.orphan_rules import Ages
    from gitcp.core.record_types import Finding, State
    from gitcp.repo import Repo
    from gitcp.store.care.survey import Survey
    from gitcp.store.git.prefetch import Prefetched


BLIND = "something could not be looked at, for what is broken"


class Case:
    """A repository, used by `with`; what is in it is read when it is first asked for.

    secrets: whether what is stored is searched for them.  ages: when settled things expire, where
    that is asked.  states: those that matter, where they are known (default: all).  ctx: what
    mends of sessions work with.
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
        """The objects of the repository."""
        if not self._opened:
            self._opened.append(Prefetched(self.repo))
        return self._opened[0]

    @property
    def ctx(self) -> Context:
        """The context that this case was made with."""
        assert self._ctx is not None
        return self._ctx

    @cached_property
    def survey(self) -> Survey:
        """Its refs, streams, states and markers."""
        return Survey(self.repo, self.objects)

    @cached_property
    def states(self) -> list[State]:
        """The states of sessions."""
        return session_read.list_states(self.repo) if self._states is None else self._states

    @cached_property
    def sources(self) -> list[str]:
        """The refs that committed checkpoints and links are read from."""
        return committed_refs.list_sources(self.repo)

    def __enter__(self) -> Case:
        return self

    def __exit__(self, *_: object) -> None:
        for objects in self._opened:
            objects.close()


if TYPE_CHECKING:
    Look = Callable[[Case], Iterator[Finding]]
    Mend = Callable[[Case, Finding], str]  # what was done, '' for nothing


class Row:
    """A row of the table.

    words: what the code means.  fix: what mends it, as the records of gitcp-doctor(1) name it, ''
    where a person has to; mend does so.  remedy: what the person can do.  choices: word -> another
    mend, which the person may choose at a terminal.
    """

    def __init__(
        self,
        code: str,
        severity: str,
        look: Look,
        words: str,
        fix: str = "",
        mend: Mend | None = None,
        remedy: str = "",
        choices: Mapping[str, Mend] | None = None,
    ) -> None:
        self.code, self.severity, self.look, self.words = code, severity, look, words
        self.fix, self.mend = fix, mend
        self.remedy = remedy or ("mend it" if fix else "see gitcp-check-store(1)")
        self.choices = choices or {}


def search_case(case: Case, rows: Iterable[Row]) -> Iterator[tuple[Row, Finding]]:
    """The findings that rows are about, as they come, each with its row."""
    table = {(row.look, row.code): row for row in rows}
    for look in dict.fromkeys(look for look, _ in table):
        try:
            for one in look(case):
                if row := table.get((look, one["kind"])):
                    yield row, {**one, "severity": one["severity"] or row.severity}
        except Error as e:  # what one look stumbles over does not hide what others see
            blind = Row("not-looked", ERROR, look, BLIND)
            what = make_finding(blind.code, case.repo.common, f"not all could be looked at: {e}")
            yield blind, {**what, "severity": ERROR}
