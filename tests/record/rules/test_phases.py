from __future__ import annotations

from itertools import product

import pytest

from gitcp.record.session.phases import REWRITING, find_transition

LI = "update-last-interaction"
CLEAR = "clear-ended-at"
# doc/behaviour.md "Phases", row by row: phase, event, rewriting, files, next phase, actions.
ROWS: list[tuple[str, str, bool, bool, str, tuple[str, ...]]] = [
    ("idle", "turn-start", False, True, "active", (LI,)),
    ("idle", "turn-end", False, True, "idle", ()),
    ("idle", "git-commit", False, True, "idle", ("condense", LI)),
    ("idle", "git-commit", False, False, "idle", ("condense", LI)),
    ("idle", "git-commit", True, True, "idle", ()),
    ("idle", "session-start", False, True, "idle", ()),
    ("idle", "session-end", False, True, "ended", (LI,)),
    ("active", "turn-start", False, True, "active", (LI,)),
    ("active", "turn-end", False, True, "idle", (LI,)),
    ("active", "git-commit", False, True, "active", ("condense", LI)),
    ("active", "git-commit", False, False, "active", ("condense", LI)),
    ("active", "git-commit", True, True, "active", ()),
    ("active", "session-start", False, True, "active", ("warn-stale-session",)),
    ("active", "session-end", False, True, "ended", (LI,)),
    ("ended", "turn-start", False, True, "active", (CLEAR, LI)),
    ("ended", "turn-end", False, True, "ended", ()),
    ("ended", "git-commit", False, True, "ended", ("condense-if-files-touched", LI)),
    ("ended", "git-commit", False, False, "ended", ("discard-if-no-files", LI)),
    ("ended", "git-commit", True, True, "ended", ()),
    ("ended", "git-commit", True, False, "ended", ()),
    ("ended", "session-start", False, True, "idle", (CLEAR,)),
    ("ended", "session-end", False, True, "ended", ()),
]
EVENTS = ["turn-start", "turn-end", "git-commit", "session-start", "session-end"]


@pytest.mark.parametrize(("phase", "event", "rewriting", "files", "then", "actions"), ROWS)
def test_the_table_of_the_state_machine(
    phase: str, event: str, rewriting: bool, files: bool, then: str, actions: tuple[str, ...]
) -> None:
    got = find_transition(phase, event, rewriting=rewriting, files_touched=files)
    assert got == (then, actions)


@pytest.mark.parametrize(("phase", "event"), [*product(["idle", "active", "ended"], EVENTS)])
def test_the_flags_matter_to_commits_only(phase: str, event: str) -> None:
    if event == "git-commit":
        assert find_transition(phase, event, rewriting=True) == (phase, ())
        return
    flags = product([False, True], [False, True])
    assert len({find_transition(phase, event, rewriting=r, files_touched=f) for r, f in flags}) == 1


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize(
    ("stored", "read"),
    [("", "idle"), (None, "idle"), ("paused", "idle"), ("active_committed", "active")],
)
def test_a_phase_of_another_writer_is_read_as_one_of_ours(
    stored: str | None, read: str, event: str
) -> None:
    assert find_transition(stored, event) == find_transition(read, event)


@pytest.mark.parametrize("phase", ["idle", "active", "ended"])
def test_an_unknown_event_changes_nothing(phase: str) -> None:
    assert find_transition(phase, "compact") == (phase, ())


def test_a_merge_a_revert_and_a_bisect_commit_like_any_other() -> None:
    assert set(REWRITING) == {"rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD"}
