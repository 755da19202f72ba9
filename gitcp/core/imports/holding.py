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
    from collections.abc import Callable, Sequence

    from gitcp.core.lines.attribution import PathCredit
    from gitcp.core.record_types import Writer

    Taken = Callable[[str, bytes], bool]  # session, line: whether an earlier commit has taken it


def prove(
    credit: PathCredit,
    old_lines: Sequence[bytes],
    new_lines: Sequence[bytes],
    stood: Sequence[bytes],
    single: Writer | None,
    taken: Taken,
) -> PathCredit:
    """A path's credit with only the proven lines.  stood: its lines after the last call; single:
    the call that made the whole change, if one did."""
    standing = {line_evidence.remove_space(line) for line in stood}
    added: list[tuple[int, Writer]] = []
    for run in _group_runs(credit["added"]):
        texts = {new_lines[line - 1] for line, _ in run}
        who = run[0][1]
        # A single line removed since the call and back again may be anybody's; two are the call's.
        least = 1 if all(line_evidence.remove_space(text) in standing for text in texts) else 2
        telling = line_evidence.select_significant(texts)
        sure = bool(who[0]) and (who == single or len(telling) >= least)
        for line, _ in run:
            known = sure and not taken(who[0], new_lines[line - 1])
            added.append((line, who if known else UNKNOWN))
    removed, _ = line_diff.find_changed_lines(old_lines, new_lines)
    return {
        **forget_all(credit),
        "added": added,
        "removed": [
            _judge_removed(who, old_lines[i], who == single, taken)
            for i, who in zip(removed, credit["removed"], strict=True)
        ],
    }


def _judge_removed(who: Writer, line: bytes, alone: bool, taken: Taken) -> Writer:
    telling = alone or line_evidence.is_telling(line)
    return who if who[0] and telling and not taken(who[0], b"\0" + line) else UNKNOWN


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


def _group_runs(added: Sequence[tuple[int, Writer]]) -> list[list[tuple[int, Writer]]]:
    """Runs of neighbouring lines of the same call."""
    runs: list[list[tuple[int, Writer]]] = []
    for line, who in added:
        last = runs[-1][-1] if runs else None
        if last and last[0] == line - 1 and last[1] == who:
            runs[-1].append((line, who))
        else:
            runs.append([(line, who)])
    return runs


def list_sessions(credit: PathCredit) -> set[str]:
    """The sessions with proven lines in a path."""
    return {who[0] for who in [*(w for _, w in credit["added"]), *credit["removed"]] if who[0]}


def list_lines(
    session: str, credit: PathCredit, old_lines: Sequence[bytes], new_lines: Sequence[bytes]
) -> set[bytes]:
    """The lines of a session that a commit takes; a removed one has a NUL before it."""
    removed, _ = line_diff.find_changed_lines(old_lines, new_lines)
    took = {new_lines[line - 1] for line, who in credit["added"] if who[0] == session}
    pairs = zip(removed, credit["removed"], strict=True)
    return took | {b"\0" + old_lines[i] for i, who in pairs if who[0] == session}
