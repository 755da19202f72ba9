"""The authors of lines go along: amended, rebased, picked, squashed, moved, back again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gitcp.record.journal import credit
from gitcp.record.journal.line_kinds import parse_lines
from tests.lines.blame.told_lines import blame_names
from tests.record.journal.lines import lengthen, ranges, shares, text
from tests.support.clients.calls import edit, run
from tests.support.harness import V1, Agent, World
from tests.support.linking import editor, ids, noted, sound

BASE = text(0, 10, 11)
TOP = "".join(f"a heading that others add, {n}\n" for n in range(5))


def versions(world: World, checkpoint: str, path: str) -> dict[str, list[list[Any]]]:
    """blob -> [first, last] of the agent's lines, of a path of a checkpoint of one session."""
    at = f"{V1}:{checkpoint[:2]}/{checkpoint[2:]}/0/lines.json"
    stored = json.loads(world.git("show", at))[path]
    who = ("person", "unknown")
    return {e["oid"]: [r[:2] for r in e["ranges"] if r[2] not in who] for e in stored}


def worked(world: World, a: Agent) -> str:
    """A commit with lines 4 and 5 of f.txt by the agent, three being there before; its id."""
    world.write("f.txt", BASE)
    world.commit("f.txt")
    a.prompt("write")
    edit(a, "f.txt", BASE + text(1, 2))
    a.stop()
    [one] = world.commit("f.txt")
    return one


def blob(world: World, commit: str = "HEAD", path: str = "f.txt") -> str:
    return world.git("rev-parse", f"{commit}:{path}")


@pytest.mark.parametrize("how", ["rebase", "cherry-pick", "relink"])
def test_a_commit_that_is_replayed_on_other_lines_keeps_its_authors(
    world: World, a: Agent, how: str
) -> None:
    one = worked(world, a)
    made, before = world.head, blob(world)
    world.git("switch", "-q", "-c", "other", "HEAD~1")
    world.write("f.txt", TOP + BASE)
    world.commit("f.txt")
    if how == "cherry-pick":
        world.git("cherry-pick", made)
    elif how == "rebase":
        world.git("switch", "-q", "main")
        world.git("rebase", "-q", "other")
    else:
        world.write("f.txt", TOP + BASE + text(1, 2))
        world.git("add", "f.txt")
        tree = world.git("write-tree")
        world.git("branch", "-q", "-f", "main", "other")
        commit = world.git("commit-tree", "-p", "HEAD", "-m", "made by a forge", tree)
        world.git("reset", "-q", "--hard", commit)
        world.gitcp("relink")
        assert noted(world) == [one]
    assert versions(world, one, "f.txt") == {before: [[4, 5]], blob(world): [[9, 10]]}
    assert blame_names(world, "f.txt") == ["person"] * 8 + [a.sid] * 2
    sound(world)


@pytest.mark.parametrize("how", ["cherry-pick", "reset"])
def test_what_a_conflict_stopped_or_was_taken_back_is_followed_with_no_session_open(
    world: World, a: Agent, how: str
) -> None:
    one = worked(world, a)
    made, before = world.head, blob(world)
    a.end()
    assert world.open() == []
    world.env["GIT_EDITOR"] = "true"
    if how == "cherry-pick":
        world.git("switch", "-q", "-c", "other", "HEAD~1")
        world.write("f.txt", BASE + text(10))
        world.commit("f.txt")
        world.git("cherry-pick", made, ok=False)
        world.write("f.txt", TOP + BASE + text(1, 2) + text(10))
        world.git("add", "f.txt")
        world.git("cherry-pick", "--continue")
    else:
        world.git("reset", "-q", "--soft", "HEAD~1")
        world.write("f.txt", TOP + BASE + text(1, 2))
        world.git("commit", "-qam", "again")
    assert ids(world) == [one]
    assert versions(world, one, "f.txt") == {before: [[4, 5]], blob(world): [[9, 10]]}
    assert "brings" not in (world.path / ".git" / "gitcp" / "verdict").read_text()


def test_an_amend_by_hand_is_counted_anew_and_forgets_nobody(world: World, a: Agent) -> None:
    one = worked(world, a)
    world.write("f.txt", BASE + text(5, 1, 2, 6))
    world.write("mine.txt", text(7))
    world.git("add", "f.txt", "mine.txt")
    world.git("commit", "-q", "--amend", "--no-edit")
    assert ids(world) == [one]
    assert shares(world) == {a.sid: 2, "person": 3}
    assert [r[:2] for r in ranges(world, "f.txt") if r[2] != "person"] == [[5, 6]]
    tip = world.git("rev-parse", V1)
    world.git("commit", "-q", "--amend", "-m", f"another message\n\nEntire-Checkpoint: {one}")
    assert world.git("rev-parse", V1) == tip, "nothing is new"
    sound(world)


def test_an_amend_of_what_was_made_elsewhere_keeps_what_is_recorded(world: World, a: Agent) -> None:
    worked(world, a)
    (world.path / ".git/gitcp/journal").write_text("")
    world.write("f.txt", BASE + text(1, 2, 3))
    world.git("add", "f.txt")
    world.git("commit", "-q", "--amend", "--no-edit")
    assert shares(world) == {a.sid: 2, "person": 1}
    sound(world)


def picked_into_a_renamed_file(world: World, a: Agent) -> None:
    """The agent's lines 4 and 5, which are f.txt's, on a branch where that is g.txt."""
    worked(world, a)
    made = world.head
    world.git("switch", "-q", "-c", "other", "HEAD~1")
    world.git("mv", "f.txt", "g.txt")
    world.commit()
    world.git("cherry-pick", made)


def not_the_persons(world: World, a: Agent) -> None:
    """The agent's lines are its own where the rename was looked at in between, as wherever no
    process can be seen, and nobody's where it was not."""
    names = blame_names(world, "g.txt")
    assert names in (["person"] * 3 + [who] * 2 for who in (a.sid, "unknown"))


@pytest.mark.parametrize("worker", ["person", "session-a", "session-b"])
def test_an_amend_does_not_give_the_person_what_was_picked_into_a_renamed_file(
    world: World, a: Agent, worker: str
) -> None:
    picked_into_a_renamed_file(world, a)
    if worker == "person":
        world.write("h.txt", text(8))
    else:
        world.agent(worker, tools=True).turn("more", {"h.txt": text(8)})
    world.git("add", "-A")
    world.git("commit", "-q", "--amend", "--no-edit")
    not_the_persons(world, a)
    sound(world)


def test_what_was_picked_into_a_renamed_file_and_is_committed_again_is_linked_again(
    world: World, a: Agent
) -> None:
    picked_into_a_renamed_file(world, a)
    [one] = ids(world)
    world.git("reset", "-q", "--soft", "HEAD~1")
    world.git("commit", "-q", "-m", "again")
    assert ids(world) == [one]
    assert "person" not in blame_names(world, "g.txt")[3:]


@pytest.mark.parametrize("commits", [1, 2])
def test_a_reset_and_a_commit_do_not_give_the_person_what_was_picked_into_a_renamed_file(
    world: World, a: Agent, commits: int
) -> None:
    picked_into_a_renamed_file(world, a)
    for n in range(commits - 1):
        world.write("i.txt", text(n))
        world.commit("i.txt")
    world.agent("session-b", tools=True).turn("more", {"h.txt": text(8)})
    world.git("add", "-A")
    for _ in range(commits):
        world.git("reset", "-q", "--soft", "HEAD~1")
    world.git("commit", "-q", "-m", "again")
    not_the_persons(world, a)
    sound(world)


def test_an_amend_of_two_commits_of_a_session_squashed_keeps_the_prompt_of_each_line(
    world: World, a: Agent
) -> None:
    for number in (1, 2):
        a.turn(f"prompt {number}", {f"{number}.txt": text(number)})
        world.commit()
    world.git("reset", "-q", "--soft", "HEAD~2")
    world.git("commit", "-q", "-m", "both")
    both = ids(world)
    assert len(both) == 2
    world.git("commit", "-q", "--amend", "-m", "both, in other words")
    assert ids(world) == both
    for number, made_by in enumerate(both, 1):
        line = json.loads(world.gitcp("blame", "--json", f"{number}.txt"))
        assert (line["prompt"], line["checkpoint_id"]) == (f"prompt {number}", made_by)
    sound(world)


def test_a_squash_has_the_lines_of_all_its_commits(world: World, a: Agent) -> None:
    worked(world, a)
    a.prompt("more")
    edit(a, "f.txt", BASE + text(1, 2, 3))
    a.stop()
    world.commit("f.txt")
    world.env["GIT_SEQUENCE_EDITOR"] = editor(world, 'sed -i "2s/^pick/fixup/" "$1"')
    world.git("rebase", "-q", "-i", "HEAD~2")
    carried = [*ids(world), *noted(world)]
    kept = [versions(world, one, "f.txt").get(blob(world)) for one in carried]
    assert kept == [[[4, 5]], [[6, 6]]]


@pytest.mark.parametrize("verb", ["squash", "fixup"])
def test_a_link_of_a_note_follows_into_a_squash_behind_an_exec(
    world: World, a: Agent, verb: str
) -> None:
    world.write("mine.txt", text(8))
    world.commit("mine.txt")
    a.turn("write", {"f.txt": text(1, 2)})
    [one] = world.commit("f.txt")
    world.env["GIT_EDITOR"] = "true"
    world.env["GIT_SEQUENCE_EDITOR"] = editor(world, 'sed -i "2s/^pick/fixup/" "$1"')
    world.git("rebase", "-q", "-i", "HEAD~2")
    assert (ids(world), noted(world)) == ([], [one])
    world.write("mine.txt", text(8, 9))
    world.commit("mine.txt")
    squash = f'sed -i -e "2s/^pick/{verb}/" -e "1a exec true" "$1"'
    world.env["GIT_SEQUENCE_EDITOR"] = editor(world, squash)
    world.git("rebase", "-q", "-i", "HEAD~2")
    assert world.git("log", "--format=%s").count("mine") == 1
    assert noted(world) == [one]
    assert blame_names(world, "f.txt") == [a.sid] * 2


def test_a_content_that_is_picked_again_and_amended_keeps_all_its_lines(
    world: World, a: Agent
) -> None:
    one = worked(world, a)
    made = world.head
    world.write("f.txt", BASE + text(7, 2))
    world.commit("f.txt")
    world.git("cherry-pick", "-X", "theirs", made)
    world.git("commit", "-q", "--amend", "--no-edit")
    assert (ids(world), blob(world)) == ([one], blob(world, made))
    assert blame_names(world, "f.txt") == ["person"] * 3 + [a.sid] * 2


@pytest.mark.parametrize("way", ["a move", "a checkout", "an undone reset"])
def test_lines_that_the_journal_has_forgotten_keep_their_authors(
    world: World, a: Agent, way: str
) -> None:
    worked(world, a)
    made = world.head
    for number in range(2) if way == "a checkout" else ():
        world.write("f.txt", text(number + 12))
        world.commit("f.txt")
    if way == "an undone reset":
        world.git("reset", "-q", "--hard", "HEAD~1")
    b = world.agent("session-b")
    b.prompt("go on")
    path = world.path / ".git/gitcp/journal"
    lengthen(path)
    for number in range(4):
        edit(b, "b.txt", text(*range(number + 1)))
        run(b, "git add b.txt && git commit -q -m step")
        b.turn("next")
        b.prompt("go on")
    kept = credit.list_edits(parse_lines(path.read_bytes()))
    assert not any(line.author[0] == a.sid for line in kept), "the journal is cut"
    if way == "a move":
        run(b, "mv f.txt moved.txt")
    else:
        run(b, f"git checkout -q {made} -- f.txt")
    edit(b, "b.txt", text(5))
    b.stop()
    world.commit()
    counts = world.committed(ids(world)[-1])[b.sid]["initial_attribution"]["lines_added"]
    assert (counts["agent"], counts["others"]) == (1, 0 if way == "a move" else 2), counts
    if way == "a move":
        assert blame_names(world, "moved.txt") == ["person"] * 3 + [a.sid] * 2
    sound(world, lost=way == "an undone reset")


def test_the_commit_of_the_store_that_followed_lines_is_shown_as_its_checkpoint(
    world: World, a: Agent
) -> None:
    one = worked(world, a)
    world.write("f.txt", BASE + text(1, 2, 3))
    world.git("add", "f.txt")
    world.git("commit", "-q", "--amend", "--no-edit")
    assert world.git("log", "-1", "--format=%s", V1) == f"Follow lines of Checkpoint: {one}"
    assert world.gitcp("show", world.git("rev-parse", V1)) == world.gitcp("show", one)


@pytest.mark.parametrize("words", [["--no-edit"], ["-m", "all of it"]])
def test_what_a_merge_squashed_keeps_its_authors_though_no_session_worked(
    world: World, a: Agent, words: list[str]
) -> None:
    world.write("f.txt", BASE)
    world.commit("f.txt")
    world.git("checkout", "-q", "-b", "side")
    a.prompt("write")
    edit(a, "f.txt", BASE + text(1, 2))
    a.stop()
    [one] = world.commit("f.txt")
    world.git("checkout", "-q", "main")
    world.write("f.txt", TOP + BASE)
    world.commit("f.txt")
    world.git("merge", "-q", "--squash", "side")
    world.git("commit", "-q", *words)
    assert ids(world) == [one]
    assert versions(world, one, "f.txt")[blob(world)] == [[9, 10]]


@pytest.mark.parametrize("way", ["fixup", "merge --squash", "reset --soft"])
def test_the_persons_lines_stay_theirs_in_a_commit_with_a_sessions(
    world: World, a: Agent, way: str
) -> None:
    world.write("f.txt", BASE)
    world.commit("f.txt")
    base = world.head
    world.git("checkout", "-q", "-b", "side")
    a.prompt("write")
    edit(a, "f.txt", BASE + text(1, 2))
    a.stop()
    [one] = world.commit("f.txt")
    a.end()
    world.write("g.txt", text(5))
    assert world.commit("g.txt") == []
    world.write("f.txt", text(6) + world.read("f.txt"))
    assert world.commit("f.txt") == []
    if way == "fixup":
        world.env["GIT_SEQUENCE_EDITOR"] = editor(world, "sed -i '2,$s/^pick/fixup/' \"$1\"")
        world.git("rebase", "-q", "-i", base)
    elif way == "reset --soft":
        world.git("reset", "-q", "--soft", base)
    else:
        world.git("checkout", "-q", "main")
        world.git("merge", "-q", "--squash", "side")
    if way != "fixup":
        world.write("f.txt", world.read("f.txt") + text(7))
        world.git("commit", "-qam", "all of it")
    assert {*ids(world), *noted(world)} == {one}
    last = [] if way == "fixup" else ["person"]
    assert blame_names(world, "f.txt") == ["person"] * 4 + [a.sid] * 2 + last
    assert blame_names(world, "g.txt") == ["person"]
    sound(world)
