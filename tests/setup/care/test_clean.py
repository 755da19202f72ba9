"""clean and list-orphans: only what is settled goes, dry run first, with exact old values."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitcp.git import refs
from gitcp.git.repo import Repo
from gitcp.record.snapshot import own_index
from gitcp.record.turn import sessions
from gitcp.setup.care import table, upkeep
from tests.support.checkpoints import V1, git, unbundle
from tests.support.copies import plant
from tests.support.harness import World
from tests.support.sealed import environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.checkpoints.format.orphan_rules import Ages
    from gitcp.setup.care.upkeep import Orphan

DAY = 86400
ARCHIVE = "refs/gitcp/archive/"


@pytest.fixture(scope="module")
def made(ground: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """s-away has b.txt in an archive alone, s-done is settled, s-live has work on a stream."""
    at = tmp_path_factory.mktemp("made")
    with environment(HOME=str(at / "home")):
        world = World(Path(shutil.copytree(ground, at / "repo")), at / "home")
        away, done, live = map(world.agent, ("s-away", "s-done", "s-live"))
        away.turn("Two files", {"a.txt": "one\n", "b.txt": "two\n"})
        world.commit("a.txt")
        world.git("stash", "-u", "-q")
        done.turn("Another", {"c.txt": "three\n"})
        world.commit()
        away.end()
        done.end()
        live.turn("More", {"d.txt": "four\n"})
        world.close()
    yield world.path


class Place:
    """A copy of it, looked at some days later."""

    def __init__(self, path: Path) -> None:
        self.path, self.git_dir = path, path / ".git"
        self.later = 0.0

    @property
    def repo(self) -> Repo:
        return Repo.find(str(self.path))

    @property
    def archive(self) -> str:
        return next(ref for ref in refs.list_refs(self.repo, ARCHIVE))

    def state(self, sid: str) -> Path:
        return self.git_dir / "entire-sessions" / f"{sid}.json"

    def edit(self, sid: str, **change: object) -> None:
        path = self.state(sid)
        path.write_text(json.dumps({**json.loads(path.read_text()), **change}))

    def age(self, name: str, days: float) -> None:
        """Make a file in the git directory so old."""
        then = time.time() - days * DAY
        os.utime(self.git_dir / name, (then, then))

    def leave(self, sid: str, days: float) -> None:
        """Let a session have done nothing for so long, as what wrote its state would say."""
        then = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - days * DAY))
        self.edit(sid, started_at=then, last_interaction_time=then, ended_at=then)

    def ages(self, days: int | None = None) -> Ages:
        ages = upkeep.find_ages(self.repo, days)
        ages.now += self.later * DAY
        return ages

    def find(self, days: int | None = None) -> list[Orphan]:
        return upkeep.find_orphans(self.repo, self.ages(days))

    def clean(self, days: int | None = None) -> list[str]:
        """Delete what is settled; the kinds of what went."""
        done = upkeep.delete_settled(self.repo, self.ages(days), self.find(days))
        return [one.kind for one in done]

    def snapshot(self) -> dict[str, bytes]:
        """Refs and files of ours, but locks, and caches that each look may write."""
        found = {ref: oid.encode() for ref, oid in refs.list_refs(self.repo).items()}
        for top in ("entire-sessions", "gitcp"):
            for path in sorted((self.git_dir / top).rglob("*")):
                cached = path.parent.name == "lock" or path.name in ("indexes", "asked")
                if path.is_file() and not cached:
                    found[str(path)] = path.read_bytes()
        return found


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Place:
    return Place(plant(made, tmp_path / "place"))


def kinds(found: list[Orphan]) -> list[tuple[str, str, bool]]:
    return [(one.kind, os.path.basename(one.subject), one.is_settled) for one in found]


def test_nothing_is_orphaned_where_all_of_it_is_new(place: Place) -> None:
    before = place.snapshot()
    assert place.find() == []
    assert place.clean() == []
    assert place.snapshot() == before


def test_looking_changes_nothing(place: Place) -> None:
    before = place.snapshot()
    assert [kind for kind, _, _ in kinds(place.find(0))] == [
        "expired-archive",
        "orphan-edits",
        "settled-state",
        *["transcript-cache"] * 2,
        "turn-file",
        *["session-lock"] * 2,
    ]
    assert place.snapshot() == before


def archives(found: list[Orphan]) -> list[Orphan]:
    return [one for one in found if one.kind == "expired-archive"]


def test_an_archive_that_expires_settles_what_was_in_it_alone(place: Place) -> None:
    archive, place.later = place.archive, 31
    before = json.loads(place.state("s-away").read_text())["revision"]
    found = archives(place.find())
    assert [(one.subject, one.alone) for one in found] == [(archive, {"s-away": ["b.txt"]})]
    assert "settles b.txt of 's-away'" in found[0].reason
    assert "expired-archive" in place.clean()
    assert refs.read_ref(place.repo, archive) is None
    state = json.loads(place.state("s-away").read_text())
    assert state["streams"] == [] and state["revision"] == before + 1  # no copy is newer
    assert not (place.git_dir / "gitcp/open/s-away").exists()
    assert list(table.check_store(place.repo)) == []


def test_what_another_ref_of_the_stream_has_stays_unsettled(place: Place) -> None:
    archive, place.later = place.archive, 31
    copy = archive.rpartition("/")[0] + "/2"
    refs.update_refs(place.repo, [(copy, refs.read_ref(place.repo, archive), None)], "test")
    place.age(copy, -2)
    assert [(one.subject, one.alone) for one in archives(place.find())] == [(archive, {})]
    place.clean()
    assert list(sessions.read_state(place.repo, "s-away")["streams"][0]["files"]) == ["b.txt"]
    assert list(refs.list_refs(place.repo, ARCHIVE)) == [copy]


def test_an_archive_is_as_young_as_its_ref(place: Place) -> None:
    place.later = 31
    place.age(place.archive, -2)  # an old stream was archived two days later
    assert archives(place.find()) == []


@pytest.mark.parametrize("phase", ["active", "unreadable"])
def test_what_an_active_session_names_is_never_touched(place: Place, phase: str) -> None:
    if phase == "active":
        place.edit("s-away", phase="active")
    else:
        place.state("s-away").write_text("{")
    before = place.snapshot()
    assert place.archive not in [one.subject for one in place.find(0)]
    place.clean(0)
    left = place.snapshot()
    assert [k for k in before if k not in left and "s-done" not in k] == []
    noted = {key for key in left if key.endswith("/gitcp/unrecorded")}  # that s-done was recorded
    assert {k: before[k] for k in left.keys() - noted} == {k: left[k] for k in left.keys() - noted}


def test_an_active_session_keeps_its_state_however_old_it_is(place: Place) -> None:
    place.leave("s-done", 400)
    place.edit("s-done", phase="active")
    assert "s-done" not in [one.subject for one in place.find()]


def test_a_session_that_became_active_meanwhile_keeps_its_archive(place: Place) -> None:
    found = place.find(0)
    place.edit("s-away", phase="active")
    done = upkeep.delete_settled(place.repo, place.ages(0), found)
    assert "expired-archive" not in [one.kind for one in done]
    assert json.loads(place.state("s-away").read_text())["streams"]


def test_a_settled_state_goes_after_a_week_with_its_files(place: Place) -> None:
    place.leave("s-done", 6.9)
    assert place.find() == []
    place.leave("s-done", 7.1)
    assert {name for _, name, _ in kinds(place.find())} == {
        "s-done",
        "s-done.json",
        "s-done.redacted",
        "session-s-done",
        "transcript-s-done",
    }
    assert sorted(place.clean()) == [
        *["session-lock"] * 2,
        "settled-state",
        *["transcript-cache"] * 2,
        "turn-file",
    ]
    assert not place.state("s-done").exists()
    assert place.find() == []
    assert list(table.check_store(place.repo)) == []


def test_a_state_with_something_unsettled_stays(place: Place) -> None:
    place.leave("s-away", 400)
    assert place.find() == []


def test_a_state_that_was_used_meanwhile_stays_with_its_files(place: Place) -> None:
    found = place.find(0)
    place.edit("s-done", revision=99)
    done = upkeep.delete_settled(place.repo, place.ages(0), found)
    assert [one.kind for one in done] == ["expired-archive"]
    assert place.state("s-done").exists()


def test_a_stream_without_a_state_is_told_at_once_and_kept_for_a_month(place: Place) -> None:
    place.state("s-live").unlink()
    (place.git_dir / "gitcp/open/s-live").unlink()
    stream = next(ref for ref in refs.list_refs(place.repo, "refs/heads/entire") if ref != V1)
    assert kinds(place.find()) == [("orphan-stream", os.path.basename(stream), False)]
    assert place.clean() == []
    place.later = 31
    assert ("orphan-stream", os.path.basename(stream), True) in kinds(place.find())
    git("checkout", "-q", "-f", stream.removeprefix("refs/heads/"), cwd=place.path)
    assert kinds(place.find())[0][2] is False  # a person is on it
    git("checkout", "-q", "-f", "main", cwd=place.path)
    assert "orphan-stream" in place.clean()
    assert refs.read_ref(place.repo, stream) is None


def test_a_stream_that_commits_have_settled_is_no_finding_and_kept_for_a_week(place: Place) -> None:
    archive = place.archive
    place.edit("s-away", streams=[])  # as a commit of b.txt leaves it
    (place.git_dir / "gitcp/open/s-away").unlink()
    assert list(table.check_store(place.repo)) == []
    assert kinds(place.find()) == [("settled-stream", "1", False)]
    place.later = 7.1
    assert ("settled-stream", "1", True) in kinds(place.find())
    assert "settled-stream" in place.clean()
    assert refs.read_ref(place.repo, archive) is None


def test_a_stream_of_a_session_that_began_anew_is_not_settled(place: Place) -> None:
    place.edit("s-away", streams=[], started_at="2030-01-01T00:00:00Z")
    (place.git_dir / "gitcp/open/s-away").unlink()
    assert kinds(place.find()) == [("orphan-stream", "1", False)]


def test_a_ref_that_moved_meanwhile_stays_and_the_others_go(place: Place) -> None:
    archive = place.archive
    second = archive.rpartition("/")[0] + "/2"
    oid = refs.read_ref(place.repo, archive)
    refs.update_refs(place.repo, [(second, oid, None)], "test")
    found = place.find(0)
    refs.update_refs(place.repo, [(second, refs.read_ref(place.repo, "HEAD"), oid)], "test")
    done = upkeep.delete_settled(place.repo, place.ages(0), found)
    assert archive in [one.subject for one in done if one.ref]
    assert refs.read_ref(place.repo, second) == refs.read_ref(place.repo, "HEAD")


FILES = [
    "lock/session-gone",
    "lock/transcript-gone",
    "transcript/gone.redacted",
    "transcript/gone.json.123",
    "turn/gone",
    "turn/gone.log",
]


@pytest.mark.parametrize("name", [*FILES, "tmp/1-2-3"])
def test_a_file_of_nobody_goes_after_an_hour(place: Place, name: str) -> None:
    path = place.git_dir / "gitcp" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("")
    assert place.find() == []
    place.age(f"gitcp/{name}", 0.05)
    assert [(one.subject, one.is_settled) for one in place.find()] == [(str(path), True)]
    assert len(place.clean()) == 1
    assert not path.exists()


def test_turn_files_of_linked_worktrees_are_seen(place: Place, tmp_path: Path) -> None:
    git("worktree", "add", "-q", str(tmp_path / "linked"), cwd=place.path)
    path = place.git_dir / "worktrees/linked/gitcp/turn/gone"
    path.parent.mkdir(parents=True)
    path.write_text("")
    os.utime(path, (1e9, 1e9))
    assert [one.subject for one in place.find()] == [str(path)]


def test_edits_of_a_session_without_a_state_go(place: Place) -> None:
    head = refs.read_ref(place.repo, "HEAD")
    refs.update_refs(place.repo, [("refs/gitcp/edits/gone", head, None)], "test")
    place.later = -365 * 30  # the fixture's commit is of a fixed date
    assert "orphan-edits" not in [one.kind for one in place.find()]
    place.later = 31
    told = [one.subject for one in place.find() if one.kind == "orphan-edits"]
    assert told == ["refs/gitcp/edits/gone", "refs/gitcp/edits/s-done"]
    assert "orphan-edits" in place.clean()
    assert refs.read_ref(place.repo, "refs/gitcp/edits/s-live")


@pytest.mark.parametrize("key", ["gitcp.archive-expire", "gitcp.state-expire"])
def test_ages_are_configured(place: Place, key: str) -> None:
    place.later = 3
    git("config", key, "2", cwd=place.path)
    found = {one.kind for one in place.find()}
    assert ("expired-archive" in found) is (key == "gitcp.archive-expire")
    assert ("settled-state" in found) is (key == "gitcp.state-expire")


def test_committed_checkpoints_are_never_touched(place: Place) -> None:
    before = refs.read_ref(place.repo, V1)
    place.later = 400
    assert len(place.clean()) > 4
    assert refs.read_ref(place.repo, V1) == before


@pytest.mark.parametrize("make", ["sample", "empty", "bare"])
def test_where_only_the_permanent_store_is_nothing_is_orphaned(tmp_path: Path, make: str) -> None:
    makers: dict[str, Callable[[], object]] = {
        "sample": lambda: unbundle("v1-sample", tmp_path / "r"),
        "empty": lambda: git("init", "-q", str(tmp_path / "r")),
        "bare": lambda: git("init", "-q", "--bare", str(tmp_path / "r")),
    }
    makers[make]()
    assert Place(tmp_path / "r").find(0) == []


def test_what_a_client_exported_goes_when_its_session_is_settled(place: Place) -> None:
    for sid in ("s-live", "s-done"):
        path = place.git_dir / f"gitcp/exports/opencode/{sid}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("what was said")
        place.age(f"gitcp/exports/opencode/{sid}.jsonl", 0.05)
    own_index.sweep_leftovers(place.repo)
    assert [p.name for p in path.parent.iterdir()] == ["s-live.jsonl"]


def test_work_on_a_base_that_no_worktree_is_on_goes_as_late_as_an_archive(world: World) -> None:
    """Its marker has every commit start Python, for nothing."""
    a = world.agent("session-a")
    world.git("switch", "-q", "-c", "side")
    world.git("commit", "-q", "--allow-empty", "-m", "side")
    a.turn("write", {"a.txt": "a\n"})
    a.end()
    world.git("clean", "-qf", "a.txt")
    world.git("switch", "-q", "main")
    place = Place(world.path)
    assert [one for one in place.find() if one.kind == "left-stream"] == []
    place.later = 31
    [left] = [one for one in place.find() if one.kind == "left-stream"]
    assert left.alone == {"session-a": ["a.txt"]}
    assert "left-stream" in place.clean()
    assert (world.open(), world.streams) == ([], [])


def test_work_whose_stream_is_gone_goes_as_late_too(world: World) -> None:
    a = world.agent("session-a")
    a.turn("write", {"a.txt": "a\n"})
    a.end()
    world.git("update-ref", "-d", f"refs/heads/{world.branch()}")
    place = Place(world.path)
    assert place.find() == [] and world.open() == ["session-a"]
    place.later = 31
    assert "settles a.txt of 'session-a'" in place.find()[0].reason
    assert "lost-stream" in place.clean()
    assert world.open() == []
