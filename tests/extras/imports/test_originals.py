"""Repositories that the original program recorded: their conversations alone, without a trailer,
say nothing that the trailers did not."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.extras.imports.truth import V1, Link, git
from tests.support import warm
from tests.support.paths import TOP

BUNDLES = TOP / "tests" / "data" / "entire"
TRAILER = re.compile(r"^Entire-Checkpoint: (..)([0-9a-f]{10})$", re.M)
KEYS = [f"GIT_{who}_{key}" for who in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL", "DATE")]


def read_stored(repo: Path, commit: str) -> dict[str, str]:
    """session -> its transcript, of the checkpoints that a commit names."""
    stored = {}
    for shard, name in TRAILER.findall(git(repo, "show", "-s", "--format=%B", commit)):
        where = f"{shard}/{name}"
        for path in git(repo, "ls-tree", "-r", "--name-only", V1, f"{where}/").splitlines():
            if re.fullmatch(rf"{where}/\d+/metadata.json", path):
                session = json.loads(git(repo, "show", f"{V1}:{path}"))["session_id"]
                talk = path.replace("metadata.json", "full.jsonl")
                stored[session] = git(repo, "show", f"{V1}:{talk}") + "\n"
    return stored


def strip_trailers(repo: Path, at: Path) -> dict[str, str]:
    """Make the commits of all branches again in a new repository, without trailers: old -> new."""
    subprocess.run(["git", "init", "-q", str(at)], check=True)
    (at / ".git/objects/info/alternates").write_text(f"{repo}/.git/objects\n")
    heads = [r for r in git(repo, "for-each-ref", "refs/heads").split()[2::3] if "entire/" not in r]
    made: dict[str, str] = {}
    for old in git(repo, "rev-list", "--topo-order", "--reverse", *heads).split():
        form = "--format=%T%n%P%n%an%n%ae%n%aI%n%cn%n%ce%n%cI%n%B"
        tree, parents, *who = git(repo, "show", "-s", form, old).split("\n", 8)
        env = {**os.environ, **dict(zip(KEYS, who, strict=False))}
        argv = ["git", "commit-tree", tree]
        argv += [word for parent in parents.split() for word in ("-p", made[parent])]
        words = re.sub(r"(?m)^Entire-.*\n?", "", who[-1])
        how: Any = {"cwd": at, "env": env, "capture_output": True, "text": True, "check": True}
        made[old] = subprocess.run(argv, input=words, **how).stdout.strip()
    for ref in heads:
        git(at, "update-ref", ref, made[git(repo, "rev-parse", ref)])
    return made


# Of phases a session is linked that wrote another file; of v1-four two commits have what a subagent
# wrote, whose transcript says no time.
@pytest.mark.parametrize(
    ("name", "links", "lacking"),
    [("carry-forward", 1, 0), ("finalize", 3, 0), ("phases", 2, 1), ("v1-four", 5, 2)],
)
def test_what_a_whole_write_left_is_linked_without_lines_and_no_link_is_wrong(
    name: str, links: int, lacking: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What these transcripts say of a call is that it went well: no line is proven."""
    repo, there, home = tmp_path / "repo", tmp_path / "there", tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    git(tmp_path, "init", "-q", str(repo))
    git(repo, "fetch", "-q", "--update-head-ok", str(BUNDLES / f"{name}.bundle"), "+refs/*:refs/*")
    made = strip_trailers(repo, there)
    truth: set[Link] = set()
    places = set()
    for old, new in made.items():
        for session, talk in read_stored(repo, old).items():
            truth.add((new, session))
            cwd = json.loads(talk.split("\n")[0])["cwd"]
            folder = home / ".claude" / "projects" / re.sub("[^a-zA-Z0-9]", "-", cwd)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{session}.jsonl").write_text(talk)
            places.add(cwd)
    who = git(there, "log", "--all", "-1", "--format=%ce")
    git(there, "config", "user.email", who)
    where = [word for place in places for word in ("--path", place)]
    for args in ((), ("--coarse",)):
        done = warm.run("import", "--json", "--dry-run", *args, *where, cwd=there)
        assert done.returncode == 0, done
        records = [json.loads(line) for line in done.stdout.splitlines()]
        assert not any(one["lines"] or one["coarse"] for one in records)
        found = {(one["commit"], one["session_id"]) for one in records}
        print(f"{name} {' '.join(args)}: links {len(found)} of {len(truth)}")
        assert found <= truth
        assert (len(found), len(truth - found)) == (links, lacking)
