"""The manual's lines for continuous integration, run as they stand; the forges' own programs and
pip are stand-ins that note what they are given."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.harness import World
from tests.support.paths import BIN, TOP

FORGE = '#!/bin/sh\n{ echo "${0##*/}" "$@"; cat stats.md; } >>"$NOTED"\n'


def examples(page: str) -> list[str]:
    """The blocks of a page's section for continuous integration."""
    section = (TOP / "man" / page).read_text().partition("In continuous integration")[2]
    blocks = re.findall(r"^\.Bd [^\n]*\n(.*?)^\.Ed", section, re.M | re.S)
    return [block.replace(r"\(dq", '"') for block in blocks]


def script(block: str) -> str:
    """The shell's part of a step or a job: a literal below `run:`, the items below `script:`."""
    literal = re.search(r"run: \|\n((?: {4}.*\n)+)", block)
    items = re.search(r" script:\n((?: +- .*\n)+)", block)
    found = literal or items
    return re.sub(r"^ *(?:- )?", "", found[1], flags=re.M) if found else block


@pytest.fixture
def hub(world: World) -> Path:
    """A forge's repository: main, and a branch `topic` with a session's commit."""
    hub = world.share()
    world.git("push", "-q", "origin", "main")
    world.git("switch", "-q", "-c", "topic")
    world.agent("session-a", tools=True).turn("write", {"f.txt": "one\ntwo\n"})
    world.commit()
    world.git("push", "-q", "origin", "topic")
    return hub


def ran(hub: Path, home: Path, branch: str, text: str, **env: str) -> tuple[Path, str]:
    """A runner's clone in which text was run, and what the forge's programs were given."""
    clone, tools, noted = home / f"runner-{branch}", home / "tools", home / "noted"
    subprocess.run(["git", "clone", "-q", "-b", branch, str(hub), str(clone)], check=True)
    tools.mkdir(exist_ok=True)
    for name in ("gh", "glab", "pip"):
        (tools / name).write_text(FORGE if name != "pip" else "#!/bin/sh\n")
        (tools / name).chmod(0o755)
    path = f"{tools}:{BIN}:{os.environ['PATH']}"
    both = {**os.environ, "PATH": path, "NOTED": str(noted), "GITCP": "x", **env}
    subprocess.run(["sh", "-e", "-c", text], cwd=clone, env=both, check=True, timeout=120)
    return clone, noted.read_text() if noted.exists() else ""


@pytest.mark.parametrize("forge", [0, 1])
def test_the_sums_of_a_branch_are_told_to_its_reviewers(
    world: World, hub: Path, forge: int
) -> None:
    base = world.git("rev-parse", "main")
    given = {"GITHUB_BASE_REF": "main", "NUMBER": "7"}
    given |= {"CI_MERGE_REQUEST_DIFF_BASE_SHA": base, "CI_MERGE_REQUEST_IID": "7"}
    _, noted = ran(hub, world.home, "topic", script(examples("gitcp-stats.1")[forge]), **given)
    assert noted.startswith(("gh pr comment 7 ", "glab mr note 7 ")[forge])
    assert "| agents | 2 | 0 | 100 % |" in noted and "**1 commit, 1 of them with sessions" in noted


def test_links_follow_over_a_squash_that_the_forge_made(world: World, hub: Path) -> None:
    head, [one] = world.head, re.findall("Entire-Checkpoint: (.*)", world.git("log", "-1"))
    forge = world.home / "forge"
    for argv in (
        ["clone", "-q", str(hub), str(forge)],
        ["-C", str(forge), "merge", "-q", "--squash", "origin/topic"],
        ["-C", str(forge), "commit", "-q", "-m", "Squashed (#7)"],
        ["-C", str(forge), "push", "-q", "origin", "main"],
    ):
        subprocess.run(["git", *argv], check=True, capture_output=True)
    [block] = examples("gitcp-relink.1")
    clone, _ = ran(hub, world.home, "main", script(block), head=head)
    merged = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=clone, text=True).strip()
    note = ["git", "--git-dir", str(hub), "notes", "--ref=gitcp", "show", merged]
    assert one in subprocess.check_output(note, text=True)
