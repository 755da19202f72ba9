"""What status tells of the installation: the rows of the table of findings that are quick."""

from __future__ import annotations

from gitcp.store.care import clients, installation
from gitcp.store.care.case import Case, find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.record_types import Finding, State
    from gitcp.repo import Repo

ROWS = (*installation.ROWS, *clients.ROWS, installation.FAILURES)


def findings(repo: Repo, states: list[State]) -> list[Finding]:
    """The findings; states: those that may tell which agents have called."""
    with Case(repo, states=states) as case:
        each = [one for _, one in find(case, ROWS)]
    return list({(f["kind"], f["subject"], f["reason"]): f for f in each}.values())
