"""gitcp-update-session - take an event into the state of its session"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.cli import Parser
    from gitcp.record import Record, Stage
    from gitcp.repo import Repo
    from gitcp.store.objects import Objects


def parser() -> Parser:
    """No options: what happens is in the events."""
    from gitcp import cli

    return cli.Parser("gitcp-update-session", "Take an event into the state of its session.")


def bind(argv: Sequence[str]) -> Stage:
    """Each event record is taken into its session's state and passed on."""
    if argv:
        parser().parse_args(argv)
    return _events


def _events(records: Iterable[Record]) -> Iterator[Record]:
    for record in records:
        if record.get("type") == "event" and record.get("session_id"):
            yield from _event(record)
        else:
            yield record


def _event(event: Record) -> Iterator[Record]:
    from gitcp.repo import Repo
    from gitcp.store import state as states
    from gitcp.store.objects import Objects

    repo = Repo.here()
    handler = _HANDLERS.get(event["event"])
    with states.held(repo, [event["session_id"]]), Objects.shared(repo) as objects:
        said = handler(repo, objects, event) if handler else None
    yield event
    yield from said or ()


def _turn_start(repo: Repo, objects: Objects, event: Record) -> list[Record]:
    from gitcp.agents import adapter
    from gitcp.store import blobs, greet, opened, session, settle, shadow, snapshot
    from gitcp.store import state as states
    from gitcp.store.recall import recall

    began = time.time_ns()
    state = recall(repo, objects, event["session_id"])
    if state is None:
        agent_type = adapter(event["agent"]).AGENT_TYPE
        state = states.new(repo, event["session_id"], agent_type, settle.head(repo))
    if session.repeated(state, event):
        return []  # personal and shared settings both name us: the same prompt again
    try:
        session.refuse_elsewhere(repo, state)
    except session.SessionIDConflictError as e:
        return [{"type": "refuse", "message": str(e)}]
    warning = greet.refusal(repo, objects, state, event, settle.head(repo))
    if warning:
        states.save(repo, state)  # only that it was told: nothing of the session begins
        return [{"type": "refuse", "message": warning}]
    moved = session.home(repo, state)
    scan = snapshot.scan(repo)
    head = scan.head or shadow.zeros(repo)
    settle.leftovers(repo, objects, state, event, head)
    dirty = blobs.resolve(repo, objects, scan, write=False)
    if event.get("notification") and state.get("turn_id"):
        session.go_on(repo, state, event)
    else:
        session.begin_turn(repo, state, event, head, dirty, began)
        event["dirty"], event["head"] = list(dirty.items()), head
    opened.save(repo, state)
    return [{"type": "say", "message": moved}] if moved else []


def _tool(repo: Repo, objects: Objects, event: Record) -> list[Record]:
    from gitcp.store import opened, session, settle, tasks
    from gitcp.store import state as states

    state = states.load(repo, event["session_id"])
    if state is None:
        return []  # unknown, or set aside: a tool call waits for no rebuilding
    session.tool(repo, state, event)
    changed = tasks.note(repo, state, event)
    if event["event"] == "tool-end" and (head := settle.head(repo)) != state["base_commit"]:
        settle.moved(repo, objects, state, head)
        changed = True
    if state.get("phase") != "active":
        session.go_on(repo, state, event)
        changed = True
    if not state.get("tool_events"):
        state["tool_events"] = changed = True
    if changed:
        opened.save(repo, state)
    return []


def _turn_end(repo: Repo, objects: Objects, event: Record) -> list[Record]:
    from gitcp.store import opened, session
    from gitcp.store.recall import recall

    state = recall(repo, objects, event["session_id"])
    if state:
        session.end_turn(repo, state, event)
        opened.save(repo, state)
    return []


def _session_end(repo: Repo, objects: Objects, event: Record) -> list[Record]:
    from gitcp.store import opened, session, settle
    from gitcp.store.recall import recall

    state = recall(repo, objects, event["session_id"])
    if state:
        if state.get("phase") == "active":
            # Interrupted, then left: who commits now shall find the work.  Killed in here,
            # the session stays active, and its next event or a commit settles it.
            settle.checkpoint(repo, objects, state, event)
        session.end(repo, state, event)
        opened.save(repo, state)
    return []


def _session_start(repo: Repo, objects: Objects, event: Record) -> list[Record]:
    from gitcp.store import greet, index, opened, session, settle
    from gitcp.store import state as states
    from gitcp.store.recall import recall

    index.seed(repo)
    head = settle.head(repo)
    known = os.path.exists(states.path(repo, event["session_id"]))
    state = recall(repo, objects, event["session_id"]) if known else None
    if state:
        settle.leftovers(repo, objects, state, event, head)
        session.start(repo, state, event)
        opened.save(repo, state)
    return [{"type": "say", "message": greet.message(repo, objects, event["session_id"], head)}]


_HANDLERS = {
    "session-start": _session_start,
    "turn-start": _turn_start,
    "tool-start": _tool,
    "tool-end": _tool,
    "subagent-start": _tool,
    "subagent-end": _tool,
    "todo": _tool,
    "turn-end": _turn_end,
    "session-end": _session_end,
}


def main() -> int:
    from gitcp import cli

    return cli.filter_main(bind, sys.argv[1:])
