"""The oracle of the soak: which links of a commit are wrong, and which are missing."""

from __future__ import annotations

import pytest

from tests.soak.ledger import Commit, Ledger, commits

BY_A, BY_B = "row 00001 by s-a for 00001", "row 00002 by s-b for 00002"
LATER, TYPED = "row 00004 by s-a for 00003", "row 00003 by ann for 00000"
STORED = {"1" * 12: {"s-a"}, "2" * 12: {"s-b"}, "3" * 12: {"s-a"}, "4" * 12: {"s-a", "s-b"}}


def commit(added: str, ids: str = "", message: str = "change", parents: str = "") -> Commit:
    names = [digit * 12 for digit in ids]
    return Commit(message, parents.split(), message, names, {*added.split("\n")} - {""}, set())


@pytest.mark.parametrize(
    ("made", "missing", "wrong"),
    [
        (commit(TYPED), "", ""),
        (commit(TYPED, "1"), "", "1"),
        (commit(BY_A, "1"), "", ""),
        (commit(BY_A), "s-a", ""),
        (commit(BY_A, "2"), "s-a", "2"),
        (commit(BY_A, "12"), "", "2"),
        (commit(f"{BY_A}\n{BY_B}", "12"), "", ""),
        (commit(f"{BY_A}\n{BY_B}", "1"), "s-b", ""),
        (commit(f"{BY_A}\n{BY_B}", "4"), "", ""),
        # the same session, but the checkpoint of another commit
        (commit(LATER, "1"), "s-a", "1"),
        (commit(LATER, "3"), "", ""),
        # the same session, and one of its checkpoints
        (commit(f"{BY_A}\n{LATER}", "1"), "s-a", ""),
        # the commit left work of the session in its file: a link is right, and none is
        (commit(TYPED, "1", "c0001 some of it"), "", ""),
        (commit(TYPED, "", "c0001 some of it"), "", ""),
        (commit(TYPED, "2", "c0001 some of it"), "", "2"),
    ],
)
def test_a_commit_is_judged_by_its_lines(made: Commit, missing: str, wrong: str) -> None:
    ledger = Ledger()
    ledger.record(commit(BY_A, "1"))
    ledger.record(commit(BY_B, "2"))
    ledger.record(commit(LATER, "3"))
    ledger.possible["c0001"] = {"s-a"}
    [verdict] = ledger.judge([made], STORED)
    assert verdict.missing == {*missing.split()}
    assert verdict.wrong == {digit * 12 for digit in wrong}


def test_a_session_that_is_linked_has_its_other_checkpoint_where_a_conflict_put_the_rest() -> None:
    ledger, rest = Ledger(), "row 00005 by s-a for 00003"
    ledger.record(commit(BY_A, "1"))
    ledger.record(commit(f"{LATER}\n{rest}", "3"))
    both = commit(f"{BY_A}\n{LATER}", "1", "both")
    for after, missing in ((commit(rest, "3", "rest", "both"), ""), (commit(rest), "s-a")):
        assert ledger.judge([both, after], STORED)[0].missing == {*missing.split()}


def test_a_row_that_comes_back_may_be_linked_and_need_not() -> None:
    first, gone = commit(BY_A, "1", "first"), commit(TYPED, "", "gone", "first")
    for ids in ("", "1"):
        back = commit(BY_A, ids, "back", "gone")
        verdicts = Ledger().judge([first, gone, back], STORED)
        assert not any(v.missing or v.wrong for v in verdicts)


def test_the_log_is_read_with_trailers_notes_and_what_a_merge_adds() -> None:
    body = f"squash\n\n* one\n\n  Entire-Checkpoint: {'1' * 12}\n"
    note = f"Entire-Checkpoint: {'2' * 12}\nEntire-Checkpoint-Removed: {'1' * 12} not it\n"
    log = f"\0aa\x01bb cc\x01{body}\x01{note}\x01\n++{BY_A}\n+ {BY_B}\n"
    log += f"\0bb\x01\x01plain\x01\x01\n+{TYPED}\n-{BY_B}\n"
    merge, plain = commits(log)
    assert (merge.ids, merge.added, merge.parents) == (["2" * 12], {BY_A}, ["bb", "cc"])
    assert (plain.ids, plain.added, plain.removed) == ([], {TYPED}, {BY_B})
