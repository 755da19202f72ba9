"""gitcp-verify - check the signatures and the content of checkpoints"""

from __future__ import annotations

from gitcp.commands import JSON, REVISIONS, make_flag
from gitcp.errors import NO, OK
from gitcp.extras.reports import checks
from gitcp.git.repo import Repo
from gitcp.terminal import cli
from gitcp.text import term
from gitcp.text.spans import abbreviate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.text.record_types import Record

_SIGNED = make_flag("--signed", "fail too without a signature that git can check")
OPTIONS = (JSON, _SIGNED, REVISIONS)


def run(argv: Sequence[str]) -> int:
    """Print a line for each checkpoint; NO if one fails."""
    args = cli.parse("verify", OPTIONS, argv)
    repo = Repo.find()
    failed = False
    links = checks.verify_links(repo, args.revision, args.signed)
    for number, record in enumerate(links, 1):
        failed = failed or bool(record["failures"])
        if args.json:
            cli.write_records([record])
        else:
            cli.show(*_format_lines(record))
        term.show_count("verifying checkpoints", number)
    return NO if failed else OK


def _format_lines(record: Record) -> list[str]:
    verdict = "fails" if record["failures"] else "intact"
    head = f"{abbreviate(record['commit'])} checkpoint {record['checkpoint_id']} {verdict}"
    signature = record.get("signature")
    signed = f", signature {signature}" if signature else ""
    if signature == "none":
        signed = ", not signed"
    by = ""
    if record.get("signer"):
        by = f" by {record['signer']}"
    return [f"{head}{signed}{by}", *(f"    {why}" for why in record["failures"])]
