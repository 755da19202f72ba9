"""Conversations of Cursor, as its users document them: calls without ids, times and results."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from tests.extras.imports.conftest import Yesterday
from tests.support import warm
from tests.support.harness import Json

BASE = "def base():\n    return 'the world is round'\n"
OLD, NEW = "    return 'the world is round'\n", "    shape = 'flat'\n    return f'is {shape}'\n"
PATCHED = "def patched():\n    return 'by a patch'\n"


class Cursor:
    """What Cursor keeps of the conversations of a repository."""

    def __init__(self, past: Yesterday, repo: Path) -> None:
        slug = re.sub("[^a-zA-Z0-9]", "-", str(repo)).strip("-")
        self._folder = past.home / ".cursor" / "projects" / slug / "agent-transcripts"

    def keep(self, name: str, *calls: tuple[str, Json | str]) -> Path:
        """A conversation with a prompt and these calls; the folder of it."""
        text = {"type": "text", "text": "<user_query>\nShape the world\n</user_query>"}
        uses = [{"type": "tool_use", "name": tool, "input": given} for tool, given in calls]
        lines: list[Json] = [{"role": "user", "message": {"content": [text]}}]
        lines += [{"role": "assistant", "message": {"content": [use]}} for use in uses]
        lines.append({"type": "turn_ended", "status": "success"})
        path = self._folder / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path.parent


@pytest.fixture
def based(past: Yesterday) -> Yesterday:
    (past.repo / "base.py").write_text(BASE)
    past.commit()
    return past


def test_conversations_of_cursor_are_linked_where_a_commit_holds_their_edits(
    based: Yesterday,
) -> None:
    repo, here = based.repo, Cursor(based, based.repo)
    base, whole = str(repo / "base.py"), str(repo / "whole.py")
    change: Json = {"path": base, "old_string": OLD, "new_string": NEW}
    missed = {"path": base, "old_string": "no such\n", "new_string": "def base():\n"}
    here.keep(
        "s-1/s-1",
        ("Read", {"path": base}),
        ("StrReplace", missed),
        ("StrReplace", change),
        ("Write", {"path": whole, "contents": "print('one')\nprint('two')\n"}),
    )
    patch = f"*** Begin Patch\n*** Add File: {repo}/new.py\n"
    patch += "".join(f"+{line}\n" for line in PATCHED.splitlines()) + "*** End Patch"
    here.keep("s-1/subagents/a-1", ("ApplyPatch", patch))
    here.keep("s-2/s-2", ("StrReplace", {**change, "new_string": "    return 'a disc'\n"}))
    near = Cursor(based, repo.with_name(f"{repo.name}-2"))
    near.keep("s-3/s-3", ("StrReplace", {**change, "path": "base.py"}))
    (repo / "base.py").write_text(BASE.replace(OLD, NEW) + "\n\n# a person's\n")
    (repo / "whole.py").write_text("print('one')\nprint('two')\n")
    (repo / "new.py").write_text(PATCHED)
    commit = based.commit()
    [link] = based.imported()
    assert (link["commit"], link["agent"], link["session_id"]) == (commit, "Cursor", "s-1")
    # Nothing says whether whole.py was there: its content proves the link, and none of its lines.
    assert (link["files"], link["lines"]) == (["base.py", "new.py", "whole.py"], 4)
    assert "Shape the world" in based.run("why", "base.py:2")
    assert based.run("fsck") == ""


def test_a_transcript_of_cursor_is_attached_with_its_subagents(based: Yesterday) -> None:
    here = Cursor(based, based.repo)
    change: Json = {"path": "base.py", "old_string": OLD, "new_string": NEW}
    patch = "*** Begin Patch\n*** Add File: new.py\n+print('by a subagent')\n*** End Patch"
    folder = here.keep("s-1/s-1", ("StrReplace", change))
    here.keep("s-1/subagents/a-1", ("ApplyPatch", patch))
    here.keep("s-2/s-2", ("StrReplace", change))
    (based.repo / "base.py").write_text(BASE.replace(OLD, NEW))
    (based.repo / "new.py").write_text("print('by a subagent')\n")
    based.commit()
    out = warm.run("attach", "--json", str(folder / "s-1.jsonl"), cwd=based.repo).stdout
    link = json.loads(out)
    assert (link["session_id"], link["files"]) == ("s-1", ["base.py", "new.py"])


def test_a_conversation_of_cursor_links_no_commit_from_before_it_nor_one_without_its_edits(
    based: Yesterday,
) -> None:
    file = based.repo / "base.py"
    folder = Cursor(based, based.repo).keep(
        "s-1/s-1", ("StrReplace", {"path": str(file), "old_string": OLD, "new_string": NEW})
    )
    file.write_text(BASE.replace(OLD, "    return 'a disc'\n"))
    based.commit()
    assert based.imported() == []
    file.write_text(BASE)
    based.commit()
    file.write_text(BASE.replace(OLD, NEW))
    based.commit()
    began = folder.stat().st_mtime
    for shift, lines in ((3600, []), (0, [2])):
        for path in (folder / "s-1.jsonl", folder):
            os.utime(path, (began + shift, began + shift))
        assert [link["lines"] for link in based.imported()] == lines
