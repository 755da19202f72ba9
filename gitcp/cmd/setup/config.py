"""gitcp-config - list the settings of gitcp, set one, and check them"""

from __future__ import annotations

from gitcp.commands import JSON, make_flag, make_value
from gitcp.errors import NO, OK, UsageError
from gitcp.git.repo import Repo
from gitcp.setup import config_check, configuration
from gitcp.terminal import cli
from gitcp.text import console

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.text.record_types import Record

OPTIONS = (
    make_flag("--check", "show only what is wrong"),
    JSON,
    make_value("key", "<key>", "only this key", nargs="?", choices=config_check.list_keys()),
    make_value("value", "<value>", "a value for the key, or more keys to show", nargs="*"),
)


def run(argv: Sequence[str]) -> int:
    """Show the settings, or set one; with --check the status is NO if one is wrong."""
    args = cli.parse("config", OPTIONS, argv)
    repo = Repo.find_here()
    keys = [args.key, *args.value] if args.key else []
    if len(keys) == 2 and not config_check.find_key(keys[1]):
        if args.check or args.json:
            raise UsageError("--check and --json only show settings: they take no value")
        configuration.set_setting(repo, *keys)
        return OK
    for key in keys:
        if not config_check.find_key(key):
            raise UsageError(console.describe_unknown("key", key, config_check.list_keys()))
    records = configuration.list_settings(repo, keys)
    if args.check:
        records = [setting for setting in records if setting["complaint"]]
    if args.json:
        cli.write_records(records)
    else:
        for line in _format_complaints(records) if args.check else _format_lines(records):
            cli.say(console.escape_unprintable(line))
    return NO if args.check and records else OK


def _format_lines(records: Iterable[Record]) -> Iterator[str]:
    """Two lines for each setting: the key with its value and origin, and the meaning."""
    for setting in records:
        facts = [setting["origin"] or ("default" if setting["default"] else "not set")]
        if setting["origin"] and setting["default"]:
            facts.append(f"default {setting['default']}")
        if setting["complaint"]:
            facts.append(f"not '{setting['text']}', which {setting['complaint']}")
        value = ""
        if setting["value"]:
            value = f" = {setting['value']}"
        yield f"{setting['key']}{value}  ({'; '.join(facts)})"
        if setting["meaning"]:
            yield f"    {setting['meaning']}"


def _format_complaints(records: Iterable[Record]) -> Iterator[str]:
    for setting in records:
        pair = f"{setting['key']} = {setting['text']}"
        yield f"{setting['origin']}: '{pair}': {setting['complaint']}"
