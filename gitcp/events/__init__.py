"""Events of agents and of git: their pipelines, and how they are read.

A module here has the built-in pipelines of one event or of a few, PIPELINES, as functions: a stage
takes a context and records and returns a list of them, and its name is that of the function (`_`
for `-`, `__` for ` --`).  The module imports at its top what its events always need: that is what
the hook costs.
"""

from __future__ import annotations

import os
import sys
from time import time_ns

from gitcp import git, record
from gitcp.errors import Error, InputError, Late, NoJj, NoRepository, UsageError, format_error
from gitcp.git import files
from gitcp.git.config_table import EVENTS
from gitcp.git.repo import Repo
from gitcp.record import locate_claims, locate_heard, locate_visits
from gitcp.text import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeGuard

    from gitcp.agents import Client
    from gitcp.record import Context
    from gitcp.text.record_types import Event, GitEvent, Message, Passed, Record

    Events = Iterator[tuple[Repo, Event]]
    Stage = Callable[[Context, Iterable[Passed]], Iterable[Passed]]  # those of hooks return lists
    Stages = tuple[Stage, ...]

# Left out where gitcp.guard is off: the second one unless a call began with the guard on.
_CHECK = "check_claim"
_RELEASE = "release_claim"


def find_pipeline(repo: Repo, event: str) -> Stages:
    """The built-in pipeline of an event; () if it has none."""
    if event not in EVENTS:
        return ()
    # import_module() would cost a hook half a millisecond.
    module = __import__(f"gitcp.events.{EVENTS[event]}", fromlist=["PIPELINES"])
    stages: Stages = module.PIPELINES[event]
    if repo.config.get_option("gitcp.guard") == "off":
        unneeded = [_CHECK]
        if not files.list_names(locate_claims(repo)):
            unneeded.append(_RELEASE)
        stages = tuple(stage for stage in stages if stage.__name__ not in unneeded)
    return stages


def list_pipelines(repo: Repo, event: str) -> list[Stages | str]:
    """The pipelines of an event: the configured ones, where `default` is the built-in one.

    A configured one is unparsed text, so that one with a mistake does not stop the others.
    """
    texts = repo.config.get_all(f"gitcp.{event}.pipeline")
    if not texts and event in EVENTS:
        return [find_pipeline(repo, event)]
    pipelines: list[Stages | str] = []
    for text in filter(None, map(str.strip, texts)):
        if text == "default":
            pipelines.append(find_pipeline(repo, event))
        else:
            pipelines.append(text)
    return pipelines


def format_pipeline(pipeline: Stages | str) -> str:
    """A pipeline as it would be configured."""
    if isinstance(pipeline, str):
        return pipeline
    names = (stage.__name__.replace("__", " --").replace("_", "-") for stage in pipeline)
    return " | ".join(names)


def run_pipeline(ctx: Context, stages: Iterable[Stage], records: Iterable[Passed]) -> list[Passed]:
    """The records that the stages make of these, one after the other.

    What a stage put off until all are done (ctx.endings) adds its records.
    """
    has_failed = True
    added: list[Passed] = []
    with ctx:
        try:
            for stage in stages:
                # Listed, since it runs although the next one may read nothing.
                records = list(stage(ctx, records))
            has_failed = False
        finally:
            endings = ctx.endings
            ctx.endings = []
            for end in endings:
                added += end(has_failed)
    return [*records, *added]


# Make a stage of a pipeline of a function that handles one record.
def per_record(handle: Callable[[Context, Passed], list[Passed]]) -> Stage:
    """The stage that puts what handle() makes of a record in its place; it has the name of
    handle()."""

    def stage(ctx: Context, passed: Iterable[Passed]) -> list[Passed]:
        found: list[Passed] = []
        for item in passed:
            found += handle(ctx, item)
        return found

    stage.__name__ = handle.__name__
    return stage


def is_of_git(item: Passed, hook: str) -> TypeGuard[GitEvent]:
    """Whether a record is an event of this hook of git's; one that was piped may lack the rest."""
    return item.get("type") == "event" and item.get("event") == hook


def is_message(item: Passed) -> TypeGuard[Message]:
    """Whether a record has a message for somebody."""
    is_for = item.get("to", "person") in ("person", "agent")
    return item.get("type") == "say" and is_for and isinstance(item.get("message"), str)


def is_refusal(item: Passed) -> TypeGuard[Message]:
    """Whether a record refuses; one that was piped may say no reason."""
    return item.get("type") == "refuse"


def is_of_agent(item: Passed | GitEvent) -> TypeGuard[Event]:
    """Whether a record is an event of an agent."""
    is_event = item.get("type") == "event" and isinstance(item.get("event"), str)
    return is_event and bool(item.get("session_id"))


def build_messages(*texts: str | None) -> list[Message]:
    """The texts that are not empty, for the person."""
    return [{"type": "say", "message": text} for text in texts if text]


def per_event(handle: Callable[[Context, Event], list[Passed]]) -> Stage:
    """per_record() of agents' events; other records are passed on."""

    def handle_event(ctx: Context, item: Passed) -> list[Passed]:
        if is_of_agent(item):
            return handle(ctx, item)
        return [item]

    handle_event.__name__ = handle.__name__
    return per_record(handle_event)


def per_state(update: Callable[[Context, Event], list[Passed]]) -> Stage:
    """per_event() that takes each event into the state of its session by update(), and passes it
    on, followed by the messages that update() returns."""

    def take_event(ctx: Context, event: Event) -> list[Passed]:
        return [event, *update(ctx, event)]

    take_event.__name__ = update.__name__
    return per_event(take_event)


# Read events from the payloads of agents' hooks or from records, and find their repositories.
_TAIL = 1 << 20  # bytes at the end of a transcript, in which the last prompt is searched


def read_call(argv: Sequence[str]) -> Events:
    """The events in a client's hook call, each with its repository; none if gitcp does not record
    it."""
    if len(argv) < 2:
        raise UsageError(f"no such hook: '{argv[0]}'")
    data = sys.stdin.buffer.read()

    from gitcp.agents import CLIENTS, get_client, recognise

    if argv[0] not in CLIENTS:
        yield from _read_external(argv[0], argv[1], data)
        return
    payload = _parse_payload(data)
    client = recognise(get_client(argv[0]), payload)
    seconds = client.get_hook_seconds(argv[1], argv[0])
    if seconds:
        git.set_bound(seconds / 2)  # the next event does the rest
    event = client.read_event(argv[1], payload)
    if event["event"] != "unknown":
        yield from _locate_event(client, event)


def _read_external(name: str, hook: str, data: bytes) -> Events:
    """The events that the adapter of an agent on PATH makes of a payload."""
    try:
        from gitcp.setup import adapters

        client = adapters.find_adapter(Repo.find_here(), name)
    except NoRepository:
        return  # nothing is recorded where the agent works
    for event in client.read_events(hook, data):
        yield from _locate_event(client, event)


def read_records(warn: Callable[[str], None]) -> Events:
    """The events among the records on standard input; warn is called for any other record."""
    start = os.getcwd()
    import select

    # Whether the process was started for its first event.
    waiting = bool(select.select([sys.stdin], [], [], 0)[0])
    for line in filter(bytes.strip, sys.stdin.buffer):
        came = 0
        if not waiting:
            came = time_ns()
        waiting = False
        try:
            from gitcp.agents import other

            event = other.check_event(_parse_payload(line), start)
        except InputError as e:
            warn(f"event: {format_error(e)}")
            continue
        if came:
            event["came"] = came

        from gitcp.agents import find_client

        client: Client | None = find_client(event["agent"])
        if client and client.FORM != "run":
            client = None
        yield from _locate_event(client, event)


def _locate_event(client: Client | None, event: Event) -> Events:
    """The event with the repository of its session, then with the others in which the session
    is."""
    home: Repo | None = None
    for home, each in _locate_home(client, event):
        yield home, each
    visits = locate_visits(str(event.get("session_id")))
    if home is None or event.get("elsewhere") or os.path.exists(visits):
        from gitcp.record.turn.visits import list_events

        visited = list_events(event, home, lambda: _read_last_prompt(client, event))
        yield from visited


def _locate_home(client: Client | None, event: Event) -> Events:
    """The event with the repository of its session.

    An unknown session began before gitcp was installed, or its prompt did not arrive: its first
    tool call begins the turn.
    """
    project = ""
    if client:
        project = os.environ.get(client.PROJECT_ENV, "")
    try:
        home = _locate(event, project)
        if home:
            home_of_unknown = None
        else:
            home_of_unknown = _locate_unheard(event, project)
    except NoJj as e:
        tell(event, f"gitcp: {e}")
        return
    repo = home or home_of_unknown
    if repo is None or record.is_off(repo):
        return
    if client:
        _note_event(repo, client.NAME)
    if client and client.exports():
        from gitcp.record.session import exports

        exports.copy_conversation(repo, client, event)
    if home_of_unknown:
        start = event.copy()
        start["event"] = "turn-start"
        start["prompt"] = _read_last_prompt(client, event)
        start.pop("tool", None)
        yield repo, start
    yield repo, event


def _read_last_prompt(client: Client | None, event: Event) -> str:
    """The last prompt at the end of the session's transcript; "" if there is none yet."""
    path = event.get("transcript_path")
    if not (client and path):
        return ""
    try:
        data = files.read_file(path, tail=_TAIL) or b""
    except Error:
        return ""  # the stages that need the transcript report the error
    if len(data) == _TAIL:
        data = data.partition(b"\n")[2]
    prompts = client.scan(data)["prompts"]
    return prompts[-1] if prompts else ""


def _parse_payload(data: bytes) -> Record:
    """The JSON object an agent's client writes to its hooks; InputError for anything else."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as e:
        raise InputError(f"cannot parse the payload: {e}") from None
    if not isinstance(value, dict):
        raise InputError("the payload is not an object")
    return value


def _locate(event: Event, project: str = "") -> Repo | None:
    """The repository of an agent's event: the worktree of its session.

    project: the directory in which the agent was started, if its client tells.  A prompt is about
    its own directory, unless that is in another repository than the project.
    Tools and subagents may run elsewhere (`cd`, another worktree): for them the worktree in the
    session's state counts.
    """
    fresh = event["event"] in ("session-start", "turn-start")
    for folder in dict.fromkeys((event.get("cwd"), project)):
        if not folder or not os.path.isdir(folder):
            continue
        try:
            repo = Repo.find_at(folder)
        except Error as e:
            if isinstance(e, Late) or (isinstance(e, NoJj) and event["event"] == "session-start"):
                raise
            git.append_trace("hook", str(e))
            continue
        if fresh and project and folder != project and _is_outside(repo, project):
            continue
        if fresh or record.is_off(repo):
            return repo
        state = record.open_context(repo).read_state(event["session_id"], rebuild=False)
        if state is None or state.get("guest"):
            record.leave_all()
            continue
        home = state.get("worktree_path")
        if (state.get("worktree_id") or "") != repo.worktree_id and home and os.path.isdir(home):
            record.leave_all()
            return Repo.find_at(home)
        return repo
    return None


def _is_outside(repo: Repo, project: str) -> bool:
    """Whether a repository is not the one around an agent's project."""
    if os.path.realpath(project) == repo.top:
        return False
    try:
        return Repo.find_at(project).common != repo.common
    except Error:
        return True


_CALLS = ("tool-start", "tool-end", "subagent-start", "subagent-end")


def _locate_unheard(event: Event, project: str = "") -> Repo | None:
    """Like _locate(), for a tool call of a session without a state: the client's project, not the
    target of a `cd`, unless that is in a registered repository; None if gitcp is not enabled
    there."""
    folder = project or event.get("cwd")
    if event["event"] not in _CALLS or "tool" not in event or event.get("agent_id"):
        return None
    if not folder or not os.path.isdir(folder):
        return None
    try:
        repo = Repo.find_at(folder)
    except Error:
        return None
    if repo.top is None or not os.path.isdir(repo.join_shared()):
        return None
    if not project:
        from gitcp.record import registered

        if not registered.is_registered(repo.top):
            return None
        known = record.open_context(repo).read_state(event["session_id"], rebuild=False)
        record.leave_all()
        if known:
            return None  # a guest here
    return repo


def _note_event(repo: Repo, agent: str) -> None:
    """Note that hooks of an agent run in this worktree, and update `configured` (guard_files)."""
    marked = os.path.isdir(repo.join_shared(record.CONFIGURED))
    if marked or repo.config.list_keys("gitcp.", ".pipeline"):
        from gitcp.setup import guard_files

        guard_files.write_configured(repo)
    try:
        files.touch_private(repo, locate_heard(repo, agent))
    except (Error, OSError):
        pass  # no turn depends on it


# Answer the agent, in the form of its client.
def tell(event: Event, message: str, to_agent: str = "") -> None:
    """Give messages to the agent, and to the person through the client if it shows messages."""

    from gitcp.agents import answers

    print(answers.format_message(_find_form(event), message, to_agent), end="")


def refuse(event: Event, message: str) -> tuple[str, int]:
    """Refuse the event for the agent's client: (text for standard error, status)."""

    from gitcp.agents import answers

    out, err, status = answers.format_refusal(_find_form(event), event["event"], message)
    print(out, end="")
    return err, status


def _find_form(event: Event) -> str:
    """The form of answers to an event's agent (gitcp.agents)."""

    from gitcp.agents import find_client

    return str(event.get("answers") or find_client(event["agent"]).ANSWERS)
