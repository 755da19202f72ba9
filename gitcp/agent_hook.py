"""Read events from the payloads of agents' hooks or from records, and answer them."""

from __future__ import annotations

import os
import sys
from time import time_ns

from gitcp import files, running
from gitcp.agents import find_client, get_client, list_names, payload, recognise
from gitcp.context import is_off, locate, locate_unheard
from gitcp.core import json
from gitcp.errors import Error, InputError, NoJj, NoRepository, UsageError, format_error
from gitcp.repo import Repo
from gitcp.store.session import states
from gitcp.store.setup import guard_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gitcp.agents import Client
    from gitcp.core.record_types import Record
    from gitcp.repo import Repo

    Events = Iterator[tuple[Repo, Record]]

_TAIL = 1 << 20  # bytes at the end of a transcript, in which the last prompt is searched


def read_call(argv: Sequence[str]) -> Events:
    """The events in a client's hook call, each with its repository; none if gitcp does not record
    it."""
    if len(argv) < 2:
        raise UsageError(f"no such hook: '{argv[0]}'")
    data = sys.stdin.buffer.read()
    if argv[0] not in list_names():
        yield from _read_external(argv[0], argv[1], data)
        return
    payload = parse_payload(data)
    client = recognise(get_client(argv[0]), payload)
    if seconds := client.get_hook_seconds(argv[1], argv[0]):
        running.set_bound(seconds / 2)  # the next event does the rest
    event: Record = {**client.read_event(argv[1], payload)}
    if event["event"] != "unknown":
        yield from _locate_event(client, event)


def _read_external(name: str, hook: str, data: bytes) -> Events:
    """The events that the adapter of an agent on PATH makes of a payload."""
    start = os.getcwd()
    try:
        from gitcp.store.setup import adapters

        client = adapters.find_adapter(Repo.find_here(), name)
    except NoRepository:
        return  # nothing is recorded where the agent works
    for event in client.read_events(hook, data):
        yield from _locate_event(client, event)
        os.chdir(start)


def read_records(warn: Callable[[str], None]) -> Events:
    """The events among the records on standard input; warn is called for any other record."""
    start = os.getcwd()
    import select

    # Whether the process was started for its first event.
    waiting = bool(select.select([sys.stdin], [], [], 0)[0])
    for line in filter(bytes.strip, sys.stdin.buffer):
        came, waiting = 0 if waiting else time_ns(), False
        try:
            from gitcp.agents import other

            event = other.check_event(parse_payload(line), start)
        except InputError as e:
            warn(f"event: {format_error(e)}")
            continue
        if came:
            event["came"] = came
        client = find_client(event["agent"])
        yield from _locate_event(client if client.FORM == "run" else None, event)
        os.chdir(start)


def _locate_event(client: Client | None, event: Record) -> Events:
    """The event with the repository of its session; changes into its worktree.

    An unknown session began before gitcp was installed, or its prompt did not arrive: its first
    tool call begins the turn.
    """
    project = os.environ.get(client.PROJECT_ENV if client else "", "")
    try:
        home = locate(event, project)
        home_of_unknown = None if home else locate_unheard(event, project)
    except NoJj as e:
        tell(event, f"gitcp: {e}")
        return
    folder, repo = home or home_of_unknown or ("", None)
    if repo is None or is_off(repo):
        return
    os.chdir(folder)
    if client:
        guard_files.note_event(repo, client.NAME, event["event"])
    if client and client.export:
        states.copy_conversation(repo, client, event)
    if home_of_unknown:
        start = {**event, "event": "turn-start", "prompt": _read_last_prompt(client, event)}
        start.pop("tool", None)
        yield repo, start
    yield repo, event


def _read_last_prompt(client: Client | None, event: Record) -> str:
    """The last prompt at the end of the session's transcript; "" if there is none yet."""
    path = event.get("transcript_path")
    if not (client and path):
        return ""
    try:
        data = files.read_file(path, tail=_TAIL) or b""
    except Error:
        return ""  # the stages that need the transcript report the error
    prompts = client.scan(data if len(data) < _TAIL else data.partition(b"\n")[2])["prompts"]
    return prompts[-1] if prompts else ""


def parse_payload(data: bytes) -> Record:
    """The JSON object an agent's client writes to its hooks; InputError for anything else."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as e:
        raise InputError(f"cannot parse the payload: {e}") from None
    if not isinstance(value, dict):
        raise InputError("the payload is not an object")
    return value


def tell(event: Record, message: str, context: str = "") -> None:
    """Give messages to the agent, and to the person through the client if it shows messages."""
    print(payload.format_message(_find_form(event), message, context), end="")


def refuse(event: Record, message: str) -> tuple[str, int]:
    """Refuse the event for the agent's client: (text for standard error, status)."""
    out, err, status = payload.format_refusal(_find_form(event), event["event"], message)
    print(out, end="")
    return err, status


def _find_form(event: Record) -> str:
    """The form of answers to an event's agent (gitcp.agents.payload)."""
    return str(event.get("answers") or find_client(event["agent"]).ANSWERS)
