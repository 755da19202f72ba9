"""gitcp-read-event - read the payload of an agent's hook as an event"""

from __future__ import annotations

import sys

from gitcp import agents
from gitcp.console import cli
from gitcp.core.v1 import summary
from gitcp.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitcp.core.record_types import Record, Stage


def parser() -> cli.Parser:
    p = cli.Parser("read-event")
    p.add_argument("agent", metavar="<agent>", help=", ".join(agents.names()))
    p.add_argument("event", metavar="<event>", help="the client's own name of it, such as Stop")
    return p


def read(agent: str, event: str, data: bytes) -> Record:
    """The event record of a payload, a JSON object; of an event that means nothing, `unknown`.

    Raises InputError naming the agent or the field that cannot be right.
    """
    client, given = agents.adapter(agent), summary.load(data)
    if given is None:
        raise InputError("the payload is not a JSON object")
    parsed: Record = client.event(event, given)
    return parsed


def bind(argv: Sequence[str]) -> Stage:
    """A stage that begins a pipe: one payload from standard input, one event."""
    args = parser().parse_args(argv)

    def stage(_: object) -> Iterator[Record]:
        yield read(args.agent, args.event, sys.stdin.buffer.read())

    return stage


def main() -> int:
    return cli.source_main(bind, sys.argv[1:])
