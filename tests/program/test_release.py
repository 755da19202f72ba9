"""What a release is called, and what its workflow may do."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.form.source import none
from tests.support.checkpoints import git
from tests.support.paths import TOP

WORKFLOWS = sorted((TOP / ".github" / "workflows").glob("*.yml"))
NEWS = (
    "# News\n\n## [Unreleased]\n\n## [3.2.1] - 2026-12-01\n\n### Fixed\n* One.\n\n## [3.2.0] - x\n"
)


@pytest.fixture
def sources(repo: Path) -> Path:
    """A repository that prepares 3.2.1."""
    for name in ("version", "news"):
        (repo / ".ci").mkdir(exist_ok=True)
        shutil.copy(TOP / ".ci" / name, repo / ".ci")
    (repo / "gitcp").mkdir()
    (repo / "gitcp" / "__init__.py").write_text('VERSION = "3.2.1.dev0"\n')
    (repo / "NEWS.md").write_text(NEWS)
    git("add", "-A", cwd=repo)
    git("-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-qm", "one", cwd=repo)
    return repo


def run(sources: Path, *words: str) -> tuple[str, str]:
    done = subprocess.run([sources / ".ci" / words[0], *words[1:]], capture_output=True, text=True)
    return done.stdout.strip(), done.stderr.strip()


def test_the_tag_names_the_version(sources: Path) -> None:
    git("tag", "v3.2.1", cwd=sources)
    assert run(sources, "version") == ("3.2.1", "")
    assert run(sources, "news", "3.2.1") == ("### Fixed\n* One.", "")


def test_without_a_tag_it_is_a_version_before_the_next_in_a_shallow_clone_too(
    sources: Path, tmp_path: Path
) -> None:
    version, _ = run(sources, "version")
    short = git("rev-parse", "--short=12", "HEAD", cwd=sources).strip()
    assert re.fullmatch(rf"3\.2\.1\.dev\d{{14}}\+g{short}", version)
    git("clone", "-q", "--depth=1", f"file://{sources}", str(tmp_path / "shallow"))
    assert run(tmp_path / "shallow", "version") == (version, "")


def test_a_tag_that_is_not_ready_makes_no_release(sources: Path) -> None:
    git("tag", "v3.3.0", cwd=sources)
    assert run(sources, "version") == (
        "",
        "fatal: v3.3.0: the sources prepare 3.2.1 (gitcp/__init__.py)",
    )
    git("tag", "-d", "v3.3.0", cwd=sources)
    (sources / "NEWS.md").write_text(NEWS.replace("3.2.1", "3.1.0"))
    git("tag", "v3.2.1", cwd=sources)
    assert run(sources, "version") == ("", "fatal: NEWS.md has no '## [3.2.1] - <date>'")


def list_steps(workflow: Path) -> list[dict[str, Any]]:
    jobs = yaml.safe_load(workflow.read_text())["jobs"].values()
    return [step for job in jobs for step in job["steps"]]


def test_each_action_is_pinned_by_its_commit() -> None:
    used = [step["uses"] for path in WORKFLOWS for step in list_steps(path) if "uses" in step]
    used += [
        step["uses"]
        for step in yaml.safe_load((TOP / "contrib/github/action.yml").read_text())["runs"]["steps"]
        if "uses" in step
    ]
    assert used
    none(name for name in used if not re.search(r"@[0-9a-f]{40}$", name))


def test_no_job_can_write_but_the_one_that_makes_the_release() -> None:
    writes = set()
    for path in WORKFLOWS:
        workflow = yaml.safe_load(path.read_text())
        rights = {"": workflow["permissions"]}
        rights |= {name: job.get("permissions", {}) for name, job in workflow["jobs"].items()}
        writes |= {(path.stem, name) for name, each in rights.items() if "write" in each.values()}
    assert writes == {("release", "publish")}


def test_what_a_release_is_built_with_has_versions() -> None:
    rest = (TOP / "contrib" / "constraints.txt").read_text()
    none(
        line
        for line in (TOP / ".ci" / "release.txt").read_text().splitlines()
        if not line.startswith("#") and "==" not in line and f"\n{line}==" not in rest
    )
