"""gitcp-annotate - put the author of each line into a patch"""

from __future__ import annotations

import os
import sys

from gitcp.commands import JSON
from gitcp.errors import OK, Error
from gitcp.git import decode_name, shell
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.lines.patch_text import split_patch
from gitcp.terminal import cli, patch_marks
from gitcp.text import term

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

OPTIONS = (JSON,)
_TOGETHER = 1 << 16  # bytes that are passed on at a time


def run(argv: Sequence[str]) -> int:
    """Print the patch on standard input with its authors."""
    args = cli.parse("annotate", OPTIONS, argv)
    term.stop_progress()  # a pager has the terminal
    rows = sys.stdin.buffer
    try:
        repo = Repo.find_here()
    except Error:
        repo = None
    if args.json:
        if repo:
            with Objects(repo):
                cli.write_records(patch_marks.list_records(repo, split_patch(rows)))
        return OK
    if repo is None or shell.is_annotated():
        _print(iter(lambda: b"".join(rows.readlines(_TOGETHER)), b""))
        return OK
    with Objects(repo):
        _print(patch_marks.mark_rows(repo, split_patch(rows), cli.has_colour()))
    return OK


def _print(texts: Iterable[bytes]) -> None:
    """Print texts as they come, byte for byte; at a terminal through git's pager."""
    if sys.stdout.isatty() and not os.environ.get("GIT_PAGER_IN_USE"):
        cli.page_texts(cli.show_escaped(decode_name(text)) for text in texts)
        return
    for text in texts:
        sys.stdout.buffer.write(text)
        sys.stdout.buffer.flush()
