"""What is broken is named with its cause, mended or said how to mend; what is well is not named."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitcp import agents
from gitcp.agents import get_agent_type
from gitcp.errors import Busy
from gitcp.git.repo import Repo
from gitcp.setup.care import switches, table
from gitcp.setup.care.case import Case
from gitcp.setup.care.findings import Diagnosis, Finding
from tests.support import warm
from tests.support.copies import plant
from tests.support.harness import V1, World
from tests.support.installed import git, write
from tests.support.paths import TOP
from tests.support.scenes import Scenes
from tests.support.screens import ALL_WELL

Break = Callable[[World], object]
MANIFEST = ".git/gitcp/installed/manifest.json"
SETTINGS = ".claude/settings.local.json"
TRUST = '{"projects": {"TOP": {"hasTrustDialogAccepted": %s}}}'
LEVEL = '[projects."TOP"]\ntrust_level = "%s"\n'
GEMINI = '{"hooksConfig": {"enabled": %s}}'


def doctor(world: World, *args: str) -> tuple[int, str]:
    done = warm.run("doctor", "-v", *args, cwd=world.path)
    return done.returncode, done.stdout


def record_work(world: World) -> World:
    """A world with a linked commit, a stream, and edits that no commit has."""
    agent = world.agent("s1")
    agent.turn("make it", {"one.txt": "1\n", "two.txt": "2\n"})
    world.commit("one.txt")
    agent.turn("make more", {"three.txt": "3\n"})
    assert doctor(world) == (0, ALL_WELL)
    return world


@pytest.fixture
def enabled(scenes: Scenes, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    yield from scenes.play(record_work, monkeypatch)


def ref(world: World, name: str) -> Path:
    path = world.path / ".git" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def no_directory(world: World) -> None:
    shutil.rmtree(world.path / ".git/gitcp")
    (world.path / ".git/gitcp").write_text("")


def as_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def as_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("")


def cut_short(path: Path, end: int = 200) -> None:
    path.chmod(path.stat().st_mode | 0o200)
    path.write_bytes(path.read_bytes()[:end])


def as_link_to_nothing(path: Path) -> None:
    path.unlink()
    path.symlink_to("/nowhere/file")


def pack_of_the_store(world: World, end: str) -> Path:
    """A file of the pack that has the newest checkpoints."""
    tip = bytes.fromhex(world.refs(V1)[V1])
    [path] = [p for p in world.path.glob(".git/objects/pack/*.idx") if tip in p.read_bytes()]
    return path.with_suffix(end)


def replaced(world: World, old: str, new: str) -> None:
    for path in [*world.path.glob(".git/hooks/*"), world.path / SETTINGS]:
        path.write_text(path.read_text().replace(old, new))


MENDED: dict[str, tuple[Break, str]] = {
    "an empty branch": (
        lambda w: ref(w, "refs/heads/entire/0123456-abcdef").write_text(""),
        "refs/heads/entire/0123456-abcdef: git cannot read it",
    ),
    "a dangling branch": (
        lambda w: ref(w, "refs/heads/entire/0123456-abcdef").write_text("1" * 40 + "\n"),
        "refs/heads/entire/0123456-abcdef",
    ),
    "a branch with a name of nobody's that dangles": (
        lambda w: ref(w, "refs/heads/entire/mine").write_text("1" * 40 + "\n"),
        "refs/heads/entire/mine",
    ),
    "a branch that is a blob": (
        lambda w: ref(w, "refs/heads/entire/0123456-abcdef").write_text(
            w.git("rev-parse", "HEAD:one.txt")
        ),
        "it is at a blob",
    ),
    "an empty store": (
        lambda w: ref(w, "refs/heads/entire/checkpoints/v1").write_text(""),
        "refs/heads/entire/checkpoints/v1: git cannot read it",
    ),
    "a manifest that is no JSON": (
        lambda w: (w.path / MANIFEST).write_text("{"),
        f"{MANIFEST}' cannot be read (Expect",
    ),
    "a manifest that is a directory": (
        lambda w: as_directory(w.path / MANIFEST),
        f"{MANIFEST}'",
    ),
    "a journal with a line of nothing": (
        lambda w: (w.path / ".git/gitcp/journal").open("a").write("{nothing\n"),
        "1 of its lines cannot be read",
    ),
    "a journal that is no text": (
        lambda w: (w.path / ".git/gitcp/journal").write_bytes(b"\xff\x00"),
        "journal: it is not a text file",
    ),
    "no directory of gitcp's": (
        lambda w: shutil.rmtree(w.path / ".git/gitcp"),
        "has no record of what enable wrote",
    ),
    "a file in its place": (no_directory, ".git/gitcp' is not a directory"),
    "a hook that is cut short": (
        lambda w: cut_short(w.path / ".git/hooks/post-commit"),
        "post-commit in '",
    ),
    "a dangling ref of notes": (
        lambda w: ref(w, "refs/notes/gitcp").write_text("1" * 40 + "\n"),
        "refs/notes/gitcp: its commit",
    ),
    "a branch whose file is gone": (
        lambda w: ref(w, "refs/heads/entire/checkpoints/v1").unlink(),
        "the ref is gone, but its reflog is still there",
    ),
    "a file in the place of the locks": (
        lambda w: as_file(w.path / ".git/gitcp/lock"),
        ".git/gitcp/lock' is not a directory",
    ),
    "a directory in the place of the store's ref": (
        lambda w: as_directory(w.path / ".git" / V1),
        "refs/heads/entire/checkpoints/v1: the ref is gone, but its reflog is still there",
    ),
    "a file in the place of a directory of refs": (
        lambda w: as_file(w.path / ".git/refs/heads/entire/checkpoints"),
        "refs/heads/entire/checkpoints: git cannot read it",
    ),
    "a ref that is a link to nothing": (
        lambda w: as_link_to_nothing(w.path / ".git/refs/gitcp/edits/s1"),
        "refs/gitcp/edits/s1: git cannot read it",
    ),
    "a file in the place of a directory of reflogs": (
        lambda w: as_file(w.path / ".git/logs/refs/heads/entire"),
        "refs/heads/entire: the ref is gone, but its reflog is still there",
    ),
    "a state that is a link to nothing": (
        lambda w: as_link_to_nothing(w.path / ".git/entire-sessions/s1.json"),
        "s1: it is gone",
    ),
    "the index of a pack is gone": (
        lambda w: pack_of_the_store(w, ".idx").unlink(),
        "its index is gone",
    ),
    "an index that is cut short": (
        lambda w: cut_short(pack_of_the_store(w, ".idx")),
        "its index is damaged",
    ),
    "a pack whose last bytes are gone": (
        lambda w: cut_short(pack_of_the_store(w, ".pack"), -20),
        "it is cut short or overwritten",
    ),
    "a file in the place of the hooks": (
        lambda w: as_file(w.path / ".git/hooks"),
        ".git/hooks' is not a directory, so nothing is recorded: 'gitcp enable'",
    ),
    "a hook that a power cut left empty": (
        lambda w: (w.path / ".git/hooks/commit-msg").write_bytes(bytes(600)),
        "commit-msg in '",
    ),
    "a directory in the place of a hook": (
        lambda w: as_directory(w.path / ".git/hooks/pre-push"),
        "pre-push in '",
    ),
    "an installation that moved": (
        lambda w: replaced(w, str(TOP / "gitcp"), "/nowhere/gitcp"),
        "'/nowhere/gitcp/entry.py', which is gone",
    ),
}


@pytest.mark.thorough
@pytest.mark.usefixtures("older_git")
@pytest.mark.parametrize("what", MENDED)
def test_what_is_broken_is_named_and_mended(enabled: World, what: str) -> None:
    broken, words = MENDED[what]
    stored = enabled.checkpoints()
    broken(enabled)
    status, said = doctor(enabled)
    assert status == 1 and words in said, said
    status, said = doctor(enabled, "--fix")
    assert status == 0, said
    assert doctor(enabled) == (0, ALL_WELL)
    assert enabled.checkpoints() == stored
    enabled.agent("s2").turn("make another", {"four.txt": "4\n"})
    assert len(enabled.commit("four.txt")) == 1


def test_what_enable_wrote_is_taken_out_though_its_record_was_lost(
    repo: Path, tmp_path: Path
) -> None:
    write(repo / ".git/hooks/post-commit", "#!/bin/sh\necho hi\n")
    write(repo / SETTINGS, '{"a": 1}', 0o644)
    before = {p: p.read_bytes() for p in (repo / ".git/hooks/post-commit", repo / SETTINGS)}
    assert warm.run("enable", cwd=repo).returncode == 0
    (repo / MANIFEST).write_text("{")
    assert "which was damaged" in warm.run("enable", cwd=repo).stdout
    again = warm.run("enable", "--agent=claude-code", cwd=repo)
    assert again.stdout == "gitcp is enabled here already: nothing to do\n"
    assert warm.run("disable", "--uninstall", cwd=repo).returncode == 0
    assert {path: path.read_bytes() for path in before} == before
    assert [p.name for p in (repo / ".git/hooks").iterdir() if "gitcp" in p.name] == []


TOLD: dict[str, tuple[Break, str]] = {
    "hooks that are switched off": (
        lambda w: write(w.path / ".claude/settings.json", '{"disableAllHooks": true}', 0o644),
        "'disableAllHooks' in '",
    ),
    "settings that are no JSON": (
        lambda w: (w.path / SETTINGS).write_text('{\n  "a": }'),
        f"{SETTINGS}': not JSON: Expecting value: line 2 column 8",
    ),
}


@pytest.mark.parametrize("what", TOLD)
def test_what_a_person_has_to_mend_is_named_until_it_is_gone(enabled: World, what: str) -> None:
    broken, words = TOLD[what]
    before = (enabled.path / SETTINGS).read_text()
    broken(enabled)
    for args in ((), ("--fix",), ()):
        status, said = doctor(enabled, *args)
        assert status == 1 and words in said, said
    assert words in enabled.gitcp("status")
    (enabled.path / SETTINGS).write_text(before)
    (enabled.path / ".claude/settings.json").unlink(missing_ok=True)
    assert doctor(enabled)[0] == 0


def test_the_settings_of_an_administrator_decide_whether_hooks_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = agents.get_client("claude-code")
    managed, own = tmp_path / "managed.json", tmp_path / "settings.json"
    monkeypatch.setattr(client, "MANAGED", (str(managed),), raising=False)
    for there, given, named in (
        ("", '{"disableAllHooks": true}', [str(own)]),
        ('{"disableAllHooks": false}', '{"disableAllHooks": true}', []),
        ('{"disableAllHooks": true}', "", [str(managed)]),
        ('{"allowManagedHooksOnly": true}', "", [str(managed)]),
        ('{"allowManagedHooksOnly": false}', '{"allowManagedHooksOnly": true}', []),
    ):
        managed.write_text(there)
        found = switches.find_switches(client, "", {str(own): given})
        assert [one.subject for one in found] == named


@pytest.mark.parametrize(
    ("agent", "path", "text", "what"),
    [
        ("claude-code", "~/.claude.json", TRUST % "false", "does not trust this folder"),
        ("claude-code", "~/.claude.json", TRUST % "true", ""),
        ("codex", "~/.codex/config.toml", "[features]\nhooks = false\n", "runs no hooks"),
        ("codex", ".codex/config.toml", "[features]\ncodex_hooks = false\n", "runs no hooks"),
        ("codex", "~/.codex/config.toml", "[features]\nhooks = true\n", ""),
        ("codex", "~/.codex/config.toml", LEVEL % "untrusted", "does not trust this folder"),
        ("codex", "~/.codex/config.toml", LEVEL % "trusted", ""),
        ("gemini-cli", "~/.gemini/settings.json", GEMINI % "false", "runs no hooks"),
        ("gemini-cli", "~/.gemini/settings.json", GEMINI % "true", ""),
        ("qwen-code", "~/.qwen/settings.json", '{"disableAllHooks": true} // all', "runs no hooks"),
        ("copilot", "~/.copilot/settings.json", '{"disableAllHooks": true}', "runs no hooks"),
        ("copilot", ".github/copilot/settings.json", '{"disableAllHooks": true}', "runs no hooks"),
        ("factory-droid", "~/.factory/settings.json", '{"hooksDisabled": true}', "runs no hooks"),
        ("factory-droid", "~/.factory/settings.json", '{"hooksDisabled": false}', ""),
        ("vs-code", ".vscode/settings.json", '{"chat.useHooks": false}', "runs no hooks"),
        ("vs-code", ".vscode/settings.json", '{"chat.useHooks": true}', ""),
    ],
)
def test_doctor_names_the_switch_with_which_a_client_runs_no_hooks(
    world: World, agent: str, path: str, text: str, what: str
) -> None:
    world.gitcp("enable", f"--agent={agent}")
    file = Path(path).expanduser() if path.startswith("~") else world.path / path
    write(file, text.replace("TOP", str(world.path)))
    said = doctor(world)[1]
    if what:
        assert f"in '{file}': {get_agent_type(agent)} {what}" in said
    else:
        assert str(file) not in said


def test_a_hook_of_the_person_s_in_the_place_of_cline_s_is_named(world: World) -> None:
    script = world.path / ".clinerules/hooks/PreToolUse"
    write(script, "#!/bin/sh\necho mine\n")
    world.gitcp("enable", "--agent=cline")
    status, said = doctor(world, "--fix")
    assert status == 1 and "PreToolUse' is yours: make it call 'gitcp-hook cline" in said
    write(script, "#!/bin/sh\nexec gitcp-hook cline PreToolUse\n")
    assert "PreToolUse" not in doctor(world)[1]


def test_a_person_s_own_settings_are_named_where_gitcp_is_not_enabled(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert warm.run("enable", "--user", cwd=repo).returncode == 0
    git("init", "-q", str(tmp_path / "other"))
    done = warm.run("doctor", cwd=tmp_path / "other")
    assert done.returncode == 1 and "is recorded by your own settings" in done.stdout
    assert warm.run("doctor", "--fix", cwd=tmp_path / "other").returncode in (0, 1)
    said = warm.run("doctor", cwd=tmp_path / "other").stdout
    assert "is recorded by your own settings" not in said


def test_hooks_that_all_ran_into_their_time_limit_are_named_with_it(enabled: World) -> None:
    line = (
        f"{int(os.path.getmtime(enabled.path))} post-commit: 'git status' did not end in 60 seconds"
    )
    (enabled.path / ".git/gitcp/warnings").write_text(f"{line}\n" * 3)
    status, said = doctor(enabled)
    assert status == 1 and "post-commit failed 3 times" in said
    assert "gitcp.hook-timeout" in said


@pytest.mark.usefixtures("older_git")
def test_settings_are_not_gone_for_a_hook_that_runs_in_the_git_directory(enabled: World) -> None:
    enabled.git("config", "core.worktree", str(enabled.path))
    done = warm.run("status", cwd=enabled.path)
    hook = enabled.path / ".git/hooks/post-commit"
    ran = subprocess.run([hook], cwd=enabled.path / ".git", capture_output=True, text=True)
    assert (done.returncode, ran.stderr) == (0, "")
    assert (enabled.path / ".git/gitcp/watched").exists()


def test_fsck_is_silent_after_what_a_person_may_delete(enabled: World) -> None:
    enabled.git("branch", "-D", enabled.branch().removeprefix("refs/heads/"))
    said = enabled.gitcp("fsck").splitlines()
    assert said[0].startswith("note: ") and said[1].startswith("  s1: ")
    assert doctor(enabled)[0] == 0


def test_what_another_worktree_recorded_is_made_good_from_here(enabled: World) -> None:
    other = enabled.path.parent / "other"
    enabled.git("worktree", "add", "-q", str(other), "-b", "side")
    enabled.agent("s2", other, tools=True).turn("make six", {"six.txt": "6\n"})
    own = enabled.path / ".git/worktrees/other/gitcp"
    cut_short(own / "journal")
    assert doctor(enabled, "--fix")[0] == 0 and "s2" in enabled.open()
    assert len(enabled.commit("six.txt", cwd=other)) == 1
    as_file(own)
    assert f"'{own}' is not a directory" in doctor(enabled)[1]
    assert doctor(enabled, "--fix")[0] == 0


def test_a_dry_run_of_doctor_mends_nothing(enabled: World) -> None:
    (enabled.path / MANIFEST).write_text("{")
    status, said = doctor(enabled)
    assert status == 1
    assert doctor(enabled, "--fix", "-n") == (status, said) == doctor(enabled)
    assert doctor(enabled, "--fix")[0] == 0


def test_doctor_says_why_it_could_not_mend_what_is_left(enabled: World) -> None:
    def fail(case: Case, item: Finding) -> str:
        raise Busy("'session-s1' is locked by another process")

    with Case(Repo.find(str(enabled.path))) as case:
        rows = [row for listed in table.STORED.values() for row in listed]
        bad_state = next(row for row in rows if row.code == "bad-state")
        torn = Diagnosis(bad_state, Finding("bad-state", "s1", "it is torn"))
        left = table.mend_finding(case, torn, fail)
    why = "s1: it is torn; not fixed: 'session-s1' is locked by another process"
    assert left.build_record()["reason"] == why
    enabled.git("commit", "-q", "--allow-empty", "-m", "x\n\nEntire-Checkpoint: 0123456789ab")
    assert "not stored; not fixed: what it needs is not here" in doctor(enabled, "--fix")[1]


def test_status_names_the_doctor_where_git_cannot_read_the_store(enabled: World) -> None:
    cut_short(pack_of_the_store(enabled, ".idx"))
    done = warm.run("status", cwd=enabled.path)
    assert "; 'gitcp doctor' says more\n" in done.stderr, done


def test_a_repository_whose_path_has_a_line_break_is_recorded(ground: Path, tmp_path: Path) -> None:
    broken = World(plant(ground, tmp_path / "a\nb"), tmp_path / "home")
    agent = broken.agent("s1", tools=True)
    agent.turn("make it", {"one.txt": "1\n"})
    assert len(broken.commit("one.txt")) == 1
    assert doctor(broken) == (0, ALL_WELL)
    broken.close()


def test_way_is_made_for_directories_before_packs_are_mended(enabled: World) -> None:
    tip = bytes.fromhex(enabled.refs("refs/gitcp/edits")["refs/gitcp/edits/s1"])
    [index] = [p for p in enabled.path.glob(".git/objects/pack/*.idx") if tip in p.read_bytes()]
    shutil.rmtree(enabled.path / ".git/gitcp")
    (enabled.path / ".git/gitcp").symlink_to("/nowhere")
    cut_short(index)
    doctor(enabled, "--fix")
    assert doctor(enabled)[0] == 0 and enabled.open() == ["s1"]
    assert len(enabled.commit("three.txt")) == 1
