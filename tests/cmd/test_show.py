"""show: who did what and what was said, from a commit, an id, or the beginning of one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitcp.checkpoints import writing
from gitcp.cmd.ask import show
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.terminal import shown_others
from gitcp.terminal.shown import View
from gitcp.text.short_ids import shorten_id
from tests.support import frozen
from tests.support.checkpoints import DATA, git, session, unbundle
from tests.support.frozen import Frozen
from tests.support.harness import World
from tests.support.story import ALPHA, BETA, GAMMA, Story
from tests.support.warm import run

SAMPLE = [x.split("\t")[0] for x in (DATA / "v1-sample.tsv").read_text().splitlines()[1:]]


def shown(*argv: str, cwd: Path | None = None) -> str:
    done = run("show", *argv, cwd=cwd)
    assert (done.returncode, done.stderr) == (0, ""), argv
    return done.stdout


def show_record(*argv: str, cwd: Path | None = None) -> dict[str, Any]:
    (line,) = shown("--json", *argv, cwd=cwd).splitlines()
    return dict(json.loads(line))


def test_a_commit_shows_its_checkpoint_session_prompts_files_and_transcript(story: Story) -> None:
    text = shown(story.linked)
    assert text.splitlines() == [
        f"{story.linked[:8]}  1 Apr 05   A U Thor      commit hello.txt  +2 -0",
        "lines: 2 by Claude Code",
        "",
        f"session {shorten_id(ALPHA)}, Claude Code, prompt 2 of 2",
        "  > Please add hello",
        "    wrote   hello.txt  +2",
        "    wrote   1 other file",
        "  said: done",
        "  … 1 other prompt: --all",
        "",
        f"'gitcp show -p {story.linked[:8]}' adds the change, "
        f"'gitcp resume {story.linked[:8]}' goes on",
    ]
    told = shown("-v", story.linked)
    for wanted in (
        f"\ncheckpoint {story.checkpoint}, manual-commit, branch main, ",
        f"\n  id {ALPHA}\n",
        "\n  2 lines of this commit\n",
        "\n  this commit: ",
        "\n  whole session: ",
    ):
        assert wanted in told, wanted


@pytest.mark.parametrize("link", ["trailer", "note"])
def test_all_who_read_commits_name_an_author_as_git_log_does(world: World, link: str) -> None:
    world.git("config", "gitcp.link", link)
    world.write(".mailmap", "New Name <author@example.com>\n")
    world.agent("session-a").turn("add a greeting", {"hello.txt": "hello\n"})
    world.commit()
    for name, *words in (
        ("log", "-n", "1"),
        ("show",),
        ("explain", "HEAD"),
        ("blame", "HEAD", "--", ".mailmap"),
        ("search", "--json", "author:new", "greeting"),
    ):
        told = world.gitcp(name, *words)
        assert "New Name" in told and "A U Thor" not in told, name


def test_the_agents_lines_are_those_of_its_share(world: World) -> None:
    world.write("old.txt", "one\ntwo\nthree\n")
    world.commit("old.txt")
    world.agent("session-a").turn("tidy", {"old.txt": None, "new.txt": "new\n"})
    world.write("mine.txt", "mine\n")
    world.commit("old.txt", "new.txt", "mine.txt")
    text = world.gitcp("show", "-v", "HEAD")
    assert "\nlines: 1 by Claude Code, 1 by A U Thor\n" in text
    assert "  stored as: 4 of 5 lines by the agent (80 %), a person added 1\n" in text


def test_a_checkpoint_is_found_by_commit_and_by_the_beginning_of_its_id(story: Story) -> None:
    wanted = shown(story.linked)
    assert shown("HEAD~1") == wanted
    assert shown(story.checkpoint) == shown(story.checkpoint[:5]) == wanted
    assert shown("entire/checkpoints/v1") == wanted  # the commit names it


def test_from_a_checkpoint_to_the_commits_on_any_branch(story: Story) -> None:
    found = show_record(story.checkpoint)
    assert [c["oid"] for c in found["commits"]] == [story.linked]
    assert found["commits"][0]["message"] == "commit hello.txt"
    (part,) = found["contents"]
    assert part["hash"] == "match" and part["prompts"][-1] == "Please add hello"
    assert part["files"]["hello.txt"]["prompt"] == "Please add hello"
    assert "transcript" not in part
    assert "transcript" in show_record("--full", story.checkpoint)["contents"][0]


def test_the_raw_transcript_is_what_is_stored(story: Story) -> None:
    at = f"{story.checkpoint[:2]}/{story.checkpoint[2:]}/0/full.jsonl"
    stored = git("show", f"entire/checkpoints/v1:{at}")
    assert shown("--transcript", story.checkpoint) == stored + "\n"


def test_the_transcript_can_be_left_out_or_had_in_full(story: Story) -> None:
    short = shown("--no-transcript", story.linked)
    assert "  > Please add hello\n" in short and "said: " not in short
    assert "  > Try something\n" in shown("--full", story.linked)


def test_a_temporary_checkpoint_is_shown(story: Story) -> None:
    text = shown(story.world.branch())
    oid = git("rev-parse", story.world.branch())
    assert text.startswith(f"{oid[:8]}  ") and "  Claude Code   > Make it" in text
    where = f"session {shorten_id(ALPHA)}, on {story.plain[:8]}\n"
    assert f"\nsaved after a prompt of {where}" in text
    assert "\n  A a b.txt\n" in text and "\n  > Make it" in text
    assert f"\n  {oid} on stream " in shown("-v", oid)
    assert show_record(oid[:10])["oid"] == oid


def test_a_session_is_shown_with_all_its_checkpoints(story: Story) -> None:
    text = shown("8f76b0e8")
    assert text.startswith(f"session {shorten_id(ALPHA)}, Claude Code, waiting, begun 2")
    assert "\nnot committed\n  README.md\n  a b.txt\n" in text
    rows = [row.split() for row in text.partition("\nprompts\n")[2].splitlines()]
    assert [row[0] for row in rows if "committed" in row] == [story.linked[:8]]
    assert any("saved" in row for row in rows)
    assert f"\n  id {ALPHA}, manual-commit\n" in shown("-v", "8f76b0e8")
    assert show_record("2026-01")["session_id"] == GAMMA


def test_the_turns_of_a_session_are_folded_unless_all_is_asked_for(story: Story) -> None:
    folded, full = shown("8f76b0e8"), shown("--full", "8f76b0e8")
    rows = folded.partition("\nprompts\n")[2].splitlines()
    assert " file" in rows[0] and not [row for row in rows if row.startswith("    ")]
    assert [row for row in full.splitlines() if row.startswith("    A a b.txt")]


def test_the_turns_of_a_session_come_as_they_are_read(story: Story) -> None:

    def read_one() -> Iterator[dict[str, object]]:
        yield {"checkpoint_id": "", "oid": "1" * 40, "time": 0, "message": "the first"}
        raise AssertionError("a second was read")

    record = {**show_record("8f76b0e8"), "checkpoints": read_one()}
    lines = shown_others.draw_session(record, View(lambda seconds: "then"))
    assert next(line for line in lines if line[0][0] == f"  {'1' * 8}")


def test_an_ambiguous_name_lists_the_candidates(story: Story) -> None:
    done = run("show", "8f76")
    assert (done.returncode, done.stdout) == (128, "")
    assert done.stderr == f"fatal: ambiguous name '8f76': {ALPHA} {BETA}\n"


def test_a_commit_without_a_checkpoint_says_so(story: Story) -> None:
    done = run("show")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"{story.plain[:8]} was written by A U Thor: no session wrote in it",
        f"the newest with one: 'gitcp show {story.linked[:8]}'",
    ]
    assert run("show", "--json").stdout == ""
    patch = run("show", "-p").stdout
    assert "+the person's own" in patch and patch.startswith(done.stdout)


def test_all_commits_that_carry_an_id_are_listed_for_it(repo: Path) -> None:
    at, name = Repo.find_here(), "0123456789ab"
    with Objects(at):
        writing.write_sessions(at, [(name, session("s1"))])
    oids = []
    for branch in ("one", "two"):
        git("switch", "-q", "-c", branch)
        git("commit", "-q", "--allow-empty", "-m", f"{branch}\n\nEntire-Checkpoint: {name}")
        oids.append(git("rev-parse", "HEAD"))
    assert {c["oid"] for c in show_record(name)["commits"]} == {*oids}
    for oid in oids:  # of a commit, that alone
        assert [c["oid"] for c in show_record(oid)["commits"]] == [oid]


def test_a_checkpoint_that_is_not_here_is_named(repo: Path) -> None:
    git("commit", "-q", "--allow-empty", "-m", "x\n\nEntire-Checkpoint: 0123456789ab")
    done = run("show")
    assert done.returncode == 128
    assert "is not here: 'gitcp fetch' may bring it" in done.stderr


@pytest.mark.parametrize("name", ["nothing", "0123456789ab", "", "--", "a\nb", "HEAD:README.md"])
def test_a_name_of_nothing_is_an_error(story: Story, name: str) -> None:
    done = run("show", "--", name)
    assert done.returncode == 128 and done.stdout == "" and done.stderr.startswith("fatal: ")
    assert done.stderr.count("\n") == 1


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    at = tmp_path_factory.mktemp("sample") / "repo"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
        unbundle("v1-sample", at)
    return at


@pytest.mark.parametrize("checkpoint", SAMPLE)
def test_every_real_checkpoint_of_the_original_is_shown(sample: Path, checkpoint: str) -> None:
    text = shown(checkpoint, cwd=sample)
    assert text.startswith(f"stored as {checkpoint}, which no commit has\n")
    assert "\x1b" not in text
    found = show_record(checkpoint, cwd=sample)
    last = {part["session_id"]: part for part in found["contents"]}
    assert len(found["contents"]) == len(found["sessions"])
    assert text.count("\nsession ") == len(last)
    for part in last.values():
        name = shorten_id(part["session_id"])
        assert f"\nsession {name}, {part['agent'] or 'Agent'}" in text
    differs = [part for part in last.values() if part["hash"] == "differs"]
    assert text.count("the conversation is not ") == len(differs)


def test_two_real_checkpoints_that_begin_alike_are_ambiguous(sample: Path) -> None:
    done = run("show", "9", cwd=sample)
    assert done.returncode == 128
    assert done.stderr.split("'9': ")[1].split() == sorted(c for c in SAMPLE if c[0] == "9")


def test_a_session_that_only_the_store_knows_is_shown(sample: Path) -> None:
    text = shown("2026-01-21-d", cwd=sample)
    assert ", Gemini CLI, begun 2026-01-21\n" in text


@pytest.mark.parametrize("bundle", ["carry-forward", "finalize", "phases", "v1-four"])
def test_commits_of_the_original_program_are_looked_up(
    tmp_path: Path, repo: Path, bundle: str
) -> None:
    at = tmp_path / "old"
    unbundle(bundle, at)
    branches = "--exclude=entire/*", "--branches"
    for oid in git("rev-list", *branches, "--grep=^Entire-Checkpoint:", cwd=at).split():
        ids = git("log", "-1", "--format=%(trailers:key=Entire-Checkpoint,valueonly)", oid, cwd=at)
        text = shown(oid, cwd=at)
        assert ids and text.startswith(f"{oid[:8]}  ") and "\nsession " in text


@pytest.mark.parametrize("start", ["x", [], {}, None, 2.5])
def test_a_start_that_is_no_number_is_the_beginning(start: object) -> None:
    line = b'{"type": "user", "message": {"content": "hi"}}\n'
    entry = {"transcript": line, "checkpoint_transcript_start": start, "agent": ""}
    plain = show.build_plain({**entry, "checkpoint_transcript_start": 0}, False)
    assert show.build_plain(entry, False)["turns"] == plain["turns"] != []


@pytest.fixture
def two_files(world: World) -> World:
    """A session whose first turn is in HEAD~1 and whose second in HEAD, committed after both."""
    agent = world.agent(ALPHA, tools=True)
    agent.turn("write the first", {"a.txt": "one\n"})
    agent.turn("write the second", {"b.txt": "two\n"})
    world.commit("a.txt")
    world.commit("b.txt")
    return world


def test_a_commit_shows_the_conversation_of_its_own_turns(two_files: World) -> None:
    for commit, own, other in (("HEAD", "second", "first"), ("HEAD~1", "first", "second")):
        text = two_files.gitcp("show", commit)
        assert f"  > write the {own}\n" in text and f"write the {other}" not in text
        assert "\n  … 1 other prompt: --all\n" in text
        whole = two_files.gitcp("show", "--all", commit)
        assert f"  > write the {own}\n" in whole and f"  > write the {other}\n" in whole
    record = json.loads(two_files.gitcp("show", "--json"))
    (turn,) = record["contents"][0]["linked_turns"]
    assert (turn["number"], turn["prompt"]) == (2, "write the second")


def test_the_change_is_shown_as_git_shows_it(two_files: World) -> None:
    text = two_files.gitcp("show", "-p")
    assert text.endswith("\n" + two_files.git("show", "--format=", "HEAD") + "\n")
    agent = two_files.agent(ALPHA, tools=True)
    agent.turn("go on", {"a.txt": "one\nmore\n", "b.txt": "two\nmore\n"})
    points = [
        json.loads(line) for line in two_files.gitcp("rewind", "--list", "--json").splitlines()
    ]
    changed = {p["kind"]: two_files.gitcp("show", "-p", p["id"]) for p in reversed(points)}
    for kind in ("temporary", "prompt"):
        added = [line for line in changed[kind].splitlines() if line.startswith("+more")]
        assert len(added) == 2, kind
    assert "+++ b/b.txt" in changed["tool"] and "+++ b/a.txt" not in changed["tool"]
    refused = run("show", "-p", ALPHA, cwd=two_files.path)
    assert (
        refused.returncode == 128
        and f"'gitcp diff --session {shorten_id(ALPHA)}'" in refused.stderr
    )
    assert run("show", "-p", "--json", cwd=two_files.path).returncode == 129


def test_every_time_is_shown_in_one_form(two_files: World) -> None:
    assert not re.search(r"\d\d:\d\d:\d\d|\dT\d|Z\b", two_files.gitcp("show"))


def test_a_long_prompt_and_many_calls_are_cut_unless_all_is_asked_for(world: World) -> None:
    agent = world.agent("session-a", tools=True)
    agent.prompt("\n".join(f"line {n}" for n in range(40)))
    for number in range(6):
        agent.ran(f"echo {number}")
    agent.write("a.txt", "one\ntwo\n")
    agent.write("a.txt", "one\ntwo\nthree\n")
    agent.stop()
    world.commit()
    text = world.gitcp("show")
    assert "    line 9\n    … 30 more lines: --full\n" in text
    assert "    wrote   a.txt  +3\n    ran 6 commands\n" in text
    full = world.gitcp("show", "--full")
    assert "    line 39\n" in full and "    ran     echo 5\n" in full
    assert "    wrote   a.txt  +2 -0\n    wrote   a.txt  +1 -0\n" in full


def test_the_tasks_of_a_session_are_a_number_behind_a_commit(frozen_store: Frozen) -> None:
    text = shown(frozen_store.commits["Add a worker"], cwd=frozen_store.path)
    assert text.count("\nsession ") == 1 and len(text.splitlines()) < 12
    head = f"session {shorten_id(frozen.HARDENING)}, OpenCode, prompt 1 of 1, and 20 tasks\n"
    assert head in text and "  > Add a worker that answers requests\n" in text
    assert "\nlines: 6 by OpenCode\n" in text
    later = shown(frozen_store.commits["Cap requests"], cwd=frozen_store.path)
    assert ", prompt 2 of 2, and 3 tasks\n" in later
    assert "  > Cap requests by their size\n    ---\n    And say so\n" in later


def test_a_name_is_looked_for_in_all_repositories_below_folders(
    world: World, frozen_store: Frozen
) -> None:
    oid = frozen_store.commits["Add a worker"]
    missing = run("show", oid, cwd=world.path)
    assert missing.returncode == 128
    # gitcp is enabled in no repository there yet.
    (frozen_store.path / ".git" / "gitcp").mkdir(exist_ok=True)
    places = "--repos", str(frozen_store.path.parent), str(world.path)
    found = run("show", oid, *places, cwd=world.path)
    assert found.returncode == 0 and found.stdout == shown(oid, cwd=frozen_store.path)
    assert run("show", "f" * 40, *places, cwd=world.path).returncode == 128
