"""gitcp-split: a commit for each session, or each prompt, of what the worktree or HEAD has."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from gitcp.errors import Error
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.steps import under_way
from gitcp.steps.commits import split
from gitcp.text.short_ids import shorten_id
from tests.steps.rewind.going import done, run
from tests.steps.stage.conftest import BASE
from tests.steps.stage.test_stage import both, change
from tests.support.harness import Agent, World
from tests.support.linking import noted
from tests.support.record_schema import list_faults


def hook(world: World, name: str, text: str) -> None:
    """A hook of the person's, which the installed one calls."""
    path = world.path / ".git" / "hooks" / f"{name}.before-gitcp"
    path = path if (path.parent / name).exists() else path.with_name(name)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def subjects(world: World, *args: str) -> list[str]:
    return world.git("log", "--reverse", "--format=%s", *args).splitlines()


def everything(world: World) -> tuple[str, ...]:
    """What a failure leaves as it was."""
    status = world.git("status", "--porcelain=v2", "--branch")
    index = world.git("ls-files", "--stage")
    return status, index, world.git("reflog"), world.git("for-each-ref", "refs/heads/main")


def added(world: World, commit: str) -> list[str]:
    lines = world.git("show", "--format=", "-U0", commit).splitlines()
    return [line[1:] for line in lines if line.startswith("+") and not line.startswith("+++")]


def test_each_session_gets_a_commit_and_the_rest_stays(world: World, a: Agent, b: Agent) -> None:
    both(world, a, b)
    before = world.read("f.txt")
    out = done(world, "split", "--no-edit")
    assert "2 commits; 'gitcp undo' takes them back" in out
    assert subjects(world, "HEAD~2..") == ["Two", "Three"]
    assert added(world, "HEAD~1") == ["line two, by the first, of the file"]
    assert added(world, "HEAD") == ["line three, by the other, of the file"]
    assert world.read("f.txt") == before
    left = world.git("diff", "-U0", "HEAD").splitlines()
    assert left[-1] == "+line four, by hand, of the file"
    assert world.git("diff", "--cached") == ""


def test_each_commit_has_a_checkpoint_of_its_session(world: World, a: Agent, b: Agent) -> None:
    both(world, a, b)
    done(world, "split", "--no-edit")
    for commit, agent in (("HEAD~1", a), ("HEAD", b)):
        (checkpoint,) = world.ids(commit)
        assert list(world.committed(checkpoint)) == [agent.sid]
        assert agent.sid in world.gitcp("why", "--json", "f.txt:2" if agent is a else "f.txt:3")
    assert a.state["streams"] == b.state["streams"] == []


def test_the_next_turn_of_a_session_goes_on(world: World, a: Agent, b: Agent) -> None:
    both(world, a, b)
    done(world, "split", "--no-edit")
    a.turn("more", {"g.txt": "a new file\n"})
    world.git("add", "g.txt")
    world.git("commit", "-q", "-m", "more")
    (checkpoint,) = world.ids("HEAD")
    assert list(world.committed(checkpoint)) == [a.sid]
    assert len({*world.ids("HEAD~1"), *world.ids("HEAD~2"), checkpoint}) == 3


@pytest.mark.thorough
def test_undo_takes_the_commits_back_and_redo_makes_them_again(
    world: World, a: Agent, b: Agent
) -> None:
    both(world, a, b)
    old, before = world.head, world.read("f.txt")
    done(world, "split", "--no-edit")
    new = world.head
    shown = done(world, "undo", "-n")
    assert shown.startswith(f"undo split: 2 commits of {old[:8]}  "), shown
    assert shown.splitlines()[-2:] == [
        f"afterwards HEAD is at {old[:8]}, 1 file changed in the index",
        "nothing was changed: without -n it is done",
    ]
    assert world.head == new
    said = done(world, "undo")
    assert f"(HEAD is at {old[:8]}, 1 file changed in the index)" in said
    assert (world.head, world.read("f.txt")) == (old, before)
    assert world.git("diff", "--cached") == ""
    done(world, "redo")
    assert (world.head, world.read("f.txt")) == (new, before)
    assert world.git("diff", "--cached") == ""
    done(world, "undo")
    done(world, "split", "--no-edit")
    assert subjects(world, "HEAD~2..") == ["Two", "Three"]


def test_undo_is_refused_once_head_has_moved(world: World, a: Agent, b: Agent) -> None:
    both(world, a, b)
    done(world, "split", "--no-edit")
    world.git("commit", "-q", "-a", "-m", "by hand")
    before = everything(world)
    ended = run(world, "undo")
    assert (ended.returncode, "HEAD has moved since" in ended.stderr) == (128, True)
    assert everything(world) == before


def test_undo_is_refused_once_the_commits_were_pushed(world: World, a: Agent, b: Agent) -> None:
    world.remote("origin")
    both(world, a, b)
    done(world, "split", "--no-edit")
    world.git("push", "-q", "origin", "main")
    before = everything(world)
    ended = run(world, "undo")
    assert (ended.returncode, "the commits were pushed" in ended.stderr) == (128, True)
    assert everything(world) == before


def test_by_prompt_each_prompt_gets_a_commit(world: World, a: Agent) -> None:
    a.turn("add the first thing", {"one.txt": "one\n", "f.txt": change(BASE, "line 2", "line II")})
    text = change(world.read("f.txt"), "line II", "line two")
    a.turn("and the second", {"two.txt": "two\n", "f.txt": change(text, "line 9", "line IX")})
    done(world, "split", "--no-edit", "--by", "prompt")
    assert subjects(world, "HEAD~2..") == ["Add the first thing", "And the second"]
    assert world.git("show", "--format=", "--name-only", "HEAD~1") == "one.txt"
    assert "line two of the file" in added(world, "HEAD")
    assert world.git("status", "--porcelain") == ""


def test_a_session_of_several_prompts_lists_them_in_its_draft(world: World, a: Agent) -> None:
    a.turn("add the first thing", {"one.txt": "one\n"})
    a.turn("please add another", {"two.txt": "two\n"})
    done(world, "split", "--no-edit")
    message = world.git("log", "-1", "--format=%B").splitlines()
    assert message[:3] == ["Add the first thing", "", "* Add another"]


def test_the_editor_gets_the_draft_and_its_text_counts(world: World, a: Agent, b: Agent) -> None:
    both(world, a, b)
    editor = world.path.parent / "editor"
    editor.write_text("#!/bin/sh\nsed -i '1s/^/edited: /' \"$1\"\n")
    editor.chmod(0o755)
    world.env["GIT_EDITOR"] = str(editor)
    done(world, "split")
    assert subjects(world, "HEAD~2..") == ["edited: Two", "edited: Three"]
    assert world.ids("HEAD")


def test_an_id_that_the_person_removes_links_nothing(world: World, a: Agent) -> None:
    a.turn("two", {"f.txt": change(BASE, "line 2", "line II")})
    world.env["GIT_EDITOR"] = "sed -i /^Entire-Checkpoint/d"
    done(world, "split")
    assert world.ids("HEAD") == []
    assert world.checkpoints() == []
    a.turn("three", {"g.txt": "three\n"})
    assert world.git("notes", "--ref=gitcp", "list", ok=False) == ""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pre-commit", "! git diff --cached --quiet -- g.txt || exit 0; exit 1"),
        ("commit-msg", 'grep -q ^Two "$1"'),
        ("prepare-commit-msg", 'test "$(git rev-parse HEAD)" = {head}'),
    ],
)
def test_a_hook_that_refuses_the_second_commit_leaves_all_as_it_was(
    world: World, a: Agent, b: Agent, name: str, text: str
) -> None:
    a.turn("two", {"g.txt": "by the first\n"})
    b.turn("three", {"h.txt": "by the other\n"})
    hook(world, name, text.replace("{head}", world.head))
    world.write("mine.txt", "staged\n")
    world.git("add", "mine.txt")
    before = everything(world)
    ended = run(world, "split", "--no-edit")
    assert (ended.returncode, "everything is as it was" in ended.stderr) == (128, True)
    assert everything(world) == before
    assert done(world, "undo", "--list").startswith("nothing to undo here: ")
    assert world.checkpoints() == []


def test_an_editor_that_fails_leaves_all_as_it_was(world: World, a: Agent, b: Agent) -> None:
    both(world, a, b)
    before = everything(world)
    world.env["GIT_EDITOR"] = "grep -q Two"
    assert run(world, "split").returncode == 128
    assert everything(world) == before
    world.env["GIT_EDITOR"] = "sed -i d"  # an empty message
    assert run(world, "split").returncode == 128
    assert everything(world) == before


def test_hooks_see_the_branch_and_the_parent_and_the_staged_part(
    world: World, a: Agent, b: Agent
) -> None:
    both(world, a, b)
    seen = world.path.parent / "seen"
    script = "git symbolic-ref --short HEAD; git log -1 --format=%s; git diff --cached | grep ^+l"
    hook(world, "pre-commit", f"{{ {script}; }} >>'{seen}'")
    done(world, "split", "--no-edit")
    assert seen.read_text().splitlines() == [
        "main",
        "commit",
        "+line two, by the first, of the file",
        "main",
        "Two",
        "+line three, by the other, of the file",
    ]


def test_what_a_hook_changes_is_in_its_commit(world: World, a: Agent, b: Agent) -> None:
    a.turn("two", {"g.txt": "by the first\n"})
    b.turn("three", {"h.txt": "by the other\n"})
    hook(world, "pre-commit", "test ! -f g.txt || { echo formatted >>g.txt; git add g.txt; }")
    done(world, "split", "--no-edit")
    assert "formatted" in world.git("show", "HEAD~1:g.txt")
    assert subjects(world, "HEAD~2..") == ["Two", "Three"]


def test_a_commit_that_is_made_while_a_hook_changes_files_is_not_replaced(
    world: World, a: Agent, b: Agent
) -> None:
    a.turn("two", {"g.txt": "by the first\n"})
    b.turn("three", {"h.txt": "by the other\n"})
    other = world.git("commit-tree", "-p", "HEAD", "-m", "other", "HEAD^{tree}")
    move = f"env -u GIT_DIR -u GIT_INDEX_FILE git -C '{world.path}' update-ref HEAD {other}"
    change = f"echo changed >>g.txt; git add g.txt; {move}"
    hook(world, "pre-commit", f"grep -q changed g.txt || {{ {change}; }}")
    ended = run(world, "split", "--no-edit")
    assert (ended.returncode, "everything is as it was" in ended.stderr) == (128, True)
    assert world.head == other


def test_post_commit_of_the_person_runs_in_their_repository(world: World, a: Agent) -> None:
    a.turn("two", {"g.txt": "by the first\n"})
    hook(world, "post-commit", "git tag was-made")
    done(world, "split", "--no-edit")
    assert world.git("rev-parse", "was-made") == world.head


def test_a_session_in_mid_turn_is_taken_only_if_it_is_named(
    world: World, a: Agent, b: Agent
) -> None:
    a.turn("two", {"g.txt": "by the first\n"})
    b.prompt("three")
    b.write("h.txt", "by the other\n")
    before = everything(world)
    ended = run(world, "split", "--no-edit")
    assert ended.returncode == 128
    assert f"session {shorten_id(b.sid)} is in mid-turn" in ended.stderr
    assert everything(world) == before
    said = done(world, "split", "--no-edit", "--session", "1111")
    assert "1 commit; 'gitcp undo' takes it back" in said
    assert subjects(world, "HEAD~1..") == ["Two"]
    done(world, "split", "--no-edit", "--session", "2222")
    assert subjects(world, "HEAD~1..") == ["Three"]
    assert world.git("status", "--porcelain") == ""


def test_sessions_of_dated_ids_are_named_by_what_tells_them_apart(world: World) -> None:
    shorts = []
    for digit in "12":
        agent = world.agent(f"2026-01-29-{digit * 8}-aaaa-4a87-9186-848bdd83d62e", tools=True)
        shorts.append(shorten_id(agent.sid))
        agent.turn(f"write {digit}", {f"{digit}.txt": f"by session {digit}\n"})
    shown = run(world, "split", "-n").stdout
    assert all(f"session {short}, 1 prompt" in shown for short in shorts)
    agent.prompt("write more")
    ended = run(world, "split", "--no-edit")
    assert ended.returncode == 128
    assert f"session {shorts[1]} is in mid-turn" in ended.stderr
    option = ["--session", shorts[1]]
    assert f"'{' '.join(option)}'" in ended.stderr
    done(world, "split", "--no-edit", *option)
    assert subjects(world, "HEAD~1..") == ["Write 2"]


def test_what_is_staged_stays_staged(world: World, a: Agent, b: Agent) -> None:
    both(world, a, b)
    world.write("mine.txt", "by hand\n")
    world.git("add", "mine.txt", "f.txt")
    done(world, "split", "--no-edit")
    assert world.git("diff", "--cached", "--name-only").splitlines() == ["f.txt", "mine.txt"]
    assert world.git("diff") == ""


def test_a_file_that_is_staged_in_another_state_is_refused(
    world: World, a: Agent, b: Agent
) -> None:
    a.turn("two", {"f.txt": change(BASE, "line 2", "line II")})
    world.git("add", "f.txt")
    b.turn("three", {"f.txt": change(world.read("f.txt"), "line 9", "line IX")})
    before = everything(world)
    ended = run(world, "split", "--no-edit")
    assert (ended.returncode, "'f.txt' has staged changes" in ended.stderr) == (128, True)
    assert everything(world) == before


@pytest.mark.thorough
def test_a_dry_run_shows_the_commits_and_changes_nothing(world: World, a: Agent, b: Agent) -> None:
    both(world, a, b)
    before = everything(world)
    assert "would make 2 commits" in done(world, "split", "-n")
    assert not list((world.path / ".git/gitcp/lock").glob("split*"))
    text = done(world, "split", "-n", "--json")
    assert not list(list_faults(text))
    found: list[Any] = [json.loads(line) for line in text.splitlines()]
    assert [(r["type"], r["session_id"], r["commit"]) for r in found] == [
        ("split", a.sid, ""),
        ("split", b.sid, ""),
    ]
    assert everything(world) == before


def test_overlapping_lines_stay_and_are_named(world: World, a: Agent, b: Agent) -> None:
    a.turn("two", {"f.txt": change(BASE, "line 2", "line II"), "g.txt": "by the first\n"})
    b.turn("it", {"f.txt": change(world.read("f.txt"), "line II", "line two")})
    ended = run(world, "split", "--no-edit")
    assert ended.returncode == 1
    assert ended.stderr.count("'f.txt' line 2 is left out") == 1
    assert "(--with-overlaps commits them with the last one)" in ended.stderr
    assert subjects(world, "HEAD~1..") == ["Two"]
    done(world, "split", "--no-edit", "--with-overlaps")
    assert subjects(world, "HEAD~1..") == ["It"]
    assert world.git("status", "--porcelain") == ""


def test_lines_that_need_lines_of_nobody_are_named_without_an_option_of_stage(
    world: World, a: Agent
) -> None:
    world.write("new.txt", "by hand\n")
    a.turn("add", {"new.txt": "by hand\nby the agent\n", "g.txt": "by the agent\n"})
    ended = run(world, "split", "--no-edit")
    assert ended.stderr == (
        "warning: 'new.txt' line 2 is left out: it needs lines of no agent that are not committed\n"
    )


@pytest.mark.thorough
def test_head_is_split_and_what_nobody_wrote_keeps_its_message(
    world: World, a: Agent, b: Agent
) -> None:
    both(world, a, b)
    world.git("commit", "-q", "-a", "-m", "all of it", "--author", "Ann <a@example.org>")
    old = world.head
    world.write("f.txt", world.read("f.txt") + "and more, not committed\n")
    done(world, "split", "--no-edit", "HEAD")
    assert subjects(world, "HEAD~3..") == ["Two", "Three", "all of it"]
    assert world.git("diff", old, "HEAD") == ""
    assert world.git("diff", "--stat", "HEAD").startswith(" f.txt | 1 +")
    assert world.git("log", "-3", "--format=%an").splitlines() == ["Ann"] * 3
    assert added(world, "HEAD~2") == ["line two, by the first, of the file"]
    for commit, agent in (("HEAD~2", a), ("HEAD~1", b)):
        (checkpoint,) = world.ids(commit)
        assert list(world.committed(checkpoint)) == [agent.sid]
    assert world.ids("HEAD") == []
    assert a.sid in world.gitcp("why", "--json", "f.txt:2")
    done(world, "undo")
    assert world.head == old


def test_head_is_split_by_prompt(world: World, a: Agent) -> None:
    a.turn("add the first thing", {"one.txt": "one\n"})
    a.turn("and the second", {"two.txt": "two\n"})
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "both")
    old = world.head
    done(world, "split", "--no-edit", "--by", "prompt", "HEAD")
    assert subjects(world, "HEAD~2..") == ["Add the first thing", "And the second"]
    assert world.git("diff", old, "HEAD") == world.git("status", "--porcelain") == ""
    for commit in ("HEAD~1", "HEAD"):
        (checkpoint,) = world.ids(commit)
        assert list(world.committed(checkpoint)) == [a.sid]


def test_head_that_was_pushed_is_not_split(world: World, a: Agent, b: Agent) -> None:
    world.remote("origin")
    both(world, a, b)
    world.git("commit", "-q", "-a", "-m", "all of it")
    world.git("push", "-q", "origin", "main")
    ended = run(world, "split", "--no-edit", "HEAD")
    assert (ended.returncode, "HEAD was pushed" in ended.stderr) == (128, True)


def test_head_of_one_session_alone_is_not_split(world: World, a: Agent) -> None:
    a.turn("two", {"f.txt": change(BASE, "line 2", "line II")})
    world.git("commit", "-q", "-a", "-m", "all of it")
    ended = run(world, "split", "HEAD")
    assert ended.returncode == 1
    assert "nothing to split" in ended.stdout


def test_without_a_session_there_is_nothing_to_split(world: World, a: Agent) -> None:
    world.write("f.txt", "by hand\n")
    ended = run(world, "split")
    assert (ended.returncode, "no session wrote it" in ended.stdout) == (1, True)


def test_a_commit_is_signed_as_the_person_signs(world: World, a: Agent, tmp_path: Path) -> None:
    program = tmp_path / "sign"
    program.write_text(
        "#!/bin/sh\ncat >/dev/null\nprintf '\\n[GNUPG:] SIG_CREATED \\n' >&2\n"
        "printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n'\n"
    )
    program.chmod(0o755)
    world.git("config", "gpg.program", str(program))
    world.git("config", "commit.gpgsign", "true")
    a.turn("two", {"g.txt": "by the first\n"})
    done(world, "split", "--no-edit")
    assert "gpgsig" in world.git("cat-file", "commit", "HEAD")


def test_the_first_commit_of_a_repository_can_be_one_of_several(
    world: World, a: Agent, b: Agent
) -> None:
    world.git("checkout", "-q", "--orphan", "fresh")
    world.git("rm", "-rfq", ".")
    a.turn("two", {"g.txt": "by the first\n"})
    b.turn("three", {"h.txt": "by the other\n"})
    done(world, "split", "--no-edit")
    assert subjects(world) == ["Two", "Three"]
    done(world, "undo")
    assert world.git("rev-parse", "-q", "--verify", "HEAD", ok=False) == ""
    assert world.git("ls-files") == ""


@pytest.mark.thorough
@pytest.mark.parametrize("by", ["session", "prompt"])
@pytest.mark.parametrize("seed", range(3))
def test_no_commit_has_a_line_of_another_and_nothing_is_lost(
    world: World, a: Agent, b: Agent, seed: int, by: str
) -> None:
    rng = random.Random(seed)
    agents: list[Agent | None] = [a, b, None]
    for number in range(9):
        who, path = rng.choice(agents), rng.choice(["f.txt", "g.txt", "h.txt"])
        lines = world.read(path).splitlines(keepends=True) if (world.path / path).exists() else []
        place = rng.randint(0, len(lines))
        name = who.sid[:8] if who else "by hand"
        lines[place : place + rng.randint(0, 2)] = [
            f"{name} wrote line {number}.{n}\n" for n in range(2)
        ]
        if who:
            who.turn(f"turn {number}", {path: "".join(lines)})
        else:
            world.write(path, "".join(lines))
    first, before = world.head, {p.name: p.read_text() for p in world.path.glob("*.txt")}
    run(world, "split", "--no-edit", "--by", by)
    assert {p.name: p.read_text() for p in world.path.glob("*.txt")} == before
    commits = world.git("rev-list", f"{first}..").split()
    assert commits
    for commit in commits:
        (checkpoint,) = world.ids(commit)
        (owner,) = world.committed(checkpoint)
        lines = [line for line in added(world, commit) if " wrote line " in line]
        assert all(line.startswith(owner[:8]) for line in lines), (commit, lines)
    assert world.git("diff", "--cached") == ""
    run(world, "split", "--no-edit", "--with-overlaps")
    assert {p.name: p.read_text() for p in world.path.glob("*.txt")} == before
    done(world, "undo", str(len(done(world, "undo", "--list", "--json").splitlines())))
    assert world.head == first


@pytest.mark.thorough
@pytest.mark.parametrize("link", ["trailer", "note"])
def test_the_last_commit_keeps_its_links_once_the_states_of_its_sessions_are_gone(
    world: World, a: Agent, b: Agent, link: str
) -> None:
    world.git("config", "gitcp.link", link)
    both(world, a, b)
    world.commit()
    for agent in (a, b):
        agent.stop()
        agent.end()
        world.kill(agent)
    read_ids = noted if link == "note" else World.ids
    ids = read_ids(world, "HEAD")
    assert len(ids) == 1
    world.gitcp("clean", "--force", "--older-than", "0")
    done(world, "split", "HEAD", "--no-edit")
    assert subjects(world, "HEAD~3..")[:2] == ["Two", "Three"]
    assert [read_ids(world, f"HEAD~{n}") for n in (2, 1, 0)] == [ids, ids, []]
    rows = map(json.loads, world.gitcp("blame", "--json", "f.txt").splitlines())
    authors = [row["session_id"] for row in rows if row.get("session_id")]
    assert authors == [a.sid, b.sid]


def test_each_prompt_gets_its_own_draft_once_the_state_of_its_session_is_gone(
    world: World, a: Agent
) -> None:
    a.turn("make one", {"f.txt": change(BASE, "line 2 of", "line two of")})
    a.turn("make another", {"g.txt": "g\n"})
    world.commit()
    a.stop()
    a.end()
    world.kill(a)
    world.gitcp("clean", "--force", "--older-than", "0")
    done(world, "split", "HEAD", "--no-edit", "--by", "prompt")
    shown = world.git("log", "-2", "--reverse", "--format=%s|%b").splitlines()
    (checkpoint,) = world.ids("HEAD")
    trailer = f"Entire-Checkpoint: {checkpoint}"
    assert [*filter(None, shown)] == [f"Make one|{trailer}", f"Make another|{trailer}"]


def test_a_split_that_cannot_begin_leaves_nothing(world: World) -> None:
    repo = Repo.find(str(world.path))
    with Objects(repo), pytest.raises(Error), split.Bench(repo, "1" * 40, None):
        pass
    assert under_way.list_splits(repo) == []


def move(world: World, agent: Agent, old: str, new: str) -> None:
    """A turn in which a session moves a file by a command."""
    call: Any = {
        "tool_name": "Bash",
        "tool_use_id": f"toolu_{new}",
        "tool_input": {"command": f"mv {old} {new}"},
    }
    agent.prompt(f"move {old}")
    agent.event("PreToolUse", **call)
    (world.path / old).rename(world.path / new)
    agent.event("PostToolUse", **call, tool_response={})
    agent.stop()


def number(world: World, agent: Agent, path: str, line: int) -> None:
    """A turn in which a session writes a line of a file anew."""
    text = change(world.read(path), f"line {line} of", f"line {line}, anew, of")
    agent.turn(f"number {line}", {path: text})


@pytest.mark.parametrize("by", ["session", "prompt"])
def test_what_others_changed_in_a_moved_file_follows_the_move(
    world: World, a: Agent, b: Agent, by: str
) -> None:
    number(world, b, "f.txt", 3)
    move(world, a, "f.txt", "g.txt")
    number(world, b, "g.txt", 7)
    done(world, "split", "--no-edit", "--by", by)
    assert world.git("status", "--porcelain") == ""
    written = ["line 3, anew, of the file", "line 7, anew, of the file"]
    if by == "session":
        assert subjects(world, "HEAD~2..") == ["Move f.txt", "Number 3"]
        moved = "HEAD~1"
        assert added(world, "HEAD") == written
    else:
        assert subjects(world, "HEAD~3..") == ["Move f.txt", "Number 3", "Number 7"]
        moved = "HEAD~2"
        assert [added(world, "HEAD~1"), added(world, "HEAD")] == [written[:1], written[1:]]
    (checkpoint,) = world.ids(moved)
    assert list(world.committed(checkpoint)) == [a.sid]
    assert world.git("show", "--format=", "--name-status", "-M", moved) == "R100\tf.txt\tg.txt"
    for line in (3, 7):
        assert b.sid in world.gitcp("why", "--json", f"g.txt:{line}")


def test_sessions_that_changed_what_the_other_one_moved_leave_a_line_and_name_it(
    world: World, a: Agent, b: Agent
) -> None:
    world.write("h.txt", BASE)
    world.commit()
    move(world, a, "f.txt", "g.txt")
    move(world, b, "h.txt", "i.txt")
    number(world, a, "i.txt", 3)
    number(world, b, "g.txt", 7)
    ended = run(world, "split", "--no-edit")
    assert ended.returncode == 1
    named = f"'i.txt' still has work of session {shorten_id(a.sid)} that is in no commit"
    assert named in ended.stderr
    assert [added(world, "HEAD~1"), added(world, "HEAD")] == [[], ["line 7, anew, of the file"]]
    assert world.git("diff", "-U0").splitlines()[-1] == "+line 3, anew, of the file"
