"""gitcp ci: the job that it writes is that of contrib/, pinned, with no right too many."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitcp.setup import ci_jobs
from tests.checkpoints.share.forge import ACTION, JOB
from tests.support import warm
from tests.support.checkpoints import git

SOURCE = "https://github.com/somebody/gitcp.git"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
FROM = ("--source", SOURCE, "--commit", COMMIT)


def install(repo: Path, forge: str, *args: str) -> subprocess.CompletedProcess[str]:
    return warm.run("ci", "install", forge, *args, cwd=repo)


def read(repo: Path, forge: str) -> Any:
    return yaml.safe_load((repo / ci_jobs.FORGES[forge]).read_text())


def test_the_job_of_github_is_pinned_and_each_has_only_the_right_it_needs(repo: Path) -> None:
    done = install(repo, "github", *FROM, "--branch", "main: no")
    assert done.stdout.splitlines()[0] == "wrote '.github/workflows/gitcp.yml'"
    job = read(repo, "github")
    assert job["permissions"] == {} and job[True]["push"] == {"branches": ["main: no"]}
    rights = {name: each["permissions"] for name, each in job["jobs"].items()}
    assert rights == {
        "comment": {"contents": "read", "pull-requests": "write", "checks": "write"},
        "links": {"contents": "write"},
    }
    for each in job["jobs"].values():
        used = [step["uses"] for step in each["steps"]]
        assert used[1] == f"somebody/gitcp/contrib/github@{COMMIT}"
        assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", name) for name in used)
        assert set(each["steps"][1].get("with", {})) <= set(ACTION["inputs"])


def test_the_job_of_gitlab_is_that_of_contrib(repo: Path) -> None:
    done = install(repo, "gitlab", *FROM)
    job = read(repo, "gitlab")["gitcp"]
    named = {"GITCP_SOURCE": SOURCE, "GITCP_COMMIT": COMMIT}
    assert job == {**JOB, "variables": {**JOB["variables"], **named}}
    assert "    - local: .gitlab/gitcp.yml\n" in done.stdout
    (repo / ".gitlab-ci.yml").write_text("include:\n  - local: .gitlab/gitcp.yml\n")
    again = install(repo, "gitlab", *FROM)
    assert again.stdout.startswith("'.gitlab/gitcp.yml' is up to date\n")
    assert "local:" not in again.stdout


def test_a_rule_that_is_broken_fails_the_job_if_asked(repo: Path) -> None:
    for forge in ci_jobs.FORGES:
        install(repo, forge, *FROM, "--check")
    steps = read(repo, "github")["jobs"]["comment"]["steps"]
    assert steps[1]["with"] == {"check": "true"}
    assert read(repo, "gitlab")["gitcp"]["variables"]["CHECK"] == "true"


def test_a_file_that_is_not_gitcps_stays(repo: Path) -> None:
    path = repo / ".github" / "workflows" / "gitcp.yml"
    path.parent.mkdir(parents=True)
    path.write_text("name: mine\n")
    done = install(repo, "github", *FROM)
    assert done.returncode == 128
    assert done.stderr == f"fatal: '{path}' is not gitcp's; --force replaces it\n"
    assert path.read_text() == "name: mine\n"
    assert install(repo, "github", *FROM, "--force").returncode == 0
    assert install(repo, "github", *FROM, "--check").returncode == 0  # ours is written anew


def test_a_dry_run_prints_the_file_and_writes_none(repo: Path) -> None:
    done = install(repo, "github", *FROM, "-n")
    assert done.stdout.startswith(ci_jobs.MARK) and git("status", "--porcelain", cwd=repo) == ""


def test_changes_are_merged_into_the_branch_that_origin_calls_its_own(repo: Path) -> None:
    def branch() -> list[str]:
        install(repo, "github", *FROM)
        branches: list[str] = read(repo, "github")[True]["push"]["branches"]
        return branches

    git("checkout", "-q", "-b", "topic/one", cwd=repo)
    assert branch() == ["topic/one"]
    git("update-ref", "refs/remotes/origin/trunk", "HEAD", cwd=repo)
    git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk", cwd=repo)
    assert branch() == ["trunk"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--source", "https://me:secret@github.com/o/gitcp"), "has a password"),
        (("--source", "https://example.com/o/gitcp"), "is not a repository on GitHub"),
        (("--source", SOURCE, "--commit", "0123456"), "name it whole by --commit"),
    ],
)
def test_what_would_be_no_pinned_job_is_refused(
    repo: Path, args: tuple[str, ...], said: str
) -> None:
    done = install(repo, "github", *args)
    assert done.returncode == 128 and said in done.stderr and "secret" not in done.stderr
    assert not (repo / ".github").exists()
