"""Reading many objects at once: asked for ahead of use, through one `cat-file --batch`."""

from __future__ import annotations

from gitcp.store.git import partial
from gitcp.store.git.objects import Objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.repo import Repo
    from gitcp.store.git.cat_file import Object

# Names asked for at once: they fit into a pipe, so git is never waited for while it waits.
_WINDOW = 400


class Prefetched(Objects):
    """Objects that remembers what fetch() brought, until forget()."""

    def __init__(self, repo: Repo) -> None:
        super().__init__(repo)
        self._got: dict[str, Object | None] = {}
        self._remote = partial.remote(repo)

    def fetch(self, oids: Iterable[str]) -> None:
        """Have these objects at hand for read()."""
        wanted = [oid for oid in dict.fromkeys(oids) if oid not in self._got]
        for at in range(0, len(wanted), _WINDOW):
            part = wanted[at : at + _WINDOW]
            if self._remote:
                partial.bring(self._repo, self._remote, part)
            self._got.update(zip(part, self._git().ask_all(part), strict=True))

    def forget(self) -> None:
        """Let go of what was fetched: memory stays flat however much is read."""
        self._got.clear()

    def read(self, spec: str) -> Object | None:
        return self._got[spec] if spec in self._got else super().read(spec)
