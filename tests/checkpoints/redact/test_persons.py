"""Personal data in a session: what the repository names is in nothing that is stored."""

from __future__ import annotations

import re

import pytest

from tests.support.harness import World

TOKEN = re.compile(r"\[REDACTED_(\w+)_([0-9a-f]{2})\]")


def stored(world: World) -> str:
    """Every blob of the repository that is no file of the person's."""
    listed = world.git("cat-file", "--batch-all-objects", "--batch-check").splitlines()
    blobs = [line.split()[0] for line in listed if " blob " in line]
    return "\n".join(world.object(oid).data.decode(errors="replace") for oid in blobs)


def test_what_tells_of_persons_is_not_stored_and_they_are_told_apart(world: World) -> None:
    world.write("people", "# ours\nAda Lovelace\n")
    world.git("config", "gitcp.redact-personal", "email, name:people")
    world.git("config", "gitcp.redact-label.ticket", "ACME-[0-9]+")
    (world.path / ".git/info/exclude").write_text("people\n")
    a = world.agent("session-a")
    a.prompt("mail ada@acme.com and Ada Lovelace of ACME-17")
    a.write("a.txt", "one\n")
    a.answer(
        [{"type": "text", "text": "ada@acme.com and bob@acme.com wrote; noreply@acme.com not"}]
    )
    a.stop()
    [checkpoint] = world.commit("a.txt")
    every = stored(world)
    for text in ("ada@acme", "bob@acme", "Lovelace", "ACME-17"):
        assert text not in every
    assert "noreply@acme.com" in every
    prompt = a.state["first_prompt"]
    assert [label for label, _ in TOKEN.findall(prompt)] == ["EMAIL", "NAME", "TICKET"]
    ada, *_ = TOKEN.findall(prompt)
    transcript = world.committed(checkpoint)["session-a"]["transcript"]
    assert TOKEN.findall(transcript).count(ada) == 2
    assert {label for label, _ in TOKEN.findall(transcript)} == {"EMAIL", "NAME", "TICKET"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("gitcp.redact-personal", "name:nowhere"),
        ("gitcp.redact-personal", "mails"),
        ("gitcp.redact-label.x", "a(b"),
    ],
)
def test_while_it_cannot_be_told_who_is_meant_nothing_said_is_stored(
    world: World, key: str, value: str
) -> None:
    world.git("config", key, value)
    a = world.agent("session-a")
    a.prompt("mail ada@acme.com")
    a.write("a.txt", "one\n")
    a.stop()
    assert world.commit("a.txt")
    assert "ada@acme" not in stored(world) and "ada@acme" not in str(a.state)
