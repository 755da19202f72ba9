"""gitcp-hook - run the pipeline of a hook

    git:    gitcp-hook post-commit
    agent:  gitcp-hook claude-code Stop <payload
    others: gitcp-hook event <records

One interpreter runs all stages of a pipeline.  A watcher that fails warns and exits 0; a gate
refuses by its verdict only, never because gitcp itself failed.
"""

from __future__ import annotations

import os
import sys
from time import time_ns

from gitcp import commands, context, files, git
from gitcp.commands import make_flag, make_value
from gitcp.context import is_off, locate, locate_unheard
from gitcp.core import json
from gitcp.errors import (
    OK,
    USAGE,
    Error,
    InputError,
    NoJj,
    NoRepository,
    UnknownAgent,
    UsageError,
    format_error,
    hide_passwords,
)
from gitcp.repo import Repo, look_early
from gitcp.stages import (
    begin_pipeline,
    collect_messages,
    format_pipeline,
    format_table,
    list_pipelines,
    store_missing_checkpoint,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gitcp.agents import Client
    from gitcp.core.record_types import Record

    Events = Iterator[tuple[Repo, Record]]

OPTIONS = (
    make_flag("--list", "show what is in force, and from where"),
    make_flag("--sh", "name the file that git's hooks source"),
    make_value("hook", "<hook>", "a git hook, or an agent", nargs="?"),
    make_value("args", "<arg>", "what git gave, or the agent's event", nargs="*"),
)


def start() -> int:
    """Run gitcp-hook as the process of an installed hook.

    Ctrl-C at a `git commit` ends its hooks, too: the next event finds what is left to do.
    """
    git.reset_signals()
    try:
        return main()
    except BaseException as e:  # as where stderr takes nothing
        # 1 would be the status of a Python that cannot begin: another would do the work again
        return _tell_death(e)


def _tell_death(reason: BaseException) -> int:
    """Say if possible why a hook ended in the middle; return the status, which refuses nothing."""
    try:
        print(f"warning: gitcp ended early: {type(reason).__name__}: {reason}", file=sys.stderr)
    except OSError:
        pass
    return OK


def leave(status: int) -> None:
    """Print what is left and end this process at once; all its files are written.  Nothing is freed
    object by object."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        pass  # the reader of its output is gone, or a disk takes no more
    os._exit(status)


def main() -> int:
    """Run the hook named by the arguments; see gitcp-hook(1)."""
    argv = sys.argv[1:]
    if not argv or argv[0].startswith("-"):
        return _run_listing(argv)
    if os.environ.get("GITCP_ACTIVE") not in (None, "", "configured"):
        return OK  # a git command of gitcp's ran this hook
    git.begin_deadline()
    try:
        look_early()
        if argv[0] in commands.DEFAULT:
            return _run_git_hook(argv[0], argv[1:])
        return _run_agent_hook(argv)
    except UsageError as e:
        _print_message(f"error: {e}\n")
        return USAGE
    except UnknownAgent as e:  # no later call succeeds: there is nothing for gitcp doctor to watch
        _print_message(f"warning: {' '.join(argv[:2])}: {e}\n")
    except (Error, OSError) as e:
        _warn_person(f"{' '.join(argv[:2])}: {format_error(e)}")
    except Exception as e:  # a bug must not stop the person's commit or the agent's work either
        import traceback

        git.append_note("bug", traceback.format_exc().replace("\n", " | "))
        _warn_person(f"{' '.join(argv[:2])}: {type(e).__name__}: {e}")
    finally:
        git.abandon_pending()
        git.end_lasting()
        if git.is_on():
            git.note_end()
    return OK


def _warn_person(message: str) -> None:
    _print_message(f"warning: {message}\n")
    try:
        from gitcp.store import hook_warnings

        hook_warnings.warn_here(message)  # for `gitcp status`
    except OSError:
        pass  # no descriptor is left


def _run_git_hook(event: str, args: Sequence[str]) -> int:
    stdin: list[str] = []
    if event in commands.WITH_STDIN:
        from gitcp.record import decode_lines

        stdin = decode_lines(sys.stdin.buffer.read())
    repo = Repo.find_here()
    if context.is_off(repo):
        return OK
    return run(repo, {"type": "event", "event": event, "args": list(args), "stdin": stdin})


def _run_agent_hook(argv: Sequence[str]) -> int:
    begun: list[tuple[Repo, Record]] = []  # the starts of calls
    for repo, event in read_records(_warn_person) if argv == ["event"] else read_call(argv):
        if status := run(repo, event):
            if event.get("guest") and "tool" in event:
                _end_refused(begun, event)
            return status
        if event["event"] == "tool-start" and "tool" in event:
            begun.append((repo, event))
    return OK


def _end_refused(begun: Sequence[tuple[Repo, Record]], refused: Record) -> None:
    """End a call, which one repository has refused, in those where it has begun."""
    for repo, event in begun:
        if event["tool"].get("id") == refused["tool"].get("id"):
            os.chdir(repo.worktree)
            run(repo, {**event, "event": "tool-end"})


def run(repo: Repo, first: Record) -> int:
    """Run the pipelines of an event in order and return the status.

    A gate's refusal ends them and is the answer.  Otherwise their messages are given as one."""
    event, config = str(first["event"]), repo.config
    limits = config.get_option("gitcp.hook-timeout"), config.get_option("gitcp.git-timeout")
    # A setting of the person's counts, and not the client's limit.
    git.begin_deadline(*limits, is_bound=not config.get_all("gitcp.hook-timeout"))
    built_in = os.environ.get("GITCP_ACTIVE") != "configured"  # else configured pipelines alone
    if built_in and event not in commands.COMMITTING and os.path.exists(repo.join_own("auto")):
        from gitcp.store import auto

        auto.settle_left_over(context.open_context(repo))
    messages: dict[str, list[str]] = {"person": [], "agent": []}
    warnings, refusal = list[str](), None
    for pipeline in [p for p in list_pipelines(repo, event) if built_in or isinstance(p, str)]:
        try:
            with context.open_context(repo):
                chained, why = begin_pipeline(repo, event, pipeline, [first])
                records = list(chained)
            if why:
                warnings.append(f"'{format_pipeline(pipeline)}': {why}; the built-in pipeline ran")
        except Error as e:
            warnings.append(f"'{format_pipeline(pipeline)}': {e}")
            continue
        refusal, faults = collect_messages(event, records, messages)
        warnings += [f"'{format_pipeline(pipeline)}': {fault}" for fault in faults]
        if refusal is not None:
            break
    _store_warnings(repo, event, warnings)
    if refusal is not None:
        return _refuse(repo, first, refusal)
    if any(messages.values()) and not first.get("guest"):  # the answer is that of the home
        _send_messages(first, *("\n\n".join(texts) for texts in messages.values()))
    if event == "post-commit" and built_in:
        store_missing_checkpoint(repo, first)
    return OK


def _store_warnings(repo: Repo, event: str, warnings: Sequence[str]) -> None:
    """Print and store the warnings of a hook; without any, remove its earlier ones."""
    for message in warnings:
        _warn_person(f"{event}: {message}")
    if not warnings and os.path.exists(repo.join_shared("warnings")):
        from gitcp.store import hook_warnings

        hook_warnings.drop_warnings(repo, event, " ".join(sys.argv[1:3]))


def _send_messages(first: Record, message: str, context: str = "") -> None:
    """Give the person a message, and the agent alone a context."""
    if "agent" in first:
        tell(first, message, context)
    else:
        _print_message(f"{message}\n")


def _refuse(repo: Repo, first: Record, message: str) -> int:
    """Refuse for git or for the agent's client; return the status."""
    if first.get("guest"):  # the agent takes "this working copy" for its own
        message += f"\n{'Repository:':15} {repo.worktree}"
    err, status = f"{message}\n", commands.VERDICT
    if "agent" in first:
        err, status = refuse(first, message)
    _print_message(err)
    return status


def _print_message(message: str) -> None:
    """Print a message on standard error, without control characters and passwords."""
    from gitcp import console

    print(console.escape_unprintable(hide_passwords(message)), file=sys.stderr, end="")


def _run_listing(argv: Sequence[str]) -> int:
    from gitcp.console import cli

    def show_table() -> int:
        args = cli.parse("hook", OPTIONS, argv)
        if args.sh:
            print(os.path.join(os.path.dirname(os.path.abspath(__file__)), "hooks.sh"))
            return OK
        if not args.list:
            args.error("no hook named")
        print(*format_table(Repo.find_here()), sep="\n")
        return OK

    return cli.guard(show_table)


# Read events from the payloads of agents' hooks or from records, and answer them.
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
    payload = parse_payload(data)
    client = recognise(get_client(argv[0]), payload)
    if seconds := client.get_hook_seconds(argv[1], argv[0]):
        git.set_bound(seconds / 2)  # the next event does the rest
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

        from gitcp.agents import find_client

        client = find_client(event["agent"])
        yield from _locate_event(client if client.FORM == "run" else None, event)
        os.chdir(start)


def _locate_event(client: Client | None, event: Record) -> Events:
    """The event with the repository of its session, then with the others in which the session is;
    changes into the worktree of each."""
    home: Repo | None = None
    for home, each in _locate_home(client, event):
        yield home, each
    visits = files.locate_state("visits", str(event.get("session_id")))
    if home is None or event.get("elsewhere") or os.path.exists(visits):
        from gitcp.store import visits as store_visits

        visited = store_visits.list_events(event, home, lambda: _read_last_prompt(client, event))
        for repo, each in visited:
            os.chdir(repo.worktree)
            yield repo, each


def _locate_home(client: Client | None, event: Record) -> Events:
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
        note_event(repo, client.NAME, event["event"])
    if client and client.exports():
        from gitcp.store.session import others

        others.copy_conversation(repo, client, event)
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

    from gitcp import agents

    print(agents.format_message(_find_form(event), message, context), end="")


def refuse(event: Record, message: str) -> tuple[str, int]:
    """Refuse the event for the agent's client: (text for standard error, status)."""

    from gitcp import agents

    out, err, status = agents.format_refusal(_find_form(event), event["event"], message)
    print(out, end="")
    return err, status


def _find_form(event: Record) -> str:
    """The form of answers to an event's agent (gitcp.agents)."""

    from gitcp.agents import find_client

    return str(event.get("answers") or find_client(event["agent"]).ANSWERS)


def note_event(repo: Repo, agent: str, name: str) -> None:
    """Note the time of an agent's event, and update `configured` (guard_files)."""
    marked = os.path.isdir(repo.join_shared("configured"))
    if marked or repo.config.list_keys("gitcp.", ".pipeline"):
        from gitcp.store.setup import guard_files

        guard_files.write_configured(repo)
    path = repo.join_shared("heard", agent)
    if name not in ("session-start", "turn-start") and os.path.exists(path):
        return
    try:
        files.touch_private(repo, path)
    except (Error, OSError):
        pass  # no turn depends on it
