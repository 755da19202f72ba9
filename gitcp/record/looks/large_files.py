"""New files over a limit (gitcp.max-file-size, gitcp.max-untracked-size): who wrote them.

No look reads their contents.  The journal has their sizes and times; the commit that takes one
names its blob (doc/credit.md "Large files").
"""

from __future__ import annotations

import os

from gitcp.git import encode_name
from gitcp.record.journal import credit
from gitcp.record.journal.line_kinds import Large, build_edit, spell_writer
from gitcp.record.snapshot import limits
from gitcp.text import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.record.journal import Journal, LastSeen
    from gitcp.record.journal.line_kinds import Edit
    from gitcp.text.record_types import Version, Writer

_MOST_OF_PERSON = 50  # large files that are named though no agent wrote them


def record_sizes(
    journal: Journal,
    seen: LastSeen,
    omitted: Iterable[Mapping[str, str]],
    at: int,
    find_writer: Callable[[str], tuple[Writer, str]],
) -> dict[str, Version]:
    """Record which files over a limit have changed, and which of those that were there are gone.

    omitted: what a snapshot left out, as Scan.omitted.  find_writer: tells who wrote a path, and
    how that is known.  Returns path -> the entry that was last seen, of those that had one.
    """
    known = credit.map_large(journal.lines)
    lines: list[Large] = []
    present = {item["path"] for item in omitted if item["reason"] in limits.LIMITS}
    stamps = {path: _read_stamp(journal.repo, path) for path in sorted({*present, *known})}
    for path, stamp in stamps.items():
        if path in known and known[path][-1].stamp == stamp:
            continue
        if not stamp:
            lines.append(known[path][-1].having(stamp=[], at=at))
        elif path in present:
            moved: Collection[Large] = ()
            if path not in known:
                moved = _find_moved(known, stamps, stamp)
            lines += [line.having(large=path, stamp=stamp, at=at) for line in moved]
            if not moved:
                writer, how = find_writer(path)
                who = spell_writer(writer)
                lines.append(
                    Large({"large": path, "stamp": stamp, "who": who, "how": how, "at": at})
                )
    # Of the person's own files a few are named, so that it is known when an agent deletes one.
    named = {*known, *(line.path for line in lines if line.author != ids.PERSON)}
    of_person = [line.path for line in lines if line.path not in named]
    named.update(of_person[: max(0, _MOST_OF_PERSON - len(known))])
    journal.append([line for line in lines if line.path in named])
    last_seen: dict[str, Version] = {}
    for path in present:
        entry = seen.get_entry(path)
        if entry:
            last_seen[path] = entry
    return last_seen


def _find_moved(
    known: Mapping[str, list[Large]], stamps: Mapping[str, list[int]], stamp: list[int]
) -> list[Large]:
    """What was seen of a large file that is gone, and has come elsewhere with this stamp."""
    for path, seen in known.items():
        if not stamps[path] and seen[-1].stamp[:2] == stamp[:2]:
            return seen
    return []


def _read_stamp(repo: Repo, path: str) -> list[int]:
    try:
        st = os.lstat(os.path.join(os.fsencode(repo.worktree), encode_name(path)))
    except OSError:
        return []
    return [st.st_size, max(st.st_mtime_ns, 0), max(st.st_ctime_ns, 0)]


def build_edits(
    objects: Objects, seen: Sequence[Large], before: Version, after: Version, at: int
) -> list[Edit]:
    """The edits of a large file, whose blob is known now, by what was seen of it.

    If several wrote it, each session among them has an edit, of a content that nobody has: so
    nobody knows whose the lines are.
    """
    how = {line.author: line.how for line in seen}
    if len({who[0] or who[1] for who in how}) == 1:
        writers = [seen[-1].author]
    else:
        writers = [who for who in how if who[0]] or [ids.UNKNOWN]
        stamps = repr([line.stamp for line in seen])
        before = "100644", objects.hash_object("blob", stamps.encode())
    edits = []
    for who in writers:
        reason = how.get(who, credit.BETWEEN)
        edit = build_edit(seen[0].path, before, after, who, reason, at)
        edits.append(edit.having(kept=False))
    return edits
