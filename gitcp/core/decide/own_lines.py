"""Two sessions in one file: whose lines does a commit of it hold?"""

from __future__ import annotations

from gitcp.core.decide import line_evidence


def holds_line(
    before: bytes | None, after: bytes | None, old: bytes | None, new: bytes | None
) -> bool:
    """Whether a commit that makes new of old has a line that an edit from before to after added, or
    lacks one that it removed, but for white space; None is a file that is not there.

    In doubt, of binary content and of an edit of no line that means anything, it does.
    """
    contents = [content or b"" for content in (before, after, old, new)]
    if any(map(line_evidence.binary, contents)):
        return True
    was, now, parent, commit = map(line_evidence.without_space, contents)
    added, removed = line_evidence.added(was, now), line_evidence.added(now, was)
    if not any(map(line_evidence.meaningful, added | removed)):
        return True
    common = added & line_evidence.added(parent, commit)
    common |= removed & line_evidence.added(commit, parent)
    return any(map(line_evidence.meaningful, common))
