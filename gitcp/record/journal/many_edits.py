"""Many edits of one look in one line of the journal, which has their paths in two trees."""

from __future__ import annotations

from gitcp import memory
from gitcp.git.objects import compare_trees, edit_tree
from gitcp.record.journal.line_kinds import Edit, JournalLine, ManyEdits, list_keys, spell_entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.git.objects import Objects

_FEW = 200  # edits of one author that stay a line each
_ALONE = list_keys("alone")
_EXPANDED: dict[bytes, list[Edit]] = memory.get_table("expanded trees")


def expand_lines(objects: Objects, lines: Iterable[JournalLine]) -> list[JournalLine]:
    """Replace each `trees` line by a line for each of its edits."""
    expanded: list[JournalLine] = []
    for line in lines:
        if isinstance(line, ManyEdits):
            expanded += _expand_line(objects, line)
        else:
            expanded.append(line)
    return expanded


def _expand_line(objects: Objects, line: ManyEdits) -> list[Edit]:
    """A line for each edit of a `trees` line, worked out once; none if a tree is missing."""
    name = line.dump()
    if name not in _EXPANDED:
        if not all(objects.read(tree) for tree in line.trees):
            return []
        common = {key: value for key, value in line.keys.items() if key != "trees"}
        edits = []
        for path, before, after in compare_trees(objects, *line.trees):
            sides = {"before": spell_entry(before), "after": spell_entry(after)}
            edits.append(Edit({"path": path, **sides, **common}))
        _EXPANDED[name] = edits
    return _EXPANDED[name]


def pack_many_edits(objects: Objects, edits: list[Edit]) -> list[JournalLine]:
    """Pack edits: a line for each author, with its paths in two trees."""
    groups: dict[bytes, list[Edit]] = {}
    for edit in edits:
        groups.setdefault(_get_shared(edit).dump(), []).append(edit)
    lines: list[JournalLine] = []
    for group in groups.values():
        if len(group) < _FEW:
            lines += group
            continue
        before = edit_tree(objects, None, {edit.path: edit.before for edit in group})
        after = edit_tree(objects, None, {edit.path: edit.after for edit in group})
        lines.append(ManyEdits({"trees": [before, after], **_get_shared(group[0]).keys}))
    return lines


def _get_shared(edit: Edit) -> JournalLine:
    """What an edit has as others do."""
    return JournalLine({key: value for key, value in edit.keys.items() if key not in _ALONE})
