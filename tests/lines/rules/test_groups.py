"""The groups of lines in git's porcelain, in whatever pieces it comes, are those of its lines."""

from __future__ import annotations

import pytest

from gitcp.lines import porcelain

ONE, TWO = "1" * 40, "2" * 40
LINES = [
    b"plain",
    b"",
    b"\tindented",
    f"{ONE} 2 2".encode(),
    f"{ONE} 3 3 7".encode(),
    b"\r",
    b"the last\0",
]


def print_groups(*groups: tuple[str, int, int, int]) -> bytes:
    """git's output for groups: commit, first line there, first line here, count."""
    rows: list[bytes] = []
    for oid, orig, final, count in groups:
        is_new = not any(row.startswith(oid.encode()) for row in rows)
        for n in range(count):
            more = f" {count}" if not n else ""
            rows.append(f"{oid} {orig + n} {final + n}{more}".encode())
            if is_new and not n:
                rows += [b"author A U Thor", b"summary " + LINES[4], b"filename f.txt"]
            rows.append(b"\t" + LINES[(final + n) % len(LINES)])
    return b"\n".join([*rows, b""])


CASES = {
    "a group": print_groups((ONE, 1, 1, 7)),
    "a line": print_groups((ONE, 4, 1, 1)),
    "two commits in turns": print_groups((ONE, 1, 1, 3), (TWO, 9, 4, 1), (ONE, 4, 5, 12)),
    "a line each": print_groups(*((oid, n, n, 1) for n, oid in enumerate([ONE, TWO] * 9, 1))),
    "text behind": print_groups((ONE, 1, 1, 3)) + b"num read blob: 1\nnum commits: 2\n",
    "marked lines": print_groups((ONE, 1, 1, 5), (TWO, 9, 6, 1)).replace(b"\n\t", b"\nignored\n\t"),
    "nothing": b"",
}


@pytest.mark.parametrize("size", [1, 7, 64, 1 << 20])
@pytest.mark.parametrize("name", CASES)
def test_groups_have_the_lines_of_the_output(
    name: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = CASES[name]
    monkeypatch.setattr(porcelain, "_PART", 0)
    groups = porcelain.Groups()
    groups.read(output[n : n + size] for n in range(0, len(output), size))
    parsed = porcelain.parse_porcelain(output)
    lines = parsed.entries
    assert groups.rest == parsed.rest
    assert b"".join(groups.contents) == b"".join((e.content or b"") + b"\n" for e in parsed.entries)
    seen = [
        (entry.oid, entry.path, entry.orig + n, entry.final + n)
        for entry in groups.entries
        for n in range(entry.count)
    ]
    assert seen == [(e.oid, e.path, e.orig, e.final) for e in lines]
    assert [e.count for e in groups.entries] == [e.count for e in lines if e.count]
    assert [e.headers for e in groups.entries] == [e.headers for e in lines if e.count]
