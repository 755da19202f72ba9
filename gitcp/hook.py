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

from gitcp import events, git
from gitcp.errors import OK, USAGE, Error, UnknownAgent, UsageError, format_error, hide_passwords
from gitcp.git import objects
from gitcp.git.config_table import EVENTS
from gitcp.git.files import locate_warnings
from gitcp.git.repo import Repo, look_early
from gitcp.record import is_off, open_context
from gitcp.record.session import locate_auto

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.events import Stages
    from gitcp.text.record_types import Event, GitEvent, Message, Passed

# A record of type 'refuse' at the end of these pipelines is obeyed; all others only watch.
GATES = frozenset({"commit-msg", "pre-push", "turn-start", "tool-start", "tool-end"})
# Hooks to which git writes on standard input.
WITH_STDIN = frozenset({"post-rewrite", "pre-push"})
# Hooks during which the person's git locks its index.
COMMITTING = frozenset({"prepare-commit-msg", "commit-msg"})
# The status by which a git hook refuses; the hook scripts take any other for a failure of gitcp.
VERDICT = 3


def start() -> int:
    """Run gitcp-hook as the process of an installed hook.

    Ctrl-C at a `git commit` ends its hooks, too: the next event finds what is left to do.
    """
    git.reset_signals()
    try:
        return main()
    except BaseException as e:  # as where stderr takes nothing
        # not 1: hooks.sh takes that for a Python that cannot start, and tries another one
        return _report_death(e)


def _report_death(reason: BaseException) -> int:
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
        from gitcp.cmd.setup import hook
        from gitcp.terminal import cli

        return cli.run_guarded(lambda: hook.run(argv))
    if os.environ.get("GITCP_ACTIVE") not in (None, "", "configured"):
        return OK  # a git command of gitcp's ran this hook
    git.begin_deadline()
    try:
        look_early()
        if argv[0] in EVENTS:
            return _run_git_hook(argv[0], argv[1:])
        return _run_agent_hook(argv)
    except UsageError as e:
        _print_message(f"error: {e}\n")
        return USAGE
    except UnknownAgent as e:  # no later call succeeds: there is nothing for gitcp doctor to watch
        _print_message(f"warning: {' '.join(argv[:2])}: {e}\n")
    except Exception as e:  # a bug must not stop the person's commit or the agent's work either
        _warn_person(f"{' '.join(argv[:2])}: {_explain(e)}")
    finally:
        objects.abandon_unflushed()
        git.end_lasting()
    return OK


def _run_git_hook(event: str, args: Sequence[str]) -> int:
    stdin: list[str] = []
    if event in WITH_STDIN:
        from gitcp.git.records import decode_lines

        stdin = decode_lines(sys.stdin.buffer.read())
    repo = Repo.find_here()
    if not is_off(repo):
        return run(repo, {"type": "event", "event": event, "args": list(args), "stdin": stdin})
    if event == "pre-push":
        return _judge_push(repo, args, stdin)
    return OK


def _judge_push(repo: Repo, args: Sequence[str], stdin: Sequence[str]) -> int:
    """Refuse a push that sends what is private, in a repository where nothing else is done."""
    from gitcp.events import pre_push

    verdict = pre_push.judge(repo, args, stdin)
    if verdict is None:
        return OK
    message = verdict["message"]
    if verdict["type"] == "refuse":
        return _refuse(repo, None, message)
    _print_message(f"{message}\n")
    return OK


def _run_agent_hook(argv: Sequence[str]) -> int:
    started: list[tuple[Repo, Event]] = []  # the starts of calls
    is_stream = argv == ["event"]
    if is_stream:
        start = os.getcwd()
        located = events.read_records(_warn_person)
    else:
        start = ""
        located = events.read_call(argv)
    for repo, event in located:
        status = _run_there(repo, event)
        if status:
            if event.get("guest") and "tool" in event:
                _end_refused(started, event)
            return status
        if event["event"] == "tool-start" and "tool" in event:
            started.append((repo, event))
        if start:  # the next event may be of another repository
            os.chdir(start)
    return OK


def _end_refused(started: Sequence[tuple[Repo, Event]], refused: Event) -> None:
    """End a call that one repository has refused in those where it has started."""
    for repo, event in started:
        if event["tool"].get("id") == refused["tool"].get("id"):
            _run_there(repo, {**event, "event": "tool-end"})


def _run_there(repo: Repo, event: Event) -> int:
    """run() an agent's event in the worktree of its repository."""
    os.chdir(repo.worktree)
    return run(repo, event)


def run(repo: Repo, first: Event | GitEvent) -> int:
    """Run the pipelines of an event in order and return the status.

    A gate's refusal ends them and is the answer.  Otherwise their messages are given as one."""
    event = str(first["event"])
    config = repo.config
    limits = config.get_option("gitcp.hook-timeout"), config.get_option("gitcp.git-timeout")
    # If the person has set a time, the client's limit does not shorten it.
    git.begin_deadline(*limits, is_bound=not config.get_all("gitcp.hook-timeout"))
    # Commits of split and auto run the person's configured pipelines only.
    built_in = os.environ.get("GITCP_ACTIVE") != "configured"
    if built_in and event not in COMMITTING and os.path.exists(locate_auto(repo)):
        from gitcp.steps.commits import auto

        auto.settle_left_over(open_context(repo))
    messages: list[Message] = []
    refusals: list[Message] = []
    warnings: list[str] = []
    is_done = False  # whether gitcp's own pipeline had nothing to say
    for pipeline in events.list_pipelines(repo, event):
        is_own = not isinstance(pipeline, str)
        if is_own and not built_in:
            continue
        records, faults = _run_pipeline(repo, pipeline, first)
        is_done = is_done or (is_own and not faults and not any(map(events.is_message, records)))
        warnings += [f"'{events.format_pipeline(pipeline)}': {fault}" for fault in faults]
        messages += [item for item in records if events.is_message(item)]
        if event in GATES:
            refusals = [item for item in records if events.is_refusal(item)]
        if refusals:
            break
    _store_warnings(repo, event, warnings)
    if refusals:
        if events.is_of_agent(first) and event == "tool-start":
            from gitcp.events import turns

            turns.withdraw_claims(repo, first)
        return _refuse(repo, first, refusals[-1].get("message"))
    if messages and not first.get("guest"):  # the session's own repository answers
        _send_messages(first, messages)
    if event == "post-commit" and built_in and not is_done:
        _store_missing_checkpoint(repo, first)
    return OK


def _run_pipeline(
    repo: Repo, pipeline: Stages | str, first: Event | GitEvent
) -> tuple[list[Passed], list[str]]:
    """(the output of a pipeline for an event, its faults).  If a configured pipeline has a mistake,
    the built-in one runs instead."""
    stages = pipeline
    faults = list[str]()
    try:
        if isinstance(stages, str):
            from gitcp.cmd.stages import bind_pipeline

            try:
                stages = bind_pipeline(stages, repo.top)
            except Error as e:
                stages = events.find_pipeline(repo, first["event"])
                if not stages:
                    raise
                reason = str(e).partition("\n")[0]  # the lines after it are the usage
                faults.append(f"{reason}; the built-in pipeline ran")
        records = events.run_pipeline(open_context(repo), stages, [first])
    except Exception as e:  # the event's other pipelines run all the same
        return [], [*faults, _explain(e)]
    if any(r.get("type") == "say" and not events.is_message(r) for r in records):
        faults.append("a record of type 'say' has no message, or is to nobody known")
    return records, faults


def _explain(error: Exception) -> str:
    """Why something failed; of a bug the trace has more."""
    if isinstance(error, Error | OSError):
        return format_error(error)
    import traceback

    git.append_trace("bug", "".join(traceback.format_exception(error)).replace("\n", " | "))
    return f"{type(error).__name__}: {error}"


def _store_missing_checkpoint(repo: Repo, first: Event | GitEvent) -> None:
    """Store the checkpoint that a new commit's trailer names, if its pipelines left it out or
    failed.  first: the event of post-commit."""
    with open_context(repo) as ctx:
        from gitcp.record import match

        if match.lacks_checkpoint(ctx):
            events.run_pipeline(ctx, events.find_pipeline(repo, "post-commit"), [first])


def _store_warnings(repo: Repo, event: str, warnings: Sequence[str]) -> None:
    """Print and store the warnings of a hook; without any, remove its earlier ones."""
    for message in warnings:
        _warn_person(f"{event}: {message}")
    if not warnings and os.path.exists(locate_warnings(repo)):
        from gitcp.git import hook_warnings

        hook_warnings.drop_warnings(repo, event, " ".join(sys.argv[1:3]))


def _send_messages(first: Event | GitEvent, messages: Sequence[Message]) -> None:
    """Show each message to whom it is addressed: the person, or the agent alone."""
    person, agent = (
        "\n\n".join(m["message"] for m in messages if m.get("to", "person") == to)
        for to in ("person", "agent")
    )
    if events.is_of_agent(first):
        events.tell(first, person, agent)
    else:
        _print_message(f"{person}\n")


def _refuse(repo: Repo, first: Event | GitEvent | None, reason: object) -> int:
    """Refuse for git or for the agent's client; return the status.  first: None for git."""
    message = "refused"
    if isinstance(reason, str):
        message = reason
    if first and first.get("guest"):  # else the agent takes "this working copy" for its own
        message += f"\n{'Repository:':15} {repo.worktree}"
    err = f"{message}\n"
    status = VERDICT
    if first and events.is_of_agent(first):
        err, status = events.refuse(first, message)
    _print_message(err)
    return status


def _warn_person(message: str) -> None:
    _print_message(f"warning: {message}\n")
    try:
        from gitcp.git import hook_warnings

        hook_warnings.warn_here(message)  # for `gitcp status`
    except OSError:
        pass  # no descriptor is left


def _print_message(message: str) -> None:
    """Print a message on standard error, without control characters and passwords."""
    from gitcp.text import console

    print(console.escape_unprintable(hide_passwords(message)), file=sys.stderr, end="")
