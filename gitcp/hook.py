"""gitcp-hook - run the pipeline of a hook

    git:    gitcp-hook post-commit
    agent:  gitcp-hook claude-code Stop <payload
    others: gitcp-hook event <records

One interpreter runs all stages, chained.  A watcher that fails warns and exits 0; a gate
refuses by its verdict only, never because gitcp itself failed.
"""

from __future__ import annotations

import os
import sys

from gitcp import git, pipelines, trace
from gitcp.console.options import flag, value
from gitcp.errors import OK, USAGE, Error, InputError, NoJj, UsageError, sentence
from gitcp.process import deadline
from gitcp.stages.chain import begun, heard, in_force, keep_promise, table, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.agents import Client
    from gitcp.core.record_types import Record
    from gitcp.repo import Repo

OPTIONS = (
    flag("--list", "show what is in force, and from where"),
    flag("--sh", "name the file that git's hooks source"),
    value("hook", "<hook>", "a git hook, or an agent", nargs="?"),
    value("args", "<arg>", "what git gave, or the agent's event", nargs="*"),
)
_TAIL = 1 << 20  # bytes of a transcript in which the last prompt is looked for


def main() -> int:
    """Run the hook named by the arguments; see gitcp-hook(1)."""
    argv = sys.argv[1:]
    if not argv or argv[0].startswith("-"):
        return _listing(argv)
    if os.environ.get("GITCP_ACTIVE") not in (None, "", "configured"):
        return OK  # our own git command made this hook run
    from gitcp import repo

    deadline.begin()
    try:
        repo.look_early()
        if argv[0] in pipelines.DEFAULT:
            return _git(argv[0], argv[1:])
        return _records() if argv == ["event"] else _agent(argv)
    except UsageError as e:
        _print(f"error: {e}\n")
        return USAGE
    except (Error, OSError) as e:
        _warn(f"{' '.join(argv[:2])}: {sentence(e)}")
    except Exception as e:  # a bug must not stop the person's commit or the agent's work either
        import traceback

        trace.note("bug", traceback.format_exc().replace("\n", " | "))
        _warn(f"{' '.join(argv[:2])}: {type(e).__name__}: {e}")
    finally:
        git.abandon()
    return OK


def _warn(message: str) -> None:
    _print(f"warning: {message}\n")
    try:
        from gitcp.store.git.hook_warnings import failed

        failed(message)  # kept for `gitcp status`
    except OSError:
        pass  # nothing can be opened any more


def _git(event: str, args: Sequence[str]) -> int:
    from gitcp import context
    from gitcp.record import lines
    from gitcp.repo import Repo

    stdin = lines(sys.stdin.buffer.read()) if event in pipelines.WITH_STDIN else []
    repo = Repo.here()
    if context.is_off(repo):
        return OK
    return run(repo, event, {"type": "event", "event": event, "args": list(args), "stdin": stdin})


def _agent(argv: Sequence[str]) -> int:
    from gitcp.agents import adapter, list_names, recognise

    if len(argv) < 2:
        raise UsageError(f"no such hook: '{argv[0]}'")
    data = sys.stdin.buffer.read()
    if argv[0] not in list_names():
        return _external(argv[0], argv[1], data)
    given = payload(data)
    client = recognise(adapter(argv[0]), given)
    event: Record = {**client.event(argv[1], given)}
    return OK if event["event"] == "unknown" else _take(client, event)


def _external(name: str, hook: str, data: bytes) -> int:
    """Take the events that the adapter of an agent on PATH makes of a payload."""
    from gitcp.repo import Repo
    from gitcp.store.setup import adapters

    start = os.getcwd()
    client = adapters.find(Repo.here(), name)
    for event in client.events(hook, data):
        if status := _take(client, event):
            return status
        os.chdir(start)
    return OK


def _records() -> int:
    """Take event records from standard input till one is refused; bad ones are only told of."""
    from select import select
    from time import time_ns

    from gitcp.agents import other

    start = os.getcwd()
    waiting = bool(select([sys.stdin], [], [], 0)[0])  # the process was begun for this event
    for line in filter(bytes.strip, sys.stdin.buffer):
        came, waiting = 0 if waiting else time_ns(), False
        try:
            event = other.check_event(payload(line), start)
        except InputError as e:
            _warn(f"event: {sentence(e)}")
            continue
        if came:
            event["came"] = came
        if status := _take(None, event):
            return status
        os.chdir(start)
    return OK


def _take(client: Client | None, event: Record) -> int:
    """Run the pipelines of an agent's event where its session is at home.

    A session that is not known began before we were installed, or its prompt did not reach us:
    its first tool call begins its turn.
    """
    from gitcp.context import is_off, locate, unheard
    from gitcp.store.setup import heard

    project = os.environ.get(client.PROJECT_ENV if client else "", "")
    try:
        home = locate(event, project)
        late = None if home else unheard(event, project)
    except NoJj as e:
        _say(event, f"gitcp: {e}")
        return OK
    home = home or late
    if home is None or is_off(home[1]):
        return OK
    place, repo = home
    os.chdir(place)
    if client:
        heard.event(repo, client.NAME, event["event"])
    if client and client.export:
        from gitcp.store.setup import conversation_copy

        conversation_copy.copy(repo, client, event)
    if late:
        begun = {**event, "event": "turn-start", "prompt": _last_prompt(client, event)}
        begun.pop("tool", None)
        if status := run(repo, "turn-start", begun):
            return status
    return run(repo, event["event"], event)


def _last_prompt(client: Client | None, event: Record) -> str:
    """What the person asked last, by the end of the session's transcript; "" where it is not
    there yet."""
    from gitcp.process import files

    path = event.get("transcript_path")
    try:
        data = files.read_file(path, tail=_TAIL) if client and path else None
    except Error:
        return ""  # the stages that need it say what is wrong with it
    if client is None or not data:
        return ""
    prompts = client.scan(data if len(data) < _TAIL else data.partition(b"\n")[2])["prompts"]
    return prompts[-1] if prompts else ""


def payload(data: bytes) -> Record:
    """The JSON object an agent's client writes to its hooks; InputError for anything else."""
    from gitcp.core import json

    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as e:
        raise InputError(f"cannot parse the payload: {e}") from None
    if not isinstance(value, dict):
        raise InputError("the payload is not an object")
    return value


def run(repo: Repo, event: str, first: Record) -> int:
    """Run every pipeline of event in order; obey what comes out of a gate, and say all that the
    others have to say as one answer."""
    from gitcp import context

    deadline.begin(
        repo.config.option("gitcp.hook-timeout"), repo.config.option("gitcp.git-timeout")
    )
    resting = os.environ.get("GITCP_ACTIVE") == "configured"
    if not resting and event not in pipelines.COMMITTING and os.path.exists(repo.own("auto")):
        from gitcp.store.auto.settling import left_over as settle

        settle(context.open_context(repo))
    messages: dict[str, list[str]] = {"person": [], "agent": []}
    wrong, refusal = list[str](), None
    for pipeline in [p for p in in_force(repo, event) if isinstance(p, str) or not resting]:
        try:
            with context.open_context(repo):
                chained, why = begun(repo, event, pipeline, [first])
                records = list(chained)
            if why:
                wrong.append(f"'{words(pipeline)}': {why}; the built-in pipeline ran")
        except Error as e:
            wrong.append(f"'{words(pipeline)}': {e}")
            continue
        refusal, faults = heard(event, records, messages)
        wrong += [f"'{words(pipeline)}': {fault}" for fault in faults]
        if refusal is not None:
            break
    _settle(repo, event, wrong)
    if refusal is not None:
        return _refuse(first, refusal)
    if any(messages.values()):
        _say(first, *("\n\n".join(texts) for texts in messages.values()))
    if event == "post-commit" and not resting:
        keep_promise(repo, first)
    return OK


def _settle(repo: Repo, event: str, wrong: Sequence[str]) -> None:
    """Warn of what went wrong; of a hook that ran well, what it failed at before is over."""
    for message in wrong:
        _warn(f"{event}: {message}")
    if not wrong and os.path.exists(repo.shared("warnings")):
        from gitcp.store.git import hook_warnings

        hook_warnings.settle(repo, event, " ".join(sys.argv[1:3]))


def _say(first: Record, message: str, context: str = "") -> None:
    """Tell the person, through the agent's client where it shows messages; and the agent."""
    if "agent" in first:
        from gitcp.agents.exchange import replies

        print(replies.tell(_way(first), message, context), end="")
    else:
        _print(f"{message}\n")


def _refuse(first: Record, message: str) -> int:
    """Say no in the way of git, or of the agent's client; the status that does."""
    if "agent" not in first:
        _print(f"{message}\n")
        return pipelines.VERDICT
    from gitcp.agents.exchange import replies

    out, err, status = replies.refuse(_way(first), first["event"], message)
    print(out, end="")
    _print(err)
    return status


def _way(event: Record) -> str:
    """The way in which the agent of an event hears an answer (gitcp.agents.exchange.replies)."""
    from gitcp.agents import find_client

    return str(event.get("answers") or find_client(event["agent"]).ANSWERS)


def _print(message: str) -> None:
    """Say something on standard error, in what a terminal can show."""
    if not message.replace("\n", "").isprintable():  # only then: there may be no descriptor left
        from gitcp.console import notice

        message = notice.printable(message)
    print(message, file=sys.stderr, end="")


def _listing(argv: Sequence[str]) -> int:
    from gitcp.console import cli

    def body() -> int:
        args = cli.parse("hook", OPTIONS, argv)
        if args.sh:
            print(os.path.join(os.path.dirname(os.path.abspath(__file__)), "hooks.sh"))
            return OK
        if not args.list:
            args.error("no hook named")
        from gitcp.repo import Repo

        print(*table(Repo.here()), sep="\n")
        return OK

    return cli.guard(body)
