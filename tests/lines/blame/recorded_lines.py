"""Checkpoints that say who wrote which line, made by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from gitcp.checkpoints import notes, stored, writing
from gitcp.git.objects import Objects, edit_tree, read_commit, write_commit
from gitcp.git.repo import Repo
from gitcp.lines.committed import recorded
from tests.support import checkpoints
from tests.support.checkpoints import V1, git, keep


def linked(
    checkpoint: str,
    session: str,
    path: str,
    ranges: object,
    when: str = "",
    transcript: Path | None = None,
    touched: Sequence[str] = (),
    agent: str = "Claude Code",
) -> None:
    """Link HEAD to a checkpoint whose session recorded ranges for path; None: it touched path,
    and recorded no lines.  touched: all paths that it touched, if there are more."""
    at = Repo.find_here()
    recorded.begin_recording(at)
    entry = [{"oid": git("rev-parse", f"HEAD:{path}"), "ranges": ranges}]
    metadata = {
        "agent": agent,
        "model": "opus",
        "created_at": when or "2005-04-07T22:13:13Z",
        "turns": {"t1": {"number": 3, "prompt": "Count further"}},
        "tools": {"toolu_1": {"model": "haiku", "agent": ""}},
        "files_touched": [*touched] or [path],
    }
    lines = json.dumps({path: entry}).encode()
    with Objects(at):
        kept = keep(at, session, transcript) if transcript else None
        data = checkpoints.session(session, kept, **metadata)
        tip = read_commit(at.objects, writing.write_sessions(at, [(checkpoint, data)])[V1])
        assert tip
        notes.add_link(at, git("rev-parse", "HEAD"), checkpoint)
        if ranges is None:
            return
        directory = f"{checkpoint[:2]}/{checkpoint[2:]}"
        sessions = stored.read_checkpoint(at, checkpoint)["sessions"]
        index = next(s["directory"] for s in sessions if s["session_id"] == session)
        path = f"{directory}/{index}/lines.json"
        tree = edit_tree(
            at.objects, tip["tree"], {path: ("100644", at.objects.write("blob", lines))}
        )
        made = write_commit(at, tree, [tip["oid"]], "with lines")
    git("update-ref", V1, made)
