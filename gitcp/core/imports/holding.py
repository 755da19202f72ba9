"""Decide which lines of a commit are proven to be a session's.

A line that is not significant (a brace, a blank) counts only beside a significant one of the same
call, unless a single call made the whole change.  A line that no edit explains is unknown, not the
person's: an unrecorded command may have written it.
"""

from __future__ import annotations

from gitcp.core.credit.entries import PERSON, UNKNOWN
from gitcp.core.decide import line_evidence
from gitcp.core.lines import line_diff

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from gitcp.core.lines.attribution import PathCredit
    from gitcp.core.record_types import Writer

    IsTaken = Callable[[str, bytes], bool]  # session, line: whether an earlier commit took it


def prove(
    credit: PathCredit,
    old_lines: Sequence[bytes],
    new_lines: Sequence[bytes],
    last_lines: Sequence[bytes],
    single: Writer | None,
    is_taken: IsTaken,
) -> PathCredit:
    """A path's credit with only the proven lines.  last_lines: its lines after the last call.
    single: the call that made the whole change, if one did."""
    standing = set(map(line_evidence.remove_space, last_lines))
    added: list[tuple[int, Writer]] = []
    for writer, numbers in _group_runs(credit["added"]):
        lines = [new_lines[number - 1] for number in numbers]
        is_proven = writer == single or _has_evidence(lines, standing)
        writers = (_keep_proven(writer, line, is_proven, is_taken) for line in lines)
        added += zip(numbers, writers, strict=True)
    removed: list[Writer] = []
    removed_numbers, _ = line_diff.find_changed_lines(old_lines, new_lines)
    for number, writer in zip(removed_numbers, credit["removed"], strict=True):
        line = old_lines[number]
        is_proven = writer == single or line_evidence.is_significant(line)
        removed.append(_keep_proven(writer, b"\0" + line, is_proven, is_taken))
    return {**credit, "added": added, "removed": removed, "lost": []}


def _group_runs(added: Sequence[tuple[int, Writer]]) -> list[tuple[Writer, list[int]]]:
    """(call, numbers) of each run of neighbouring lines of the same call."""
    runs: list[tuple[Writer, list[int]]] = []
    for number, writer in added:
        if runs and runs[-1][0] == writer and runs[-1][1][-1] == number - 1:
            runs[-1][1].append(number)
        else:
            runs.append((writer, [number]))
    return runs


def _has_evidence(lines: Sequence[bytes], standing: Collection[bytes]) -> bool:
    """Whether the lines of a run are a call's.  A single line that was removed since the call and
    came back may be anybody's; two are the call's."""
    least = 1 if all(line_evidence.remove_space(line) in standing for line in lines) else 2
    return len(line_evidence.select_significant(set(lines))) >= least


def _keep_proven(writer: Writer, line: bytes, is_proven: bool, is_taken: IsTaken) -> Writer:
    """The call; UNKNOWN unless the line is proven to be its, and new in the commit."""
    return writer if writer[0] and is_proven and not is_taken(writer[0], line) else UNKNOWN


def forget_all(credit: PathCredit) -> PathCredit:
    """A path's credit without known edits: the person's lines become unknown."""
    return {
        **credit,
        "added": [(line, _forget_person(who)) for line, who in credit["added"]],
        "removed": [_forget_person(who) for who in credit["removed"]],
        "lost": [],
    }


def _forget_person(who: Writer) -> Writer:
    return UNKNOWN if who == PERSON else who


def list_sessions(credit: PathCredit) -> set[str]:
    """The sessions with proven lines in a path."""
    return {who[0] for who in [*(w for _, w in credit["added"]), *credit["removed"]] if who[0]}


def list_lines(
    session: str, credit: PathCredit, old_lines: Sequence[bytes], new_lines: Sequence[bytes]
) -> set[bytes]:
    """The lines of a session that a commit takes; a removed one has a NUL before it."""
    removed, _ = line_diff.find_changed_lines(old_lines, new_lines)
    taken = {new_lines[line - 1] for line, who in credit["added"] if who[0] == session}
    pairs = zip(removed, credit["removed"], strict=True)
    return taken | {b"\0" + old_lines[i] for i, who in pairs if who[0] == session}
