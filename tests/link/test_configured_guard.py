"""The sh guard where hooks are configured too: which of them starts Python, in each git."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitcp.setup import hook_texts
from tests.link.test_sh_guard import Place, place, push
from tests.support import gits, mac
from tests.support.paths import ENTRY

__all__ = ["place"]
COMMIT = ["prepare-commit-msg", "post-commit"]
MAC = pytest.param(mac.HIDE, marks=pytest.mark.skipif(bool(mac.why_not()), reason="no such world"))


@pytest.fixture
def both(place: Place) -> Place:
    """The place with the same hooks in the configuration, for a git that runs them."""
    place.env["PATH"] = gits.find_newer()
    for hook in hook_texts.HOOKS:
        name = f"hook.{hook_texts.CONFIGURED}{hook}"
        place.git("config", f"{name}.event", hook)
        command = hook_texts.build_command(hook, str(place.py), str(ENTRY))
        place.git("config", f"{name}.command", command)
    return place


def take_files_away(place: Place) -> None:
    for hook in hook_texts.HOOKS:
        (place.hooks / hook).unlink()


def test_configured_hooks_start_python_as_those_in_files_do(both: Place, tmp_path: Path) -> None:
    take_files_away(both)
    both.commit()
    assert both.called() == []
    both.mark("open/s")
    both.commit()
    assert both.called() == COMMIT
    both.mark("unpushed")
    push(both, tmp_path)
    assert both.called() == ["pre-push"]
    assert "refs/heads/main" in Path(f"{both.calls}.stdin").read_text()


@pytest.mark.parametrize("via", ["", MAC])
def test_each_event_is_done_once_by_old_and_new_git_in_turns(both: Place, via: str) -> None:
    both.via = via
    both.mark("open/s")
    for path in (gits.find_newer(), gits.find_older(), gits.find_newer()):
        both.env["PATH"] = path
        both.commit()
        assert both.called() == COMMIT
        both.commit("--amend", "-m", "again")
        assert both.called() == COMMIT
    both.mark("linked")
    both.commit("--amend", "-m", "again")
    assert both.called() == [*COMMIT, "post-rewrite"]


def test_each_pick_of_a_rebase_is_done_once(both: Place) -> None:
    both.commit()
    both.mark("open/s")
    both.git("rebase", "-q", "--force-rebase", "HEAD~2")
    assert both.called().count("post-commit") == 2


@pytest.mark.parametrize("event", ["prepare-commit-msg", "post-commit"])
def test_a_hook_that_is_not_configured_is_done_by_its_file(both: Place, event: str) -> None:
    both.mark("open/s")
    both.git("config", f"hook.{hook_texts.CONFIGURED}{event}.enabled", "false")
    both.commit()
    assert both.called() == COMMIT


def test_the_number_of_a_process_that_is_used_again_misses_no_commit(both: Place) -> None:
    """The git that ran the configured hook is known by when it began, too."""
    both.mark("open/s")
    both.commit()
    both.called()
    ran = both.top / ".git" / "gitcp" / "ran" / "post-commit"
    both.theirs("prepare-commit-msg", f'read -r _ since <"{ran}"; echo "$PPID 1$since" >"{ran}"')
    both.env["PATH"] = gits.find_older()
    both.commit()
    assert both.called() == COMMIT


def test_other_hooks_run_though_git_has_run_the_configured_one(both: Place) -> None:
    both.mark("open/s")
    both.theirs("post-commit", "echo theirs >>.git/ran")
    both.commit()
    assert both.called() == COMMIT
    assert (both.top / ".git" / "ran").read_text() == "theirs\n"


def test_a_missing_gitcp_fails_nothing_in_the_configuration(both: Place) -> None:
    take_files_away(both)
    both.mark("open/s")
    for hook in hook_texts.HOOKS:
        key = f"hook.{hook_texts.CONFIGURED}{hook}.command"
        command = hook_texts.build_command(hook, "/gone/python", "/gone/entry.py")
        both.git("config", key, command)
    both.env["PATH"] = f"{gits.BUILT}{os.pathsep}/usr/bin{os.pathsep}/bin"
    assert both.commit() == ""
