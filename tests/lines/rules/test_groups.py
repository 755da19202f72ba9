"""The groups of lines in git's porcelain, in whatever pieces it comes, are those of its lines."""

from __future__ import annotations

import pytest

from gitcp.lines import blame_format

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


def porcelain(*groups: tuple[str, int, int, int]) -> bytes:
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
    "a group": porcelain((ONE, 1, 1, 7)),
    "a line": porcelain((ONE, 4, 1, 1)),
    "two commits in turns": porcelain((ONE, 1, 1, 3), (TWO, 9, 4, 1), (ONE, 4, 5, 12)),
    "a line each": porcelain(*((oid, n, n, 1) for n, oid in enumerate([ONE, TWO] * 9, 1))),
    "text behind": porcelain((ONE, 1, 1, 3)) + b"num read blob: 1\nnum commits: 2\n",
    "marked lines": porcelain((ONE, 1, 1, 5), (TWO, 9, 6, 1)).replace(b"\n\t", b"\nignored\n\t"),
    "nothing": b"",
}


@pytest.mark.parametrize("size", [1, 7, 64, 1 << 20])
@pytest.mark.parametrize("name", CASES)
def test_groups_have_the_lines_of_the_output(
    name: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = CASES[name]
    monkeypatch.setattr(blame_format, "_PART", 0)
    groups = blame_format.Groups()
    groups.read(output[n : n + size] for n in range(0, len(output), size))
    lines, rest = blame_format.parse_porcelain(output)
    assert groups.rest == rest
    assert b"".join(groups.contents) == b"".join((e["content"] or b"") + b"\n" for e in lines)
    seen = [
        (entry["oid"], entry["path"], entry["orig"] + n, entry["final"] + n)
        for entry in groups.entries
        for n in range(entry["count"])
    ]
    assert seen == [(e["oid"], e["path"], e["orig"], e["final"]) for e in lines]
    assert [e["count"] for e in groups.entries] == [e["count"] for e in lines if e["count"]]
    assert [e["headers"] for e in groups.entries] == [e["headers"] for e in lines if e["count"]]
