"""Many edits of one look in one line of the journal, which has their paths in two trees."""

from __future__ import annotations

from gitcp import memory
from gitcp.git.objects import compare_trees, edit_tree
from gitcp.record.journal import credit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.git.objects import Objects
    from gitcp.text.record_types import JournalLine

_FEW = 200  # edits of one author that stay a line each
_ALONE = credit.list_keys("alone")
_EXPANDED: dict[bytes, list[JournalLine]] = memory.get_table("expanded trees")


def expand_lines(objects: Objects, lines: Iterable[JournalLine]) -> list[JournalLine]:
    """Replace each `trees` line by a line for each of its edits."""
    edits: list[JournalLine] = []
    for line in lines:
        edits += _expand_line(objects, line) if "trees" in line else (line,)
    return edits


def _expand_line(objects: Objects, line: JournalLine) -> list[JournalLine]:
    """A line for each edit of a `trees` line, worked out once; none if a tree is missing."""
    name = credit.dump_line(line)
    if name not in _EXPANDED:
        if not all(objects.read(tree) for tree in line["trees"]):
            return []
        common = {key: value for key, value in line.items() if key != "trees"}
        _EXPANDED[name] = [
            {"path": path, "before": before, "after": after, **common}
            for path, before, after in compare_trees(objects, *line["trees"])
        ]
    return _EXPANDED[name]


def pack_many_edits(objects: Objects, edits: list[JournalLine]) -> list[JournalLine]:
    """Pack edits: a line for each author, with its paths in two trees."""
    groups: dict[str, list[JournalLine]] = {}
    for edit in edits:
        groups.setdefault(credit.dump_line(_get_shared(edit)).decode(), []).append(edit)
    lines: list[JournalLine] = []
    for group in groups.values():
        if len(group) < _FEW:
            lines += group
            continue
        trees = [
            edit_tree(objects, None, {edit["path"]: edit[side] for edit in group})
            for side in ("before", "after")
        ]
        lines.append({"trees": trees, **_get_shared(group[0])})
    return lines


def _get_shared(edit: JournalLine) -> JournalLine:
    return {key: value for key, value in edit.items() if key not in _ALONE}
