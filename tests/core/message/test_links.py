"""The checkpoints that a message and its note link to."""

from __future__ import annotations

from itertools import product

import pytest

from gitcp.core.message import links, trailers

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
        glances += trailers.read_simple(message) == [ONE]
    assert glances > 10


@pytest.mark.parametrize("end", ["", LINE[:-1], LINE + "text\n", LINE.replace("01", "0X")])
def test_a_glance_says_only_what_it_can_see(end: str) -> None:
    message = f"Subject\n\nEntire-Checkpoint: {OTHER}\n\n{end}".encode()
    assert trailers.read_simple(message) is None
    assert trailers.read_simple(b"Subject\n\nbody\n") == []
