"""gitcp-convert-store - give each checkpoint of the branch a ref of its own"""

from __future__ import annotations

from gitcp.checkpoints import conversion, stored
from gitcp.commands import make_flag
from gitcp.errors import OK
from gitcp.git import refs
from gitcp.git.repo import Repo
from gitcp.terminal import cli
from gitcp.text import term

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

OPTIONS = (make_flag("--json", "write a record of each ref that moved"),)


def run(argv: Sequence[str]) -> int:
    """Move the checkpoints, and print how many."""
    args = cli.parse("convert-store", OPTIONS, argv)
    repo = Repo.find()
    term.show_line("moving checkpoints")
    moved = conversion.convert_store(repo)
    term.hide_progress()
    if args.json:
        records = ({"type": "ref", "ref": ref, "oid": oid} for ref, oid in moved.items())
        return cli.write_records(records)
    count = len(stored.list_tips(repo))
    print(f"{len(moved)} of {count} checkpoints moved; each has a ref of its own")
    if refs.read_ref(repo, refs.REF):
        name = refs.REF.removeprefix("refs/heads/")
        print(f"the branch stays, and is not sent any more: 'git branch -D {name}' removes it")
    return OK
