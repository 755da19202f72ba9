"""gitcp-fetch - bring what others have recorded from a remote"""

from __future__ import annotations

from gitcp.checkpoints import listing
from gitcp.checkpoints.share import sync
from gitcp.cmd.stages import checkpoints
from gitcp.commands import JSON
from gitcp.errors import OK
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.terminal import cli
from gitcp.text import ids, term
from gitcp.text.spans import count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.text.record_types import Record

OPTIONS = (JSON, *checkpoints.OPTIONS["fetch-checkpoints"])


def run(argv: Sequence[str]) -> int:
    """Fetch the permanent store and print how many checkpoints are new, or list the remote's."""
    args = cli.parse("fetch", OPTIONS, argv)
    repo = Repo.find()
    before = sync.list_local(repo)
    term.show_line("asking for checkpoints")
    refs = list(checkpoints.fetch_checkpoints((), args))
    term.hide_progress()
    if args.json:
        return cli.write_records(refs)
    if args.list:
        for ref in refs:
            print(_format_line(ref, before.get(ref["ref"])))
        return OK
    with Objects(repo):
        count = listing.count_changed(repo.objects, sync.list_local(repo), before)
    if not refs:
        print("nothing to fetch: there are no checkpoints")
    else:
        print(f"{count_noun(count, 'checkpoint')} fetched" if count else "no new checkpoints")
    return OK


def _format_line(remote: Record, local: str | None) -> str:
    """The line of a remote's ref: its name or checkpoint id, and whether it is here."""
    name = ids.parse_checkpoint_ref(remote["ref"]) or remote["ref"].removeprefix("refs/heads/")
    if local == remote["oid"]:
        return f"{name}  here"
    return f"{name}  {'differs from the remote' if local else 'only at the remote'}"
