"""Reading many objects at once: asked for ahead of use, through one `cat-file --batch`."""

from __future__ import annotations

import os

from gitcp.store.git.cat_file import Batch
from gitcp.store.git.objects import Objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.repo import Repo

# Names asked for at once: they fit into a pipe, so git is never waited for while it waits.
_WINDOW = 400


class Ahead(Objects):
    """Objects that remembers what fetch() brought, until forget()."""

    def __init__(self, repo: Repo) -> None:
        super().__init__(repo)
        self._ahead = self._batch = _Pipelined(repo)
        self._got: dict[str, tuple[str, str, bytes] | None] = {}

    def fetch(self, oids: Iterable[str]) -> None:
        """Have these objects at hand for read()."""
        wanted = [oid for oid in dict.fromkeys(oids) if oid not in self._got]
        for at in range(0, len(wanted), _WINDOW):
            part = wanted[at : at + _WINDOW]
            self._got.update(zip(part, self._ahead.ask_all(part), strict=True))

    def forget(self) -> None:
        """Let go of what was fetched: memory stays flat however much is read."""
        self._got.clear()

    def read(self, spec: str) -> tuple[str, str, bytes] | None:
        return self._got[spec] if spec in self._got else super().read(spec)


class _Pipelined(Batch):
    def ask_all(self, specs: Sequence[str]) -> Iterator[tuple[str, str, bytes] | None]:
        os.write(self._in, "".join(f"contents {spec}\n" for spec in specs).encode())
        for _ in specs:
            head = self._answer()
            if head:
                data = self._take(int(head[2]) + 1)[:-1]
                yield head[0].decode(), head[1].decode(), data
            else:
                yield None
