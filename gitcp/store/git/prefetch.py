"""Reading many objects at once: asked for ahead of use, through one `cat-file --batch`."""

from __future__ import annotations

from gitcp.record import raw
from gitcp.store.git import partial
from gitcp.store.git.objects import Objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.repo import Repo
    from gitcp.store.git.cat_file import Object

# Names asked for at once: they fit into a pipe, so git is never waited for while it waits.
_WINDOW = 400
_PIPE = 1 << 15  # bytes: names are echoed where they are missing


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

    def resolve(self, specs: Iterable[str]) -> dict[str, str | None]:
        """name -> oid, None for one that is missing or has a newline in it."""
        wanted = [spec for spec in dict.fromkeys(specs) if "\n" not in spec]
        window: list[str] = []
        oids: dict[str, str | None] = {}
        size = 0
        for spec in [*wanted, ""]:
            if not spec or size + len(raw(spec)) > _PIPE:
                oids.update(zip(window, self._git().resolve_all(window), strict=True))
                window, size = [], 0
            window.append(spec)
            size += len(raw(spec)) + len(b"info \n missing")
        return oids

    def forget(self) -> None:
        """Let go of what was fetched: memory stays flat however much is read."""
        self._got.clear()

    def read(self, spec: str) -> Object | None:
        return self._got[spec] if spec in self._got else super().read(spec)
