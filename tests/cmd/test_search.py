"""search: turns by what was said, done and committed, from an index that follows the store."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitcp.agents.reading.items import list_items
from gitcp.cmd.ask import search as command
from gitcp.extras.search import index, rules
from gitcp.extras.search import search as search_search
from gitcp.git.repo import Repo
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import abbreviate
from tests.support.frozen import HARDENING, UNTITLED, Frozen
from tests.support.harness import Agent, World
from tests.support.scenes import Scenes
from tests.support.warm import run


def search(world: World, *argv: str) -> list[dict[str, Any]]:
    done = run("search", "--json", *argv, cwd=world.path)
    assert done.returncode == (0 if done.stdout else 1), done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def prompts(world: World, *argv: str) -> list[str]:
    return [hit["prompt"] for hit in search(world, *argv)]


def tell_past(world: World) -> World:
    """Two sessions: one committed twice, one with a checkpoint only."""
    a, b = world.agent("session-a"), world.agent("session-b")
    a.turn("Parse the header of a request", {"src/parse.py": "def parse_header(): ...\n"})
    world.commit("src/parse.py")
    a.turn("Write a lexer", {"lexer.py": "tokens\n"})
    world.git("add", "lexer.py")
    world.git("commit", "-q", "-m", "Introduce the zebra stage")
    b.turn("Name the tokens as the grammar does", {"names.txt": "x\n"})
    return world


@pytest.fixture
def past(scenes: Scenes, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    yield from scenes.play(tell_past, monkeypatch)


def test_a_turn_is_found_by_its_prompt_with_commit_checkpoint_session_and_number(
    past: World,
) -> None:
    (hit,) = search(past, "header")
    first = past.git("rev-parse", "HEAD~1")
    assert (hit["type"], hit["session_id"], hit["number"]) == ("hit", "session-a", 1)
    assert [(c["oid"], c["live"]) for c in hit["commits"]] == [(first, True)]
    assert hit["checkpoint_ids"] == past.ids(first)
    assert "header" in hit["snippet"]
    assert any(path.endswith("src/parse.py") for path in hit["files"])


def test_the_snippet_of_a_turn_of_very_many_words_is_where_the_words_are(world: World) -> None:
    agent = world.agent("s1")
    agent.turn("one more row " * 10_000 + "then the unusual headings " + "other " * 9, {"a": "1\n"})
    for words, seen in (("heading", "headings"), ("unusual row", "unusual"), ("then", "then")):
        (hit,) = search(world, *words.split())
        assert seen in hit["snippet"] and len(hit["snippet"]) < 300, words


def test_words_are_found_in_any_form_and_all_of_them_must_be_there(past: World) -> None:
    assert prompts(past, "parsing", "requests") == ["Parse the header of a request"]
    assert prompts(past, "parsing", "lexer") == []
    assert prompts(past, "tokens", "-grammar") == []
    assert prompts(past, '"the grammar"') == ["Name the tokens as the grammar does"]
    assert prompts(past, '"grammar the"') == []


def test_a_turn_is_found_by_the_message_of_its_commit_and_by_a_file(past: World) -> None:
    assert prompts(past, "zebra") == ["Write a lexer"]
    assert prompts(past, "lexer.py") == ["Write a lexer"]


def test_a_turn_is_found_by_a_file_that_a_shell_wrote(world: World) -> None:
    a = world.agent("session-a")
    a.prompt("Make it by a shell")
    world.write("src/shell.txt", "x\n")
    a.answer([{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "./make"}}])
    a.stop()
    world.commit("src/shell.txt")
    assert prompts(world, "--", "src/shell.txt") == ["Make it by a shell"]


def test_streams_are_searched_before_anything_is_committed(past: World) -> None:
    (hit,) = search(past, "grammar")
    assert (hit["commits"], hit["checkpoint_ids"]) == ([], [])


def test_an_open_turn_is_found_by_what_its_client_has_written(past: World) -> None:
    b = past.agent("session-b")
    b.prompt("Look into the quokka")
    assert prompts(past, "quokka") == ["Look into the quokka"]


def test_a_part_of_an_identifier_is_found_exactly(past: World) -> None:
    assert prompts(past, "--exact", "se_hea") == []  # it stands in the file, not in what was said
    assert prompts(past, "--exact", "eade") == ["Parse the header of a request"]
    assert prompts(past, "--exact", "src/par") == ["Parse the header of a request"]
    assert prompts(past, "--exact", "he") != []


def test_no_part_of_a_word_is_too_long_too_short_or_too_common_to_be_found_exactly(
    past: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "x" * 150 + "okapi"
    past.agent("session-b").turn(f"go on with {long}", {"n.txt": "x\n"})
    assert prompts(past, "--exact", "xokap") == prompts(past, "--exact", "go") != []
    monkeypatch.setattr(search_search, "_MOST_WORDS", 0)
    assert prompts(past, "--exact", "xokap") != []


def test_filters_choose_by_agent_session_branch_path_and_date(past: World) -> None:
    assert len(search(past, "agent:claude-code")) == len(search(past, "--agent", "claude")) == 3
    assert search(past, "agent:codex") == []
    assert prompts(past, "session:session-b") == ["Name the tokens as the grammar does"]
    assert prompts(past, "path:src/") == prompts(past, "--", "src") != []
    assert prompts(past, "--branch", "main", "lexer") == ["Write a lexer"]
    assert search(past, "grammar", "--since", "yesterday") != []
    assert search(past, "grammar", "--until", "yesterday") == []


def test_nothing_found_is_status_1_and_nothing_asked_is_misuse(past: World) -> None:
    done = run("search", "xylophone", cwd=past.path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "no prompt has all of these" in done.stderr
    assert run("search", cwd=past.path).returncode == 129


def test_a_person_reads_session_prompt_commit_and_what_to_type_next(past: World) -> None:
    name, head = shorten_id("session-a"), abbreviate(past.head)
    assert run("search", "zebra", cwd=past.path).stdout.splitlines() == [
        f"{name}  just now   Claude Code   > Write a lexer",
        f"  {head}  Introduce the zebra stage",
        f"1 session, 1 commit. 'gitcp show {name}' opens it",
    ]
    assert "not committed\n" in run("search", "grammar", cwd=past.path).stdout


def test_a_session_has_its_commits_once_and_at_most_two_of_its_prompts(past: World) -> None:
    a = past.agent("session-a")
    for n in range(4):
        a.turn(f"Feed wildebeest number {n}\nand no other", {f"{n}.txt": "x\n"})
    past.commit(*(f"{n}.txt" for n in range(4)))
    past.agent("session-b").turn("Count each wildebeest", {"b.txt": "y\n"})
    lines = run("search", "wildebeest", cwd=past.path).stdout.splitlines()
    text = "\n".join(lines)
    assert text.count(abbreviate(past.head)) == 1 and text.count("> Feed wildebeest number") == 2
    assert "  and 2 more prompts of this session" in lines
    (first, second) = (line[:8] for line in lines if re.match("[0-9a-f]{8} ", line))
    assert {first, second} == {shorten_id("session-a"), shorten_id("session-b")}
    assert lines[-1] == f"2 sessions, 1 commit. 'gitcp show {first}' opens the first"
    (last,) = run("search", "-n", "1", "wildebeest", cwd=past.path).stdout.splitlines()[-1:]
    assert "4 more prompts (-n). " in last
    found = {word: search(past, word)[0]["found_in"] for word in ("header", "lexer.py", "zebra")}
    assert found == {"header": "prompt", "lexer.py": "calls", "zebra": ""}


def test_tasks_are_found_in_the_row_of_the_session_that_gave_them(frozen_store: Frozen) -> None:
    done = run("search", "reviewer", "-n", "20", cwd=frozen_store.path)
    rows = [line for line in done.stdout.splitlines() if re.match("[0-9a-f]{8} ", line)]
    assert [row[:8] for row in rows].count(shorten_id(HARDENING)) == 1
    assert {row[:8] for row in rows} <= {shorten_id(HARDENING), shorten_id(UNTITLED)}
    assert "  in a task, > You are a code " in done.stdout


def test_several_repositories_are_searched_at_once(past: World, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    one, other = tmp_path / "one", tmp_path / "other"
    for place in (one, other):
        shutil.copytree(past.path, place, ignore=shutil.ignore_patterns("search.sqlite*"))
    asked = ("search", "header", "--repos", str(tmp_path))
    done = run(*asked, cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert {str(one), str(other)} <= {*lines}
    assert lines[-1].startswith("2 sessions, 1 commit. ")
    records = [json.loads(line) for line in run(*asked, "--json", cwd=tmp_path).stdout.splitlines()]
    assert {record["repository"] for record in records} == {str(one), str(other)}
    for place, status in ((tmp_path / "empty", 128), (tmp_path / "none", 128)):
        done = run("search", "header", "--repos", str(place), cwd=tmp_path)
        assert (done.returncode, done.stdout) == (status, "") and str(place) in done.stderr


def test_a_prompt_that_matches_is_shown_once(past: World) -> None:
    assert run("search", "grammar", cwd=past.path).stdout.count("Name the tokens") == 1
    past.agent("session-z").turn(f"Sort the shelves\nby {'colour and ' * 30} size")
    assert run("search", "shelves", cwd=past.path).stdout.count("Sort the") == 1


def test_a_commit_is_shown_with_its_own_checkpoint(world: World) -> None:
    a = world.agent("session-a")
    a.turn("Write two", {"one.txt": "one\n", "two.txt": "two\n"})
    for path in ("one.txt", "two.txt"):
        world.commit(path)
    (hit,) = search(world, "two")
    assert len(hit["checkpoint_ids"]) == 2
    assert [[c["checkpoint_id"]] for c in hit["commits"]] == [
        world.ids(c["oid"]) for c in hit["commits"]
    ]
    row = json.loads(run("search", "--compact", "two", cwd=world.path).stdout)
    assert world.ids(row["commit"]) == [row["checkpoint"]]
    assert f"\n  {row['commit']}  " in run("search", "two", cwd=world.path).stdout


def test_a_compact_line_is_json_of_at_most_200_bytes(past: World) -> None:
    a = past.agent("session-a")
    a.turn("ü" * 500 + " quagga", {f"{'long' * 20}/{n}.txt": "x\n" for n in range(5)})
    done = run("search", "--compact", "quagga", cwd=past.path)
    (line,) = done.stdout.splitlines()
    assert len(line.encode()) <= 200
    assert set(json.loads(line)) == {"turn", "files", "text"}


def test_what_is_new_is_added_and_what_is_gone_is_gone(past: World) -> None:
    assert search(past, "header")
    a = past.agent("session-a")
    a.turn("Add the okapi", {"okapi.txt": "x\n"})
    past.commit("okapi.txt")
    assert prompts(past, "okapi") == ["Add the okapi"]
    past.git("update-ref", "-d", "refs/heads/entire/checkpoints/v1")
    assert search(past, "header") == []


def test_a_commit_on_no_branch_is_said_to_be(past: World) -> None:
    assert search(past, "zebra")
    past.git("reset", "-q", "--hard", "HEAD~1")
    (hit,) = search(past, "lexer")
    assert [commit["live"] for commit in hit["commits"]] == [False]
    assert "(on no branch)" in run("search", "lexer", cwd=past.path).stdout


def test_a_commit_that_comes_back_to_a_branch_is_said_to_be_on_it(past: World) -> None:
    def lives() -> list[bool]:
        (hit,) = search(past, "lexer")
        return [commit["live"] for commit in hit["commits"]]

    (hit,), head = search(past, "lexer"), past.head
    past.git("reset", "-q", "--hard", "HEAD~1")
    assert lives() == [False]
    past.git("branch", "again", head)
    assert lives() == [True]
    past.git("branch", "-D", "again")
    assert run("unlink", head, *hit["checkpoint_ids"], cwd=past.path).returncode == 0
    past.git("branch", "again", head)
    assert lives() == []


def test_commits_that_git_has_pruned_are_on_no_branch(past: World) -> None:
    assert search(past, "zebra")
    head = past.head
    past.git("reset", "-q", "--hard", "HEAD~1")
    for ref in past.git("for-each-ref", "--format=%(refname)", f"--contains={head}").split():
        past.git("update-ref", "-d", ref)
    past.git("reflog", "expire", "--expire=now", "--all")
    past.git("prune", "--expire=now")
    assert not past.git("cat-file", "-t", head, ok=False)
    (hit,) = search(past, "lexer")
    assert [commit["live"] for commit in hit["commits"]] == [False]


def test_commits_that_a_shallow_clone_gets_later_are_found(past: World, tmp_path: Path) -> None:
    url, clone = past.path.as_uri(), tmp_path / "clone"
    past.git("clone", "-q", "--depth=1", "--no-single-branch", url, str(clone))
    past.git("fetch", "-q", "--depth=1", "origin", "entire/checkpoints/v1", cwd=clone)
    past.git("update-ref", "refs/heads/entire/checkpoints/v1", "FETCH_HEAD", cwd=clone)

    def list_found() -> list[str]:
        done = run("search", "--json", "header", cwd=clone)
        (hit,) = map(json.loads, done.stdout.splitlines())
        return [commit["oid"] for commit in hit["commits"]]

    assert list_found() == []
    past.git("fetch", "-q", "--unshallow", "origin", "HEAD", cwd=clone)
    assert list_found() == [past.git("rev-parse", "HEAD~1")]


@pytest.mark.parametrize("kind", ["worktree", "file", "blob"])
def test_an_author_has_the_name_that_the_mailmap_gives_today(past: World, kind: str) -> None:
    def list_authors() -> set[str]:
        return {commit["author"] for hit in search(past, "header") for commit in hit["commits"]}

    (before,), mail = list_authors(), past.git("log", "-1", "--format=%ae")
    mailmap = past.path / ("names" if kind == "file" else ".mailmap")
    for name in ("New Name", "Newer Name"):
        mailmap.write_text(f"{name} <{mail}>\n")
        if kind == "file":
            past.git("config", "mailmap.file", "names")
        if kind == "blob":
            past.git("config", "mailmap.blob", "HEAD:.mailmap")
            past.git("add", ".mailmap")
            past.git("commit", "-q", "-m", "Name people")
            mailmap.unlink()
        assert list_authors() == {name} != {before}


def test_a_mailmap_that_cannot_be_read_stops_no_search(past: World) -> None:
    (past.path / ".mailmap").mkdir()
    assert prompts(past, "header") == ["Parse the header of a request"]


@pytest.mark.parametrize("damage", ["noise", "empty", "other", "short"])
def test_a_damaged_index_is_made_again(past: World, damage: str) -> None:
    assert search(past, "header")
    index = past.path / ".git/gitcp/cache/search.sqlite"
    data = index.read_bytes()
    if damage == "other":
        index.unlink()
        with sqlite3.connect(index) as database:
            database.execute("pragma user_version=99")
    else:
        index.write_bytes({"noise": os.urandom(9000), "empty": b"", "short": data[:5000]}[damage])
    assert prompts(past, "header") == ["Parse the header of a request"]


def test_the_index_is_the_persons_alone(past: World) -> None:
    search(past, "header")
    mode = (past.path / ".git/gitcp/cache/search.sqlite").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600


def test_where_nothing_can_be_written_the_index_is_in_memory(
    past: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Root may write a folder that is read-only to others: here os.access() says what they see."""
    monkeypatch.chdir(past.path)
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    assert command.run(["--json", "header"]) == 0
    (hit,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert hit["prompt"] == "Parse the header of a request"
    assert not (past.path / ".git/gitcp/cache/search.sqlite").exists()
    assert not (past.path / ".git/gitcp/lock/search").exists()


def test_what_a_call_gave_back_is_found_on_request() -> None:
    call = {"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "ls"}}
    given = {"type": "tool_result", "tool_use_id": "c", "content": "aardvark.txt"}
    lines = [
        {"type": "user", "message": {"role": "user", "content": "List"}},
        {"type": "assistant", "message": {"role": "assistant", "content": [call]}},
        {"type": "user", "message": {"role": "user", "content": [given]}},
    ]
    data = "\n".join(map(json.dumps, lines)).encode()
    (turn,) = rules.cut_turns(list_items(data))
    assert (turn["prompt"], turn["calls"]) == ("List", "Bash ls")
    assert "aardvark" in turn["outputs"].split()


@pytest.mark.parametrize(
    ("text", "words", "without", "filters"),
    [
        ("a b", ["a", "b"], [], {}),
        ('"a b" c', ["a b", "c"], [], {}),
        ('-x -"y z" a', ["a"], ["x", "y z"], {}),
        ("agent:codex path:src/ a", ["a"], [], {"agent": ["codex"], "path": ["src/"]}),
        ("http://x.y", ["http://x.y"], [], {}),
        ("agent: -", ["agent:"], [], {}),
        ('"open', ["open"], [], {}),
    ],
)
def test_a_query_is_read(
    text: str, words: list[str], without: list[str], filters: dict[str, list[str]]
) -> None:
    assert rules.parse_query(text) == {
        "words": words,
        "without": without,
        "filters": filters,
    }


def test_two_searches_at_once_make_one_index(past: World, tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: prompts(past, "header"), range(4)))
    assert found == [["Parse the header of a request"]] * 4


def test_an_index_whose_damage_shows_only_when_it_is_asked_is_made_again(past: World) -> None:
    assert search(past, "header")
    with sqlite3.connect(past.path / ".git/gitcp/cache/search.sqlite") as index:
        index.execute("drop table texts_data")
    assert prompts(past, "header") == ["Parse the header of a request"]


def test_what_stands_in_the_way_of_the_index_is_said_with_what_to_do(past: World) -> None:
    (past.path / ".git/gitcp/cache/search.sqlite").mkdir()
    done = run("search", "header", cwd=past.path)
    assert done.returncode == 128
    assert "search.sqlite': Is a directory; remove it" in done.stderr


def test_a_link_that_is_taken_away_is_shown_no_more(past: World) -> None:
    (hit,) = search(past, "lexer")
    head = past.head
    assert [commit["oid"] for commit in hit["commits"]] == [head]
    assert run("unlink", head, *hit["checkpoint_ids"], cwd=past.path).returncode == 0
    (hit,) = search(past, "lexer")
    assert hit["commits"] == []


def test_the_commit_of_a_turn_whose_message_fits_is_first_otherwise_the_newest(
    world: World,
) -> None:
    world.agent("session-a").turn("Write two", {"one.txt": "one\n", "two.txt": "two\n"})
    for second, path in enumerate(("one.txt", "two.txt")):
        date = f"{1_700_000_000 + second} +0000"
        world.env |= {"GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date}
        world.git("add", path)
        world.git("commit", "-q", "-m", f"Put in {path}")

    def messages(*words: str) -> list[str]:
        (hit,) = search(world, *words)
        return [commit["message"] for commit in hit["commits"]]

    assert messages("write") == ["Put in two.txt", "Put in one.txt"]
    assert messages("put", '"one.txt"') == ["Put in one.txt", "Put in two.txt"]


def test_a_first_index_that_is_cut_short_goes_on_where_it_was(
    past: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "_BATCH", 1)
    repo, words = Repo.find(str(past.path)), rules.parse_query("header")

    def interrupt(*_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search_search.find_hits(repo, words, progress=interrupt)
    seen: list[tuple[int, int]] = []
    hits, _ = search_search.find_hits(repo, words, progress=lambda *where: seen.append(where))
    assert [hit["prompt"] for hit in hits] == ["Parse the header of a request"]
    assert seen == [(1, 2), (2, 2)]  # of two checkpoints and a stream one had been read


def test_a_checkpoint_that_is_taken_out_of_the_store_leaves_no_word_in_the_index(
    past: World,
) -> None:
    a = past.agent("session-a")
    a.turn("Feed the wildebeest", {"w.txt": "x\n"})
    (gone,) = past.commit("w.txt")
    assert search(past, "wildebeest")
    before = past.git("rev-parse", "entire/checkpoints/v1~1")
    past.git("update-ref", "refs/heads/entire/checkpoints/v1", before)
    a.transcript.write_text("")  # nor does the client have it any more
    assert search(past, "wildebeest") == [], gone
    assert b"wildebeest" not in (past.path / ".git/gitcp/cache/search.sqlite").read_bytes()


def test_a_session_without_a_transcript_is_found_by_what_it_was_asked(world: World) -> None:
    agent = world.agent("session-a", tools=True)
    agent.event("UserPromptSubmit", prompt="Paint the zebra", prompt_id="p1")
    agent.transcript.unlink(missing_ok=True)
    (world.path / "stripes.txt").write_text("black\n")
    agent.event("Stop")
    world.commit("stripes.txt")
    assert prompts(world, "zebra") == ["Paint the zebra"]


def test_a_turn_stands_under_the_commit_that_has_its_lines(world: World, a: Agent) -> None:
    a.turn("Write about the walrus", {"one.txt": "walrus\n"})
    a.turn("Write about the penguin", {"two.txt": "penguin\n"})
    (second,) = world.commit("two.txt")
    (first,) = world.commit("one.txt")
    for word, checkpoint, message in (
        ("walrus", first, "commit one.txt"),
        ("penguin", second, "commit two.txt"),
    ):
        (hit,) = map(json.loads, world.gitcp("search", "--json", word).splitlines())
        assert hit["checkpoint_ids"] == [checkpoint]
        assert [commit["message"] for commit in hit["commits"]] == [message]
        assert message in world.gitcp("search", word)
    found = map(json.loads, world.gitcp("search", "--json", "commit", "one.txt").splitlines())
    assert [hit["prompt"] for hit in found][:1] == ["Write about the walrus"]


def test_of_a_word_that_most_turns_have_the_turn_that_is_about_it_is_first(world: World) -> None:
    agent = world.agent("session-a")
    agent.turn("lexer lexer lexer", {"a.txt": "a\n"})
    for number in range(3):
        beside = " ".join(f"word{number}{n}" for n in range(60))
        agent.turn(f"{beside} lexer", {f"{number}.txt": "x\n"})
    found = prompts(world, "lexer")
    assert len(found) == 4 and found[0] == "lexer lexer lexer"
