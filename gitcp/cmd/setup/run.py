"""gitcp-run - record a program that edits files as a session"""

from __future__ import annotations

import os
import shlex
import sys
import time
from argparse import REMAINDER
from shutil import which

import gitcp
from gitcp.agents import find_client, other
from gitcp.commands import make_value
from gitcp.errors import FATAL, OK, Error
from gitcp.git import records, shell
from gitcp.git.repo import Repo
from gitcp.setup.care import installation
from gitcp.terminal import cli
from gitcp.terminal.status import explain_beginning
from gitcp.text import console, ids, term

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from gitcp.text.record_types import Record

OPTIONS = (
    make_value("--session", "<id>", "the session this run is a turn of"),
    make_value("--agent", "<name>", "what to call the program"),
    make_value("--prompt", "<text>", "what it is asked to do"),
    make_value(
        "words",
        "<command>",
        "the program and its arguments; gitcp's own options come before it",
        nargs=REMAINDER,
    ),
)


def run(argv: Sequence[str]) -> int:
    """Run a program as a turn of a session; return its status.

    Raises Error, before a session begins, if there is no such program, and InputError for an
    invalid session or agent.
    """
    args = cli.parse("run", OPTIONS, argv)
    words = args.words[args.words[:1] == ["--"] :]
    if not words or not words[0]:
        args.error("no command given")
    repo = Repo.find()  # nothing is run outside a repository
    if not which(words[0]):
        raise Error(f"no such program: '{words[0]}'")
    if installation.read_state(repo) == installation.DISABLED:
        hint = explain_beginning(installation.DISABLED)
        console.warn(f"gitcp is disabled here: {hint}")
    common = _build_common(args, words[0])
    call = {"id": f"run-{os.getpid()}", "kind": "shell", "command": shlex.join(words)}
    prompt = args.prompt or _read_prompt(common["agent"], words)
    start = {"event": "turn-start", "prompt": prompt}, {"event": "tool-start", "tool": call}
    status = _send([{**common, **event} for event in start])
    if status:
        return status
    status = FATAL
    try:
        status = term.run_foreground(
            words, {**os.environ, "GITCP_SESSION_ID": common["session_id"]}
        )
    finally:
        tool = {**call, "failed": status != OK}
        end = {"event": "tool-end", "tool": tool}, {"event": "turn-end"}, {"event": "session-end"}
        _send([{**common, **event} for event in end])
    return status


def _read_prompt(agent: str, words: Sequence[str]) -> str:
    """The prompt in an agent's command line, or the whole command line."""
    options = find_client(agent).ASKED_BY
    for number, word in enumerate(words[1:], 2):
        option, _, text = word.partition("=")
        if option in options and (text or words[number:]):
            return text or words[number]
    return " ".join(words)


def _build_common(args: Namespace, program: str) -> dict[str, str]:
    """The fields of all events of the run."""
    if args.session is None:
        session = _make_id(program)
    else:
        session = ids.check_session_id(args.session)
    if args.agent is None:
        name = os.path.basename(program) or program
    else:
        name = args.agent
    agent = other.check_name(name)
    return {"type": "event", "agent": agent, "session_id": session, "cwd": os.getcwd()}


def _make_id(program: str) -> str:
    """The id of a new session, made from the program and the time."""
    name = "".join(c for c in os.path.basename(program) if c.isascii() and c.isalnum())[:20]
    return f"{name or 'run'}-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{os.urandom(3).hex()}"


def _send(events: Sequence[Record]) -> int:
    """Send events to the hook that agents run; return its status.

    Run the hook as a child: it looks for the agent among its ancestors and finds this process."""
    entry = os.path.join(os.path.dirname(os.path.abspath(gitcp.__file__)), "entry.py")
    lines = b"".join(records.dump_record(event) + b"\n" for event in events)
    return shell.feed([sys.executable, "-I", "-S", entry, "event"], lines)
