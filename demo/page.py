"""The picture of a page in the README, taken by Chromium: a change by an agent and a person."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from gitcp.cmd.setup.demo import Scene, make_scene
from tests.support.replay import Replay

TO = Path(__file__).resolve().parent / "page.png"
WIDTH, HEIGHT = 1280, 800


def change(scene: Scene) -> None:
    """A recorded session writes a program, commits it and changes it; a person does so as well, and
    commits."""
    repo = Path(scene.repo)
    Replay("claude-code", "edits", repo, Path(scene.home)).run()
    words = repo / "src" / "words.py"
    words.write_text(words.read_text().replace("sys.stdin.read()), 10", "sys.stdin.read()), 20"))
    scene.run("git commit -q -a -m 'Count words without regard to case'")


def take(page: str, to: Path) -> None:
    """Take a picture of the top of a page."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if not browser:
        sys.exit("page: there is no chromium")
    flags = f"--headless=new --no-sandbox --hide-scrollbars --window-size={WIDTH},{HEIGHT}"
    argv = [browser, *flags.split(), "--virtual-time-budget=20000", f"--screenshot={to}"]
    subprocess.run([*argv, f"file://{page}"], check=True, capture_output=True, timeout=120)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="gitcp-demo-") as name:
        scene = make_scene(os.path.realpath(name))
        kept = dict(os.environ)
        os.environ.clear()
        os.environ.update(scene.env)
        scene.run("gitcp enable --agent claude-code")
        change(scene)
        page = scene.run("gitcp page -o page.html HEAD~1..HEAD").strip()
        os.environ.update(kept)
        take(page, TO)
    print(f"{TO}: {TO.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
