"""What of a piece of work a commit has, and when that is enough."""

from __future__ import annotations

import pytest

from gitcp.record.match import holding
from gitcp.record.match.change import Change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gitcp.text.record_types import Recorded, Staged

    Texts = Mapping[str, tuple[str | None, str | None]]

FILE, EXEC, ABSENT = "100644", "100755", "000000"
STORE: dict[str, bytes] = {}


def oid(data: str) -> str:
    STORE[f"<{data}>"] = data.encode()
    return f"<{data}>"


def lines(*parts: object) -> str:
    return "".join(f"the line of the part {part}\n" for part in parts)


def build(texts: Texts) -> dict[str, Staged]:
    """The changes that take each path from one content to another, None for no file."""
    changes: dict[str, Staged] = {}
    for path, sides in texts.items():
        old, new = ((ABSENT, None) if text is None else (FILE, oid(text)) for text in sides)
        changes[path] = (*old, *new)
    return changes


def record(texts: Texts, own: set[str] | None = None) -> list[Recorded]:
    work: list[Recorded] = []
    for path, (old_mode, old, mode, new) in build(texts).items():
        before = (old_mode, old) if old else None
        entry: Recorded = {"path": path, "oid": new, "mode": mode, "live": False, "before": before}
        if own is not None:
            entry["own"] = frozenset(lines(one).encode().rstrip(b"\n") for one in own)
        work.append(entry)
    return work


def decide(
    work: list[Recorded], texts: Texts, relation: str, without: Iterable[Texts] = ()
) -> bool:
    change = Change(build(texts), STORE.get)
    others = [Change(build(other), STORE.get) for other in without]
    part = holding.hold(work, change, others)

    def is_equal() -> bool:
        return part.is_all_work and part.is_all_change

    return bool(holding.explain_enough(part, change, relation, is_equal))


OLD = lines(*range(10))
TEN = {"f": (OLD, OLD + lines(*"abcdefghij"))}
RETAKEN, REPLAYED, SAME, OTHER = holding.RETAKEN, holding.REPLAYED, holding.SAME, holding.OTHER
MANY = lines(*(f"of another, {n}" for n in range(100)))
# the work, the commit, the weakest relation with which they are linked, None for none
CASES: dict[str, tuple[Texts, Texts, str | None]] = {
    "the same": (TEN, TEN, OTHER),
    "the same, one line": ({"f": (OLD, OLD + lines("a"))}, {"f": (OLD, OLD + lines("a"))}, SAME),
    "the same on other ground": (
        {"f": (OLD, OLD + "one = 1\n")}, {"f": (MANY + OLD, MANY + OLD + "one = 1\n")},
        SAME),
    "the same, three short lines": (
        {"f": (OLD, OLD + "a=1\nb=2\nc=3\n")}, {"f": (OLD, OLD + "a=1\nb=2\nc=3\n")}, OTHER),
    "the same, two short lines": (
        {"f": (OLD, OLD + "a=1\nb=2\n")}, {"f": (OLD, OLD + "a=1\nb=2\n")}, SAME),
    "the same long line in the place of a long line": (
        {"f": (OLD, lines("a", *range(1, 10)))}, {"f": (OLD, lines("a", *range(1, 10)))}, SAME),
    "a brace that was there before": (
        {"f": (OLD + "}\n", OLD + "}\none = 1\n")}, {"f": (OLD, OLD + "}\none = 1\n")}, SAME),
    "one line of ten, and nothing else": (TEN, {"f": (OLD, OLD + lines("a"))}, RETAKEN),
    "one line of ten, and another": (TEN, {"f": (OLD, OLD + lines("a", "z"))}, REPLAYED),
    "two lines of ten, and nothing else": (TEN, {"f": (OLD, OLD + lines(*"ab"))}, OTHER),
    "two lines of ten, and one other": (TEN, {"f": (OLD, OLD + lines(*"abz"))}, OTHER),
    "two lines of ten, and three others": (TEN, {"f": (OLD, OLD + lines(*"abxyz"))}, SAME),
    "two lines of ten, and a hundred others": (
        TEN, {"f": (OLD, OLD + lines(*"ab") + MANY)}, SAME),
    "all ten, and a hundred others": (TEN, {"f": (OLD, OLD + lines(*"abcdefghij") + MANY)}, SAME),
    "all ten, and fifty others": (
        TEN, {"f": (OLD, OLD + lines(*"abcdefghij")), "g": (None, lines(*range(50)))}, OTHER),
    "one line, and a hundred others": (
        {"f": (OLD, OLD + lines("a"))}, {"f": (OLD, OLD + lines("a") + MANY)}, RETAKEN),
    "no line": (TEN, {"f": (OLD, OLD + MANY)}, None),
    "a brace": ({"f": (OLD, OLD + "}\n")}, {"f": (OLD, OLD + "}\n")}, None),
    "another path": (TEN, {"g": (OLD, OLD + lines(*"abcdefghij"))}, None),
    "two lines in a hundred": (
        {"f": (OLD, OLD + lines(*"ab") + MANY)}, {"f": (OLD, lines(*"ab", *range(30)))}, REPLAYED),
    "the removed line, and nothing else": (
        {"f": (OLD, lines(*range(1, 10)))}, {"f": (OLD, lines(*range(1, 10)))}, SAME),
    "one of the removed lines": (
        {"f": (OLD, lines(*range(5, 10)))}, {"f": (OLD, lines(*range(1, 10)))}, RETAKEN),
    "the same lines replaced by others": (
        {"f": (OLD, lines(*"abc", *range(5, 10)))}, {"f": (OLD, lines(*"xyz", *range(5, 10)))},
        None),
    "the same lines replaced, one by the same": (
        {"f": (OLD, lines(*"abc", *range(3, 10)))}, {"f": (OLD, lines(*"ayz", *range(3, 10)))},
        SAME),
    "the deletion": ({"f": (OLD, None)}, {"f": (OLD, None)}, SAME),
    "the deletion, and other work": ({"f": (OLD, None)}, {"f": (OLD, None), "g": (None, MANY)},
     RETAKEN),
    "a deletion of another file": ({"f": (OLD, None)}, {"f": (MANY, None)}, None),
    "a part of the deletion": ({"f": (OLD, None)}, {"f": (OLD, lines(*range(5)))}, OTHER),
    "the deletion of a changed file": (TEN, {"f": (OLD + lines(*"abcdefghij"), None)}, None),
    "an empty file": ({"f": (None, "")}, {"f": (None, "")}, SAME),
    "the same binary content": ({"f": (None, "\0a")}, {"f": (None, "\0a"), "g": (None, lines("z"))},
     OTHER),
    "another binary content": ({"f": (None, "\0a")}, {"f": (None, "\0b")}, None),
    "white space alone": ({"f": ("a = 1\n", "a  =  1\n")}, {"f": ("a = 1\n", "a  =  1\n")}, SAME),
    "other white space": (
        {"f": (OLD, OLD + " \tone = 1\n")}, {"f": (OLD, OLD + "one = 1\n")}, SAME),
    "a repeated line at the same place": (
        {"f": (lines(*"abc"), lines(*"abac"))}, {"f": (lines(*"abc"), lines(*"abac"))}, SAME),
    "a repeated line at another place": (
        {"f": (lines(*"abc"), lines(*"abac"))}, {"f": (lines(*"abc"), lines(*"abca"))}, None),
    "the move": ({"f": (OLD, None), "g": (None, OLD)}, {"f": (OLD, None), "g": (None, OLD)}, SAME),
    "the move back": ({"f": (OLD, None), "g": (None, OLD)}, {"g": (OLD, None), "f": (None, OLD)},
     None),
    "a move of the new file": ({"f": (None, OLD)}, {"g": (OLD, None), "f": (None, OLD)}, None),
    "the new file under another name": ({"f": (None, OLD)}, {"g": (None, OLD)}, OTHER),
    "a small new file under another name": ({"f": (None, "{}\n")}, {"g": (None, "{}\n")}, None),
    "the change of a file that is moved too": (
        {"f": (OLD, OLD + lines(*"abc"))}, {"f": (OLD, None), "g": (None, OLD + lines(*"abc"))},
        OTHER),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_relation_needs_so_much_evidence(name: str) -> None:
    work, texts, weakest = CASES[name]
    order = [holding.OTHER, holding.SAME, holding.RETAKEN, holding.REPLAYED]
    enough = [relation for relation in order if decide(record(work), texts, relation)]
    assert enough == (order[order.index(weakest) :] if weakest else [])


def test_lines_of_others_in_the_work_are_no_evidence() -> None:
    mine = record(TEN, own={"a"})
    assert not decide(mine, {"f": (OLD, OLD + lines("b", "c"))}, holding.REPLAYED)
    assert decide(mine, {"f": (OLD, OLD + lines("a"))}, holding.RETAKEN)


def test_what_another_commit_has_is_no_evidence() -> None:
    first, second = {"f": (OLD, OLD + lines(*"abcde"))}, {"f": (OLD, OLD + lines(*"fghij"))}
    assert decide(record(TEN), second, holding.OTHER, [first])
    assert not decide(record(TEN), first, holding.REPLAYED, [first])
    assert not decide(record(TEN), TEN, holding.REPLAYED, [first, second])


def test_a_file_that_was_renamed_meanwhile_is_compared_under_its_new_name() -> None:
    changes = build({"g": (OLD, OLD + lines(*"abcdefghij"))})
    change = Change(changes, STORE.get, lambda path: path == "f")
    assert holding.hold(record(TEN), change).is_all_work


def test_content_that_cannot_be_read_is_no_evidence() -> None:
    change = Change(build({"f": (OLD, OLD + lines("a", "b"))}), lambda _: None)
    assert not holding.is_any(holding.hold(record(TEN), change))
