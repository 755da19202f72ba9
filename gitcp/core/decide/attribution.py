"""How much of a commit did the agent write: `initial_attribution` (reference §5, put right).

Each line that the commit adds or removes is looked up among those of the session's record:

    agent_lines     lines the agent added that the commit has
    agent_removed   lines the agent removed, beyond those it put others in place of
    human_added     lines the person added ...
    human_removed   ... and removed, be they the agent's or of before
    human_modified  one of each in the same file: a line changed, in neither of the two above
    total_committed lines the commit changes: all of the agent's, the person's, other sessions';
                    a replaced line is one; an agent's line that never got in is none
    agent_percentage  of `total_committed`, deletions counted; 0 if there is nothing

Put right against the original: only committed files count (the caller gives no others); each
file has the base of the session's own work; without a record what is committed is the agent's;
deletions count; lines of other sessions are in the total but not the person's.
"""

from __future__ import annotations

from gitcp.core.decide.line_diff import changed, counted, lines
from gitcp.core.decide.line_evidence import binary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypedDict

    Versions = tuple[bytes | None, bytes | None, bytes | None]  # base, record, HEAD

    class Attribution(TypedDict):
        agent_lines: int
        agent_removed: int
        human_added: int
        human_modified: int
        human_removed: int
        total_committed: int
        agent_percentage: float


def initial_attribution(
    files: Mapping[str, Versions],
    *,
    others: Mapping[str, Sequence[bytes]] | None = None,
    typed: Mapping[str, int] | None = None,
) -> Attribution:
    """Attribute the lines of one commit to one session; `calculated_at` is the caller's to add.

    `files`: path → what the session's work started from, what it recorded (None: no record, as
    of a commit within the turn; b"" a deletion), what the commit has (None: no such file).  A
    file that the session never wrote: base and record both the commit's first parent's.
    `others`: what other sessions recorded of the path.  `typed`: how many lines of the record the
    person added between the turns.  Binary files are left out.
    """
    sums = [0] * 6
    for path, versions in files.items():
        if any(binary(data or b"") for data in versions):
            continue
        theirs = [lines(data) for data in (others or {}).get(path, ())]
        counts = _file(versions, theirs, (typed or {}).get(path, 0))
        sums = [a + b for a, b in zip(sums, counts, strict=True)]
    agent, agent_removed, added, modified, removed, total = sums
    return {
        "agent_lines": agent,
        "agent_removed": agent_removed,
        "human_added": added,
        "human_modified": modified,
        "human_removed": removed,
        "total_committed": total,
        "agent_percentage": 100.0 * (agent + agent_removed) / total if total else 0.0,
    }


def _file(versions: Versions, others: list[list[bytes]], typed: int) -> tuple[int, ...]:
    """Return the six counts of one file."""
    base, record, head = versions
    old, now = lines(base), lines(head)
    gone, come = changed(old, now)
    if record is None or record == (head or b""):
        cut, wrote = gone, come
    else:
        cut, wrote = changed(old, lines(record))
    theirs = [changed(old, text) for text in others]
    left, (kept, strange, human) = _share(come, wrote, [a for _, a in theirs])
    _, (agent_removed, removed_by_others, before) = _share(gone, cut, [r for r, _ in theirs])
    lost = len(left)
    if others:  # a line of ours that they do not have may have been taken away by them
        lost = sum(all(line in text for text in map(set, others)) for line in left)
    own = min(typed, len(left))  # in doubt the person removed what the person had typed
    typed_here = min(typed - own, kept)
    kept, human, lost = kept - typed_here, human + typed_here, max(0, lost - own)
    modified = min(human, lost + before)
    agent_removed = max(0, agent_removed - max(0, len(wrote) - typed))
    removed = max(0, before - max(0, human - lost)) + max(0, removed_by_others - strange)
    total = kept + strange + human + agent_removed + removed
    return kept, agent_removed, human - modified, modified, lost + before - modified, total


def _share(
    found: list[bytes], own: list[bytes], others: list[list[bytes]]
) -> tuple[list[bytes], tuple[int, int, int]]:
    """Deal the lines of the commit out: ours, another session's, the person's.

    Also returns the lines of ours that were not found.
    """
    left, theirs = counted(own), counted(x for text in others for x in text)
    counts = [0, 0, 0]
    for line in found:
        if left.get(line):
            left[line] -= 1
            counts[0] += 1
        elif theirs.get(line):
            theirs[line] -= 1
            counts[1] += 1
        else:
            counts[2] += 1
    return [x for x, n in left.items() for _ in range(n)], (counts[0], counts[1], counts[2])
