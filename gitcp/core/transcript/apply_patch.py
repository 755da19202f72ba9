"""Parse patches of apply_patch (doc/clients.md "Codex"), and apply edits."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import AnyStr


_HEADERS = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")


def list_paths(text: str) -> list[str]:
    """The paths that the patches in text add, change, delete or move to, each once, as written.

    text is a patch, or a shell command with patches in here-documents.
    """
    headers = (line for line in _list_patch_lines(text) if line.startswith(_HEADERS))
    return list(dict.fromkeys(line.partition(": ")[2].strip() for line in headers))


def parse_hunks(text: str) -> Iterator[tuple[str, str | None, str]]:
    """Yield (path, replaced lines, new lines) of each hunk of the patches in text; for an added
    file (path, None, content)."""
    path, added = "", False
    old: list[str] = []
    new: list[str] = []
    for line in [*_list_patch_lines(text), "@@"]:
        if not line.startswith(("@@", "*** ")):
            if not line.startswith("+"):
                old.append(line[1:])
            if not line.startswith("-"):
                new.append(line[1:])
            continue
        if path and (old or new):
            yield path, None if added else _join_lines(old), _join_lines(new)
        old, new = [], []
        if line.startswith(_HEADERS[:3]):
            path, added = line.partition(": ")[2].strip(), line.startswith(_HEADERS[0])


def _list_patch_lines(text: str) -> Iterator[str]:
    """Yield the lines of the patches in text, without the first and the last line of each."""
    inside = False
    for line in text.split("\n"):
        if "*** Begin Patch" in line:  # in a command a quotation mark may precede it
            inside = True
        elif line.startswith("*** End Patch"):
            inside = False
        elif inside:
            yield line


def _join_lines(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def parse_edits(diff: str) -> list[list[str | bool]]:
    """[replaced lines, new lines, False] of each hunk."""
    hunks: list[list[str | bool]] = []
    old: list[str] = []
    new: list[str] = []
    inside, kind = False, ""
    for line in [*diff.removesuffix("\n").split("\n"), "@@"]:
        if line.startswith("@@"):
            if old or new:
                hunks.append(["".join(old), "".join(new), False])
            old, new, inside = [], [], True
        elif inside and line.startswith("\\"):  # no newline at the end of the line above
            for side, without in ((old, "+"), (new, "-")):
                if side and kind != without:
                    side[-1] = side[-1].removesuffix("\n")
        elif inside:
            kind = line[:1]
            old += [] if kind == "+" else [line[1:] + "\n"]
            new += [] if kind == "-" else [line[1:] + "\n"]
    return hunks


def apply_edits(
    edits: Iterable[tuple[AnyStr, AnyStr, bool]], content: AnyStr, trusted: bool = False
) -> AnyStr | None:
    """The content after edits; None if one does not apply, or, unless trusted, is for one place and
    applies to several."""
    for old, new, everywhere in edits:
        count = content.count(old) if old else 0
        if not count or (count > 1 and not everywhere and not trusted):
            return None
        content = content.replace(old, new, -1 if everywhere else 1)
    return content
