"""gitcp-config - list the settings of gitcp, and check them"""

from __future__ import annotations

from gitcp.console import cli
from gitcp.console.options import JSON, make_flag, make_value
from gitcp.core import config_table
from gitcp.errors import NO, OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.core.record_types import Record

OPTIONS = (
    make_flag("--check", "show only what is wrong"),
    JSON,
    make_value("key", "<key>", "only these keys", nargs="*", choices=[[], *config_table.KEYS]),
)


def run(argv: Sequence[str]) -> int:
    """Show the settings; with --check NO where one is wrong.  Nothing is changed."""
    from gitcp.repo import Repo
    from gitcp.store.setup import configuration

    args = cli.parse("config", OPTIONS, argv)
    records = configuration.list_settings(Repo.find_here(), args.key)
    if args.check:
        records = [one for one in records if one["complaint"]]
    if args.json:
        cli.write_records(records)
    else:
        for line in _format_complaints(records) if args.check else _format_lines(records):
            cli.say(cli.printable(line))
    return NO if args.check and records else OK


def _format_lines(records: Iterable[Record]) -> Iterator[str]:
    """Two lines a setting: the key with what holds and where that comes from, the meaning."""
    for one in records:
        about = [one["origin"] or ("default" if one["default"] else "not set")]
        if one["origin"] and one["default"]:
            about.append(f"default {one['default']}")
        if one["complaint"]:
            about.append(f"not '{one['text']}', which {one['complaint']}")
        held = f" = {one['value']}" if one["value"] else ""
        yield f"{one['key']}{held}  ({'; '.join(about)})"
        if one["meaning"]:
            yield f"    {one['meaning']}"


def _format_complaints(records: Iterable[Record]) -> Iterator[str]:
    for one in records:
        yield f"{one['origin']}: '{one['key']} = {one['text']}': {one['complaint']}"
