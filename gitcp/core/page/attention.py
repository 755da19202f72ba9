"""Choose the files of a change that a reviewer should see first."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypedDict

    class Changed(TypedDict):
        """A changed file.  added: its added lines by `agent`, `person`, `unknown`."""

        path: str
        added: Mapping[str, int]


LARGE = 50  # lines that agents added
MOST = 6
RULE = (
    f"Files in which agents wrote at least half of what came, no person wrote a line since, "
    f"{LARGE} lines or more came from agents, and no test with the file's name changed; "
    "by how many of these hold, then by size."
)
_CODE = frozenset(
    ".bash .c .cc .cpp .cs .css .go .h .hpp .java .js .jsx .kt .lua .m .mjs .php .pl .py .rb .rs "
    ".scala .sh .sql .svelte .swift .ts .tsx .vue .zig".split()
)


def is_test(path: str) -> bool:
    """Whether a path looks like a test's."""
    *directories, name = path.lower().split("/")
    words = os.path.splitext(name)[0].replace("-", "_").replace(".", "_").split("_")
    return {"test", "tests", "spec"} & {*words, *directories} != set()


def choose_files(files: Sequence[Changed]) -> list[tuple[str, list[str]]]:
    """(path, reasons) of the files to look at first, the most urgent first."""
    tested = " ".join(os.path.basename(f["path"]).lower() for f in files if is_test(f["path"]))
    chosen = []
    for file in files:
        added, path = file["added"], file["path"]
        agent, total = added.get("agent", 0), sum(added.values())
        if is_test(path) or not total or agent * 2 < total:
            continue
        stem, kind = os.path.splitext(os.path.basename(path).lower())
        rules = {
            "no line by a person": not added.get("person"),
            f"{agent} lines by agents": agent >= LARGE,
            "no test changed with it": kind in _CODE and stem not in tested,
        }
        reasons = [reason for reason, holds in rules.items() if holds]
        if len(reasons) > 1:
            chosen.append((-len(reasons), -agent, path, reasons))
    return [(path, reasons) for _, _, path, reasons in sorted(chosen)[:MOST]]
