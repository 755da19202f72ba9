"""What going to each of many points would do, with one look at the worktree for all."""

from __future__ import annotations

from gitcp.core.rewind import plan as plans
from gitcp.errors import Error
from gitcp.store.restore.present import Present
from gitcp.store.rewind import journal_edits
from gitcp.store.rewind.kept_edits import KeptEdits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.rewind.plan import Plan
    from gitcp.core.rewind.point_list import Point
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


class Preview:
    """The plans of points, as a look at the worktree that is not repeated gives them."""

    def __init__(self, repo: Repo, objects: Objects) -> None:
        self._repo, self._objects = repo, objects
        self._present: Present | None = None
        self._kept = KeptEdits(repo)
        self._plans: dict[str, Plan] = {}

    def plan(self, point: Point) -> Plan:
        """The plan to a point; one without actions where no file is to change."""
        if point["id"] not in self._plans:
            self._plans[point["id"]] = self._planned(point)
        return self._plans[point["id"]]

    def counts(self, point: Point) -> dict[str, int] | None:
        """verb -> how many paths; None for a point of a conversation alone."""
        if point["is_logs_only"] or point["gone"]:
            return None
        return plans.counts(self.plan(point)["actions"])

    def _planned(self, point: Point) -> Plan:
        if point["is_logs_only"] or point["gone"]:
            return {"actions": [], "conflicts": [], "notes": []}
        if self._present is None:
            self._present = Present(self._repo, self._objects)
        try:
            wish = journal_edits.to(self._kept, self._objects, point, ())(self._present)
        except Error as e:
            return {"actions": [], "conflicts": [], "notes": [str(e)]}
        return {"actions": wish["actions"], "conflicts": wish["conflicts"], "notes": wish["notes"]}
