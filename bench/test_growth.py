"""What grows: large files, sessions that were left behind, changes, transcripts, facts.

LONG=1 (`make bench-long`) adds the sizes that the budgets speak of.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bench import conversations, growth
from bench.growth import MB, NORMAL, Cost, cost, row
from bench.history import FILES, linked
from bench.session import ENTRY, SID, TOP, Session, quietly

LONG = bool(os.environ.get("LONG"))
HOOK = (sys.executable, "-I", "-S", str(ENTRY), "claude-code")

# Redaction of a transcript and nothing else, in pieces as a person would who wants it flat.
REDACT = """
import sys
from gitcp.checkpoints.redact import Redactor
redactor = Redactor()
with open(sys.argv[1], "rb") as f:
    while lines := f.readlines(1 << 20):
        redactor.redact_jsonl(b"".join(lines))
"""
# The conversations of a repository, counted; without arguments nothing is.
COUNT = """
import os, sys
from gitcp import record as context
from gitcp.extras.imports import linking as imports
with context.open_here() as here:
    for size in sys.argv[1:]:
        counted = imports.count_conversations(here.repo, os.path.expanduser("~"))
        assert sum(map(len, counted.values())) == int(size), counted
"""
# The conversations of a home and nothing else.
READ = """
import orjson, pathlib, sys
for path in pathlib.Path(sys.argv[1]).rglob("*.jsonl"):
    with path.open("rb") as lines:
        for line in lines:
            orjson.loads(line)
"""


def sizes(short: tuple[int, ...], long: tuple[int, ...]) -> tuple[int, ...]:
    return short + long if LONG else short


def call(session: Session, event: str, **payload: object) -> Cost:
    given = {
        "session_id": SID,
        "transcript_path": str(session.transcript),
        "cwd": str(session.repo),
        "hook_event_name": event,
        "prompt_id": f"prompt-{session.turn}",
        **payload,
    }
    return cost(*HOOK, event, cwd=session.repo, stdin=json.dumps(given).encode())


def shell(session: Session) -> dict[str, object]:
    """A shell call that begins now; what its end takes."""
    tool: dict[str, object] = {
        "tool_name": "Bash",
        "tool_use_id": f"toolu_{session.turn}",
        "tool_input": {"command": "make"},
    }
    session.hook("PreToolUse", **tool)
    return {**tool, "tool_response": {}}


@pytest.mark.parametrize("kind", ["binary", "text"])
def test_a_commit_of_a_large_file(template: Path, tmp_path: Path, kind: str) -> None:
    """The largest process is no larger than 64 MB, whatever the file."""
    for size in sizes((1, 10), (100, 200)):
        at = tmp_path / f"{size}"
        session = Session(template, at)
        session.prompt()
        end = shell(session)
        line = b"line of a text that a program wrote, the same again and again\n"
        unit = os.urandom(MB) if kind == "binary" else line * (MB // len(line))
        with (session.repo / "large").open("wb") as f:
            for _ in range(size):
                f.write(unit)
        close = call(session, "PostToolUse", **end)
        stop = call(session, "Stop", stop_hook_active=False)
        quietly("git", "add", "large", cwd=session.repo)
        commit = cost("git", "commit", "-q", "-m", "x", cwd=session.repo)
        rest = call(session, "UserPromptSubmit", prompt="go on", prompt_id="p2")
        peak = max(one.peak for one in (close, stop, commit, rest))
        seconds = sum(one.seconds for one in (close, stop, commit, rest))
        figures = growth.time(seconds), growth.size(peak)
        row(
            f"a turn and a commit of a {kind} file", f"{size} MB", figures, peak <= 64 * MB, "64 MB"
        )
        shutil.rmtree(at)


def test_a_turn_that_changes_many_files(template: Path, tmp_path: Path) -> None:
    """One pack, not an object a file; linear."""
    for size in sizes((500, 5_000), (50_000,)):
        at = tmp_path / f"{size}"
        session = Session(template, at)
        session.prompt()
        end = shell(session)
        for n in range(size):
            file = session.repo / f"made{n // 1000}" / f"{n}.py"
            file.parent.mkdir(exist_ok=True)
            file.write_text(f"line of file {n}\n")
        used = [call(session, "PostToolUse", **end), call(session, "Stop", stop_hook_active=False)]
        seconds = sum(one.seconds for one in used)
        plain, left = plain_add(session), loose(session)
        figures = growth.time(seconds), f"{seconds / plain:5.1f} x git add -A", f"{left} loose"
        inside = left < 100 and seconds <= 3 * plain
        row("a turn that writes files", f"{size}", figures, inside, "3 x, < 100 loose")
        shutil.rmtree(at)


def plain_add(session: Session) -> float:
    """Seconds of `git add -A` where git has none of the contents yet."""
    scratch = session.repo.parent / "scratch"
    scratch.mkdir()
    env = [f"GIT_OBJECT_DIRECTORY={scratch}", f"GIT_INDEX_FILE={scratch / 'index'}"]
    used = cost("env", *env, "git", "add", "-A", cwd=session.repo)
    shutil.rmtree(scratch)
    return max(used.seconds, 0.001)


def loose(session: Session) -> int:
    argv = ["git", "count-objects"]
    return int(subprocess.check_output(argv, cwd=session.repo, text=True).split()[0])


def test_what_sessions_leave_for_gc(template: Path, tmp_path: Path) -> None:
    """What is loose is what git itself writes for the person's commits: trees and a commit."""
    for size in sizes((5, 20), (100,)):
        session = Session(template, tmp_path / f"{size}")
        before = loose(session)
        for _ in range(size):
            session.prompt()
            session.file_tool(session.repo / "dir00" / "file001.py")
            session.talk()
            session.stop()
            session.commit()
        each = (loose(session) - before) / size
        packs = len(list((session.repo / ".git/objects/pack").glob("*.keep")))
        figures = f"{each:5.1f} loose each", f"{packs:3} packs"
        row("sessions and their commits", f"{size}", figures, each <= 6 and packs <= 17, "6 each")


def test_a_session_of_many_turns(template: Path, tmp_path: Path) -> None:
    """What a turn stores does not grow with the turns before it."""
    for size in sizes((20, 50), (200,)):
        session = Session(template, tmp_path / f"{size}", transcript_lines=1)
        for turn in range(size):
            words = " ".join(str(turn * 7919 + n) for n in range(250))
            session.turn += 1
            session.hook("UserPromptSubmit", prompt=f"Do part {turn}: {words}")
            session.talk(3)
            session.file_tool(session.repo / "dir00" / "file001.py")
            session.stop()
        packs = sum(path.stat().st_size for path in (session.repo / ".git/objects").rglob("*.pack"))
        said = session.transcript.stat().st_size
        figures = f"{packs / MB:6.2f} MB", f"for {said / MB:5.2f} MB said"
        row("turns of a session", f"{size}", figures, packs <= 5 * MB, "5 MB at 200")


def test_what_a_turn_takes_on_disk(template: Path, tmp_path: Path) -> None:
    """A turn in which 37.8 KB of unlike words are said and a file is edited."""
    chance = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(chance.choices(letters, k=chance.randint(2, 9))) for _ in range(2_000)]
    for size in sizes((20,), (100,)):
        session = Session(template, tmp_path / f"{size}", transcript_lines=1)
        took = list[int]()
        for turn in range(size + 1):
            session.prompt()
            session.tell(" ".join(chance.choices(words, k=5_770)))
            session.file_tool(session.repo / "dir00" / "file001.py")
            session.stop()
            if turn in (0, size):
                took.append(stored(session))
        quietly("git", "gc", "-q", cwd=session.repo)
        took.append(stored(session))
        before, after = ((there - took[0]) / size / 1_000 for there in took[1:])
        figures = f"{before:5.1f} KB", f"{after:5.1f} KB after gc"
        row(
            "what a turn takes on disk",
            f"{size}",
            figures,
            before <= 40 and after <= 20,
            "40, 20 KB",
        )


def stored(session: Session) -> int:
    """The bytes of all files in the git directory."""
    paths = (session.repo / ".git").rglob("*")
    return sum(path.stat().st_size for path in paths if path.is_file())


def left_behind(session: Session, count: int) -> None:
    """count sessions that nobody ended, each with a stream of its own on a base of its own."""
    session.prompt()
    end = shell(session)
    (session.repo / "new.py").write_text("written by an agent, once\n")
    session.hook("PostToolUse", **end)
    session.stop()
    git = session.repo / ".git"
    state = git / "entire-sessions" / f"{SID}.json"
    files = [state, git / "gitcp" / "open" / SID, git / "gitcp" / "turn" / SID]
    texts = {path: path.read_text() for path in files}
    known = json.loads(texts[state])
    stream, base = known["streams"][0], known["base_commit"]
    tip = subprocess.check_output(["git", "cat-file", "commit", stream["ref"]], cwd=session.repo)
    message = tip.decode().partition("\n\n")[2]
    commits = []
    for n in range(count):
        new = {SID: f"{n:08x}{SID[8:]}", base: f"{n:07x}{base[7:]}", stream["id"]: f"{n:012x}"}
        new[base[:7]] = f"{n:07x}"
        for path, content in texts.items():
            path.with_name(path.name.replace(SID, new[SID])).write_text(replaced(content, new))
        body = replaced(message, new)
        commits += [f"commit {replaced(stream['ref'], new)}", f"committer x <x@x> {n} +0000"]
        commits += [f"data {len(body.encode())}", body, "M 100644 inline new.py", "data 1", "x"]
    quietly("git", "fast-import", "--quiet", cwd=session.repo, stdin="\n".join([*commits, ""]))
    for path in files:
        path.unlink()


def replaced(content: str, new: dict[str, str]) -> str:
    for old, other in new.items():
        content = content.replace(old, other)
    return content


def test_sessions_that_were_left_behind(template: Path, tmp_path: Path) -> None:
    """At most a second where P is 7.5 ms, and no more than linear."""
    for size in sizes((100, 1_000), (5_000,)):
        session = Session(template, tmp_path / f"{size}")
        left_behind(session, size)
        for command in ("status", "clean"):
            used = growth.gitcp(command, cwd=session.repo)
            figures = growth.time(used.seconds), growth.size(used.peak)
            inside = used.seconds <= growth.start() / NORMAL
            row(f"{command}, sessions left behind", f"{size}", figures, inside, "1 s of a normal P")


def test_the_first_stop_of_a_long_transcript(template: Path, tmp_path: Path) -> None:
    """At least 0.6 times as fast as redaction alone, memory flat; the next costs what is new."""
    for size in sizes((1, 10), (50, 200)):
        session = Session(template, tmp_path / f"{size}", transcript_lines=size * 1_000)
        alone = cost(sys.executable, "-c", REDACT, str(session.transcript), cwd=TOP).seconds
        session.prompt()
        (session.repo / "new.py").write_text("x\n")
        first = call(session, "Stop", stop_hook_active=False)
        session.prompt()
        (session.repo / "new.py").write_text("y\n")
        later = call(session, "Stop", stop_hook_active=False)
        speed = alone / first.seconds
        figures = (
            growth.time(first.seconds),
            f"{speed:4.2f} x redaction",
            f"then {later.seconds:5.2f} s",
            growth.size(first.peak),
        )
        inside = speed >= 0.6 and first.peak <= 64 * MB and later.seconds <= 0.2
        budget = "0.6 x, 64 MB, then O(new)"
        row("the first stop of a transcript", f"{size} MB", figures, inside, budget)


@pytest.mark.parametrize("size", sizes((1_000, 10_000), (30_000,)))
def test_exporting_facts(size: int, tmp_path: Path) -> None:
    """Of a long history, a fifth of it linked: memory stays flat."""
    pytest.importorskip("pyarrow")
    used = growth.gitcp("export-facts", "-o", str(tmp_path), cwd=linked(size, FILES, 5))
    figures = growth.time(used.seconds), growth.size(used.peak)
    most = size / 10_000 * 60 * growth.start() / NORMAL
    inside = used.seconds <= most and used.peak <= 128 * MB
    row(
        "export-facts, commits", f"{size}", figures, inside, "60 s of a normal P for 10,000, 128 MB"
    )


@pytest.mark.parametrize("size", sizes((50,), (200,)))
def test_importing_conversations(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside what reading them as JSON costs; memory stays flat."""
    kept, home = conversations.write_kept(size)
    repo = shutil.copytree(kept, tmp_path / "repo")
    monkeypatch.setenv("HOME", str(home))
    read = growth.cost(sys.executable, "-c", READ, str(home), cwd=repo)
    used = growth.gitcp("import", "--yes", "--path", str(kept), cwd=repo)
    times = f"{used.seconds / read.seconds:5.1f} x orjson"
    figures = growth.time(used.seconds), growth.size(used.peak), times
    most = size / 200 * 60 * growth.start() / NORMAL
    inside = used.seconds <= most and used.peak <= 96 * MB
    row("import, conversations", f"{size} MB", figures, inside, "60 s of a normal P for 200, 96 MB")


def test_counting_conversations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `gitcp enable` does at a terminal: by the names of files."""
    kept, home = conversations.write_kept(10)
    repo, size = shutil.copytree(kept, tmp_path / "repo"), 1_000
    one, *_ = home.rglob("*.jsonl")
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".claude/projects" / conversations.slug(repo)
    folder.mkdir(parents=True)
    head = one.read_text()[:100_000].replace(str(kept), str(repo))
    for n in range(size):
        (folder / f"{n:08x}-1111-4222-8333-444444444444.jsonl").write_text(head)
    argv = (sys.executable, "-c", COUNT)
    seconds = cost(*argv, str(size), cwd=repo).seconds - cost(*argv, cwd=repo).seconds
    row("conversations, counted", f"{size}", [growth.time(seconds)], seconds <= 0.05, "50 ms")
