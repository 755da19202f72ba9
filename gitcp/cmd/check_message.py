"""gitcp-check-message - empty a message that is nothing but our trailer"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.cli import Parser
    from gitcp.record import Record, Stage


def parser() -> Parser:
    """No options: the file is in the event of commit-msg."""
    from gitcp import cli

    return cli.Parser("gitcp-check-message", "Empty a message that is nothing but our trailer.")


def bind(argv: Sequence[str]) -> Stage:
    """The file of a commit-msg event is emptied where git would otherwise take our trailer
    for a message: an empty message aborts, as the person meant it to."""
    if argv:
        parser().parse_args(argv)
    return _messages


def _messages(records: Iterable[Record]) -> Iterator[Record]:
    from gitcp.core import message, trailers
    from gitcp.repo import Repo

    for record in records:
        if record.get("event") == "commit-msg" and record["args"]:
            path = record["args"][0]
            with open(path, "rb") as f:
                text = f.read()
            config = Repo.here().config
            comment = message.comment_char(text, config.get("core.commentchar", "#"))
            if os.environ.get("GIT_EDITOR") == ":":
                comment = b""  # no editor: git keeps such lines, they are the message
            template = _read(config.get("commit.template"))
            if trailers.only_trailers(text, comment=comment, template=template):
                with open(path, "wb") as f:
                    f.write(trailers.remove(text, comment=comment))
        yield record


def _read(path: str) -> bytes:
    try:
        with open(os.path.expanduser(path), "rb") as f:
            return f.read()
    except OSError:
        return b""


def main() -> int:
    from gitcp import cli

    return cli.filter_main(bind, sys.argv[1:])
