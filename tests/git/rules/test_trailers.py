"""The one pure module whose tests run git: what it imitates is the oracle."""

from __future__ import annotations

import os
import re
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitcp.git import commit_message
from gitcp.git.commit_message import find_cut, split_lines

A, B, C = "a1b2c3d4e5f6", "0123456789ab", "fedcba987654"
LINE = f"Entire-Checkpoint: {A}\n".encode()
OTHER = f"Entire-Checkpoint: {B}\n".encode()
CUT = b"# ------------------------ >8 ------------------------\n"
BELOW = CUT + b"# Do not modify or remove the line above.\n# Everything below it will be ignored.\n"
EDITOR = (
    b"\n# Please enter the commit message for your changes. Lines starting\n"
    b"# with '#' will be ignored, and an empty message aborts the commit.\n"
    b"#\n# On branch main\n# Changes to be committed:\n#\tmodified:   f\n#\n"
)


def oracle(message: bytes, ids: list[str], comment: str = "#") -> bytes:
    """What git makes of it: sealed, outside any repository."""
    argv = ["git", "-c", f"core.commentChar={comment}", "interpret-trailers", "--no-divider"]
    argv += ["--where", "end", "--if-exists", "addIfDifferent"]
    argv += [part for oid in ids for part in ("--trailer", f"Entire-Checkpoint: {oid}")]
    env = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    ended = message if message.endswith(b"\n") else message + b"\n"
    return subprocess.run(
        argv, input=ended, cwd="/", env=env, check=True, capture_output=True
    ).stdout


CORPUS = [
    b"subject\n",
    b"subject",
    b"fix: x\n",
    b"fix: x",
    b"fix: x\nsecond: line of the title\n",
    b"subject\n\nbody\n",
    b"subject\n\nbody: with a colon in it\n",
    b"subject\n\nbody\nnot: all are trailers\n",
    b"subject\n\nSigned-off-by: A <a@b>\n",
    b"subject\n\nbody\n\nSigned-off-by: A <a@b>\nReviewed-by: C <c@d>\n",
    b"subject\n\nbody\n\nSigned-off-by: A <a@b>",
    b"subject\n\nbody\n\nSigned-off-by: A <a@b>\n\n\n",
    b"subject\n\n[note]\nno trailer\nSigned-off-by: A <a@b>\n",
    b"subject\n\none\ntwo\nthree\nSigned-off-by: A <a@b>\n",
    b"subject\n\nword\n f\n f\n f\nSigned-off-by: A <a@b>\n",
    b"subject\n\none\ntwo\nthree\nfour\nSigned-off-by: A <a@b>\n",
    b"subject\n\nx\n(cherry picked from commit abc)\n",
    b"subject\n\nFolded: one\n two\n  three\nKey : loose\nEmpty:\n",
    b"subject\n\n folded: before any trailer\nKey: x\n",
    b"subject\n\nKey: x\n# a comment\nOther: y\n",
    b"subject\n\nhttps://example.com/\n",
    b"subject\n\nCo-authored-by: X <x@y>\n\nlast paragraph\n",
    b"subject\n\n" + LINE,
    b"subject\n\n" + OTHER,
    b"subject\n\nbody\n\n" + OTHER + b"Signed-off-by: A <a@b>\n",
    b"subject\n\n" + LINE + b"\nbody after it\n",
    b"subject\n" + LINE,
    b"subject\n\nbody\n" + EDITOR,
    b"fix: x\n" + EDITOR,
    b"subject\n\nSigned-off-by: A <a@b>\n" + EDITOR,
    b"subject\n\nbody\n\n" + BELOW + b"diff --git a/f b/f\n+Key: x\n",
    b"subject\n" + EDITOR + BELOW + b"diff --git a/f b/f\n",
    b"subject\n\nConflicts:\n\tf\n\tg\n",
    b"subject\n\nConflicts:\n\tf\n\nbody\n",
    b"Merge branch 'x'\n\n# Conflicts:\n#\tf\n",
    b"subject\n\nbody\n---\nKey: x\n",
    b"subject\r\n\r\nbody\r\n",
    b"subject\r\n\r\nSigned-off-by: A <a@b>\r\n",
    b"subject\r\n\r\nSigned-off-by: A <a@b>\r\n\r\n",
    b"s\xff\n\nK\xff: x\n",
    b"subject\n \t\nKey: x\n",
    b"subject\n\n\xc2\xa0\nKey: x\n",
]


@pytest.mark.parametrize("message", CORPUS, ids=range(len(CORPUS)))
def test_a_line_goes_where_git_puts_it(message: bytes) -> None:
    for ids in ([A], [A, B]):
        assert commit_message.add_trailers(message, ids) == oracle(message, ids)


@pytest.mark.parametrize("char", [";", "!", "%"])
def test_another_comment_character_goes_where_git_puts_it(char: str) -> None:
    message = (b"fix: x\n\n# text\n" + EDITOR).replace(b"\n#", b"\n" + char.encode())
    got = commit_message.add_trailers(message, [A], comment=char.encode())
    assert got == oracle(message, [A], char)
    hashes = b"subject\n\n# not a comment\n"
    assert commit_message.add_trailers(hashes, [A], comment=char.encode()) == oracle(
        hashes, [A], char
    )


TEXT = [b"subject", b"fix: x", b"body line", b"Foo: bar", b"Key :val"]
MORE = [*TEXT, b"Signed-off-by: A <a@b>", b"", b"", b"", b" folded", b"\tf", b"# comment", b"#",
        b"Conflicts:", b"Empty:",
        b"(cherry picked from commit 1)", b"\r", b"Foo: bar\r", b" ", b"---", b"x: y: z", b": x",
        b"Conflicts:\r", LINE[:-1], OTHER[:-1], CUT[:-1], b"a b: c", b"#Foo: bar"]  # fmt: skip
WHITE = (b"\r", b" ")


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(TEXT), st.lists(st.sampled_from(MORE), max_size=9))
def test_any_message_that_begins_with_text_is_extended_as_by_git(
    first: bytes, more: list[bytes]
) -> None:
    message = b"\n".join([first, *more])
    assert commit_message.add_trailers(message, [A, C]) == oracle(message, [A, C])


def cleaned(message: bytes) -> bytes:
    """The message of the commit: as git cleans up what comes back from the editor."""
    lines = split_lines(message)
    kept = [line.rstrip() for line in lines[: find_cut(lines, b"#")] if not line.startswith(b"#")]
    return re.sub(rb"\n{3,}", b"\n\n", b"\n".join(kept)).strip(b"\n") + b"\n"


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([m for m in MORE if m not in WHITE]), max_size=9), st.booleans())
def test_the_commit_has_what_was_added(lines: list[bytes], editor: bool) -> None:
    """Except below a line of white space, which git takes for a part of the block, and which its
    clean-up empties, so that the block ends there."""
    message = b"\n".join(lines) + b"\n" + (EDITOR if editor else b"")
    added = commit_message.add_trailers(message, [A, C])
    text = [s for s in cleaned(message).split(b"\n") if not s.startswith((b"Signed", b"Entire"))]
    written = cleaned(added if any(text) else b"typed" + added)
    has = commit_message.read_trailers(written)
    assert has.count(A) >= 1
    assert has.count(C) == 1
    if not any(line.startswith(b"#") for line in lines):  # git drops those inside a block
        assert commit_message.add_trailers(added, [A, C]) == added


EMPTY = [
    (b"", b"\n\n" + LINE),
    (b"\n", b"\n\n" + LINE),
    (EDITOR, b"\n\n" + LINE + EDITOR),
    (b"\n" + EDITOR, b"\n\n" + LINE + EDITOR),
    (b"\n" + BELOW, b"\n\n" + LINE + b"\n" + BELOW),
    (
        b"# a template\n# of comments\n" + EDITOR,
        b"# a template\n# of comments\n\n\n" + LINE + EDITOR,
    ),
    (b"\n\nSigned-off-by: A\n" + EDITOR, b"\n\nSigned-off-by: A\n" + LINE + EDITOR),
    (b"\n\n" + LINE + EDITOR, b"\n\n" + LINE + EDITOR),
    (EDITOR + BELOW + b"diff\n", b"\n\n" + LINE + EDITOR + BELOW + b"diff\n"),
]


@pytest.mark.parametrize(("message", "want"), EMPTY)
def test_a_message_still_to_be_written_is_not_glued_to_the_trailer(
    message: bytes, want: bytes
) -> None:
    got = commit_message.add_trailers(message, [A])
    assert got == want
    for typed in (b"subject", b"fix: x", b"fix: x\n\nbody"):
        assert commit_message.read_trailers(typed + got) == [A]


@pytest.mark.parametrize(
    "message", [b"\n\nfix: x\n", b"# This is the 1st commit message:\n\nfix: x\n", b"#\n\nfix: x"]
)
def test_a_subject_below_empty_lines_or_comments_is_still_the_subject(message: bytes) -> None:
    assert commit_message.add_trailers(message, [A]).endswith(b"\n\nfix: x\n\n" + LINE)


def test_a_message_that_begins_like_a_comment_is_text_when_no_editor_opens() -> None:
    message = b"#12: fix\n\n#13 too\n"
    added = commit_message.add_trailers(message, [A], comment=b"")
    assert added == message + b"\n" + LINE
    assert commit_message.read_trailers(added) == [A]
    assert commit_message.add_trailers(b"#12: fix\n", [A]) == b"#12: fix\n\n" + LINE


def test_an_id_that_is_none_is_not_taken_for_ours() -> None:
    message = b"subject\n\n" + LINE.upper()
    assert commit_message.add_trailers(message, [A]) == b"subject\n\n" + LINE.upper() + LINE


def test_no_id_changes_nothing() -> None:
    assert commit_message.add_trailers(b"subject", []) == b"subject"


HINT = ["Delete the line to keep the commit", "", "unlinked."]
SHOWN = b"# Delete the line to keep the commit\n#\n# unlinked.\n"


@pytest.mark.parametrize("text", [b"", b"subject\n", b"fix: x\n\nbody\n"])
def test_comments_for_the_person_stand_before_the_comments_of_git(text: bytes) -> None:
    got = commit_message.add_trailers(text + EDITOR, [A], comments=HINT)
    assert got.endswith(b"\n\n" + LINE + b"\n" + SHOWN + b"#\n" + EDITOR[1:])


@pytest.mark.parametrize("text", [b"", b"subject\n", b"subject\n\n# kept by git\n"])
def test_comments_for_the_person_stand_below_the_scissors(text: bytes) -> None:
    got = commit_message.add_trailers(
        text + b"\n" + BELOW + b"#\n# On branch main\n", [A], comments=HINT
    )
    assert got.endswith(b"\n" + BELOW + b"#\n" + SHOWN + b"#\n# On branch main\n")
    assert b"Delete" not in got.partition(CUT)[0]


@pytest.mark.parametrize(
    "message",
    [b"", b"subject\n", b"subject\n\n# text\nmore\n", b"#12 fix\n", b"s\n\n; x\n"],
)
def test_without_comments_of_git_there_are_none_of_ours(message: bytes) -> None:
    assert b"Delete" not in commit_message.add_trailers(message, [A], comments=HINT)
    assert commit_message.add_trailers(message, [A], comments=HINT) == commit_message.add_trailers(
        message, [A]
    )


def test_comments_take_the_comment_character() -> None:
    message = b"subject\n" + EDITOR.replace(b"\n#", b"\n;")
    got = commit_message.add_trailers(message, [A], comment=b";", comments=["one"])
    assert got.startswith(b"subject\n\n" + LINE + b"\n; one\n;\n; Please")


READ: list[tuple[bytes, list[str]]] = [
    (b"subject\n\n" + LINE, [A]),
    (b"subject\n\n" + LINE + OTHER, [A, B]),
    (b"subject\n\nbody\n\n" + LINE + b"Signed-off-by: A <a@b>\n", [A]),
    (b"subject\n\n" + LINE.lower(), [A]),
    (b"subject\n\n" + LINE.rstrip() + b"   \r\n", [A]),
    (b"subject\n" + LINE, []),
    (LINE, []),
    (b"", []),
    (b"subject\n\n" + LINE + b"\nbody\n", []),
    (b"subject\n\n" + LINE + b"body\n", []),
    (b"subject\n\n  " + LINE, []),
    (b"subject\n\nEntire-Checkpoint: a1b2c3d4e5\n", []),
    (b"subject\n\nEntire-Checkpoint: A1B2C3D4E5F6\n", []),
    (b"subject\n\nEntire-Checkpoint: a1b2c3d4e5f6 x\n", []),
    (b"subject\n\nEntire-Checkpoint: ../../../../x\n" + OTHER, [B]),
]


@pytest.mark.parametrize(("message", "ids"), READ)
def test_only_ids_in_the_last_trailer_block_are_read(message: bytes, ids: list[str]) -> None:
    assert commit_message.read_trailers(message) == ids


def test_other_keys_are_read_with_their_values_as_they_are() -> None:
    message = b"subject\n\nEntire-Session: s 1\nNote: folded\n  twice\nEntire-Session: \xff\n"
    assert commit_message.read_trailers(message, "Entire-Session") == ["s 1", "\udcff"]
    assert commit_message.read_trailers(message, "note") == ["folded twice"]
    assert commit_message.read_trailers(message, "Entire") == []


SQUASH_MSG = (
    b"Squashed commit of the following:\n\ncommit 1234\nAuthor: A\n\n    one\n\n    "
    + LINE
    + b"\ncommit 5678\nAuthor: A\n\n    two\n    \n    "
    + OTHER
)
REBASE = (
    b"# This is a combination of 3 commits.\n# This is the 1st commit message:\n\none\n\n"
    + LINE
    + b"\n# This is the commit message #2:\n\nfix: two\n\nbody\n\n"
    + OTHER
    + b"Signed-off-by: A <a@b>\n\n# The commit message #3 will be skipped:\n\n# fixup! one\n#\n# "
    + LINE.replace(A.encode(), C.encode())
    + EDITOR
)


def test_ids_are_found_anywhere_once() -> None:
    assert commit_message.find_anywhere(SQUASH_MSG) == [A, B]
    assert commit_message.find_anywhere(REBASE + LINE) == [A, B, C]
    prose = b"subject\n\nsee Entire-Checkpoint: a1b2c3d4e5f6 for more\nEntire-Checkpoint: x\n"
    assert commit_message.find_anywhere(prose) == []


def test_the_ids_of_squashed_messages_move_into_the_last_block() -> None:
    ids, text = commit_message.collect_trailers(SQUASH_MSG)
    assert ids == [A, B]
    assert text == (
        b"Squashed commit of the following:\n\ncommit 1234\nAuthor: A\n\n    one\n\n"
        b"commit 5678\nAuthor: A\n\n    two\n"
    )
    assert commit_message.add_trailers(text, ids) == text + b"\n" + LINE + OTHER


def test_the_ids_of_a_rebase_move_above_the_comments_of_git() -> None:
    ids, text = commit_message.collect_trailers(REBASE)
    assert ids == [A, B, C]
    moved = commit_message.add_trailers(text, ids)
    assert moved.count(b"\nEntire-Checkpoint: ") == 3
    assert b"one\n\n# This is the commit message #2:\n\nfix: two" in moved
    block = b"body\n\nSigned-off-by: A <a@b>\n" + LINE + OTHER
    assert block + LINE.replace(A.encode(), C.encode()) + b"\n# The commit message #3" in moved


def test_the_subject_of_a_squashed_message_is_not_glued() -> None:
    message = REBASE.replace(b"\n\nbody", b"").replace(b"Signed-off-by: A <a@b>\n", b"")
    ids, text = commit_message.collect_trailers(message)
    assert b"\n\nfix: two\n\n" + LINE + OTHER in commit_message.add_trailers(text, ids)


def test_no_empty_lines_are_left_where_an_id_was_taken() -> None:
    assert commit_message.collect_trailers(LINE + b"\nsubject\n\n") == ([A], b"subject\n\n")
    assert commit_message.collect_trailers(b"s\n\n" + LINE + b"\n\nbody\n") == ([A], b"s\n\nbody\n")


def test_nothing_below_the_cut_is_collected() -> None:
    message = b"subject\n\n" + BELOW + b"diff\n" + LINE
    assert commit_message.collect_trailers(message) == ([], message)


@pytest.mark.parametrize(
    ("message", "want"),
    [
        (b"subject\n\n" + LINE, b"subject\n"),
        (b"subject\n\n" + LINE + OTHER, b"subject\n"),
        (b"subject\n\nbody\n\n" + LINE + b"Foo :bar\n", b"subject\n\nbody\n\nFoo :bar\n"),
        (b"subject\n\n" + LINE + EDITOR, b"subject\n" + EDITOR),
        (b"subject\n\n" + LINE + b"\nbody\n", b"subject\n\n" + LINE + b"\nbody\n"),
        (b"subject", b"subject"),
        (b"\n\n" + LINE, b""),
        (b"\n\n" + LINE + OTHER + EDITOR, b"\n" + EDITOR),
        (b"\n\nSigned-off-by: A\n" + LINE, b"\n\nSigned-off-by: A\n"),
    ],
)
def test_our_lines_are_removed_from_the_last_block_only(message: bytes, want: bytes) -> None:
    assert commit_message.remove_trailers(message) == want


@pytest.mark.parametrize("message", CORPUS, ids=range(len(CORPUS)))
def test_what_was_added_to_a_message_can_be_removed(message: bytes) -> None:
    removed = commit_message.remove_trailers(commit_message.add_trailers(message, [C]))
    assert commit_message.read_trailers(removed) == []
    assert removed.partition(b"\n")[0] == message.partition(b"\n")[0]


ONLY = [
    (b"\n\n" + LINE, True),
    (b"\n\n" + LINE + EDITOR, True),
    (LINE + OTHER, True),
    (b"\n\n" + LINE + b"\n" + BELOW + b"text\n", True),
    (b"\n\nSigned-off-by: A <a@b>\n" + LINE, True),
    (b"subject\n\n" + LINE, False),
    (b"subject\n" + LINE, False),
    (b"\n\nSigned-off-by: A <a@b>\n", False),
    (EDITOR, False),
    (b"", False),
]


@pytest.mark.parametrize(("message", "want"), ONLY)
def test_a_message_with_nothing_but_the_trailer_is_known(message: bytes, want: bool) -> None:
    assert commit_message.has_only_trailers(message) is want


def test_a_template_left_as_it_was_is_no_message() -> None:
    template = b"Why:\n\nHow:\n# a hint\n"
    left = commit_message.add_trailers(template + EDITOR, [A])
    assert commit_message.has_only_trailers(left, template=template)
    assert not commit_message.has_only_trailers(
        left.replace(b"Why:", b"Why: so"), template=template
    )
    assert not commit_message.has_only_trailers(left)


def test_text_is_not_a_comment_when_there_are_no_comments() -> None:
    assert commit_message.has_only_trailers(b"#12\n\n" + LINE)
    assert not commit_message.has_only_trailers(b"#12\n\n" + LINE, comment=b"")
