"""Stages of pipelines: records in, records out.  A file has the stages of a subject.

Each file ends with STAGES: name -> (function, rows of gitcp.console).  The function takes
the arguments and the records of the stage before.  As a program a stage reads its records from
standard input and writes them to standard output.  Here they are found, bound and chained.
"""

from __future__ import annotations

import sys

from gitcp import commands, context
from gitcp.errors import OK, Error, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, NoReturn

    from gitcp.console import Rows
    from gitcp.core.record_types import Record, Stage
    from gitcp.repo import Repo

    Function = Callable[[Any, Iterable[Record]], Iterable[Record]]
    Stages = list[list[str]]
    Pipeline = Stages | str


class Bare:
    """The arguments of a stage without any; hook: it runs in a hook's pipeline."""

    hook = True

    def error(self, message: str) -> NoReturn:
        """Refuse the arguments."""
        raise UsageError(message)


def find_stage(name: str) -> tuple[Function, Rows]:
    """The function and the options of a stage."""
    # import_module() would cost a hook half a millisecond.
    function, *rows = __import__(commands.stage_module(name), fromlist=["STAGES"]).STAGES[name]
    return function, rows


def bind_stage(name: str, argv: Sequence[str]) -> Stage:
    """The stage of a pipeline with its arguments.  Raise UsageError for invalid arguments."""
    function, rows = find_stage(name)
    args: Any = Bare()
    if argv or rows:
        if argv or any(map(commands.is_needed, rows)):
            from gitcp.console import cli

            args = cli.parse(name, rows, argv)
        else:
            vars(args).update(commands.list_defaults(rows), hook=True)
    return lambda records: function(args, records)


def map_events(
    records: Iterable[Record], handle: Callable[[Record], Iterable[Record]]
) -> Iterator[Record]:
    """The records, with those that handle() makes of an agent's event in its place."""
    for item in records:
        if item.get("type") == "event" and item.get("session_id"):
            yield from handle(item)
        else:
            yield item


def run(name: str, argv: Sequence[str]) -> int:
    """Run a stage as a program; return its status."""
    function, rows = find_stage(name)

    from gitcp.console import cli

    args = cli.parse(name, rows, argv)

    from gitcp import record

    records = function(args, record.read_records(sys.stdin.buffer))
    if not (key := getattr(args, "z", None)):
        return cli.write_records(records)
    for value in dict.fromkeys(item[key] for item in records):
        sys.stdout.write(value + "\0")
    return OK


def list_pipelines(repo: Repo, event: str) -> list[Pipeline]:
    """The pipelines of an event: the configured ones, where `default` is the built-in one.

    A configured one is unparsed text, so that one with a mistake does not stop the others.
    """
    built_in = _get_built_in(repo, event)
    values = repo.config.get_all(f"gitcp.{event}.pipeline")
    if not values:
        return [built_in] if built_in else []
    return [(built_in or []) if v == "default" else v for v in map(str.strip, values) if v]


def begin_pipeline(
    repo: Repo, event: str, pipeline: Pipeline, records: list[Record]
) -> tuple[Iterable[Record], str]:
    """(the output of a pipeline for these records, what is wrong with it).  The built-in pipeline
    takes the place of a configured one with a mistake."""
    try:
        stages = commands.parse_pipeline(pipeline) if isinstance(pipeline, str) else pipeline
        return connect_stages(stages, records, repo.top), ""
    except Error as e:
        if not (built_in := _get_built_in(repo, event)):
            raise
        return connect_stages(built_in, records, repo.top), str(e)


def _get_built_in(repo: Repo, event: str) -> Stages | None:
    stages = commands.DEFAULT.get(event)
    if stages and repo.config.get_option("gitcp.guard") == "off":
        return [stage for stage in stages if stage[0] not in commands.GUARD]
    return stages


def format_pipeline(pipeline: Pipeline) -> str:
    """A pipeline as it would be configured."""
    if isinstance(pipeline, str):
        return pipeline
    return " | ".join(" ".join(stage) for stage in pipeline)


def connect_stages(
    stages: Iterable[Sequence[str]], records: Iterable[Record], top: str | None
) -> Iterable[Record]:
    """Chain the stages in this process; a stage `!cmd args` runs as a process in the directory
    top."""
    for name, *argv in stages:
        if name.startswith("!"):
            from gitcp.console import shell

            records = shell.run_filter([name[1:], *argv], _leave_after(records), top)
        else:
            records = bind_stage(name, argv)(records)
    return records


def collect_messages(
    event: str, records: Iterable[Record], messages: dict[str, list[str]]
) -> tuple[str | None, list[str]]:
    """(a gate's refusal in the output of a pipeline, what is wrong with its records).  Its messages
    are added to messages, by their addressee."""
    refusal, faults = None, []
    for record in records:
        kind, message = record.get("type"), record.get("message")
        if kind == "refuse" and event in commands.GATES:
            refusal = message if isinstance(message, str) else "refused"
        elif kind == "say":
            texts = messages.get(record.get("to", "person"))
            if texts is None or not isinstance(message, str):
                faults.append("a record of type 'say' has no message, or is to nobody known")
            else:
                texts.append(message)
    return refusal, faults


def _leave_after(records: Iterable[Record]) -> Iterable[Record]:
    """The records, for a foreign program: before it runs, states are written and locks released."""
    yield from records
    context.leave_all()


def store_missing_checkpoint(repo: Repo, first: Record) -> None:
    """Store the checkpoint that a new commit's trailer names, if its pipelines left it out or
    failed.  first: the event of post-commit."""
    with context.open_context(repo) as ctx:
        from gitcp.store import match

        if match.lacks_checkpoint(ctx):
            list(connect_stages(commands.DEFAULT["post-commit"], [first], repo.top))


def list_events(repo: Repo) -> list[str]:
    """The events with a pipeline: the built-in ones, then others that are configured."""
    keys = repo.config.list_keys("gitcp.", ".pipeline")
    configured = {key[len("gitcp.") :].rpartition(".")[0] for key in keys}
    return [*commands.DEFAULT, *sorted(configured - {"", *commands.DEFAULT})]


def format_table(repo: Repo) -> Iterator[str]:
    """A line for each pipeline in force: its event, its source, its stages, and why it cannot
    run."""
    for event in list_events(repo):
        values = repo.config.get_all(f"gitcp.{event}.pipeline")
        for pipeline in list_pipelines(repo, event):
            source = "configured" if isinstance(pipeline, str) else "built in"
            stages = format_pipeline(pipeline) + _explain_unable(repo, pipeline)
            yield f"{event:20} {source:11} {stages}"
        if values and not any(values):
            yield f"{event:20} {'configured':11} (nothing)"


def _explain_unable(repo: Repo, pipeline: Pipeline) -> str:
    """Why a configured pipeline cannot run; '' if no reason is found."""
    if not isinstance(pipeline, str):
        return ""
    try:
        for name, *_ in commands.parse_pipeline(pipeline):
            if name.startswith("!"):
                from gitcp.console import shell

                shell.find_program(name[1:], repo.top)
    except Error as e:
        return f"  (cannot run: {e})"
    return ""
