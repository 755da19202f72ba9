"""Every number in this file was counted by hand."""

from __future__ import annotations

import pytest

from gitcp.core.decide.attribution import initial_attribution

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.decide.attribution import Versions


def text(letters: str | None) -> bytes | None:
    """One letter is one line."""
    return None if letters is None else b"".join(c.encode() + b"\n" for c in letters)


def counts(files: dict[str, Versions], **more: object) -> tuple[float, ...]:
    return tuple(initial_attribution(files, **more).values())  # type: ignore[arg-type]


# base, record, HEAD: agent, agent removed, human added, modified, removed, total, percentage
CASES: list[tuple[str, str | None, str | None, str | None, tuple[float, ...]]] = [
    ("all the agent's", "pq", "pqabcd", "pqabcd", (4, 0, 0, 0, 0, 4, 100)),
    ("a new file of the agent", None, "abcd", "abcd", (4, 0, 0, 0, 0, 4, 100)),
    ("the person added two", "pq", "pqabcdef", "pqabcdefXY", (6, 0, 2, 0, 0, 8, 75)),
    ("the person changed one of four", "p", "pabcd", "pabXd", (3, 0, 0, 1, 0, 4, 75)),
    ("the person removed one of four", "p", "pabcd", "pabd", (3, 0, 0, 0, 1, 3, 100)),
    ("the person changed a line of before", "pq", "pqabc", "Xqabc", (3, 0, 0, 1, 0, 4, 75)),
    ("the person removed a line of before", "pq", "pqabc", "qabc", (3, 0, 0, 0, 1, 4, 75)),
    ("changed one, removed one of before", "pq", "pqabc", "qabX", (2, 0, 0, 1, 1, 4, 50)),
    ("the person alone", "pq", "pq", "pqXY", (0, 0, 2, 0, 0, 2, 0)),
    ("the person alone removed", "pqr", "pqr", "p", (0, 0, 0, 0, 2, 2, 0)),
    ("the person alone deleted the file", "pqr", "pqr", None, (0, 0, 0, 0, 3, 3, 0)),
    ("the agent only removed", "pqrs", "ps", "ps", (0, 2, 0, 0, 0, 2, 100)),
    ("the agent deleted the file", "pqrs", "", None, (0, 4, 0, 0, 0, 4, 100)),
    ("the agent replaced two by two", "pqrs", "pabs", "pabs", (2, 0, 0, 0, 0, 2, 100)),
    ("the agent replaced three by one", "pqrs", "pa", "pa", (1, 2, 0, 0, 0, 3, 100)),
    ("the agent removed, the person added", "pqrs", "ps", "psXY", (0, 2, 2, 0, 0, 4, 50)),
    ("what the agent removed is back", "pqrs", "ps", "pqrs", (0, 0, 0, 0, 0, 0, 0)),
    ("what the agent added is gone", "pq", "pqab", "pq", (0, 0, 0, 0, 2, 0, 0)),
    ("committed in part", "p", "pabcd", "pab", (2, 0, 0, 0, 2, 2, 100)),
    ("the agent's lines were moved", "pq", "pqab", "abpq", (2, 0, 0, 0, 0, 2, 100)),
    ("the same line three times", "p", "paaa", "paa", (2, 0, 0, 0, 1, 2, 100)),
    ("no record: all the agent's", "pq", None, "pab", (2, 0, 0, 0, 0, 2, 100)),
    ("no record: a deleted file", "pq", None, None, (0, 2, 0, 0, 0, 2, 100)),
    ("nothing", "pq", "pq", "pq", (0, 0, 0, 0, 0, 0, 0)),
    ("an empty new file", None, "", "", (0, 0, 0, 0, 0, 0, 0)),
]


@pytest.mark.parametrize(("base", "record", "head", "want"), [c[1:] for c in CASES],
                         ids=[c[0] for c in CASES])  # fmt: skip
def test_the_lines_of_one_file_are_counted(
    base: str | None, record: str | None, head: str | None, want: tuple[float, ...]
) -> None:
    assert counts({"f": (text(base), text(record), text(head))}) == want


def test_files_are_summed_and_a_change_is_one_within_a_file() -> None:
    files = {
        "added by the agent": (None, text("abcdef"), text("abcdef")),
        "added to by the person": (text("p"), text("p"), text("pXY")),
        "cut by the person": (text("pq"), text("pq"), text("p")),
        "a picture": (b"\0a", b"\0b", b"\0c"),
    }
    assert counts(files) == (6, 0, 2, 0, 1, 9, 100 * 6 / 9)


def test_no_file_is_no_attribution() -> None:
    assert counts({}) == (0, 0, 0, 0, 0, 0, 0)


OTHERS: list[tuple[str, str, str, str, str, tuple[float, ...]]] = [
    ("each its own", "p", "pab", "puv", "pabuv", (2, 0, 0, 0, 0, 4, 50)),
    ("and the person", "p", "pab", "puv", "pabuvXY", (2, 0, 2, 0, 0, 6, 100 / 3)),
    ("the other removed", "pqr", "pqra", "p", "pa", (1, 0, 0, 0, 0, 3, 100 / 3)),
    ("the other replaced ours", "p", "pab", "pau", "pau", (1, 0, 0, 0, 0, 2, 50)),
    (
        "ours goes before the same of theirs",
        "p",
        "pab",
        "pabu",
        "pabu",
        (2, 0, 0, 0, 0, 3, 200 / 3),
    ),
    ("the person removed ours, theirs has it", "p", "pab", "pabu", "pau", (1, 0, 0, 0, 1, 2, 50)),
]


@pytest.mark.parametrize(("base", "record", "other", "head", "want"), [c[1:] for c in OTHERS],
                         ids=[c[0] for c in OTHERS])  # fmt: skip
def test_lines_of_another_session_are_not_the_persons(
    base: str, record: str, other: str, head: str, want: tuple[float, ...]
) -> None:
    files = {"f": (text(base), text(record), text(head))}
    assert counts(files, others={"f": [text(other)]}) == pytest.approx(want)


@pytest.mark.parametrize(
    ("record", "typed", "head", "want"),
    [
        ("pabXY", 2, "pabXY", (2, 0, 2, 0, 0, 4, 50)),
        ("pabXY", 2, "pabX", (2, 0, 1, 0, 0, 3, 200 / 3)),
        ("aXY", 2, "aXY", (1, 0, 2, 0, 0, 3, 100 / 3)),
        ("pXY", 2, "pXY", (0, 0, 2, 0, 0, 2, 0)),
        ("pa", 9, "pa", (0, 0, 1, 0, 0, 1, 0)),
        ("pXY", 2, "p", (0, 0, 0, 0, 0, 0, 0)),
    ],
)
def test_lines_the_person_typed_between_turns_are_not_the_agents(
    record: str, typed: int, head: str, want: tuple[float, ...]
) -> None:
    files = {"f": (text("p"), text(record), text(head))}
    assert counts(files, typed={"f": typed}) == pytest.approx(want)


def test_typed_lines_do_not_stand_in_for_lines_the_agent_removed() -> None:
    files = {"f": (text("pqrs"), text("paXY"), text("paXY"))}
    assert counts(files, typed={"f": 2}) == (1, 2, 2, 0, 0, 5, 60)
