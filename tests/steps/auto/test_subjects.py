"""What a terminal obeys in a prompt is in no commit."""

from __future__ import annotations

from tests.support.harness import World

PROMPT = "\x1b[31mAdd\x1b[0m the\x00 \x1b]0;owned\x07file\u202e"


def test_a_control_character_of_a_prompt_is_in_no_message(world: World) -> None:
    world.git("config", "gitcp.strategy", "auto-commit")
    a = world.agent("session-a")
    a.turn(PROMPT, {"one.txt": "1\n"})
    assert world.git("log", "-1", "--format=%s") == "Add the ]0;ownedfile"
    world.git("config", "gitcp.strategy", "manual-commit")
    a.turn(PROMPT, {"two.txt": "2\n"})
    world.commit("two.txt")
    for text in world.git("log", "--all", "--format=%B", "-z").split("\0"):
        assert text.replace("\n", "").isprintable(), text
