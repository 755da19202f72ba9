from __future__ import annotations

from hashlib import sha1

import pytest

from gitcp.link.linking import find_overlap, match_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.text.record_types import Recorded, Staged

STORE: dict[str, bytes] = {}
FILE, EXEC, LINK, MODULE, NONE = "100644", "100755", "120000", "160000", "000000"


def oid(data: bytes) -> str:
    name = sha1(data).hexdigest()
    STORE[name] = data
    return name


def text(*words: str) -> bytes:
    return b"".join(b"a line of its own: %s\n" % n.encode() for n in words)


def entry(data: bytes | None, *, live: bool = True, mode: str = FILE, path: str = "f") -> Recorded:
    if data is None:
        return {"path": path, "oid": None, "mode": NONE, "live": live}
    return {"path": path, "oid": oid(data), "mode": mode, "live": live}


def change(old: bytes | None, new: bytes | None, modes: tuple[str, str] = (FILE, FILE)) -> Staged:
    return (
        modes[0] if old is not None else NONE,
        oid(old) if old is not None else None,
        modes[1] if new is not None else NONE,
        oid(new) if new is not None else None,
    )


def verdict(entry: Recorded, staged: Staged) -> bool:
    return bool(find_overlap(entry, staged, STORE.get).units)


def away(data: bytes | None, mode: str = FILE) -> Recorded:
    return entry(data, live=False, mode=mode)


def stashed(data: bytes) -> Recorded:
    return {**entry(data), "stashed": True}


P = text("p", "q")  # what the parent has
AGENT = text("p", "q", "a", "b", "c")  # what was recorded on top of it
MODE: Recorded = {**entry(P, mode=EXEC), "before": (FILE, oid(P))}
CASES: list[tuple[str, Recorded, Staged, bool]] = [
    # a live path that the parent has: any change of it
    ("as recorded", entry(AGENT), change(P, AGENT), True),
    ("edited beyond recognition", entry(AGENT), change(P, text("z")), True),
    ("the mode only, which the session left", entry(AGENT), change(P, P, (FILE, EXEC)), False),
    ("the mode only, as recorded", entry(P, mode=EXEC), change(P, P, (FILE, EXEC)), True),
    ("the content only, beside a mode of the session's", MODE, change(P, AGENT), False),
    ("the content, and a mode of the session's", MODE, change(P, AGENT, (FILE, EXEC)), True),
    ("stashed, by other lines", stashed(AGENT), change(P, text("p", "q", "z")), False),
    ("stashed, a line of it", stashed(AGENT), change(P, text("p", "q", "z", "a")), True),
    ("stashed, a removal of it", stashed(text("q")), change(P, text("q", "z")), True),
    ("stashed, its line by another", stashed(text("p", "a")), change(P, text("p", "z")), False),
    ("stashed, its white space", stashed(b"  " + P), change(P, b"  " + P), True),
    ("turned into a symlink", entry(AGENT), change(P, b"target", (FILE, LINK)), True),
    ("a submodule moved", entry(b"m1", mode=MODULE), change(b"m0", b"m2", (MODULE,) * 2), True),
    ("binary", entry(b"\0a"), change(b"\0p", b"\0z"), True),
    # a new file: evidence, live or away
    ("new, the same blob", entry(AGENT), change(None, AGENT), True),
    ("new, the same blob, executable", entry(AGENT), change(None, AGENT, (FILE, EXEC)), True),
    ("new, part of it", entry(AGENT), change(None, text("a", "b")), True),
    ("new, one short line of it", entry(b"1\n2\n3\n"), change(None, b"2\n"), True),
    ("new, two lines kept", entry(AGENT), change(None, text("x", "a", "y", "b")), True),
    ("new, one line of many kept", entry(AGENT), change(None, text("x", "a", "y")), False),
    ("new, its one line kept", entry(text("a")), change(None, text("a", "x", "y")), True),
    (
        "new, two lines kept that are short without their spaces",
        entry(b"a = 1 + b\nb = 2 + c\nc = 3 + d\n"),
        change(None, b"# own\n  a = 1 + b\n  b = 2 + c\n"),
        False,
    ),
    (
        "new, two lines kept that are long with their spaces",
        entry(b"aa = 1 + b\nbb = 2 + c\nc = 3\n"),
        change(None, b"# own\n  aa = 1 + b\n  bb = 2 + c\n"),
        True,
    ),
    ("reverted and replaced", entry(b"hello\n"), change(None, b"world\n"), False),
    ("reverted and replaced at length", entry(AGENT), change(None, text("x", "y", "z")), False),
    ("short lines in common say nothing", entry(b"{\na\n}\n"), change(None, b"{\nb\n}\n"), False),
    ("only blank lines", entry(AGENT + b"\n"), change(None, b"\n\n"), False),
    ("empty as recorded", entry(b""), change(None, b""), True),
    ("empty, not as recorded", entry(AGENT), change(None, b""), False),
    ("not empty, recorded empty", entry(b""), change(None, AGENT), False),
    ("the line ending was dropped", entry(b"one\ntwo\n"), change(None, b"one\ntwo"), True),
    ("line endings were changed", entry(b"one\r\ntwo\r\n"), change(None, b"one\ntwo\n"), True),
    ("new binary, the same blob", entry(b"\0a"), change(None, b"\0a"), True),
    ("new binary, another blob", entry(b"\0a\nsame line here\n"), change(None, b"\0b\n"), False),
    ("text recorded, binary committed", entry(AGENT), change(None, b"\0" + AGENT), False),
    ("new symlink", entry(b"to", mode=LINK), change(None, b"to", (LINK, LINK)), True),
    ("new symlink elsewhere", entry(b"to", mode=LINK), change(None, b"on", (LINK, LINK)), False),
    ("a file in place of a symlink", entry(b"to", mode=LINK), change(None, b"to"), False),
    ("a new submodule", entry(b"m", mode=MODULE), change(None, b"m", (MODULE,) * 2), True),
    ("a new submodule, moved", entry(b"m", mode=MODULE), change(None, b"n", (MODULE,) * 2), False),
    # an away path: evidence even where the parent has it
    ("away, came back", away(AGENT), change(P, AGENT), True),
    ("away, part came back", away(AGENT), change(P, text("p", "q", "b")), True),
    ("away, came back with more", away(AGENT), change(P, text("p", "a", "b", "x")), True),
    ("dismissed and redone by hand", away(AGENT), change(P, text("p", "q", "x", "y")), False),
    ("the parent's lines say nothing", away(AGENT), change(P, P + text("x")), False),
    ("away, what it removed is removed", away(text("p")), change(P, text("p")), True),
    (
        "away, part of what it removed",
        away(text("1")),
        change(text("1", "2", "3"), text("1", "2")),
        True,
    ),
    ("away, all that it removed", away(b"a\n\n"), change(b"a\nb\n", b"a\n"), True),
    ("away, removed lines it kept", away(AGENT), change(P, text("p")), False),
    ("away, its mode came back", away(P, EXEC), change(P, P, (FILE, EXEC)), True),
    ("away, mode before content", away(AGENT, EXEC), change(P, P, (FILE, EXEC)), True),
    ("away, a mode it did not set", away(P, FILE), change(P, P, (FILE, EXEC)), False),
    ("away, another type", away(AGENT), change(P, b"target", (FILE, LINK)), False),
    ("away submodule", away(b"m1", MODULE), change(b"m0", b"m1", (MODULE,) * 2), True),
    ("away submodule elsewhere", away(b"m1", MODULE), change(b"m0", b"m2", (MODULE,) * 2), False),
    # deletions
    ("deleted by both", entry(None), change(P, None), True),
    ("deleted by both, away", away(None), change(P, None), True),
    ("deleted, made executable by the person", entry(None), change(P, P, (FILE, EXEC)), False),
    ("deleted, a symlink in its place", entry(None), change(P, text("p"), (FILE, LINK)), False),
    ("deleted, a file where a symlink was", entry(None), change(P, text("p"), (LINK, FILE)), False),
    ("deleted, made anew without a line", entry(None), change(None, b""), False),
    ("deleted by the person alone", entry(AGENT), change(P, None), False),
    ("a deletion undone", entry(None), change(P, text("p", "q", "x")), False),
    ("a deletion staged in part", entry(None), change(P, text("p")), True),
    ("deleted, then made anew by hand", entry(None), change(None, text("x", "y")), False),
]


@pytest.mark.parametrize(("staged", "recorded", "want"), [(c[2], c[1], c[3]) for c in CASES],
                         ids=[c[0] for c in CASES])  # fmt: skip
def test_a_commit_overlaps_with_a_record_or_not(
    staged: Staged, recorded: Recorded, want: bool
) -> None:
    assert verdict(recorded, staged) is want


def test_content_that_cannot_be_read_does_not_link() -> None:
    staged = change(None, text("a", "b"))
    shared = find_overlap(entry(AGENT), staged, lambda _: None)
    assert (shared.units, shared.reason) == (frozenset(), "the recorded content cannot be read")


def test_content_is_asked_for_only_where_names_do_not_decide() -> None:
    def never(oid: str) -> bytes | None:
        raise AssertionError(oid)

    for recorded, staged in [
        (entry(AGENT), change(P, text("z"))),
        (entry(AGENT), change(None, AGENT)),
        (entry(None), change(P, None)),
        (entry(b"m", mode=MODULE), change(None, b"n", (MODULE, MODULE))),
        (away(P, EXEC), change(P, P, (FILE, EXEC))),
    ]:
        find_overlap(recorded, staged, never)


def test_paths_are_named_with_reasons_also_for_those_that_do_not_count() -> None:
    entries = [entry(AGENT, path="new"), entry(AGENT, path="old"), entry(AGENT, path="elsewhere")]
    staged = {
        "new": change(None, text("x", "y")),
        "old": change(P, text("x")),
        "theirs": change(P, None),
    }
    found = match_session(entries, staged, STORE.get)
    assert {"paths": found.paths, "reasons": found.reasons} == {
        "paths": ["old"],
        "reasons": {
            "new": "other lines than recorded",
            "old": "the commit changes a file of the session",
        },
    }


def test_nothing_in_common_is_no_path() -> None:
    found = match_session([entry(AGENT)], {"g": change(P, text("x"))}, STORE.get)
    assert (found.paths, found.reasons, found.former) == ([], {}, [])


def test_the_same_path_live_and_away_links_by_either() -> None:
    entries = [entry(text("x", "y")), entry(AGENT, live=False)]
    for order in (entries, entries[::-1]):
        found = match_session(order, {"f": change(None, AGENT)}, STORE.get)
        assert found.reasons == {"f": "the recorded content"}


def test_a_rename_by_the_session_links_both_names() -> None:
    entries = [entry(None, path="old"), entry(P, path="new")]
    staged = {"old": change(P, None), "new": change(None, P)}
    assert match_session(entries, staged, STORE.get).paths == ["new", "old"]


MOVES: list[tuple[str, Recorded, dict[str, Staged], list[str]]] = [
    ("git mv", entry(AGENT), {"f": change(P, None), "g": change(None, AGENT)}, ["g"]),
    ("mv of a new file", entry(AGENT), {"g": change(None, AGENT)}, ["g"]),
    ("binary", entry(b"\0a"), {"g": change(None, b"\0a")}, ["g"]),
    ("with a line more", entry(AGENT), {"f": change(P, None), "g": change(None, AGENT + b"x")},
     ["g"]),
    ("a copy with a line more", entry(AGENT), {"g": change(None, AGENT + text("x"))}, []),
    ("with few of its lines", entry(AGENT), {"g": change(None, text("a", "b", *"stuvwxyz"))}, []),
    ("onto a file of the parent", entry(AGENT), {"g": change(P, AGENT)}, []),
    ("the parent's content, moved without the record", entry(text("p", "q", "a")),
     {"f": change(P, None), "g": change(None, P)}, []),
    ("the parent's content", entry(P), {"f": change(P, None), "g": change(None, P)}, []),
    ("empty files are all alike", entry(b""), {"g": change(None, b"")}, []),
    ("so are small ones", entry(b"{}\n"), {"g": change(None, b"{}\n")}, []),
    ("and another file in its place", entry(AGENT),
     {"f": change(P, text("x")), "g": change(None, AGENT)},
     ["f", "g"]),
    ("with a line more, and another file in its place", entry(AGENT),
     {"f": change(P, text("x")), "g": change(None, AGENT + text("x"))}, ["f", "g"]),
    ("a copy with a line more of a file kept", entry(AGENT),
     {"f": change(P, AGENT + text("y")), "g": change(None, AGENT + text("x"))}, ["f"]),
    ("a file kept and copied", entry(AGENT), {"f": change(P, AGENT), "g": change(None, AGENT)},
     ["f"]),
]  # fmt: skip


@pytest.mark.parametrize(("recorded", "staged", "paths"), [c[1:] for c in MOVES],
                         ids=[c[0] for c in MOVES])  # fmt: skip
def test_a_file_moved_by_the_person_links_by_its_very_content(
    recorded: Recorded, staged: dict[str, Staged], paths: list[str]
) -> None:
    assert match_session([recorded], staged, STORE.get).paths == paths


@pytest.mark.parametrize("gone", [True, False])
def test_a_moved_file_with_a_line_more_links_where_the_old_one_is_gone(gone: bool) -> None:
    staged = {"g": change(None, AGENT + text("x"))}
    found = match_session([entry(AGENT)], staged, STORE.get, lambda path: gone and path == "f")
    assert found.paths == (["g"] if gone else [])
