"""gitcp-fetch - bring checkpoints from a remote"""

from __future__ import annotations

from gitcp.cmd.push import ref_lines
from gitcp.console import cli
from gitcp.console.options import JSON
from gitcp.errors import OK
from gitcp.stages import find_stage
from gitcp.stages.share import fetch_checkpoints

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

OPTIONS = (JSON, *find_stage("fetch-checkpoints")[1])


def run(argv: Sequence[str]) -> int:
    """Bring the permanent store, and say what is here now."""
    args = cli.parse("fetch", OPTIONS, argv)
    refs = list(fetch_checkpoints(args, ()))
    if args.json:
        return cli.write_records(refs)
    for line in ref_lines({ref["ref"]: ref["oid"] for ref in refs}):
        print(line)
    if not refs:
        print("nothing to fetch: there are no checkpoints")
    return OK
