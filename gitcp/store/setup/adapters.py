"""Adapters that are programs on PATH: gitcp-agent-<name>, and entire-agent-<name>, which are the
original's.  gitcp-agent-protocol(7) says what they are asked and answer."""

from __future__ import annotations

import json
import os
import shlex

from gitcp.agents import Client, list_names, other
from gitcp.agents.reading import items
from gitcp.errors import Error, InputError
from gitcp.process import deadline, files
from gitcp.start import stdlib
from gitcp.store.setup import configuration, exclude

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gitcp.core.record_types import Event
    from gitcp.core.setup.installation import Write
    from gitcp.repo import Repo

OWN, ENTIRE = "gitcp-agent-", "entire-agent-"
PROTOCOL = 1
_SPOKEN = ("turn-end", "compact", "session-end")
_KEY = "gitcp.external-agents"
KIND = "adapter"  # of the record that an adapter wrote hooks
_LONGEST = 60  # seconds that one answer may take
# The original's events, by number.
_EVENTS = dict(
    enumerate(
        "session-start turn-start turn-end compact session-end subagent-start subagent-end".split(),
        1,
    )
)


def list_programs(path: str) -> dict[str, str]:
    """Name -> program of each adapter in the absolute entries of PATH, the first of a name first,
    gitcp's own before the original's."""
    programs: dict[str, str] = {}
    for prefix in (OWN, ENTIRE):
        for folder in filter(os.path.isabs, path.split(os.pathsep)):
            try:
                entries = sorted(os.listdir(folder))
            except OSError:
                continue
            for file in entries:
                name, program = file.removeprefix(prefix), os.path.join(folder, file)
                runs = os.path.isfile(program) and os.access(program, os.X_OK)
                if name not in ("", file) and runs:
                    programs.setdefault(name, program)
    return programs


class External(Client):
    """A client whose adapter is a program."""

    FORM = "adapter"
    SETTINGS = other.SETTINGS
    HOOKS = ()
    KINDS = other.KINDS
    EVENTS = other.EVENTS

    def __init__(self, name: str, program: str, top: str) -> None:
        """Ask the program who it is, in a repository's top.  Raises Error where it cannot say."""
        self.program, self._top = program, top
        self._entires = os.path.basename(program).startswith(ENTIRE)
        self._module = other.__name__
        about = self._ask("info")
        key = "protocol_version" if self._entires else "protocol"
        if about.get(key) != PROTOCOL or about.get("name") != name:
            raise Error(f"'{program}' is no adapter of '{name}' in version {PROTOCOL}")
        self.export = self._write_transcript
        self.NAME, self.AGENT_TYPE = name, other.check_name(about.get("type"))
        self._theirs = f"entire hooks {name} "
        self._folders = about.get("protected_dirs") or ()
        self._can = about.get("capabilities") or {}
        self.RESUME = str(about.get("resume") or "").replace("{}", "\0")
        self.RESUME = self.RESUME.replace("{", "{{").replace("}", "}}").replace("\0", "{}")
        self.ANSWERS = "plain" if about.get("answers") == "plain" else "text"

    def is_here(self) -> bool:
        """Whether the agent is on this machine, as its adapter says."""
        asked = self._ask("detect" if self._entires else "info")
        return asked.get("present") is True

    def read_events(self, hook: str, payload: bytes) -> list[dict[str, Any]]:
        """The records of a call of one of the agent's hooks.  Raises Error, InputError."""
        if self._entires:
            event = self._ask("parse-hook", "--hook", hook, stdin=payload)
            records = [self._translate(event)] if event else []
        else:
            records = list(_read_lines(self._run("event", hook, stdin=payload)))
        named = ({**given, "agent": self.AGENT_TYPE} for given in records)
        checked = [other.check_event(given, self._top) for given in named]
        return [{**record, "answers": self.ANSWERS} for record in checked]

    def _translate(self, theirs: dict[str, Any]) -> dict[str, Any]:
        """An event of the original's as a record of ours."""
        event, reference = _EVENTS.get(theirs.get("type", 0), ""), theirs.get("session_ref")
        record = {**theirs, "event": event, "agent_id": theirs.get("subagent_id") or None}
        if isinstance(reference, str) and os.path.isabs(reference):
            self._check_reference(reference)
            record["transcript_path"] = reference
        if event.startswith("subagent"):
            words = {"subagent_type": "subagent_type", "description": "task_description"}
            tool = {key: theirs.get(name) for key, name in words.items()}
            record["tool"] = {"kind": "task", "id": theirs.get("tool_use_id"), **tool}
        return record

    def _check_reference(self, path: str) -> None:
        """Raises InputError for a transcript that does not lie where the agent keeps them."""
        folder = self._ask("get-session-dir", "--repo-path", self._top).get("session_dir")
        parts = path.split(os.sep)
        if not isinstance(folder, str) or {".", ".."} & set(parts) or not os.path.isabs(folder):
            raise InputError(f"'session_ref' is no transcript: {ascii(path)[:80]}")
        if os.path.commonpath([folder, path]) != os.path.normpath(folder):
            raise InputError(f"'session_ref' lies outside of {ascii(folder)[:80]}")

    def _write_transcript(self, record: Event, folder: str) -> None:
        """Write the session's conversation in our words into folder, when a turn is over, and name
        it in its record."""
        path = record.get("transcript_path")
        if not path or not (self._entires or self._can.get("transcript")):
            return
        record["transcript_path"] = target = os.path.join(folder, record["session_id"] + ".jsonl")
        if record["event"] in _SPOKEN and os.path.exists(path):
            append(
                target, self._transcribe(path) if self._entires else self._run("transcript", path)
            )

    def _transcribe(self, path: str) -> bytes:
        """The transcript at path in our words, as far as the original's methods tell it."""
        raw = self._run("read-transcript", "--session-ref", path)
        at = ("--path", path, "--offset", "0")
        lines: list[dict[str, Any]] = []
        for item in items.list_items(raw):
            if item["kind"] in ("prompt", "answer"):
                lines.append(
                    {"kind": item["kind"], "text": item["text"], "timestamp": item["time"]}
                )
        if self._can.get("transcript_analyzer"):
            if not lines:
                asked = self._ask("extract-prompts", "--session-ref", path, *at[2:])
                lines = [{"kind": "prompt", "text": text} for text in asked.get("prompts") or ()]
            written = self._ask("extract-modified-files", *at).get("files") or ()
            for number, file in enumerate(written):
                tool = {"id": f"file-{number}", "kind": "write", "input_paths": [file]}
                lines.append({"kind": "call", "tool": tool})
        if self._can.get("token_calculator"):
            spent = self._ask("calculate-tokens", *at[2:], stdin=raw)
            lines.append({**spent, "kind": "usage", "id": "all"})
        entries = ({"type": "transcript", **line} for line in lines)
        return b"".join(json.dumps(e, separators=(",", ":")).encode() + b"\n" for e in entries)

    def install(self, scope: str, command: str) -> None:
        """Have the adapter write the agent's hooks, which run `command <hook>`: for this clone
        (scope local), all its users (shared) or the person (user).  Raises Error."""
        if self._entires:
            self._ask("install-hooks")
            self._rename_hooks(self._theirs, f"{command} ")
        else:
            self._run("install", scope, command)

    def uninstall(self, command: str) -> None:
        """Have the adapter take the agent's hooks, which run command, out again.  Raises Error."""
        if self._entires:
            self._rename_hooks(f"{command} ", self._theirs)
        self._run("uninstall-hooks" if self._entires else "uninstall")

    def _rename_hooks(self, old: str, new: str) -> None:
        """Have the hooks that the original's adapter wrote call new in place of old."""
        for folder in self._folders:
            for here, _, names in os.walk(os.path.join(self._top, folder)):
                for path in (os.path.join(here, name) for name in names):
                    plain = os.path.isfile(path) and not os.path.islink(path)
                    data = files.read_bytes(path) if plain else None
                    if data and os.fsencode(old) in data:
                        files.replace_file(path, data.replace(os.fsencode(old), os.fsencode(new)))

    def format_resume_command(self, session_id: str) -> str:
        """What the person types to go on with a session."""
        if self._entires:
            return str(self._ask("format-resume-command", "--session-id", session_id)["command"])
        return super().format_resume_command(session_id)

    def _ask(self, *args: str, stdin: bytes = b"") -> dict[str, Any]:
        """The one object that a method answers with; {} for null."""
        try:
            answer = json.loads(self._run(*args, stdin=stdin))
        except ValueError:
            answer = ""
        if answer is not None and not isinstance(answer, dict):
            raise Error(f"'{self.program} {args[0]}' answered with no object of JSON")
        return answer or {}

    def _run(self, *args: str, stdin: bytes = b"") -> bytes:
        limit = min(_LONGEST, deadline.count_seconds_left() or _LONGEST)
        more = {"ENTIRE_REPO_ROOT": self._top, "ENTIRE_PROTOCOL_VERSION": "1"}
        words = f"'{self.program} {args[0]}'"
        try:
            done = stdlib.subprocess.run(
                [self.program, *args],
                input=stdin,
                capture_output=True,
                timeout=limit,
                cwd=self._top,
                env={**os.environ, **(more if self._entires else {})},
            )
        except stdlib.subprocess.TimeoutExpired:
            raise Error(f"{words} did not end in {limit:.0f} seconds") from None
        except OSError as e:
            raise Error(f"{words} cannot be run: {e.strerror}") from None
        if done.returncode:
            why = done.stderr.decode(errors="replace").strip() or f"status {done.returncode}"
            raise Error(f"{words}: {why[:500]}")
        return done.stdout


def append(path: str, lines: bytes) -> None:
    """Add to a transcript in our words what it does not have yet of lines, which are all of it;
    sums of tokens stand behind what they are of."""
    new_lines = [line for line in lines.split(b"\n") if line.strip()]
    try:
        with open(path, "rb") as f:
            old_lines = f.read().split(b"\n")[:-1]
    except FileNotFoundError:
        old_lines = []
    talk, have = ([one for one in each if not _is_usage(one)] for each in (new_lines, old_lines))
    same = next((n for n, (a, b) in enumerate(zip(talk, have, strict=False)) if a != b), len(have))
    new = talk[same:] + [line for line in new_lines if _is_usage(line) and line not in old_lines]
    if new:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "wb") as f:
            f.write(b"".join(line + b"\n" for line in new))


def _is_usage(line: bytes) -> bool:
    return b'"usage"' in line and '"usage"' in json.dumps((_load(line) or {}).get("kind"))


def _read_lines(data: bytes) -> Iterator[dict[str, Any]]:
    for line in filter(bytes.strip, data.split(b"\n")):
        record = _load(line)
        if record is None:
            raise InputError(f"no record of JSON: {ascii(line.decode(errors='replace'))[:80]}")
        yield record


def _load(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def may_run(repo: Repo) -> bool:
    """Whether the person allows adapters on PATH, by configuration that git does not track."""
    if not repo.config.get_option(_KEY):
        return False
    _, file, _ = configuration.find_origin(repo, _KEY, repo.config.get(_KEY))
    return not (file and exclude.list_tracked(repo, [file]))


def find(repo: Repo, name: str) -> External:
    """The adapter of a name.  Raises InputError where there is none, Error where it may not be run
    or cannot say who it is."""
    program = list_programs(os.environ.get("PATH", "")).get(name)
    if program is None:
        raise InputError(f"unknown agent '{name}'; known are {', '.join(list_names())}")
    if not may_run(repo):
        raise Error(f"'{program}' is not run: 'git config {_KEY} true' allows it")
    return External(name, program, repo.worktree)


def plan_adapter(
    repo: Repo, name: str, scope: str, baked: tuple[str, str], force: bool
) -> list[Write]:
    """What is to be noted so that carry_out() has an adapter write the hooks of its agent; [] where
    that was done.  Raises as find()."""
    client = find(repo, name)
    words = ["gitcp-hook"] if scope == "shared" else [baked[0], "-I", "-S", baked[1]]
    data = os.fsencode(f"{client.program}\n{scope}\n{shlex.join([*words, name])}\n")
    path = repo.join_shared("adapters", name)
    if files.read_bytes(path) == data and not force:
        return []
    note = f"wrote the hooks of {name} by '{client.program}'"
    return [{"path": path, "kind": KIND, "data": data, "note": note, "agent": name}]


def carry_out(repo: Repo, write: Write) -> None:
    """Have an adapter write the hooks of its agent.  Raises Error."""
    _, scope, command = os.fsdecode(write["data"]).splitlines()
    find(repo, write["agent"]).install(scope, command)


def take_out(repo: Repo, name: str) -> None:
    """Have an adapter take the hooks of its agent out again.  Raises Error."""
    data = files.read_bytes(repo.join_shared("adapters", name)) or b"\n\n\n"
    find(repo, name).uninstall(os.fsdecode(data).splitlines()[2])


def find_all(repo: Repo) -> Iterator[External | str]:
    """The adapters whose agents are here; in place of one that fails, why."""
    programs = list_programs(os.environ.get("PATH", ""))
    for name in sorted(set(programs) - set(list_names())) if programs and may_run(repo) else ():
        try:
            client = find(repo, name)
            if client.is_here():
                yield client
        except Error as e:
            yield str(e)
