"""gitcp-check-message - empty a message that is nothing but our trailer"""

from __future__ import annotations

import os

from gitcp.console import stage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitcp.core.record_types import Record
    from gitcp.repo import Repo

_KEPT = ("scissors", "whitespace", "verbatim")  # ways of cleaning up that leave comments


def _messages(records: Iterable[Record]) -> Iterator[Record]:
    """The file of a commit-msg event is emptied where git would otherwise take our trailer
    for a message: an empty message aborts, as the person meant it to."""
    from gitcp.repo import Repo

    for record in records:
        if record.get("event") == "commit-msg" and record["args"]:
            _check(Repo.here(), record["args"][0])
        yield record


def _check(repo: Repo, path: str) -> None:
    from gitcp.core.message import message_file, trailers
    from gitcp.store.git import files, private
    from gitcp.store.link import commit_arguments

    with open(path, "rb") as f:
        text = f.read()
    comment = message_file.comment_char(text, repo.config.get("core.commentchar", "#"))
    template = private.cached_bytes(repo.own("template"))
    way = commit_arguments.cleanup(repo)
    if way in _KEPT or (way != "strip" and os.environ.get("GIT_EDITOR") == ":"):
        # What looks like a comment stays, it is text; what is below the cut is not.
        text, template = _above(text, comment), _above(template, comment)
        comment = b""
    if trailers.only_trailers(text, comment=comment, template=template):
        files.replace(path, trailers.collect(text, comment=comment)[1], durable=False)


def _above(text: bytes, comment: bytes) -> bytes:
    from gitcp.core.message import message_file

    lines = message_file.split(text)
    return b"".join(lines[: message_file.cut(lines, comment)])


parser, bind, main = stage.plain("check-message", _messages)
