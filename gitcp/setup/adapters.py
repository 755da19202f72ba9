"""Adapters that are programs on PATH: gitcp-agent-<name>, and entire-agent-<name> of the original
program; the settings of a team in .gitcp.toml, and gitcp's configuration in a repository.

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
from gitcp.errors import Error, GitError, InputError, UnknownAgent, hide_passwords
from gitcp.git import config_table, files, jj, places
from gitcp.git.config_table import AUTO
from gitcp.git.objects import Objects, object_lists
from gitcp.setup import configured_hooks, git_hooks, guard_files, hook_texts
from gitcp.setup.care.findings import Finding
from gitcp.text import console

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.git.config_table import Key
    from gitcp.git.repo import Repo
    from gitcp.setup.hook_texts import Write
    from gitcp.text.record_types import Event, Record

    Origin = tuple[str, str, int]  # scope, file, line; 0 for an unknown line

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
    _, file, _ = find_origin(repo, _KEY, repo.config.get(_KEY))
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


# Read .gitcp.toml, the settings of a team, from a revision.
FILE = ".gitcp.toml"


def read_table(repo: Repo, revision: str, name: str) -> tuple[Any, str]:
    """(the value of a key, {} if there is none; the file's name for messages).  Raises Error for
    an unknown revision and for a file that is not TOML."""
    import tomllib

    label = f"'{FILE}' of '{revision}'"
    tree = repo.git.run("rev-parse", "-q", "--verify", f"{revision}^{{tree}}", ok=(0, 1, 128))[1]
    if not tree:
        raise Error(f"no such revision: '{revision}'")
    with Objects(repo):
        file = repo.objects.read(f"{tree.decode().strip()}:{FILE}")
    try:
        return tomllib.loads(file[2].decode() if file else "").get(name, {}), label
    except ValueError as e:
        raise Error(f"{label} is not TOML: {e}") from None


# gitcp's configuration in a repository: its values, where they are set, and what is wrong.
_STRATEGY = "commit with jj, or 'git config gitcp.strategy manual-commit'"


def list_findings(repo: Repo) -> list[Finding]:
    """A finding for each wrong value or name.  git is asked for origins only if there are any."""
    findings = []
    for key, value, why in hook_texts.list_complaints(repo.config.read_values()):
        reason = f"'{key} = {value}' in {format_origin(find_origin(repo, key, value))}: {why}"
        remedy = f"set another value, or 'git config --unset {key}'"
        findings.append(Finding("config", key, reason, remedy=remedy))
    if repo.jj and guard_files.get_configured(repo) == AUTO:
        reason = "gitcp.strategy = auto-commit does not hold in jj: turns end with a checkpoint"
        findings.append(Finding("config", "gitcp.strategy", reason, remedy=_STRATEGY))
    return findings


def list_setting_notices(repo: Repo) -> list[str]:
    """The line about wrong settings that a session gets at its start; [] if none is wrong."""
    findings = list_findings(repo)
    if len(findings) > 1:
        more = f"{len(findings) - 1} more: 'gitcp config --check' shows them"
        return [f"gitcp: {findings[0].reason} ({more})"]
    return [f"gitcp: {finding.reason}" for finding in findings]


def find_origin(repo: Repo, key: str, value: str) -> Origin:
    """The last place where a key is set to a value."""
    args = ("config", "-z", "--show-scope", "--show-origin", "--get-all", key)
    words = repo.git.run(*args, ok=(0, 1))[1].decode("utf-8", "surrogateescape").split("\0")
    last: Origin = ("", "", 0)
    for scope, source, text in zip(words[::3], words[1::3], words[2::3], strict=False):
        if text == value or not last[0]:
            file = ""
            if source.startswith("file:"):
                file = source.removeprefix("file:")
            last = scope, os.path.join(repo.top or repo.common, file) if file else "", 0
    if last[1]:
        return (last[0], last[1], _find_line(last[1], key, value))
    return last


def format_origin(where: Origin) -> str:
    """An origin as text: its file and line, or its scope."""
    scope, file, line = where
    if not file:
        if scope in ("", "command"):
            return f"the {scope or 'command'} line"
        return scope
    return f"{file}:{line}" if line else file


def _find_line(file: str, key: str, value: str) -> int:
    try:
        with open(file, encoding="utf-8", errors="surrogateescape") as f:
            return hook_texts.find_line(f.read(), key, value)
    except OSError:
        return 0


def list_settings(repo: Repo, keys: Sequence[str] = ()) -> list[Record]:
    """A record of type setting for each key of the table, each value of a pipeline, and each
    unknown key that is set; keys: only for these.

    value: the value in force; text: what is set, '' for nothing, both without the passwords of
    URLs; origin: where it is set;
    complaint: what is wrong with it.
    """
    values = repo.config.read_values()
    wrong = {(key, text): why for key, text, why in hook_texts.list_complaints(values)}
    pipes = {key for key in values if key.startswith("gitcp.") and key.endswith(".pipeline")}
    besides = sorted(pipes | {key for key, _ in wrong})
    records: list[Record] = []
    for key in keys or dict.fromkeys([*config_table.KEYS, *besides]):
        row = hook_texts.find_key(key)
        texts = values.get(key, [])
        if row and not row.get("many"):
            texts = texts[-1:]
        for text in texts or [""]:
            records.append(_make_setting(repo, key, row, text, wrong.get((key, text), "")))
    return records


def set_setting(repo: Repo, key: str, text: str) -> None:
    """Set a key of the table in the repository's configuration; a key that may have several values
    gets one more.  Raises InputError for a value that it cannot have."""
    row = hook_texts.find_key(key)
    if row is None:
        raise InputError(f"no such key: '{key}'")
    complaint = hook_texts.find_complaint(row, text)
    if complaint:
        subject = "" if row["kind"] == "pipeline" else "it "
        raise InputError(f"'{key}' cannot be '{text}': {subject}{complaint}")
    add = ["--add"] if row.get("many") else []
    try:
        repo.git.run("config", "--local", *add, key, text)
    except GitError as e:
        raise e.shorten() from None


def _make_setting(repo: Repo, key: str, row: Key | None, text: str, complaint: str) -> Record:
    default = row["default"] if row else ""
    where = None
    if key in repo.config.read_values():
        where = find_origin(repo, key, text)
    is_url = len(text.split()) == 1
    text = places.clean_url(text) if is_url else hide_passwords(text)  # or several, in a pipeline
    return {
        "type": "setting",
        "key": key,
        "value": text if where and not complaint else default,
        "text": text,
        "origin": format_origin(where) if where else "",
        "scope": where[0] if where else "",
        "default": default,
        "kind": row["kind"] if row else "",
        "meaning": row["meaning"] if row else "",
        "complaint": complaint,
    }


# List the lines about the installation that a session gets at its start.
_SHARED = (
    "gitcp: you are recorded by hooks that others share in this repository's settings: "
    "'gitcp enable' links your commits too, 'gitcp disable' ends it."
)
_AWAY = (
    "gitcp: git no longer runs gitcp's hooks here ({}), so commits are linked late: "
    "'gitcp enable' mends it."
)
_UNREGISTERED = (
    "gitcp: jj works in this directory too and is not asked, since it is not registered: "
    "'gitcp enable' registers it."
)


def list_notices(repo: Repo) -> list[str]:
    """The lines; [] if git's hooks are as enable left them and every setting is valid."""
    lines = list_setting_notices(repo)
    top = repo.top
    if top and os.path.isdir(f"{top}/.jj") and not repo.jj and jj.begins_workspace(top):
        lines = [*lines, _UNREGISTERED]
    is_enabled_here = os.path.exists(repo.join_shared("installed", "manifest.json"))
    if not is_enabled_here and not configured_hooks.is_of_person(repo):
        return [_SHARED, *lines]
    if not repo.has_git:
        return lines
    missing = git_hooks.list_missing(repo, git_hooks.find_folder(repo))
    if missing:
        return [_AWAY.format(", ".join(missing)), *lines]
    return lines
