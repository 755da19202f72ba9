"""A prompt has one number and one name: its place among what was sent, and its first line."""

from __future__ import annotations

import json
from typing import Any

from gitcp.errors import NO, OK
from gitcp.extras.ui import browse
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.text import prompt_text
from gitcp.text.short_ids import shorten_id
from tests.support.frozen import HARDENING, PROMPTS, REVIEW_NAME, UNTITLED, Frozen
from tests.support.harness import World
from tests.support.warm import run

STATUSES = (OK, NO)  # NO: a transcript is not here
NAME = "Cap requests by their size"  # of a prompt with a line of dashes in it


def read(store: Frozen | World, *argv: str) -> list[Any]:
    done = run(*argv, "--json", cwd=store.path)
    assert done.returncode in STATUSES, done
    return [json.loads(line) for line in done.stdout.splitlines()]


def tell(store: Frozen | World, *argv: str) -> str:
    done = run(*argv, cwd=store.path)
    assert done.returncode in STATUSES, done
    return done.stdout


def check_number(store: Frozen | World, place: str, session_id: str, word: str) -> tuple[int, str]:
    """The number and the name of the prompt behind a line, the same in all screens."""
    path, _, line = place.partition(":")
    (origin,) = read(store, "why", place)
    number, name = origin["number"], prompt_text.read_first_line(origin["prompt"])
    assert origin["session_id"] == session_id
    blamed = read(store, "blame", path)[int(line) - 1]
    assert (blamed["session_id"], blamed["number"]) == (session_id, number)
    assert f"{shorten_id(session_id)} #{number} " in tell(store, "blame", path)
    (shown,) = read(store, "show", origin["commit"]["oid"])
    contents = {content["session_id"]: content for content in shown["contents"]}
    asked = contents[session_id]["prompts"]
    assert prompt_text.read_first_line(asked[number - 1]) == name
    (page,) = read(store, "page", origin["commit"]["oid"])
    turns = {session["session_id"]: session["turns"] for session in page["sessions"]}
    assert number in [turn["number"] for turn in turns[session_id]]
    (hit,) = [hit for hit in read(store, "search", word) if hit["session_id"] == session_id]
    assert hit["number"] == number
    assert prompt_text.read_first_line(hit["prompt"]) == name
    return number, name


def test_a_number_is_the_place_among_what_the_person_sent(frozen_store: Frozen) -> None:
    assert check_number(frozen_store, "cap.py:5", HARDENING, "size") == (2, NAME)
    assert check_number(frozen_store, "worker.py:1", HARDENING, "answers") == (1, PROMPTS[0])


def test_a_prompt_is_called_by_its_first_line_in_each_list(frozen_store: Frozen) -> None:
    logged = tell(frozen_store, "log")
    searched = tell(frozen_store, "search", "size") + tell(frozen_store, "search", "plain")
    repo = Repo.find(str(frozen_store.path))
    with Objects(repo):
        rows = list(browse.Sessions(repo).list_rows())
    listed = {row.id: "".join(text for line in row.lines for text, _ in line) for row in rows}
    for session_id, name in ((HARDENING, NAME), (UNTITLED, REVIEW_NAME)):
        assert f"> {name}" in logged and f"> {name}" in searched
        assert name in listed[session_id]
    for text in (logged, searched, *listed.values()):
        assert "## Output" not in text and "And say so" not in text


def test_a_prompt_with_a_separator_is_one_where_gitcp_recorded_it(world: World) -> None:
    a = world.agent("session-a", tools=True)
    a.prompt("Write a lexer")
    a.stop()
    a.prompt(f"{NAME}\n\n---\n\nAnd say so of hyenas")
    a.write("one.txt", "a line of its own\n")
    a.stop()
    world.commit("one.txt")
    assert check_number(world, "one.txt:1", "session-a", "hyenas") == (2, NAME)
    assert f"> {NAME}\n" in tell(world, "log")


def test_what_a_client_writes_itself_counts_to_what_caused_it(world: World) -> None:
    a = world.agent("session-a", tools=True)
    a.prompt("Build it behind my back, wolverine")
    a.stop()
    told = "<task-notification><task-id>b1</task-id><status>completed</status></task-notification>"
    a.prompt(told)
    a.write("one.txt", "a line of its own\n")
    a.stop()
    a.prompt("Go on, hyena")
    a.write("two.txt", "another line of its own\n")
    a.stop()
    world.commit("one.txt", "two.txt")
    first = check_number(world, "one.txt:1", "session-a", "wolverine")
    assert first == (1, "Build it behind my back, wolverine")
    assert check_number(world, "two.txt:1", "session-a", "hyena") == (2, "Go on, hyena")
