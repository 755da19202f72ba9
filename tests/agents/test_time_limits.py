"""How long the client of each agent lets a hook run, and that a hook takes half of that at most."""

from __future__ import annotations

import re

import pytest

from gitcp import agents, git
from tests.support.paths import TOP


def test_each_limit_is_in_the_table_of_the_documentation_with_its_source() -> None:
    text = (TOP / "doc" / "clients.md").read_text().partition("## How long a hook may take")[2]
    rows = [re.split(r" *\| *", line)[1:-1] for line in text.splitlines() if line[:1] == "|"]
    limits = {name: seconds for name, seconds, source in rows[2:] if source}
    assert limits == {name: spell_limits(agents.get_client(name)) for name in agents.list_names()}


def spell_limits(client: agents.Client) -> str:
    """The seconds of a hook, and those of the hooks that have others."""
    if not client.list_hooks():
        return "no hooks"
    own = {hook: client.get_hook_seconds(hook, client.NAME) for hook, *_ in client.list_hooks()}
    most = client.SECONDS if client.SECONDS in own.values() else max(own.values())
    others = [f"{hook} {seconds}" for hook, seconds in own.items() if seconds != most]
    return ", ".join([str(most) if most else "none", *others])


def test_a_hook_that_runs_by_the_settings_of_another_client_has_no_limit_of_its_own() -> None:
    grok = agents.get_client("grok-build")
    assert grok.get_hook_seconds("Stop", "grok-build") == 60
    assert grok.get_hook_seconds("Stop", "claude-code") == 5


@pytest.mark.parametrize(
    ("client", "person", "more", "most"),
    [
        (30, 120, 0, 15),
        (30, 10, 0, 10),
        (30, 10, 100, 15),  # an index of a hundred megabytes
        (0, 120, 0, 120),
        (0, 120, 100, 220),
    ],
)
def test_a_hook_has_half_of_its_clients_time_however_much_there_is_to_read(
    monkeypatch: pytest.MonkeyPatch, client: int, person: int, more: int, most: int
) -> None:
    now = [1000.0]
    monkeypatch.setattr(git, "_limits", {})
    monkeypatch.setattr("gitcp.git.time.monotonic", lambda: now[0])
    git.begin_deadline()
    if client:
        git.set_bound(client / 2)
    git.begin_deadline(person, 1000)
    git.extend_deadline(more)
    assert git.count_seconds_left() == most


def test_what_a_hook_took_before_it_read_its_settings_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [1000.0]
    monkeypatch.setattr(git, "_limits", {})
    monkeypatch.setattr("gitcp.git.time.monotonic", lambda: now[0])
    git.begin_deadline()
    now[0] += 4
    git.set_bound(5)
    git.begin_deadline(120, 60)
    assert git.count_seconds_left() == 1
    now[0] += 2
    assert git.count_seconds_left() == 0 and "whole hook" in git.describe_overrun()
    git.begin_deadline(120, 60, is_bound=False)  # a repository where gitcp.hook-timeout is set
    assert git.count_seconds_left() == 60
    git.begin_deadline(120, 60)  # the next one
    assert git.count_seconds_left() == 0
