"""Adapters that are programs on PATH: gitcp-agent-<name>, and entire-agent-<name> of the original
program.

gitcp-agent-protocol(7) describes the protocol of gitcp-agent-<name>.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from argparse import ArgumentTypeError

from gitcp import git
from gitcp.agents import get_client, list_names, other
from gitcp.agents.reading import items
from gitcp.errors import Error, InputError, UnknownAgent
from gitcp.git import files
from gitcp.git.objects import object_lists
from gitcp.setup import configuration
from gitcp.text import console

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.git.repo import Repo
    from gitcp.setup.hook_texts import Write
    from gitcp.text.record_types import Event

OWN = "gitcp-agent-"
ENTIRE = "entire-agent-"
PROTOCOL = 1
_GROWN = ("turn-end", "compact", "session-end")  # events at which a transcript has grown
_KEY = "gitcp.external-agents"
KIND = "adapter"  # in the manifest: an adapter wrote hooks
_LONGEST = 60  # seconds that one answer may take
_NAMES = "session-start turn-start turn-end compact session-end subagent-start subagent-end"
_EVENTS = dict(enumerate(_NAMES.split(), 1))  # of the original program, by number


def list_programs(path: str) -> dict[str, str]:
    """name -> program of each adapter in the absolute entries of PATH; gitcp-agent-<name> comes
    before entire-agent-<name>."""
    programs: dict[str, str] = {}
    for prefix in (OWN, ENTIRE):
        for folder in filter(os.path.isabs, path.split(os.pathsep)):
            try:
                entries = sorted(os.listdir(folder))
            except OSError:
                continue
            for file in entries:
                name = file.removeprefix(prefix)
                program = os.path.join(folder, file)
                runs = os.path.isfile(program) and os.access(program, os.X_OK)
                if name not in ("", file) and runs:
                    programs.setdefault(name, program)
    return programs


def parse_agent(text: str) -> str:
    """The type of an argument that names an agent that can be enabled, as parse_client()."""
    return _parse_name(text, [*list_names(), *list_programs(os.environ.get("PATH", ""))])


def parse_client(text: str) -> str:
    """The type of an argument that names a client: by its name, program or title in any case, or by
    the beginning of one name alone."""
    return _parse_name(text, list_names())


def _parse_name(text: str, names: Sequence[str]) -> str:
    word = text.lower()
    clients = map(get_client, list_names())
    known = [c.NAME for c in clients if word in (c.NAME, c.PROGRAM.lower(), c.AGENT_TYPE.lower())]
    beginning = [name for name in names if word and name.startswith(word)]
    meant = [text] if text in names else known or beginning
    if not text or len(meant) != 1:
        what = console.describe_unknown("agent", text, names, "gitcp enable --list")
        raise ArgumentTypeError(what)
    return meant[0]


class Program:
    """An adapter.  path: of the program; top: of the repository; is_entires: whether it speaks the
    protocol of the original program."""

    def __init__(self, path: str, top: str) -> None:
        self.path = path
        self.top = top
        self.is_entires = os.path.basename(path).startswith(ENTIRE)

    def ask(self, *args: str, stdin: bytes = b"") -> dict[str, Any]:
        """The JSON object that a method answers with; {} for null."""
        try:
            answer = json.loads(self.run(*args, stdin=stdin))
        except ValueError:
            answer = ""
        if answer is not None and not isinstance(answer, dict):
            raise Error(f"'{self.path} {args[0]}' did not answer with a JSON object")
        return answer or {}

    def run(self, *args: str, stdin: bytes = b"") -> bytes:
        """What a method prints.  Raises Error if it fails, or takes too long."""
        limit = min(_LONGEST, git.count_seconds_left() or _LONGEST)
        entire_env = {"ENTIRE_REPO_ROOT": self.top, "ENTIRE_PROTOCOL_VERSION": "1"}
        words = f"'{self.path} {args[0]}'"
        try:
            done = subprocess.run(
                [self.path, *args],
                input=stdin,
                capture_output=True,
                timeout=limit,
                cwd=self.top,
                env={**os.environ, **(entire_env if self.is_entires else {})},
            )
        except subprocess.TimeoutExpired:
            raise Error(f"{words} did not end in {limit:.0f} seconds") from None
        except OSError as e:
            raise Error(f"{words} cannot be run: {e.strerror}") from None
        if done.returncode:
            why = done.stderr.decode(errors="replace").strip() or f"status {done.returncode}"
            raise Error(f"{words}: {why[:500]}")
        return done.stdout


class External(other.Other):
    """A client whose adapter is a program."""

    FORM = "adapter"

    def __init__(self, name: str, program: Program, about: Mapping[str, Any]) -> None:
        """about: what the program says of itself."""
        self.program = program
        self.NAME = name
        self.AGENT_TYPE = other.check_name(about.get("type"))
        self._entire_command = f"entire hooks {name} "
        self._folders = about.get("protected_dirs") or ()
        self._capabilities = about.get("capabilities") or {}
        # Of its braces only {} is for format().
        parts = str(about.get("resume") or "").split("{}")
        self.RESUME = "{}".join(part.replace("{", "{{").replace("}", "}}") for part in parts)
        if about.get("answers") == "plain":
            self.ANSWERS = "plain"
        else:
            self.ANSWERS = "text"

    def is_here(self) -> bool:
        """Whether the agent is on this machine, by its adapter."""
        asked = self.program.ask("detect" if self.program.is_entires else "info")
        return asked.get("present") is True

    def read_events(self, hook: str, payload: bytes) -> list[Event]:
        """The records of one call of a hook of the agent.  Raises Error or InputError."""
        if self.program.is_entires:
            event = self.program.ask("parse-hook", "--hook", hook, stdin=payload)
            records = [self._translate(event)] if event else []
        else:
            records = list(_read_lines(self.program.run("event", hook, stdin=payload)))
        named = ({**record, "agent": self.AGENT_TYPE} for record in records)
        checked = [other.check_event(record, self.program.top) for record in named]
        return [{**record, "answers": self.ANSWERS} for record in checked]

    def _translate(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Make a record of gitcp from an event of the original protocol."""
        event = _EVENTS.get(answer.get("type", 0), "")
        reference = answer.get("session_ref")
        record = {**answer, "event": event, "agent_id": answer.get("subagent_id") or None}
        if isinstance(reference, str) and os.path.isabs(reference):
            self._check_reference(reference)
            record["transcript_path"] = reference
        if event.startswith("subagent"):
            record["tool"] = {
                "kind": "task",
                "id": answer.get("tool_use_id"),
                "subagent_type": answer.get("subagent_type"),
                "description": answer.get("task_description"),
            }
        return record

    def _check_reference(self, path: str) -> None:
        """Raise InputError for a transcript outside the agent's directory of transcripts."""
        folder = self.program.ask("get-session-dir", "--repo-path", self.program.top).get(
            "session_dir"
        )
        parts = path.split(os.sep)
        if not isinstance(folder, str) or {".", ".."} & set(parts) or not os.path.isabs(folder):
            raise InputError(f"'session_ref' is not a transcript: {ascii(path)[:80]}")
        if os.path.commonpath([folder, path]) != os.path.normpath(folder):
            raise InputError(f"'session_ref' is outside of {ascii(folder)[:80]}")

    def get_reader(self) -> Any:
        """The module that reads gitcp's format, in which export() writes."""
        return other.CLIENT.get_reader()

    def export(self, record: Event, folder: str) -> None:
        """Set the record's transcript to one in gitcp's format below folder; append to it at the
        end of a turn."""
        path = record.get("transcript_path")
        if not path or not (self.program.is_entires or self._capabilities.get("transcript")):
            return
        record["transcript_path"] = target = os.path.join(folder, record["session_id"] + ".jsonl")
        if record["event"] in _GROWN and os.path.exists(path):
            if self.program.is_entires:
                transcript = self._transcribe(path)
            else:
                transcript = self.program.run("transcript", path)
            append_missing(target, transcript)

    def _transcribe(self, path: str) -> bytes:
        """A transcript in gitcp's format, by what the original protocol gives of it."""
        raw = self.program.run("read-transcript", "--session-ref", path)
        start = ("--offset", "0")
        lines: list[dict[str, Any]] = [
            {"kind": item["kind"], "text": item["text"], "timestamp": item["time"]}
            for item in items.list_items(raw)
            if item["kind"] in ("prompt", "answer")
        ]
        if self._capabilities.get("transcript_analyzer"):
            if not lines:
                answer = self.program.ask("extract-prompts", "--session-ref", path, *start)
                lines = [{"kind": "prompt", "text": text} for text in answer.get("prompts") or ()]
            answer = self.program.ask("extract-modified-files", "--path", path, *start)
            for number, file in enumerate(answer.get("files") or ()):
                tool = {"id": f"file-{number}", "kind": "write", "input_paths": [file]}
                lines.append({"kind": "call", "tool": tool})
        if self._capabilities.get("token_calculator"):
            spent = self.program.ask("calculate-tokens", *start, stdin=raw)
            lines.append({**spent, "kind": "usage", "id": "all"})
        entries = ({"type": "transcript", **line} for line in lines)
        return b"".join(json.dumps(e, separators=(",", ":")).encode() + b"\n" for e in entries)

    def install(self, scope: str, command: str) -> None:
        """Let the adapter write the agent's hooks, which run `command <hook>`.

        scope: local (this clone), shared (all its users) or user (the person).  Raises Error."""
        if self.program.is_entires:
            self.program.ask("install-hooks")
            self._rename_hooks(self._entire_command, f"{command} ")
        else:
            self.program.run("install", scope, command)

    def uninstall(self, command: str) -> None:
        """Let the adapter remove the agent's hooks, which run command.  Raises Error."""
        if self.program.is_entires:
            self._rename_hooks(f"{command} ", self._entire_command)
        self.program.run("uninstall-hooks" if self.program.is_entires else "uninstall")

    def _rename_hooks(self, old: str, new: str) -> None:
        """Replace old by new in the hooks that the original program's adapter wrote."""
        trees = (os.walk(os.path.join(self.program.top, folder)) for folder in self._folders)
        for folder, _, names in (item for tree in trees for item in tree):
            for path in (os.path.join(folder, name) for name in names):
                regular = os.path.isfile(path) and not os.path.islink(path)
                data = files.read_bytes(path) if regular else None
                if data and os.fsencode(old) in data:
                    files.replace_file(path, data.replace(os.fsencode(old), os.fsencode(new)))

    def format_resume_command(self, session_id: str) -> str:
        """The command that resumes a session."""
        if self.program.is_entires:
            return str(
                self.program.ask("format-resume-command", "--session-id", session_id)["command"]
            )
        return super().format_resume_command(session_id)


def append_missing(path: str, transcript: bytes) -> None:
    """Append the lines of a complete transcript that the file at path lacks: those from the first
    that differs, then new token counts."""
    new_lines = [line for line in transcript.split(b"\n") if line.strip()]
    old_lines = (files.read_bytes(path) or b"").split(b"\n")[:-1]
    new, old = ([ln for ln in part if not _is_usage(ln)] for part in (new_lines, old_lines))
    pairs = enumerate(zip(new, old, strict=False))
    same = next((number for number, (a, b) in pairs if a != b), len(old))
    added = new[same:] + [ln for ln in new_lines if _is_usage(ln) and ln not in old_lines]
    if added:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "wb") as f:
            f.write(b"".join(line + b"\n" for line in added))


def _is_usage(line: bytes) -> bool:
    return b'"usage"' in line and '"usage"' in json.dumps((_load(line) or {}).get("kind"))


def _read_lines(data: bytes) -> Iterator[dict[str, Any]]:
    for line in filter(bytes.strip, data.split(b"\n")):
        record = _load(line)
        if record is None:
            raise InputError(f"not a JSON record: {ascii(line.decode(errors='replace'))[:80]}")
        yield record


def _load(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def ask_adapter(name: str, program: Program) -> External:
    """The client of an adapter, which is asked for its name and abilities.  Raises Error if the
    answer is invalid."""
    info = program.ask("info")
    protocol = info.get("protocol_version" if program.is_entires else "protocol")
    if protocol != PROTOCOL or info.get("name") != name:
        raise Error(f"'{program.path}' is not an adapter of '{name}' for protocol {PROTOCOL}")
    return External(name, program, info)


def may_run(repo: Repo) -> bool:
    """Whether the person allows adapters on PATH, in a configuration file that is not tracked."""
    if not repo.config.get_option(_KEY):
        return False
    _, file, _ = configuration.find_origin(repo, _KEY, repo.config.get(_KEY))
    return not (file and object_lists.list_tracked(repo, [file]))


def find_adapter(repo: Repo, name: str) -> External:
    """The adapter of a name.  Raises UnknownAgent if there is none, InputError if `enable` used one
    that is gone, Error if it may not be run or answers wrongly."""
    program = list_programs(os.environ.get("PATH", "")).get(name)
    if program is None:
        was_here = os.path.exists(repo.join_shared("adapters", name))
        kind = InputError if was_here else UnknownAgent
        raise kind(f"unknown agent '{name}'; known are {', '.join(list_names())}")
    if not may_run(repo):
        raise Error(f"'{program}' is not run: 'git config {_KEY} true' allows it")
    return ask_adapter(name, Program(program, repo.worktree))


def plan_adapter(
    repo: Repo, name: str, scope: str, baked: tuple[str, str], force: bool
) -> list[Write]:
    """Plan the manifest's entry for which write_hooks() runs; [] if the hooks are written already.
    Raises as find_adapter()."""
    client = find_adapter(repo, name)
    if scope == "shared":
        words = ["gitcp-hook"]
    else:
        words = [baked[0], "-I", "-S", baked[1]]
    data = os.fsencode(f"{client.program.path}\n{scope}\n{shlex.join([*words, name])}\n")
    path = repo.join_shared("adapters", name)
    if files.read_bytes(path) == data and not force:
        return []
    note = f"wrote the hooks of {name} by '{client.program.path}'"
    return [{"path": path, "kind": KIND, "data": data, "note": note, "agent": name}]


def write_hooks(repo: Repo, write: Write) -> None:
    """Let an adapter write the hooks of its agent.  Raises Error."""
    _, scope, command = os.fsdecode(write["data"]).splitlines()
    find_adapter(repo, write["agent"]).install(scope, command)


def remove_hooks(repo: Repo, name: str) -> None:
    """Let an adapter remove the hooks of its agent.  Raises Error."""
    data = files.read_bytes(repo.join_shared("adapters", name)) or b"\n\n\n"
    find_adapter(repo, name).uninstall(os.fsdecode(data).splitlines()[2])


def find_adapters(repo: Repo) -> Iterator[External | str]:
    """The adapters whose agents are on this machine; an error message for one that fails."""
    programs = list_programs(os.environ.get("PATH", ""))
    if programs and may_run(repo):
        for name in sorted(set(programs) - set(list_names())):
            try:
                client = find_adapter(repo, name)
                if client.is_here():
                    yield client
            except Error as e:
                yield str(e)
