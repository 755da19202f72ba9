"""gitcp-export-notes - write who wrote which line as notes of Git AI"""

from __future__ import annotations

from gitcp.commands import REVISIONS
from gitcp.errors import OK
from gitcp.git.repo import Repo
from gitcp.lines import exports
from gitcp.terminal import cli
from gitcp.text import console

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

OPTIONS = (REVISIONS,)


def run(argv: Sequence[str]) -> int:
    """Write the notes, and print their commits."""
    args = cli.parse("export-notes", OPTIONS, argv)
    changed, warnings = exports.write_notes(Repo.find(), args.revision)
    for warning in warnings:
        console.warn(warning)
    for oid in changed:
        print(oid)
    return OK
