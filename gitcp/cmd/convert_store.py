"""gitcp-convert-store - give each checkpoint of the branch a ref of its own"""

from __future__ import annotations

import sys

from gitcp.console import cli
from gitcp.errors import OK


def parser() -> cli.Parser:
    p = cli.Parser("convert-store")
    p.add_argument("--json", action="store_true", help="write a record of each ref that moved")
    return p


def main() -> int:
    return cli.guard(_main)


def _main() -> int:
    from gitcp import record
    from gitcp.repo import Repo
    from gitcp.store.git import refs
    from gitcp.store.v1 import committed_refs, conversion

    opts, repo = parser().parse_args(), Repo.find()
    moved = conversion.convert(repo)
    if opts.json:
        records = ({"type": "ref", "ref": ref, "oid": oid} for ref, oid in moved.items())
        record.write(sys.stdout.buffer, records)
        return OK
    count = len(committed_refs.tips(repo))
    print(f"{len(moved)} of {count} checkpoints moved; each has a ref of its own")
    if refs.read(repo, committed_refs.REF):
        name = committed_refs.REF.removeprefix("refs/heads/")
        print(f"the branch stays as it is and is sent no more: 'git branch -D {name}' removes it")
    return OK
