"""Conversations as Claude Code keeps them, of any size, and the commits that came of them.

Each entry is one of a recording, with other words in it: prompts, large reads, what commands
printed, edits that tell what they found.  Generated once.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bench import history
from bench.repos import CACHE, git
from bench.session import TOP

RECORDING = TOP / "tests/data/recordings/claude-code/basic/transcript.jsonl"
FILES, LINES = 60, 300  # of the repository; of a file
TURNS, COMMIT = 12, 3  # of a conversation; a commit after so many
WORDS = "return value import parse result window signal buffer commit object".split()

Entry = dict[str, Any]


def write_kept(megabytes: int) -> tuple[Path, Path]:
    """(a repository, the home that has so many MB of its conversations)."""
    top = CACHE / f"conversations-{megabytes}"
    repo, home = top / "repo", top / "home"
    if not (repo / "made").exists():
        shutil.rmtree(top, ignore_errors=True)
        repo.mkdir(parents=True)
        git(repo, "init", "-q", "-b", "main", "--template=", ".")
        git(repo, "config", "user.email", "a@example.com")
        history.import_stream(repo, _Author(repo, home).stream(megabytes * 1_000_000))
    return repo, home


class _Author:
    """Who writes both: the files of the repository as they are, and the clock."""

    def __init__(self, repo: Path, home: Path) -> None:
        self._chance = random.Random(1)
        self._repo, self._folder = repo, home / ".claude/projects" / slug(repo)
        self._folder.mkdir(parents=True)
        self._files = {
            f"dir{n // 15}/file{n:02}.py": [self._line() for _ in range(LINES)]
            for n in range(FILES)
        }
        self._recorded = _Recorded()
        self._commits = self._calls = 0
        self._at = float(history.START)

    def stream(self, size: int) -> Iterator[bytes]:
        """What makes the commits; the conversations are written meanwhile."""
        yield self._commit(self._files)
        made = 0
        while made < size:
            session = f"{self._calls:08x}-1111-4222-8333-444444444444"
            file = self._folder / f"{session}.jsonl"
            touched: set[str] = set()
            with file.open("w") as told:
                for turn in range(1, TURNS + 1):
                    for entry in self._turn(turn, touched):
                        self._at += 1.5
                        told.write(self._dated(entry, session))
                    if turn % COMMIT == 0:
                        yield self._commit(touched)
                        touched.clear()
            made += file.stat().st_size

    def _dated(self, entry: Entry, session: str) -> str:
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(self._at))
        dated = {**entry, "sessionId": session, "uuid": f"{self._calls}-{self._at}"}
        return json.dumps({**dated, "timestamp": f"{when}.500Z", "cwd": str(self._repo)}) + "\n"

    def _turn(self, number: int, touched: set[str]) -> Iterator[Entry]:
        """A prompt, and twice: a file is read and edited, a command is run."""
        yield from self._recorded.prompt(f"Do part {number}, and say what came of it.")
        for path in self._chance.sample(sorted(self._files), 2):
            touched.add(path)
            yield from self._read(path)
            yield from self._edit(path)
            yield from self._shell()

    def _use(self, tool: str, arguments: Entry, words: str, result: Entry) -> Iterator[Entry]:
        self._calls += 1
        return self._recorded.call(tool, f"toolu_{self._calls}", arguments, words, result)

    def _read(self, path: str) -> Iterator[Entry]:
        lines = self._files[path]
        file = {"filePath": str(self._repo / path), "content": _text(lines), "numLines": len(lines)}
        words = "\n".join(f"{n}\t{line}" for n, line in enumerate(lines, 1))
        result = {"type": "text", "file": {**file, "startLine": 1, "totalLines": len(lines)}}
        return self._use("Read", {"file_path": file["filePath"]}, words, result)

    def _edit(self, path: str) -> Iterator[Entry]:
        lines = self._files[path]
        at = self._chance.randrange(LINES - 10)
        old, new = lines[at : at + 4], [self._line() for _ in range(self._chance.randint(3, 6))]
        given: Entry = {"file_path": str(self._repo / path), "old_string": "\n".join(old)}
        given |= {"new_string": "\n".join(new), "replace_all": False}
        marked = [f"-{line}" for line in old] + [f"+{line}" for line in new]
        hunk = {"oldStart": at + 1, "oldLines": 4, "newStart": at + 1, "newLines": len(new)}
        result: Entry = {"filePath": given["file_path"], "originalFile": _text(lines)}
        result["structuredPatch"] = [{**hunk, "lines": marked}]
        words = f"The file {given['file_path']} has been updated successfully."
        self._files[path] = [*lines[:at], *new, *lines[at + 4 :]]
        return self._use("Edit", given, words, {**result, "userModified": False})

    def _shell(self) -> Iterator[Entry]:
        printed = _text([self._line() for _ in range(self._chance.choice((5, 20, 400)))])
        result = {"stdout": printed, "stderr": "", "interrupted": False}
        return self._use("Bash", {"command": "make test"}, printed, result)

    def _line(self) -> str:
        chance = self._chance
        if chance.random() < 0.15:
            return chance.choice(("", "    pass", "    }", "    return None"))
        names = chance.choice(WORDS), chance.choice(WORDS), chance.choice(WORDS)
        return "    {}_{} = {}({})".format(names[0], chance.randrange(10**6), *names[1:])

    def _commit(self, paths: Iterable[str]) -> bytes:
        self._commits += 1
        words = f"Commit {self._commits}".encode()
        who = f"committer A U Thor <a@example.com> {int(self._at) + 1} +0000"
        head = f"commit refs/heads/main\n{who}\ndata {len(words)}\n".encode() + words
        files = (history.file(path, _text(self._files[path]).encode()) for path in sorted(paths))
        return head + b"".join(files)


class _Recorded:
    """The entries of the recording, to be said again with other words."""

    def __init__(self) -> None:
        self._around: list[Entry] = []  # a prompt
        self._between: list[Entry] = []  # a request to the model
        self._pairs: dict[str, tuple[Entry, Entry]] = {}
        asked: dict[str, Entry] = {}
        for entry in map(json.loads, RECORDING.read_text().splitlines()):
            for block in _blocks(entry):
                if block["type"] == "tool_use":
                    asked[block["id"]] = entry
                elif block["type"] == "tool_result":
                    call = asked[block["tool_use_id"]]
                    self._pairs[_blocks(call)[0]["name"]] = call, entry
            if not self._pairs and entry["type"] in ("user", "attachment", "last-prompt"):
                self._around.append(entry)
            elif len(self._pairs) == 1 and entry["type"] in ("api-request", "tools-used"):
                self._between.append(entry)

    def prompt(self, words: str) -> Iterator[Entry]:
        """The entries around a prompt."""
        for entry in self._around:
            asks = entry["type"] == "user"
            yield {**entry, "message": {"role": "user", "content": words}} if asks else entry

    def call(
        self, tool: str, name: str, arguments: Entry, words: str, result: Entry
    ) -> Iterator[Entry]:
        """The entries of a call, and of what it gave."""
        call, answer = self._pairs[tool]
        use, block = _blocks(call)[0], _blocks(answer)[0]
        asks = {**call["message"], "id": f"msg_{name}"}
        asks["content"] = [{**use, "id": name, "input": arguments}]
        content = [{**block, "tool_use_id": name, "content": words}]
        yield {**call, "message": asks}
        yield {**answer, "message": {"role": "user", "content": content}, "toolUseResult": result}
        yield from self._between


def _blocks(entry: Entry) -> list[Entry]:
    content = entry.get("message", {}).get("content")
    return content if isinstance(content, list) else []


def slug(path: Path) -> str:
    """The name of the folder that Claude Code has for a directory."""
    return re.sub("[^a-zA-Z0-9]", "-", str(path))


def _text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
