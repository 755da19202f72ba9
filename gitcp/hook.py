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

from gitcp import context, git, pipelines, repo, running, trace
from gitcp.console import options
from gitcp.console.options import make_flag, make_value
from gitcp.errors import OK, USAGE, Error, UnknownAgent, UsageError, format_error, hide_passwords
from gitcp.record import decode_lines
from gitcp.repo import Repo
from gitcp.stages.chain import (
    begin_pipeline,
    collect_messages,
    format_pipeline,
    format_table,
    list_pipelines,
    store_missing_checkpoint,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.core.record_types import Record

OPTIONS = (
    make_flag("--list", "show what is in force, and from where"),
    make_flag("--sh", "name the file that git's hooks source"),
    make_value("hook", "<hook>", "a git hook, or an agent", nargs="?"),
    make_value("args", "<arg>", "what git gave, or the agent's event", nargs="*"),
)


def main() -> int:
    """Run the hook named by the arguments; see gitcp-hook(1)."""
    argv = sys.argv[1:]
    if not argv or argv[0].startswith("-"):
        return _run_listing(argv)
    if os.environ.get("GITCP_ACTIVE") not in (None, "", "configured"):
        return OK  # a git command of gitcp's ran this hook
    running.begin_deadline()
    try:
        repo.look_early()
        if argv[0] in pipelines.DEFAULT:
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

        trace.append_note("bug", traceback.format_exc().replace("\n", " | "))
        _warn_person(f"{' '.join(argv[:2])}: {type(e).__name__}: {e}")
    finally:
        git.abandon_pending()
        git.end_lasting()
        if trace.is_on():
            trace.note_end()
    return OK


def _warn_person(message: str) -> None:
    _print_message(f"warning: {message}\n")
    try:
        from gitcp.store import hook_warnings

        hook_warnings.warn_here(message)  # for `gitcp status`
    except OSError:
        pass  # no descriptor is left


def _run_git_hook(event: str, args: Sequence[str]) -> int:
    stdin = decode_lines(sys.stdin.buffer.read()) if event in pipelines.WITH_STDIN else []
    repo = Repo.find_here()
    if context.is_off(repo):
        return OK
    return run(repo, {"type": "event", "event": event, "args": list(args), "stdin": stdin})


def _run_agent_hook(argv: Sequence[str]) -> int:
    if argv == ["event"]:
        from gitcp import agent_hook

        events = agent_hook.read_records(_warn_person)
    else:
        from gitcp import agent_hook

        events = agent_hook.read_call(argv)
    return next((status for repo, event in events if (status := run(repo, event))), OK)


def run(repo: Repo, first: Record) -> int:
    """Run the pipelines of an event in order and return the status.

    A gate's refusal ends them and is the answer.  Otherwise their messages are given as one."""
    event, config = str(first["event"]), repo.config
    running.begin_deadline(
        config.get_option("gitcp.hook-timeout"), config.get_option("gitcp.git-timeout")
    )
    if config.get_all("gitcp.hook-timeout"):
        running.set_bound(None)  # the person's setting counts, not the client's limit
    built_in = os.environ.get("GITCP_ACTIVE") != "configured"  # else configured pipelines alone
    if built_in and event not in pipelines.COMMITTING and os.path.exists(repo.join_own("auto")):
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
        return _refuse(first, refusal)
    if any(messages.values()):
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
        from gitcp import agent_hook

        agent_hook.tell(first, message, context)
    else:
        _print_message(f"{message}\n")


def _refuse(first: Record, message: str) -> int:
    """Refuse for git or for the agent's client; return the status."""
    err, status = f"{message}\n", pipelines.VERDICT
    if "agent" in first:
        from gitcp import agent_hook

        err, status = agent_hook.refuse(first, message)
    _print_message(err)
    return status


def _print_message(message: str) -> None:
    """Print a message on standard error, without control characters and passwords."""
    print(options.escape_unprintable(hide_passwords(message)), file=sys.stderr, end="")


def _run_listing(argv: Sequence[str]) -> int:
    def show_table() -> int:
        from gitcp.console import cli

        args = cli.parse("hook", OPTIONS, argv)
        if args.sh:
            print(os.path.join(os.path.dirname(os.path.abspath(__file__)), "hooks.sh"))
            return OK
        if not args.list:
            args.error("no hook named")
        print(*format_table(Repo.find_here()), sep="\n")
        return OK

    from gitcp.console import cli

    return cli.guard(show_table)
