"""Derive the contents of a file before and after each call from a transcript.

The client may report the content before a call.  Else the call's edit is applied to the last known
content or to one of a commit, or reverted from a later commit.  If none fits, a call that wrote the
whole content still gets a step, but its lines are not proven: a person's may be among them.
"""

from __future__ import annotations

from gitcp.agents.transcripts import agent_words
from gitcp.text import ids, line_evidence, pairing
from gitcp.text.ids import PERSON, UNKNOWN
from gitcp.text.line_credit import PathCredit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.text.record_types import Writer

    Call = tuple[int, Writer, Mapping[str, Any]]  # ns since 1970, writer, its input and response
    # ns since 1970, writer, content before, content after, whether the content before is known
    Step = tuple[int, Writer, bytes | None, bytes | None, bool]
    Version = tuple[int, Callable[[], bytes | None]]  # a commit's time in s, its content
    IsTaken = Callable[[str, bytes], bool]  # session, line: whether an earlier commit took it


def list_steps(calls: Iterable[Call], versions: Sequence[Version]) -> Iterator[Step]:
    """Yield a step for each call on a path whose result is known, in order.  versions: the path in
    commits, oldest first."""
    current: bytes | None = None  # the content after the last call, None if unknown
    for time, writer, report in calls:
        ends = _find_ends(report, current, time, versions)
        if ends:
            before, after = ends
            if before != after:
                yield time, writer, before, after, True
        else:
            after = None
            if "content" in report:
                after = _encode(report["content"])
            if after is not None and after != current:
                yield time, writer, None, after, False
        current = after


def _find_ends(
    report: Mapping[str, Any], current: bytes | None, time: int, versions: Sequence[Version]
) -> tuple[bytes | None, bytes | None] | None:
    """(the content before a call, that after it), either None for no file; None instead of the pair
    if one of them is unknown."""
    edits = [
        (_encode(old), _encode(new), everywhere) for old, new, everywhere in report.get("edits", ())
    ]
    content = None
    if "content" in report:
        content = _encode(report["content"])
    if report.get("deleted"):
        return None if current is None else (current, None)
    if "inserted" in report:
        if current is None:
            return None
        return (current, _insert(current, *report["inserted"]))
    if report.get("created"):
        after = edits[0][1] if content is None and len(edits) == 1 else content
        return None if after is None else (None, after)
    if "original" in report:
        before = _encode(report["original"])
        if content is None:
            content = agent_words.apply_edits(edits, before, trusted=True)
        # Some clients report an empty file for none.
        if content is None:
            return None
        return (before or None, content)
    if edits:
        return _fit_edits(edits, current, time, versions)
    return None


def _fit_edits(
    edits: Sequence[tuple[bytes, bytes, bool]],
    current: bytes | None,
    call_time: int,
    versions: Sequence[Version],
) -> tuple[bytes, bytes] | None:
    """The contents before and after edits of a text: applied to the last known content or to one of
    the three last commits before, else reverted from one of the three next."""
    older = [read for commit_time, read in reversed(versions) if commit_time * 10**9 <= call_time]
    newer = [read for commit_time, read in versions if commit_time * 10**9 > call_time]
    for read in [lambda: current, *older[:3]]:
        before = read()
        if before is None:
            after = None
        else:
            after = agent_words.apply_edits(edits, before)
        if before is not None and after is not None:
            return before, after
    reverse = [(new, old, everywhere) for old, new, everywhere in reversed(edits)]
    for read in newer[:3]:
        after = read()
        if after is None:
            before = None
        else:
            before = agent_words.apply_edits(reverse, after)
        if before is not None and after is not None:
            return before, after
    return None


def _insert(content: bytes, line: int, text: str) -> bytes:
    """The content with a text inserted before a 1-based line."""
    lines = content.split(b"\n")
    return b"\n".join([*lines[: line - 1], *_encode(text).split(b"\n"), *lines[line - 1 :]])


def _encode(text: object) -> bytes:
    return str(text).encode("utf-8", "surrogatepass").replace(b"\r\n", b"\n")


# Decide which lines of a commit are proven to be a session's.
#
# A line that is not significant (a brace, a blank) counts only beside a significant one of the
# same call, unless a single call made the whole change.  A line that no edit explains is unknown,
# not the person's: an unrecorded command may have written it.


def prove_holding(
    credit: PathCredit,
    old_lines: Sequence[bytes],
    new_lines: Sequence[bytes],
    last_lines: Sequence[bytes],
    single: Writer | None,
    is_taken: IsTaken,
) -> PathCredit:
    """A path's credit with only the proven lines.  last_lines: its lines after the last call.
    single: the call that made the whole change, if one did."""
    standing = set(map(ids.remove_space, last_lines))
    added: list[tuple[int, Writer]] = []
    for writer, numbers in _group_runs(credit.added):
        lines = [new_lines[number - 1] for number in numbers]
        is_proven = writer == single or _has_evidence(lines, standing)
        writers = (_keep_proven(writer, line, is_proven, is_taken) for line in lines)
        added += zip(numbers, writers, strict=True)
    removed: list[Writer] = []
    removed_numbers, _ = pairing.find_changed_lines(old_lines, new_lines)
    for number, writer in zip(removed_numbers, credit.removed, strict=True):
        line = old_lines[number]
        is_proven = writer == single or line_evidence.is_significant(line)
        # A NUL marks a removed line, as in list_lines().
        removed.append(_keep_proven(writer, b"\0" + line, is_proven, is_taken))
    return _replace_authors(credit, added, removed)


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
    least = 2
    if all(ids.remove_space(line) in standing for line in lines):
        least = 1
    return len(line_evidence.select_significant(set(lines))) >= least


def _keep_proven(writer: Writer, line: bytes, is_proven: bool, is_taken: IsTaken) -> Writer:
    """The writer of a line if that is proven, and no earlier commit took the line; else UNKNOWN."""
    if writer[0] and is_proven and not is_taken(writer[0], line):
        return writer
    return UNKNOWN


def make_person_unknown(credit: PathCredit) -> PathCredit:
    """A path's credit if no edit of it is known: the person's lines become unknown."""
    added = [(line, _replace_person(who)) for line, who in credit.added]
    return _replace_authors(credit, added, [_replace_person(who) for who in credit.removed])


def _replace_person(who: Writer) -> Writer:
    if who == PERSON:
        return UNKNOWN
    return who


def _replace_authors(
    credit: PathCredit, added: list[tuple[int, Writer]], removed: Sequence[Writer]
) -> PathCredit:
    """A path's credit with other authors."""
    replaced = PathCredit(credit.oid, added, removed)
    replaced.moved.update(credit.moved)
    if not credit.is_counted:
        replaced.leave_out()
    return replaced


def list_lines(
    session: str, credit: PathCredit, old_lines: Sequence[bytes], new_lines: Sequence[bytes]
) -> set[bytes]:
    """The lines of a session that a commit takes; a removed one has a NUL before it."""
    removed, _ = pairing.find_changed_lines(old_lines, new_lines)
    taken = set()
    for number, who in credit.added:
        if who[0] == session:
            taken.add(new_lines[number - 1])
    for index, who in zip(removed, credit.removed, strict=True):
        if who[0] == session:
            taken.add(b"\0" + old_lines[index])
    return taken
