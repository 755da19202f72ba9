"""A repository with a store as the original program left it: small, and each time the same.

It has what a store of somebody else's has: subagents that are stored as sessions, ids of sessions
that begin alike, commits of two zones, prompts with `---` in them, a transcript whose blob is not
here, and a checkpoint that is not here.  gitcp was never enabled in it.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

AGENT, OTHER_AGENT = "OpenCode", "Codex"
TITLE = "Hardening pass: CI, sanitizing, request cap"
REVIEW_NAME = "You are a code reviewer. Your job is to review code changes."
REVIEW = f"{REVIEW_NAME}\n\n---\n\nInput: \n\n---\n\n## Output"
PROMPTS = ("Add a worker that answers requests", "Cap requests by their size\n\n---\n\nAnd say so")
TASKS, LATER_TASKS = 20, 3  # of the first session, in its two commits
# Each session of a client has the same first eight characters.
HARDENING = "ses_3357475cfffeopEj3XQHD5LXqo"
UNTITLED = "ses_3357bb6f4ffeJ2960akRy1tOR3"
LOST = "ses_3357ebe11bffePlPIwBobiYzDoC"
FIRST_CODEX = "01a1fb66-7607-7593-846e-02bbc2965e70"
SECOND_CODEX = "01a1fb66-92f3-7621-936d-be1a412e5136"
_FOLDER = "/home/ada/shop"
_PERSON = "Ada Person <ada@example.com>"
WEST, EAST = "-0400", "+0900"


@dataclass
class Session:
    """What a checkpoint has of a session.  is_here: whether the blob of its transcript is."""

    session_id: str
    agent: str
    prompts: list[str]
    transcript: bytes
    is_here: bool = True


@dataclass
class Frozen:
    """commits: subject -> oid, of those on main; sessions: the ids of conversations; tasks: the ids
    of their tasks."""

    path: Path
    commits: dict[str, str] = field(default_factory=dict)
    sessions: list[str] = field(default_factory=list)
    tasks: list[str] = field(default_factory=list)


def build(path: Path, conversations: int = 0) -> Frozen:
    """Make the repository; conversations: that many more, each with a commit and a few tasks."""
    made = Frozen(path)
    _git(path.parent, "init", "-q", "-b", "main", "--template=", str(path))
    for name, value in {
        "user.name": "Ada Person",
        "user.email": "ada@example.com",
        "maintenance.auto": "false",
        "fastimport.unpackLimit": "1000000",  # objects are files, some of which are taken away
    }.items():
        _git(path, "config", name, value)
    stream = _Stream()
    _write_history(stream, made)
    for number in range(conversations):
        _write_conversation(stream, made, number)
    subprocess.run(
        ["git", "fast-import", "--quiet"], cwd=path, input=bytes(stream.data), check=True
    )
    for oid in map(_hash_blob, stream.absent):
        (path / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
    _git(path, "reset", "-q", "--hard")
    for line in _git(path, "log", "--format=%H %s", "main").splitlines():
        oid, _, subject = line.partition(" ")
        made.commits.setdefault(subject, oid)
    return made


def _write_history(stream: _Stream, made: Frozen) -> None:
    cap = "LIMIT = 5\n\n\ndef check(size):\n    if size > LIMIT:\n        raise ValueError(size)\n"
    worker = "def answer(request):\n    return request.upper()\n\n\ndef stop():\n    return None\n"
    made.sessions += [HARDENING, UNTITLED, LOST, FIRST_CODEX, SECOND_CODEX]
    tasks = [f"ses_3357{number:04x}fffeTask" for number in range(TASKS + LATER_TASKS)]
    made.tasks += tasks
    readers = [
        Session(
            name, AGENT, [REVIEW], _talk(name, "Review (@build subagent)", [REVIEW], {}, HARDENING)
        )
        for name in tasks
    ]
    first, second = PROMPTS
    begun = _talk(HARDENING, TITLE, [first], {"worker.py": worker})
    went_on = _talk(HARDENING, TITLE, [first, second], {"worker.py": worker, "cap.py": cap})
    table = "ROWS = [1, 2]\n\n\ndef read(n):\n    return ROWS[n]\n"
    no_words = _talk(LOST, "", ["Write what is lost"], {"lost.py": "LOST = True\n"})

    stream.commit("Begin", f"1772355600 {EAST}", {"README.md": "# shop\n\nA shop.\n"})
    stream.link(
        "aa0000000001",
        [Session(HARDENING, AGENT, [first], begun), *readers[:TASKS]],
        1772442000,
        "worker.py",
    )
    stream.commit("Add a worker", f"1772442000 {WEST}", {"worker.py": worker}, "aa0000000001")
    stream.link(
        "aa0000000002",
        [*readers[TASKS:], Session(HARDENING, AGENT, [first, second], went_on)],
        1773623426,
        "cap.py",
    )
    # In the zone of its author this is the day before.
    stream.commit("Cap requests", f"1773623426 {WEST}", {"cap.py": cap}, "aa0000000002")
    more = {"README.md": "# shop\n\nA shop.\n\nIt has a worker.\n"}
    stream.commit("Say what it has", f"1773627026 {EAST}", more)
    stream.link(
        "aa0000000003",
        [
            _make_codex(FIRST_CODEX, ["Add a table\n\n---\n\nof rows", "Go on"], "table.py", table),
            _make_codex(SECOND_CODEX, ["Read the table"], "", ""),
        ],
        1773630626,
        "table.py",
    )
    stream.commit("Add a table", f"1773630626 {EAST}", {"table.py": table}, "aa0000000003")
    stream.link(
        "aa0000000004",
        [Session(LOST, AGENT, ["Write what is lost"], no_words, is_here=False)],
        1773634226,
        "lost.py",
    )
    stream.commit(
        "Lose its words", f"1773634226 {EAST}", {"lost.py": "LOST = True\n"}, "aa0000000004"
    )
    untitled = _talk(UNTITLED, "New session - 2026", [REVIEW], {"plain.py": "PLAIN = 1\n"})
    stream.link(
        "aa0000000005", [Session(UNTITLED, AGENT, [REVIEW], untitled)], 1773637826, "plain.py"
    )
    stream.commit("Add plain", f"1773637826 {WEST}", {"plain.py": "PLAIN = 1\n"}, "aa0000000005")
    stream.commit("Elsewhere", f"1773641426 {WEST}", {"away.py": "AWAY = 1\n"}, "bb0000000001")


def _write_conversation(stream: _Stream, made: Frozen, number: int) -> None:
    """One more conversation with four tasks, of which a commit has a file."""
    name = f"ses_3357{number:05d}ffePlP"
    path, content = f"more/file{number}.py", f"def call_{number}():\n    return {number}\n"
    tasks = [f"{name}{task}Task" for task in range(4)]
    made.sessions.append(name)
    made.tasks += tasks
    prompt = f"Write file {number}, which is called by others and calls nobody itself"
    readers = [Session(t, AGENT, [REVIEW], _talk(t, "Review", [REVIEW], {}, name)) for t in tasks]
    told = _talk(name, f"File {number} of many", [prompt], {path: content})
    time, checkpoint_id = 1773641426 + 600 * (number + 1), f"cc{number:010d}"
    stream.link(checkpoint_id, [Session(name, AGENT, [prompt], told), *readers], time, path)
    stream.commit(f"Add file {number}", f"{time} {WEST}", {path: content}, checkpoint_id)


def _talk(
    name: str, title: str, prompts: list[str], files: dict[str, str], parent: str = ""
) -> bytes:
    """A transcript of OpenCode: the last of its files were written after the last prompt."""
    info: dict[str, Any] = {"id": name, "directory": _FOLDER, "title": title, "version": "1.2.26"}
    if parent:
        info["parentID"] = parent
    time = 1772441000000
    messages: list[dict[str, Any]] = []

    def add(role: str, parts: list[dict[str, Any]]) -> None:
        key = f"msg_{len(messages):04}"
        about: dict[str, Any] = {
            "role": role,
            "id": key,
            "sessionID": name,
            "modelID": "gpt-5.3-codex",
        }
        at = time + len(messages)
        about |= {"time": {"created": at, "completed": at + 1}}
        messages.append({"info": about, "parts": parts})

    written = list(files.items())
    for number, prompt in enumerate(prompts):
        add("user", [{"type": "text", "text": prompt}])
        for path, content in written[number : number + 1]:
            given = {"patchText": _format_patch(path, content)}
            state = {"status": "completed", "input": given, "output": "Success."}
            call = {"type": "tool", "callID": f"call_{path}", "tool": "apply_patch", "state": state}
            add("assistant", [{"type": "text", "text": f"I write {path}."}, call])
        add("assistant", [{"type": "text", "text": "Done."}])
    return json.dumps({"info": info, "messages": messages}, indent=2).encode()


def _make_codex(name: str, prompts: list[str], path: str, content: str) -> Session:
    """A session of Codex, which writes a file after its first prompt."""
    rows: list[dict[str, Any]] = [{"type": "session_meta", "payload": {"id": name, "cwd": _FOLDER}}]

    def say(role: str, kind: str, text: str) -> None:
        body = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
        rows.append({"type": "response_item", "payload": body})

    for number, prompt in enumerate(prompts):
        say("user", "input_text", prompt)
        if path and not number:
            patch = _format_patch(path, content)
            call = {"type": "custom_tool_call", "name": "apply_patch", "call_id": "c1"}
            call |= {"input": patch}
            rows.append({"type": "response_item", "payload": call})
            output = {"type": "custom_tool_call_output", "call_id": "c1", "output": "Success."}
            rows.append({"type": "response_item", "payload": output})
        say("assistant", "output_text", "Done.")
    stamps = [{"timestamp": f"2026-03-16T02:00:{n:02d}.000Z", **row} for n, row in enumerate(rows)]
    data = b"".join(json.dumps(row).encode() + b"\n" for row in stamps)
    return Session(name, OTHER_AGENT, prompts, data)


def _format_patch(path: str, content: str) -> str:
    lines = "".join(f"+{line}\n" for line in content.splitlines())
    return f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n"


class _Stream:
    """A stream for git fast-import.  absent: the blobs to take away again."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.absent: list[bytes] = []
        self._files: dict[str, bytes] = {}

    def commit(
        self, subject: str, date: str, files: dict[str, str], checkpoint_id: str = ""
    ) -> None:
        """Add a commit to main."""
        trailer = f"\nEntire-Checkpoint: {checkpoint_id}\n" if checkpoint_id else ""
        contents = {path: text.encode() for path, text in files.items()}
        self._add("main", f"{subject}\n{trailer}", date, contents)

    def link(self, checkpoint_id: str, sessions: list[Session], time: int, *paths: str) -> None:
        """Store a checkpoint of a commit that changes paths."""
        top = f"{checkpoint_id[:2]}/{checkpoint_id[2:]}"
        contents: dict[str, bytes] = {}
        listed = []
        for number, session in enumerate(sessions):
            at = f"{top}/{number}"
            names = {"metadata": "metadata.json", "transcript": "full.jsonl"}
            names |= {"content_hash": "content_hash.txt", "prompt": "prompt.txt"}
            listed.append({key: f"/{at}/{name}" for key, name in names.items()})
            about = _describe(checkpoint_id, session, time, paths)
            contents[f"{at}/metadata.json"] = json.dumps(about, indent=2).encode()
            contents[f"{at}/full.jsonl"] = session.transcript
            digest = hashlib.sha256(session.transcript).hexdigest()
            contents[f"{at}/content_hash.txt"] = f"sha256:{digest}".encode()
            contents[f"{at}/prompt.txt"] = "\n\n---\n\n".join(session.prompts).encode()
            if not session.is_here:
                self.absent.append(session.transcript)
        root = {
            "cli_version": "0.4.9",
            "checkpoint_id": checkpoint_id,
            "strategy": "manual-commit",
            "branch": "main",
            "checkpoints_count": 1,
            "files_touched": list(paths),
            "sessions": listed,
        }
        contents[f"{top}/metadata.json"] = json.dumps(root, indent=2).encode()
        subject = f"Checkpoint: {checkpoint_id}\n"
        self._add("entire/checkpoints/v1", subject, f"{time} +0000", contents)

    def _add(self, branch: str, message: str, date: str, files: dict[str, bytes]) -> None:
        ident = f"{_PERSON} {date}"
        self.data += f"commit refs/heads/{branch}\nauthor {ident}\ncommitter {ident}\n".encode()
        self._add_data(message.encode())
        for path, content in files.items():
            self.data += f"M 100644 inline {path}\n".encode()
            self._add_data(content)

    def _add_data(self, data: bytes) -> None:
        self.data += b"data %d\n%b\n" % (len(data), data)


def _describe(
    checkpoint_id: str, session: Session, time: int, paths: tuple[str, ...]
) -> dict[str, Any]:
    return {
        "cli_version": "0.4.9",
        "checkpoint_id": checkpoint_id,
        "session_id": session.session_id,
        "strategy": "manual-commit",
        "created_at": datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "branch": "main",
        "checkpoints_count": 1,
        "files_touched": list(paths),
        "agent": session.agent,
        "turn_id": f"{time % 10**12:012d}",
        "token_usage": {"input_tokens": 100, "output_tokens": 7, "api_call_count": 1},
        # The program gave each session all lines of the commit.
        "initial_attribution": {
            "agent_lines": 6,
            "human_added": 0,
            "human_modified": 0,
            "human_removed": 0,
            "total_committed": 6,
            "agent_percentage": 100,
        },
    }


def _hash_blob(data: bytes) -> str:
    done = subprocess.run(
        ["git", "hash-object", "--stdin"], input=data, capture_output=True, check=True
    )
    return done.stdout.decode().strip()


def _git(cwd: Path, *args: str) -> str:
    done = subprocess.run(["git", *args], cwd=cwd, capture_output=True, text=True, check=True)
    return done.stdout
