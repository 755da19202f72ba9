"""The checkpoints that a message and its note link to."""

from __future__ import annotations

from itertools import product

import pytest

from gitcp.checkpoints import links
from gitcp.git import commit_message

ONE, OTHER = "0123456789ab", "ba9876543210"
LINE = f"Entire-Checkpoint: {ONE}\n"
HEADS = ("", "\n", " x\n", "# x\n", "Subject\n", "a: b\n", f"Speaks of Entire-Checkpoint: {ONE}\n")
BODIES = (
    "",
    "\nbody\n",
    "\nSigned-off-by: A\n",
    f"\nentire-checkpoint: {OTHER}\n",
    f"\n# Entire-Checkpoint: {OTHER}\n",
    "\n# ------------------------ >8 ------------------------\n",
    "\nConflicts:\n\tfile\n",
)
ENDS = (
    "",
    LINE,
    "\n" + LINE,
    "\n" + LINE[:-1],
    f"\n{LINE}{LINE}",
    f"\n {LINE}",
    f"\n{LINE}\n",
    f"\n{LINE} folded\n",
    f"\n{LINE}text\n",
    "\nEntire-Checkpoint: 0123\n",
)
NOTES = ("", f"Entire-Checkpoint: {OTHER}\n", f"Entire-Checkpoint-Removed: {ONE} taken back\n")


def test_all_the_links_are_those_that_are_carried_and_then_those_in_the_text() -> None:
    glances = 0
    for head, body, end, note in product(HEADS, BODIES, ENDS, NOTES):
        message, noted = (head + body + end).encode(), note.encode()
        carried, (known, further) = (
            links.list_carried(message, noted),
            links.find_ids(message, noted),
        )
        assert list(carried) == known
        assert links.list_links(message, noted) == carried | dict.fromkeys(further, "text"), message
        glances += commit_message.read_simple(message) == [ONE]
    assert glances > 10


@pytest.mark.parametrize("end", ["", LINE[:-1], LINE + "text\n", LINE.replace("01", "0X")])
def test_a_glance_says_only_what_it_can_see(end: str) -> None:
    message = f"Subject\n\nEntire-Checkpoint: {OTHER}\n\n{end}".encode()
    assert commit_message.read_simple(message) is None
    assert commit_message.read_simple(b"Subject\n\nbody\n") == []


KEY, GONE, HAND = "Entire-Checkpoint", "Entire-Checkpoint-Removed", "Linked-By-Hand"


@pytest.mark.parametrize(
    ("note", "carried", "removed", "by_hand"),
    [
        ("", [], {}, []),
        (f"{KEY}: {ONE}\n", [ONE], {}, []),
        (f"A word\n\n{KEY}: {ONE}\n{KEY}: {OTHER}\n", [ONE, OTHER], {}, []),
        (f"{KEY}: {ONE}\n{GONE}: {ONE} not mine at all\n", [], {ONE: "not mine at all"}, []),
        (f"{GONE}: {ONE}\n{KEY}: {ONE}\n", [ONE], {}, []),
        (f"{GONE}: {ONE} why\n{KEY}: {ONE} why\n", [], {ONE: "why"}, []),
        (f"{KEY}: {ONE}\n{HAND}: {ONE}\n", [ONE], {}, [ONE]),
        (f"{HAND}: {ONE} why\n{KEY}: 0123\n{GONE}: 0123 why\n", [], {}, []),
        (f"Reviewed-by: {ONE}\n{KEY}-Else: {ONE}\n", [], {}, []),
    ],
)
def test_the_lines_of_a_note_link_and_unlink_in_their_order(
    note: str, carried: list[str], removed: dict[str, str], by_hand: list[str]
) -> None:
    data = note.encode()
    assert links.list_carried(b"", data) == dict.fromkeys(carried, "note")
    assert (links.list_removed(data), links.list_by_hand(data)) == (removed, set(by_hand))
    text = f"squashed\n\n    {KEY}: {ONE}\n    {KEY}: {OTHER}\nmore\n".encode()
    further = [oid for oid in (ONE, OTHER) if oid not in (*carried, *removed)]
    assert links.find_ids(text, data) == (carried, further)


def test_what_is_written_into_a_note_is_read_from_it() -> None:
    first = links.add_link(b"", ONE)
    assert first == f"{KEY}: {ONE}\n".encode() == links.add_link(first, ONE)
    both = links.add_link(b"of a person\n\n\n", ONE)
    assert both == f"of a person\n\n{KEY}: {ONE}\n".encode()
    hand = links.add_link_by_hand(both, OTHER)
    assert hand == both + f"{KEY}: {OTHER}\n{HAND}: {OTHER}\n".encode()
    assert links.add_link_by_hand(hand, OTHER) == hand
    gone = links.remove_link(hand, ONE, " not \n mine\udcff")
    assert gone == hand + f"{GONE}: {ONE} not mine".encode() + b"\xff\n"
    assert links.remove_link(b"", ONE, "") == f"{GONE}: {ONE}\n".encode()
    assert (list(links.list_carried(b"", gone)), links.list_by_hand(gone)) == ([OTHER], {OTHER})
