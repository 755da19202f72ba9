"""recap and sessions: what was done, and who is at work, in one repository and in many."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from gitcp.terminal import recap
from gitcp.text.short_ids import shorten_id
from tests.support.harness import World
from tests.support.warm import run


def records(name: str, at: Path, *argv: str) -> list[dict[str, Any]]:
    done = run(name, "--json", *argv, cwd=at)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def work(world: World) -> World:
    """Two commits of one session, one of the person, and open work of another session."""
    now = f"{int(time.time())} +0000"
    world.env |= {"GIT_AUTHOR_DATE": now, "GIT_COMMITTER_DATE": now}
    a, b = world.agent("session-a"), world.agent("session-b")
    a.turn("Write one", {"one.txt": "1\n2\n"})
    world.commit("one.txt")
    a.turn("Write two", {"two.txt": "1\n"})
    world.commit("two.txt")
    a.end()
    world.write("mine.txt", "mine\n")
    world.commit("mine.txt")
    b.turn("Write three", {"three.txt": "3\n"})
    return world


def test_a_recap_has_days_sessions_prompts_commits_files_lines_and_open_work(work: World) -> None:
    (recap,) = records("recap", work.path)
    (day,) = recap["days"]
    assert day["day"] == time.strftime("%Y-%m-%d", time.gmtime())
    (session,) = day["sessions"]
    assert (session["session_id"], session["branch"]) == ("session-a", "main")
    assert session["prompts"] == ["Write one", "Write two"]
    assert session["files"] == ["one.txt", "two.txt"]
    subjects = [commit["message"] for commit in session["commits"]]
    assert subjects == ["commit two.txt", "commit one.txt"]
    assert "commit mine.txt" in [commit["message"] for commit in day["commits"]]
    assert recap["added"]["agent"] == day["lines"]["agent"] == 3
    assert (recap["commits"], recap["sessions"]) == (len(day["commits"]) + 2, 1)
    assert recap["tokens"]["output_tokens"] > 0
    (open_,) = recap["open"]
    assert (open_["session_id"], open_["files_touched"]) == ("session-b", ["three.txt"])


def test_a_recap_ends_with_open_work_and_counts_the_commits_of_others(work: World) -> None:
    for name in ("theirs.txt", "more.txt"):
        work.write(name, "theirs\n")
        work.git("add", name)
        work.git("commit", "-q", f"--author=Bo <bo@{name}.example>", "-m", f"commit {name}")
    (recap,) = records("recap", work.path)
    assert {c["message"]: c["own"] for c in recap["days"][0]["commits"]} == {
        "commit more.txt": False,
        "commit theirs.txt": False,
        "commit mine.txt": True,
    }
    text = run("recap", cwd=work.path).stdout
    order = [text.index(words) for words in ("2 commits by Bo", "commit mine.txt", "not committed")]
    assert order == sorted(order) and "theirs.txt" not in text
    told = run("recap", "--markdown", cwd=work.path).stdout
    assert "2 commits by `Bo`" in told and "theirs.txt" not in told
    assert "commit theirs.txt" in run("recap", "--author=Bo", cwd=work.path).stdout


def test_a_recap_of_another_persons_sessions_is_a_count(
    work: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "someone@else.example")
    copy = work.path.parent / "copy"  # its reflog has nobody else
    work.git("clone", "-q", "--mirror", str(work.path), str(copy), cwd=work.path.parent)
    (recap,) = records("recap", copy)
    (session,) = recap["days"][0]["sessions"]
    assert [commit["own"] for commit in session["commits"]] == [False, False]
    text = run("recap", cwd=copy).stdout
    assert "3 commits by A U Thor" in text and "Write one" not in text


def test_a_recap_asks_for_no_lines_again(work: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is as fast as a log: what was counted once is kept, however long the history is."""
    assert run("recap", cwd=work.path).returncode == 0
    trace = work.path.parent / "trace"
    monkeypatch.setenv("GIT_TRACE2_EVENT", str(trace))
    assert run("recap", cwd=work.path).returncode == 0
    started = [json.loads(line).get("argv", []) for line in trace.read_text().splitlines()]
    names = {argv[1] if argv[1] != "-C" else argv[3] for argv in started if len(argv) > 1}
    assert names and not names & {"blame", "diff", "diff-tree"}
    compared = [argv for argv in started if {"-p", "--raw", "--cc"}.intersection(argv)]
    assert not [argv for argv in compared if "--no-patch" not in argv]


def test_a_recap_is_narrowed_by_date_and_author(work: World) -> None:
    done = run("recap", "--since=2037-01-01", cwd=work.path)
    assert (done.returncode, done.stderr) == (0, "")
    begins = "nothing since '2037-01-01'; the last session was today: 'gitcp recap --since "
    assert done.stdout.startswith(begins) and done.stdout.count("\n") == 1
    assert records("recap", work.path, "--author=nobody at all") == []
    (recap,) = records("recap", work.path, "--author=A U Thor")
    assert recap["commits"] >= 3 and recap["open"] == []


def test_a_recap_is_read_by_people_and_as_markdown(work: World) -> None:
    rows = run("recap", cwd=work.path).stdout.splitlines()
    oids = work.git("log", "--format=%H", "-3").split()
    second, first = oids[1][:8], oids[2][:8]
    assert rows[0].startswith("today        1 session, ") and ", 3 commits" not in rows[0][:9]
    assert [row.split() for row in rows[1:6]] == [
        [shorten_id("session-a"), "Claude", "Code", ">", "Write", "one"],
        ["committed", first, "commit", "one.txt"],
        ["Claude", "Code", ">", "Write", "two"],
        ["committed", second, "commit", "two.txt"],
        ["by", "you", "committed", oids[0][:8], "commit", "mine.txt"],
    ]
    assert rows[-1] == "not committed: 1 session, 1 file ('gitcp status')"
    lines = run("recap", "--markdown", cwd=work.path).stdout.splitlines()
    assert f"## `{work.path}`" in lines
    assert "  * > `Write one`" in lines


@pytest.mark.parametrize("text", ["a`b", "`", "``x", "[x](http://y)", "<b>", "a\nb"])
def test_no_prompt_becomes_markup(text: str) -> None:
    import re

    made = {"oid": "1" * 40, "author": text, "message": text, "own": True}
    session = {"session_id": "s", "agent": "", "branch": "", "prompts": [text], "commits": [made]}
    day = {"day": "d", "lines": {}, "sessions": [{**session, "files": []}]}
    day["commits"] = [{**made, "oid": "2" * 40, "own": False}]
    record: Any = {
        "repository": "r",
        "commits": 0,
        "sessions": 0,
        "tokens": {},
        "days": [day],
        "open": [],
    }
    (line,) = [line for line in recap.format_markdown([record]) if line.startswith("  * > ")]
    match = re.fullmatch(r"  \* > (`+)( ?)(.*)\2\1", line)
    assert match and match[1] not in match[3] and match[3] == " ".join(text.split())


def test_a_long_recap_is_a_screen_of_which_each_day_has_a_line() -> None:
    def commit(day: int, number: int) -> dict[str, Any]:
        oid = f"{day:02}{number:038}"
        return {"oid": oid, "author": "A", "message": "done " * 30, "own": True}

    days = [
        {
            "day": f"2026-01-{day:02}",
            "lines": {"agent": 5},
            "sessions": [],
            "commits": [commit(day, n) for n in range(20)],
        }
        for day in range(28, 0, -1)
    ]
    record = {"repository": "r", "days": days, "open": [], "commits": 0, "sessions": 0}
    calendar = recap.Calendar("2026-01-28", "2026-01-27", 2026)

    def draw(count: int, *, is_full: bool = False) -> list[str]:
        shown: Any = {**record, "days": days[:count]}
        lines = recap.draw_recap([shown], calendar, 80, is_full=is_full)
        return ["".join(text for text, _ in line) for line in lines]

    for count in (1, 2, 9, 28):
        rows = draw(count)
        assert 20 <= len(rows) <= 24 and max(map(len, rows)) <= 80
        heads = [row.split("  ")[0] for row in rows if "20 commits" in row]
        assert heads[:3] == ["today", "yesterday", "26 Jan"][:count]
    assert "and 6 earlier days: 'gitcp recap -v'" in draw(28)
    assert len(draw(28, is_full=True)) == 28 * 21


def test_a_session_on_two_branches_counts_once_a_day() -> None:
    oid = {"a": "a" * 40, "b": "b" * 40}
    session: dict[str, Any] = {"session_id": "s", "agent": "Codex", "prompts": ["go"]}
    rows = [
        {**session, "branch": name, "commits": [{"oid": oid[name], "author": "A", "own": True}]}
        for name in oid
    ]
    for row in rows:
        row["commits"][0]["message"] = "m"
    day = {"day": "2026-01-28", "lines": {"agent": 5}, "sessions": rows, "commits": []}
    record: Any = {"repository": "r", "days": [day], "open": [], "commits": 2, "sessions": 1}
    calendar = recap.Calendar("2026-01-28", "2026-01-27", 2026)
    head = next(iter(recap.draw_recap([record], calendar, 80, is_full=False)))
    assert "1 session, 2 commits" in "".join(text for text, _ in head)


def test_a_folder_without_repositories_gets_a_sentence(tmp_path: Path) -> None:
    done = run("recap", "--repos", str(tmp_path), cwd=tmp_path)
    says = f"gitcp is in no repository below '{tmp_path}': 'gitcp enable' in one begins\n"
    assert (done.returncode, done.stdout) == (0, says)
    assert run("recap", "--repos", str(tmp_path / "TYPO"), cwd=tmp_path).returncode == 128


def test_a_model_puts_a_recap_into_words(work: World) -> None:
    answer = work.path.parent / "answer.py"
    answer.write_text("import sys; print('It read', 'Write one' in sys.stdin.read())\n")
    work.git("config", "gitcp.summarize", f"python3 {answer}")
    assert run("recap", "--generate", cwd=work.path).stdout == "It read True\n"


def test_sessions_are_listed_with_how_they_stand_and_what_is_not_committed(work: World) -> None:
    work.agent("session-c").prompt("Look around")
    listed = records("sessions", work.path)
    assert {one["session_id"]: (one["state"], one["files_touched"]) for one in listed} == {
        "session-b": ("waiting", ["three.txt"]),
        "session-c": ("open", []),
    }
    every = records("sessions", work.path, "-a")
    assert {one["session_id"]: one["state"] for one in every}["session-a"] == "ended"
    text = run("sessions", cwd=work.path).stdout
    rows = text.splitlines()
    names = [shorten_id(name) for name in ("session-c", "session-b")]
    assert [row.split()[0] for row in rows[::2]] == names
    assert rows[0].endswith("> Look around") and rows[1].strip() == "working"
    assert rows[3].strip() == "waiting  three.txt"
    placed = run("sessions", str(work.path), cwd=work.path).stdout.splitlines()
    assert placed[0] == str(work.path) and placed[1:2] == rows[:1]


def test_repositories_below_a_directory_are_looked_for_and_others_are_passed_by(
    work: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "all"
    for name in ("a/one", "b/c/two", "plain", ".hidden/three", "node_modules/four"):
        (place / name).mkdir(parents=True)
        work.git("clone", "-q", str(work.path), str(place / name), cwd=tmp_path)
        if name != "plain":
            (place / name / ".git" / "gitcp").mkdir()
    work.git("worktree", "add", "-q", str(place / "tree"), "-b", "side", cwd=place / "a" / "one")
    found = [one["repository"] for one in records("recap", tmp_path, "--repos", str(place))]
    assert found == [str(place / "a" / "one"), str(place / "b" / "c" / "two")]
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "person.gitconfig"))  # no device
    work.git("config", "--global", "gitcp.workspace", str(place))
    assert [one["repository"] for one in records("recap", tmp_path)] == found
    assert run("sessions", str(place / "none"), cwd=tmp_path).returncode == 128
