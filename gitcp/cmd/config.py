"""gitcp-config - list the settings of gitcp, and check them"""

from __future__ import annotations

from gitcp.console import JSON, cli, make_flag, make_value
from gitcp.core import config_table
from gitcp.errors import NO, OK
from gitcp.repo import Repo
from gitcp.store.setup import adapters

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
    """Show the settings; with --check the status is NO if one is wrong."""
    args = cli.parse("config", OPTIONS, argv)
    records = adapters.list_settings(Repo.find_here(), args.key)
    if args.check:
        records = [setting for setting in records if setting["complaint"]]
    if args.json:
        cli.write_records(records)
    else:
        for line in _format_complaints(records) if args.check else _format_lines(records):
            cli.say(cli.printable(line))
    return NO if args.check and records else OK


def _format_lines(records: Iterable[Record]) -> Iterator[str]:
    """Two lines for each setting: the key with its value and origin, and the meaning."""
    for setting in records:
        facts = [setting["origin"] or ("default" if setting["default"] else "not set")]
        if setting["origin"] and setting["default"]:
            facts.append(f"default {setting['default']}")
        if setting["complaint"]:
            facts.append(f"not '{setting['text']}', which {setting['complaint']}")
        value = f" = {setting['value']}" if setting["value"] else ""
        yield f"{setting['key']}{value}  ({'; '.join(facts)})"
        if setting["meaning"]:
            yield f"    {setting['meaning']}"


def _format_complaints(records: Iterable[Record]) -> Iterator[str]:
    for setting in records:
        pair = f"{setting['key']} = {setting['text']}"
        yield f"{setting['origin']}: '{pair}': {setting['complaint']}"
