"""The demo: a recorded session of a real agent in a scratch repository, found again by commit.

Every line after a `$` is run as it stands; the demo fails when one does not say what it should.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import gitcp

TOP = Path(__file__).resolve().parents[1]
BUILD = TOP / "build" / "demo"
HEIGHT = 1400  # of the picture
sys.path.append(str(TOP))

from tests.support.replay import Call, Replay, initial  # noqa: E402  the package itself is the installed one

PERSON = {"NAME": "A Person", "EMAIL": "person@example.com"}


def environment(home: Path) -> dict[str, str]:
    """The person's environment: a home of their own, the installed commands, no terminal."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GIT", "CLAUDE"))}
    who = {f"GIT_{role}_{k}": v for role in ("AUTHOR", "COMMITTER") for k, v in PERSON.items()}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {**kept, **who, "HOME": str(home), "PATH": path, "GIT_CONFIG_NOSYSTEM": "1"}


def step(command: str, *wanted: str) -> str:
    """Show and run a command; exit when it fails or a pattern of wanted is not in its output."""
    print(f"$ {command}", flush=True)
    done = subprocess.run(
        ["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    print(done.stdout, flush=True)
    missing = [pattern for pattern in wanted if not re.search(pattern, done.stdout, re.M)]
    if done.returncode or missing:
        sys.exit(f"demo: '{command}': exit status {done.returncode}, not found: {missing}")
    return done.stdout


def describe(call: Call) -> str:
    """One line for what a person would see of a hook call; '' for nothing."""
    prompt = call.payload.get("prompt")
    if prompt:
        return f"> {prompt}"
    if call.event == "PostToolUse":
        given = call.payload["tool_input"]
        what = given.get("command") or os.path.relpath(given["file_path"])
        return f"  {call.payload['tool_name']}: {what}"
    if call.event == "Stop":
        return f"  {call.payload['last_assistant_message']}"
    return ""


def replay(scenario: str, repo: Path, home: Path, see: Callable[[Call], None]) -> int:
    """Play a recorded session of Claude Code; the number of hook calls, each of which see gets."""
    entry = Path(gitcp.__file__).parent / "entry.py"
    return len(Replay("claude-code", scenario, repo, home, entry=entry).run(see))


def play(scenario: str, repo: Path, home: Path) -> None:
    """Play a recorded session of Claude Code, saying what a person would see of it."""

    def say(call: Call) -> None:
        if line := describe(call):
            print(line)

    print(f"({replay(scenario, repo, home, say)} hook calls)\n")


def tell(repo: Path, home: Path) -> None:
    """The story of the demo, step by step."""
    step("gitcp enable", "")
    print("(a recorded session of Claude Code is played; its first turn commits by itself)")
    play("resume", repo, home)

    step("git status --short", r"second\.txt")
    step("gitcp status", "Claude Code", "Second prompt")
    step("gitcp list-streams", r"refs/heads/entire/[0-9a-f]{7}-e3b0c4")
    step("git add second.txt && git commit -q -m 'Add the second file'")
    step("git log -1 --format=%B", "^Entire-Checkpoint: [0-9a-f]{12}$")
    step("gitcp log", "Add the second file", "agent commit")
    step("gitcp why hello.py:1", "Claude Code", "Create hello.py and edit README")
    step("gitcp blame README.md", "person|Person")
    step("gitcp stats", "agents")
    step("gitcp rewind --list")
    step("gitcp show HEAD", "Second prompt please", r"second\.txt")
    step("gitcp show HEAD~1", "Create hello.py and edit README", r"hello\.py")
    step("git ls-tree -r --name-only entire/checkpoints/v1", r"^../.{10}/0/full\.jsonl$")
    step("git for-each-ref --format='%(refname)' refs/heads/", "^refs/heads/entire/checkpoints/v1$")
    step("gitcp log --graph", r"^\+ \* [0-9a-f]{7} Add the second file")
    review(repo, home)
    step("gitcp disable --uninstall")


def review(repo: Path, home: Path) -> None:
    """A change to what is there, half an agent's and half a person's, and the page of it."""
    print("(another session writes a program; then it changes the program, and so does a person)")
    play("edits", repo, home)
    words = repo / "src" / "words.py"
    words.write_text(words.read_text().replace("sys.stdin.read()), 10", "sys.stdin.read()), 20"))
    step("git diff --stat", r"src/words\.py", r"README\.md")
    step("git commit -q -a -m 'Count words without regard to case'")
    step("gitcp blame src/words.py", r"#2 .* import Counter", r"A Person .*, 20\)")
    picture(step(f"gitcp page -o '{BUILD}/page.html' HEAD~1..HEAD", r"page\.html$").strip())


def picture(page: str) -> None:
    """Take a picture of the top of a page, where there is a browser."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if not browser:
        print("(no chromium: there is no picture of it)\n")
        return
    flags = f"--headless=new --no-sandbox --hide-scrollbars --window-size=1280,{HEIGHT}"
    to = f"--screenshot={BUILD}/page.png"
    argv = [browser, *flags.split(), "--virtual-time-budget=20000", to, f"file://{page}"]
    env = {**os.environ, "TMPDIR": "/tmp"}
    done = subprocess.run(argv, env=env, capture_output=True, timeout=120, check=False)
    if done.returncode or not (BUILD / "page.png").exists():
        sys.exit(f"demo: no picture: {done.stderr.decode(errors='replace')[-400:]}")
    print(f"(the page and a picture of it are in {BUILD.relative_to(TOP)})\n")


def enter(scratch: Path) -> tuple[Path, Path]:
    """Make a repository and a home in scratch and go there: (repository, home)."""
    repo, home = scratch / "repo", scratch / "home"
    repo.mkdir()
    home.mkdir()
    env = environment(home)
    os.environ.clear()
    os.environ.update(env)
    initial(repo)
    os.chdir(repo)
    return repo, home


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="gitcp-demo-") as name:
        tell(*enter(Path(name).resolve()))
    print("The demo is done: every step said what it should.")


if __name__ == "__main__":
    main()
