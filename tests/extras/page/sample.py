"""A page of a change of many prompts, made without a repository."""

from __future__ import annotations

from typing import Any

from gitcp.checkpoints.format import line_authors
from gitcp.extras.page.change import LineWriter, PageFile
from gitcp.extras.page.render import Page
from gitcp.extras.page.sessions import PageSession
from tests.extras.page.browser import HERE

SESSION = "1f0c5d6e-0000-4000-8000-000000000001"
PROMPTS = 7
LONG = "Let each route have a limit of its own for what is sent to it, and say so in its answer, "
LACK = "28 transcripts are not here, such as checkpoint 'a1'; 'gitcp fetch --all' brings them"
# Lines of the files, by the prompt that wrote each: `.` is only proven by its neighbours, `p` the
# person's, `u` nobody's, a blank stood there before.
FILES = {
    "packages/worker/src/a folder with a long name/route.ts": "1" * 4 + "..1.1" + " " * 20 + "11",
    "packages/worker/src/lib/request-size.test.ts": "2" * 80 + "." * 10 + "2",
    "packages/worker/src/lib/request-size.ts": "3" * 30 + "4" * 12 + " " * 9 + "pp" + " " * 9 + "u",
    "scripts/check.mjs": "5" * 14 + " " * 8 + "5" + " " * 12 + "6" + " " * 8 + "7",
}
CHANGED = sum(len(lines.replace(" ", "")) for lines in FILES.values())


def build_page(**options: Any) -> Page:
    """The page."""
    page = Page("shop: main..HEAD", list, {}, **options)
    session = PageSession(SESSION, "Claude Code")
    for number in range(1, PROMPTS + 1):
        call: Any = {"kind": "call", "name": "Edit", "ids": [f"u{number}"], "path": "a.ts"}
        call |= {"diff": [("-", "old"), ("+", "new")], "result": "done"}
        said: Any = {"kind": "answer", "text": f"These are the words at edit {number}."}
        turn: Any = {"number": number, "prompt": f"{number}: {LONG * 3}", "ticks": [], "line": 1}
        turn |= {"start": f"2026-03-15T0{number}:00:00Z", "end": "", "spent": None}
        turn["parts"] = [said, call, {**said, "text": "Done."}]
        session.turns.append(turn)
    page.sessions = {SESSION: session}
    commit = {"oid": "c" * 40, "message": LONG, "author": "Ada Person", "time": 1773627026}
    page.add_commit({**commit, "checkpoints": []}, {"a": {SESSION: 3}})
    page.tip = "c" * 40
    page.lacks = [LACK]
    page.add_files(HERE, [build_file(path, lines) for path, lines in FILES.items()])
    return page


def build_file(path: str, lines: str) -> PageFile:
    """A file; lines: as in FILES."""
    after = [f"  const value_{n} = 'text {n}'" for n in range(1, len(lines) + 1)]
    before = [after[n] for n, who in enumerate(lines) if who == " "]
    edits = []
    start = old = 0
    while start < len(lines):
        end = start
        while end < len(lines) and (lines[end] == " ") == (lines[start] == " "):
            end += 1
        if lines[start] == " ":
            old += end - start
        else:
            edits.append((old, 0, start + 1, end - start))
        start = end
    file = PageFile(path, path, edits, before, after, (0, 0))
    number = 1
    for line, who in enumerate(lines, 1):
        if who == " ":
            continue
        if who in "pu":
            nobody = line_authors.build_nobody({"p": "person", "u": "unknown"}[who])
            file.writers[line] = LineWriter(nobody, "Ada Person", "c" * 40)
            continue
        author = line_authors.build_nobody("session")
        author["session_id"] = SESSION
        if who == ".":
            author["by_neighbours"] = True
        else:
            number = int(who)
        author["number"] = number
        author["prompt"] = f"{number}: {LONG}"
        author["tool_use_id"] = f"u{number}"
        file.writers[line] = LineWriter(author, "", "c" * 40)
    return file
