"""What a newcomer, a forge and pre-commit read of the project."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import yaml

from tests.form.source import none
from tests.support.checkpoints import git
from tests.support.paths import BIN, TOP

PAGES = [TOP / name for name in ("AGENTS.md", "CONTRIBUTING.md", "SECURITY.md")]
PERSON = ("-c", "user.name=A", "-c", "user.email=a@example.com")


def test_the_pages_name_files_pages_and_entry_points_that_are_there() -> None:
    (phony,) = re.findall(r"^\.PHONY: (.*)", (TOP / "Makefile").read_text(), re.M)
    for page in PAGES:
        text = page.read_text()
        places = re.findall(r"`([\w./-]+/[\w./-]*)`|\b([A-Z]+\.md)\b", text)
        named = [name for pair in places for name in pair if name and not name.startswith("build/")]
        none(name for name in named if not (TOP / name).exists())
        manual = re.findall(r"(gitcp[\w-]*)\((\d)\)", text)
        none(f"{name}.{n}" for name, n in manual if not (TOP / "man" / f"{name}.{n}").exists())
        none(set(re.findall(r"(?:`|\$ )make ([a-z-]+)", text)) - set(phony.split()))


def test_the_issue_forms_ask_for_what_a_report_needs() -> None:
    forms = {
        p.stem: yaml.safe_load(p.read_text()) for p in (TOP / ".github/ISSUE_TEMPLATE").iterdir()
    }
    assert set(forms) == {"fault", "wish", "client", "config"}
    needed = {each["id"]: each for each in forms["fault"]["body"] if "id" in each}
    assert "gitcp --version --json" in needed["versions"]["attributes"]["label"]
    assert needed["versions"]["validations"]["required"]


def test_updates_are_looked_for_where_versions_are_pinned() -> None:
    config = yaml.safe_load((TOP / ".github" / "dependabot.yml").read_text())
    folders = [name for each in config["updates"] for name in each["directories"]]
    none(name for name in folders if not (TOP / name.strip("/")).is_dir())


def test_pre_commit_checks_what_a_push_sends(repo: Path) -> None:
    (hook,) = yaml.safe_load((TOP / ".pre-commit-hooks.yaml").read_text())
    (repo / ".gitcp.toml").write_text("[check]\nno-secrets = true\n")
    git("add", ".", cwd=repo)
    git(*PERSON, "commit", "-qm", "rules", cwd=repo)
    start = git("rev-parse", "HEAD", cwd=repo).strip()
    env = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}

    def push(**told: str) -> int:
        argv = shlex.split(hook["entry"])
        return subprocess.run(argv, cwd=repo, env=env | told, capture_output=True).returncode

    (repo / "clean").write_text("nothing\n")
    git("add", ".", cwd=repo)
    git(*PERSON, "commit", "-qm", "clean", cwd=repo)
    assert push(PRE_COMMIT_FROM_REF=start, PRE_COMMIT_TO_REF="HEAD") == 0
    (repo / "key").write_text("ghp_" + "a1B2c3D4e5F6" * 3 + "\n")
    git("add", ".", cwd=repo)
    git(*PERSON, "commit", "-qm", "key", cwd=repo)
    assert push(PRE_COMMIT_FROM_REF=start, PRE_COMMIT_TO_REF="HEAD") == 1
    assert push() == 0  # nothing that the remote has: there is no branch whose rules apply
