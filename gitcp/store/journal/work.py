"""What the journal says a session did in its turn: paths it wrote, undid, or put away."""

from __future__ import annotations

from gitcp.core.credit import entries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from gitcp.core.record_types import JournalLine, Version


class Work:
    """The part of one session in a worktree's unsettled edits."""

    def __init__(self, lines: Iterable[JournalLine], session_id: str) -> None:
        self._session = session_id
        self._paths: dict[str, list[JournalLine]] = {}
        for line in entries.unsettled(lines):
            self._paths.setdefault(line["path"], []).append(line)

    def written(self, since: int) -> set[str]:
        """The paths the session has written since, ns."""
        return {
            path
            for path, lines in self._paths.items()
            if any(self._own(line) and line["at"] >= since for line in lines)
        }

    def foreign(self, since: int) -> set[str]:
        """The paths that have changed since by other sessions' work alone."""
        paths = set()
        for path, lines in self._paths.items():
            late = [entries.author(line)[0] for line in lines if line["at"] >= since]
            if late and all(late) and self._session not in late:
                paths.add(path)
        return paths

    def undone(self, path: str, since: int = 0) -> bool:
        """Whether the session itself took its work on a path back since, for good."""
        lines = self._paths.get(path)
        if not lines or lines[-1]["at"] < since:
            return False
        by = lines[-1].get("by") or [""]
        return self._own(lines[-1]) or (by[0] == self._session and not lines[-1].get("away"))

    def away(self, dirty: Mapping[str, Any]) -> dict[str, Version]:
        """path -> the session's content of paths that are as HEAD has them again, by a stash or
        in another way that is not its own undoing."""
        entries: dict[str, Version] = {}
        for path, lines in self._paths.items():
            if path not in dirty and any(map(self._own, lines)) and not self.undone(path):
                entries[path] = self.content(path)
        return entries

    def content(self, path: str) -> Version:
        """The newest content of a path that the session had a part in."""
        newest = max(n for n, line in enumerate(self._paths[path]) if self._own(line))
        rest = self._paths[path][newest:]
        back = next((n for n, line in enumerate(rest) if line["how"] == "restored"), len(rest))
        return entries.entry(rest[max(back, 1) - 1]["after"])

    def turn(self, path: str) -> str:
        """The turn in which the session last wrote a path."""
        turns = [entries.author(line)[1] for line in self._paths[path] if self._own(line)]
        return turns[-1] if turns else ""

    def paths(self) -> list[str]:
        """The paths of which the session has an unsettled edit."""
        return [path for path, lines in self._paths.items() if any(map(self._own, lines))]

    def present(self, path: str) -> bool:
        """Whether the session's work on a path is part of what stands there: it was not put
        away since, or has come back."""
        own, contents = False, set()
        for line in self._paths.get(path, ()):
            after = entries.entry(line["after"])
            if self._own(line):
                own = True
            elif line["how"] == "restored":
                own = after in contents
            if own:
                contents.add(after)
        return own

    def left(self, path: str) -> Version:
        """What the session itself last made of a path."""
        own = [line for line in self._paths[path] if self._own(line)]
        return entries.entry(own[-1]["after"])

    def _own(self, line: JournalLine) -> bool:
        return entries.author(line)[0] == self._session
