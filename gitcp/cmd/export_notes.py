"""gitcp-export-notes - write who wrote which line as notes of Git AI"""

from __future__ import annotations

from gitcp import console
from gitcp.commands import REVISIONS
from gitcp.errors import OK
from gitcp.repo import Repo
from gitcp.store.lines import exports
from gitcp.terminal import cli

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
