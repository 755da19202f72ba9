"""The contents before and after each call of a transcript (gitcp.extras.imports.rules)."""

from __future__ import annotations

from typing import Any

import pytest

from gitcp.extras.imports import rules

WRITER = ("s1", "t1", "c1")
SECOND = 10**9
WROTE = {"content": "a\nb\n"}
Ends = tuple[bytes | None, bytes | None, bool]


@pytest.mark.parametrize(
    ("calls", "commits", "ends"),
    [
        ([{"created": True, "content": "a\n"}], {}, [(None, b"a\n", True)]),
        ([{"created": True, "edits": [["", "a\n", False]]}], {}, [(None, b"a\n", True)]),
        ([{"created": True}], {}, []),
        ([WROTE], {}, [(None, b"a\nb\n", False)]),
        ([WROTE, WROTE], {}, [(None, b"a\nb\n", False)]),
        ([{**WROTE, "original": "a\n"}], {}, [(b"a\n", b"a\nb\n", True)]),
        ([{**WROTE, "original": ""}], {}, [(None, b"a\nb\n", True)]),
        (
            [{"original": "a\na\n", "edits": [["a", "c", False]]}],
            {},
            [(b"a\na\n", b"c\na\n", True)],
        ),
        (
            [WROTE, {"inserted": [2, "c"]}],
            {},
            [(None, b"a\nb\n", False), (b"a\nb\n", b"a\nc\nb\n", True)],
        ),
        ([{"inserted": [2, "c"]}, {"deleted": True}], {}, []),
        ([WROTE, {"deleted": True}], {}, [(None, b"a\nb\n", False), (b"a\nb\n", None, True)]),
        ([{"edits": [["a", "c", False]]}], {0: b"a\n"}, [(b"a\n", b"c\n", True)]),
        ([{"edits": [["a", "c", False]]}], {9: b"c\n"}, [(b"a\n", b"c\n", True)]),
        ([{"edits": [["a", "c", False]]}], {0: b"a a\n"}, []),
        ([{"edits": [["a", "c", True]]}], {0: b"a a\n"}, [(b"a a\n", b"c c\n", True)]),
        ([{"edits": [["a", "c", False]]}], {0: None, 9: b"b\n"}, []),
    ],
)
def test_a_step_is_known_by_the_client_or_by_the_contents_around_it(
    calls: list[dict[str, Any]], commits: dict[int, bytes | None], ends: list[Ends]
) -> None:
    versions = [(time, lambda content=content: content) for time, content in commits.items()]
    steps = rules.list_steps(((SECOND, WRITER, tells) for tells in calls), versions)
    assert [step[2:] for step in steps] == ends
