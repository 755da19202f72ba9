"""The patches of apply_patch: which paths one writes (doc/clients.md "Codex")."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADERS = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")


def paths(text: str) -> list[str]:
    """The paths that the patches in text add, change, delete or move to, each once, as written.

    text is a patch, or a shell command that holds some in here-documents.
    """
    return list(dict.fromkeys(_paths(text)))


def _paths(text: str) -> Iterator[str]:
    inside = False
    for line in text.split("\n"):
        if "*** Begin Patch" in line:  # in a command the quote of an argument may stand before it
            inside = True
        elif line.startswith("*** End Patch"):
            inside = False
        elif inside and line.startswith(_HEADERS):
            yield line.partition(": ")[2].strip()
