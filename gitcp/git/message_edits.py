"""Add trailers to a message, and take them out, as commit_message reads them."""

from __future__ import annotations

from gitcp.git import commit_message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


_SIGNED = b"Signed-off-by: "


def add_trailers(
    message: bytes,
    ids: Iterable[str],
    *,
    comment: bytes = b"#",
    comments: Sequence[str] = (),
    more: Sequence[str] = (),
) -> bytes:
    """Return the message with a trailer for each id, and the lines `key: value` of more, in its
    last trailer block.

    A trailer that the block has is not added again.  An unwritten message gets two empty lines
    before the block, so that a text typed there is not part of it.  comments: lines for the person,
    added only to git's own comments.
    """
    lines, ids = commit_message.split_lines(message), list(ids)
    added = [*_format_lines(ids), *(f"{line}\n".encode() for line in dict.fromkeys(more))]
    if not added:
        return message
    begin = is_unwritten(message, comment=comment)
    lines = _begin_text(lines, added, comment) if begin else _extend_block(lines, added, comment)
    return b"".join(add_comments(lines, comment, comments))


def remove_trailers(message: bytes, *, comment: bytes = b"#") -> bytes:
    """Return the message without the checkpoint ids of its last trailer block.

    They are also removed if they are its only text, which git would take for the subject.
    """
    if has_only_trailers(message, comment=comment):
        return collect_trailers(message, comment=comment)[1]
    lines = commit_message.split_lines(message)
    start, end = commit_message.find_block(lines, comment, find_text_start(lines, comment))
    removed = {i for i in range(start, end) if _is_own(lines[i])}
    return b"".join(_drop_lines(lines, removed)) if removed else message


def collect_trailers(message: bytes, *, comment: bytes = b"#") -> tuple[list[str], bytes]:
    """Return the ids above the scissors, and the message without their lines, to be added again.

    In a squashed message most of them are in the text.  Commented lines, such as a fixup's, count
    and stay: git drops them.
    """
    lines = commit_message.split_lines(message)
    end = commit_message.find_cut(lines, comment)
    ids = commit_message.find_anywhere(b"".join(lines[:end]))
    removed = {i for i in range(end) if _is_own(lines[i].lstrip(b" \t"))}
    return ids, b"".join(_drop_lines(lines, removed)) if removed else message


def has_only_trailers(
    message: bytes, *, comment: bytes = b"#", template: bytes = b"", disclosing: str = ""
) -> bool:
    """Tell whether the message would be empty for git without gitcp's trailers.

    As for git, sign-offs and an unchanged commit template are not text.  disclosing: the key of
    gitcp's other trailer.
    """
    lines = _list_text(remove_key(message, disclosing), comment)
    if disclosing and not lines:
        return True
    return any(map(_is_own, lines)) and _list_prose(lines) in (
        [],
        _list_prose(_list_text(template, comment)),
    )


def remove_key(message: bytes, key: str) -> bytes:
    """Return the message without the lines of a trailer; unchanged if key is empty."""
    if not key:
        return message
    start = f"{key}:".lower().encode()
    return b"".join(
        line for line in commit_message.split_lines(message) if not line.lower().startswith(start)
    )


def is_unwritten(message: bytes, *, comment: bytes = b"#") -> bool:
    """Tell whether a message has no text yet, only sign-offs, comments and checkpoint ids."""
    return all(_is_own(line) or line.startswith(_SIGNED) for line in _list_text(message, comment))


def _list_prose(lines: Iterable[bytes]) -> list[bytes]:
    return [line for line in lines if not _is_own(line) and not line.startswith(_SIGNED)]


def _list_text(message: bytes, comment: bytes) -> list[bytes]:
    lines = commit_message.split_lines(message)
    above = lines[: commit_message.find_cut(lines, comment)]
    return [
        s.rstrip(commit_message.SPACE)
        for s in above
        if not commit_message.is_blank(s) and not commit_message.is_comment(s, comment)
    ]


def _is_own(line: bytes) -> bool:
    return bool(commit_message.find_id(line)) and line[:1].isalpha()


def _drop_lines(lines: list[bytes], removed: set[int]) -> list[bytes]:
    """Drop lines, and an empty line if that leaves two in a row or one at the end."""
    lines_left: list[bytes] = []
    after = False
    for i, line in enumerate(lines):
        if i in removed:
            after = True
        elif not (
            after
            and commit_message.is_blank(line)
            and (not lines_left or commit_message.is_blank(lines_left[-1]))
        ):
            lines_left.append(line)
            after = after and commit_message.is_blank(line)
    while after and lines_left and commit_message.is_blank(lines_left[-1]):
        lines_left.pop()
    return lines_left


def _format_lines(ids: Iterable[str]) -> list[bytes]:
    return [f"{commit_message.KEY}: {oid}\n".encode() for oid in dict.fromkeys(ids)]


def _begin_text(lines: list[bytes], added: list[bytes], comment: bytes) -> list[bytes]:
    """Put the trailers into a message that is_unwritten()."""
    end = commit_message.find_cut(lines, comment)
    texts = [
        i
        for i in range(end)
        if not commit_message.is_blank(lines[i])
        and not commit_message.is_comment(lines[i], comment)
    ]
    block = [lines[i] for i in texts if not _is_own(lines[i])]
    present = _format_lines(commit_message.find_anywhere(b"".join(lines[i] for i in texts)))
    block += dict.fromkeys([*present, *added])
    lines = [line for i, line in enumerate(lines) if i not in texts]
    own = find_own_block(lines, comment)
    below = commit_message.find_cut(lines, comment) if own is None else own
    head = lines[:below]
    while head and commit_message.is_blank(head[-1]):
        head.pop()
    if head and below == len(lines):
        return [*head, b"\n", *block]  # the person's own comments may be text after all
    return [*head, b"\n", b"\n", *block, *([b"\n", *lines[below:]] if below < len(lines) else [])]


def _extend_block(lines: list[bytes], added: list[bytes], comment: bytes) -> list[bytes]:
    start, end = commit_message.find_block(lines, comment, find_text_start(lines, comment))
    if start > 1 and all(
        commit_message.is_comment(line, comment) for line in (lines[0], lines[start - 2])
    ):
        start = end  # the subject of a message that a rebase squashes, not trailers
    pairs = commit_message.parse_block(lines[start:end], comment)
    present = {(token.lower(), value) for token, value in pairs}
    parts = ((line, *line.strip().partition(b": ")) for line in added)
    new = [line for line, token, _, value in parts if (token.lower(), value) not in present]
    gap = [] if start and commit_message.is_blank(lines[start - 1]) else [b"\n"]
    block = [(b"%s: %s\n" % item if item[0] else item[1] + b"\n") for item in pairs]
    return [*lines[:start], *gap, *block, *new, *lines[end:]]


_AUTO = b"#;@!$%^&|:"  # git's choices for core.commentChar=auto


def choose_comment_char(message: bytes, configured: str | None) -> bytes:
    """Return the prefix of comments by core.commentChar; for `auto` by git's own comments."""
    if configured != "auto":
        return (configured or "#").encode(errors="surrogateescape")
    lines = commit_message.split_lines(message)
    marks = [line[:1] for line in lines if line[1:] == commit_message.CUT]
    last = lines[-1][:1] if lines else b""
    mark = marks[0] if marks else last
    return mark if mark and mark in _AUTO else b"#"


def find_own_block(lines: list[bytes], comment: bytes) -> int | None:
    """Return the index of git's own comments; None if there are none.

    They are the last run of comment lines after a blank line, up to the scissors or the end.
    """
    end = commit_message.find_cut(lines, comment)
    start = end
    while start and commit_message.is_comment(lines[start - 1], comment):
        start -= 1
    return start if 0 < start < end and commit_message.is_blank(lines[start - 1]) else None


def find_text_start(lines: list[bytes], comment: bytes) -> int:
    """Return the index of the first line of text, or the end."""
    end = commit_message.find_cut(lines, comment)
    for i in range(end):
        if not commit_message.is_blank(lines[i]) and not commit_message.is_comment(
            lines[i], comment
        ):
            return i
    return end


def add_comments(lines: list[bytes], comment: bytes, comments: Sequence[str]) -> list[bytes]:
    """Insert comments for the person below the scissors, or before git's own comments.

    Without either, nothing is inserted: git could take the comments for text.
    """
    own, words = find_own_block(lines, comment), [f" {c}".rstrip().encode() for c in comments]
    added = [comment + s + b"\n" for s in words]
    if not added:
        return lines
    below = commit_message.find_cut(lines, comment) + 1
    if below > len(lines):  # above the scissors, comments may be text
        return lines if own is None else [*lines[:own], *added, comment + b"\n", *lines[own:]]
    for _ in range(2):  # git's two lines about the scissors
        below += below < len(lines) and commit_message.is_comment(lines[below], comment)
    return [*lines[:below], comment + b"\n", *added, *lines[below:]]
