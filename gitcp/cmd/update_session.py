"""gitcp-update-session - take an event into the state of its session"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.console.cli import Parser
    from gitcp.record import Record, Stage
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


def parser() -> Parser:
    """No options: what happens is in the events."""
    from gitcp.console import cli

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
    from gitcp.store.git.objects import Objects
    from gitcp.store.session import state as states

    repo = Repo.here()
    handler = _HANDLERS.get(event["event"])
    with states.held(repo, [event["session_id"]]), Objects.shared(repo) as objects:
        said = handler(repo, objects, event) if handler else None
    yield event
    yield from said or ()


def _turn_start(repo: Repo, objects: Objects, event: Record) -> list[Record]:
    from gitcp.agents import adapter
    from gitcp.store.session import catch_up, events, greeting, markers
    from gitcp.store.session import state as states
    from gitcp.store.session.recall import recall
    from gitcp.store.snapshot import blobs, snapshot
    from gitcp.store.stream import shadow_refs

    began = time.time_ns()
    state = recall(repo, objects, event["session_id"])
    if state is None:
        agent_type = adapter(event["agent"]).AGENT_TYPE
        state = states.new(repo, event["session_id"], agent_type, catch_up.head(repo))
    if events.repeated(state, event):
        return []  # personal and shared settings both name us: the same prompt again
    try:
        events.refuse_elsewhere(repo, state)
    except events.SessionIDConflictError as e:
        return [{"type": "refuse", "message": str(e)}]
    warning = greeting.refusal(repo, objects, state, event, catch_up.head(repo))
    if warning:
        states.save(repo, state)  # only that it was told: nothing of the session begins
        return [{"type": "refuse", "message": warning}]
    moved = events.home(repo, state)
    scan = snapshot.scan(repo)
    head = scan.head or shadow_refs.zeros(repo)
    catch_up.leftovers(repo, objects, state, event, head)
    dirty = blobs.resolve(repo, objects, scan, write=False)
    if event.get("notification") and state.get("turn_id"):
        events.go_on(repo, state, event)
    else:
        events.begin_turn(repo, state, event, head, dirty, began)
        event["dirty"], event["head"] = list(dirty.items()), head
    markers.save(repo, state)
    return [{"type": "say", "message": moved}] if moved else []


def _tool(repo: Repo, objects: Objects, event: Record) -> list[Record]:
    from gitcp.store.session import catch_up, events, markers, tasks
    from gitcp.store.session import state as states

    state = states.load(repo, event["session_id"])
    if state is None:
        return []  # unknown, or set aside: a tool call waits for no rebuilding
    events.tool(repo, state, event)
    changed = tasks.note(repo, state, event)
    if event["event"] == "tool-end" and (head := catch_up.head(repo)) != state["base_commit"]:
        catch_up.moved(repo, objects, state, head)
        changed = True
    if state.get("phase") != "active":
        events.go_on(repo, state, event)
        changed = True
    if not state.get("tool_events"):
        state["tool_events"] = changed = True
    if changed:
        markers.save(repo, state)
    return []


def _turn_end(repo: Repo, objects: Objects, event: Record) -> list[Record]:
    from gitcp.store.session import events, markers
    from gitcp.store.session.recall import recall

    state = recall(repo, objects, event["session_id"])
    if state:
        events.end_turn(repo, state, event)
        markers.save(repo, state)
    return []


def _session_end(repo: Repo, objects: Objects, event: Record) -> list[Record]:
    from gitcp.store.session import catch_up, events, markers
    from gitcp.store.session.recall import recall

    state = recall(repo, objects, event["session_id"])
    if state:
        if state.get("phase") == "active":
            # Interrupted, then left: who commits now shall find the work.  Killed in here,
            # the session stays active, and its next event or a commit settles it.
            catch_up.checkpoint(repo, objects, state, event)
        events.end(repo, state, event)
        markers.save(repo, state)
    return []


def _session_start(repo: Repo, objects: Objects, event: Record) -> list[Record]:
    from gitcp.store.session import catch_up, events, greeting, markers
    from gitcp.store.session import state as states
    from gitcp.store.session.recall import recall
    from gitcp.store.snapshot import index

    index.seed(repo)
    head = catch_up.head(repo)
    known = os.path.exists(states.path(repo, event["session_id"]))
    state = recall(repo, objects, event["session_id"]) if known else None
    if state:
        catch_up.leftovers(repo, objects, state, event, head)
        events.start(repo, state, event)
        markers.save(repo, state)
    return [{"type": "say", "message": greeting.message(repo, objects, event["session_id"], head)}]


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
    from gitcp.console import cli

    return cli.filter_main(bind, sys.argv[1:])
