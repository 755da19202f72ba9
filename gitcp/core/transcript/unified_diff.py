"""The hunks of a unified diff of one file, as texts to be looked for and put in their place."""

from __future__ import annotations


def edits(diff: str) -> list[list[str | bool]]:
    """[the lines a hunk looks for, what it puts there, False] of each hunk."""
    hunks: list[list[str | bool]] = []
    old: list[str] = []
    new: list[str] = []
    inside, kind = False, ""
    for line in [*diff.removesuffix("\n").split("\n"), "@@"]:
        if line.startswith("@@"):
            if old or new:
                hunks.append(["".join(old), "".join(new), False])
            old, new, inside = [], [], True
        elif inside and line.startswith("\\"):  # no newline at the end of the line above
            for side, without in ((old, "+"), (new, "-")):
                if side and kind != without:
                    side[-1] = side[-1].removesuffix("\n")
        elif inside:
            kind = line[:1]
            old += [] if kind == "+" else [line[1:] + "\n"]
            new += [] if kind == "-" else [line[1:] + "\n"]
    return hunks
