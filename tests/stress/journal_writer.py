"""Add lines that wait to the journal around the current directory, then cut it: what
test_journal.py kills at each call that writes."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

    from gitcp.git.repo import Repo
    from gitcp.record.journal import Journal
    from gitcp.record.journal.line_kinds import HeldLine, build_edit
    from gitcp.text.ids import PERSON

    repo = Repo.find_here()
    with Journal(repo) as held:
        for at, name in enumerate(("first", "second"), 1):
            entry = ("100644", repo.objects.write("blob", f"{name}\n".encode()))
            line = build_edit(name, None, entry, PERSON, "between", at)
            held.append([line], waiting=True)
        repo.objects.write("blob", b"in the same pack\n")
        held.write_waiting()
        repo.objects.flush()
        held.append([HeldLine({"held": "1" * 40})])
        held.drop_repeated()
