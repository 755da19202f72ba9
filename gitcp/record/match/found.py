"""What was found of a session's work in a commit."""

from __future__ import annotations

from gitcp.text import value_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.text.record_types import Linked


@value_class
class Shared:
    """What two changes of a path have in common.

    units: lines, or marks of whole contents (mark_content()); reason: why they are evidence, or why
    there is none."""

    units: frozenset[bytes]
    reason: str


def reject(reason: str) -> Shared:
    """Nothing in common, and the reason."""
    return Shared(frozenset(), reason)


def mark_content(content: bytes) -> frozenset[bytes]:
    """What stands for a whole content, not a line, among what two changes have in common."""
    return frozenset([b"\0" + content])


class Matched:
    """The paths of a commit that hold work of a session.

    shared: path -> what is in common.  reasons: of each path, also of one that does not count.
    former: the paths, when they were recorded, of files that were renamed since."""

    __slots__ = ("former", "reasons", "shared")

    def __init__(self) -> None:
        self.shared: dict[str, frozenset[bytes]] = {}
        self.reasons: dict[str, str] = {}
        self.former: list[str] = []

    def add(self, path: str, found: Shared) -> None:
        """Add what was found at a path, unless something was before."""
        if path in self.shared:
            return
        self.reasons[path] = found.reason
        if found.units:
            self.shared[path] = found.units

    @property
    def paths(self) -> list[str]:
        """The paths that count, sorted."""
        return sorted(self.shared)

    def build_linked(self, how: str) -> Linked:
        """The part of the session in the commit.  how: as Linked has it."""
        linked: Linked = {"how": how, "paths": self.paths, "reasons": {}}
        if self.shared:
            linked["reasons"] = self.reasons
        if self.former:
            linked["former"] = self.former
        return linked
