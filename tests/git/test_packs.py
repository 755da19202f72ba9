"""Packs of ours: nothing loose, nothing that a prune takes, few of them, and not for ever."""

from __future__ import annotations

import errno
import os
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gitcp.errors import Error
from gitcp.git.gitdir import packs
from gitcp.git.objects import Objects, pack_care
from gitcp.git.repo import Repo
from gitcp.record.snapshot.own_index import sweep_leftovers
from tests.support.checkpoints import git
from tests.support.harness import World

PACKS = Path(".git/objects/pack")
LATER = packs.MOST + 1


@pytest.fixture
def objects(repo: Path) -> Iterator[Objects]:
    with Objects(Repo.find()) as made:
        yield made


def write(objects: Objects, *texts: str) -> list[str]:
    """The oids of texts, in a pack of their own."""
    oids = [objects.write("blob", text.encode()) for text in texts]
    objects.packs.flush()
    return oids


def assert_readable(*oids: str) -> None:
    """git finds nothing wrong with any pack, and each object is there."""
    if indexes := [str(index) for index in PACKS.glob("*.idx")]:
        git("verify-pack", *indexes)
    git("fsck", "--strict", "--no-dangling")
    there = git("cat-file", "--batch-check", stdin="".join(f"{oid}\n" for oid in oids))
    assert "missing" not in there


def assert_no_leftovers() -> None:
    assert {path.suffix for path in PACKS.iterdir()} == {".keep", ".pack", ".idx"}
    assert not os.listdir(".git/gitcp/tmp")


def loose() -> int:
    return int(git("count-objects").split()[0])


def age(days: float) -> None:
    """Let every pack be so old."""
    for path in PACKS.iterdir():
        then = path.stat().st_mtime - days * 86_400
        os.utime(path, (then, then))


def test_what_a_process_writes_is_one_pack_that_no_prune_takes(objects: Objects) -> None:
    oids = write(objects, "one", "two", *map(str, range(300)), "")
    git("gc", "-q", "--prune=now")
    assert_readable(*oids)
    assert len(list(PACKS.glob("*.keep"))) == 1
    assert loose() == 0


def test_git_finds_what_was_written_after_a_flush(objects: Objects) -> None:
    oid = objects.write("blob", b"just now")
    objects.repo.git.run("version")
    assert not [*PACKS.glob("*.pack")]  # a git that reads none of them writes none
    assert objects.flush() and not objects.flush()
    assert objects.repo.git.read_line("cat-file", "-t", oid) == b"blob"


def test_scratch_copies_of_a_repository_that_cannot_be_written_have_their_own_packs(
    repo: Path,
) -> None:
    (workshop := repo / ".git/gitcp/tmp").parent.mkdir(exist_ok=True)
    workshop.write_text("in the way")
    here = Repo.find()
    assert here.objects.read("HEAD")
    for text in (b"one", b"two"):
        with pack_care.open_scratch(here) as scratch:
            folder = Path(scratch.git.env["GIT_OBJECT_DIRECTORY"])
            with Objects(scratch) as objects:
                oid = objects.write("blob", text)
                assert objects.flush()
                assert scratch.git.read_line("cat-file", "blob", oid) == text
        assert not folder.exists()


def test_what_only_a_longer_conversation_with_git_asks_for_is_there(objects: Objects) -> None:
    assert objects.read("HEAD")
    tree = objects.write("tree", b"")
    head = f"tree {tree}\nauthor x <x> 1 +0000\ncommitter x <x> 1 +0000\n\nx\n"
    commit = objects.write("commit", head.encode())
    found = objects.read(f"{commit}^{{tree}}")
    assert found and found[0] == tree


@pytest.mark.parametrize("algo", ["sha1", "sha256"])
def test_a_file_of_any_size_is_stored_in_any_repository(tmp_path: Path, algo: str) -> None:
    os.chdir(tmp_path)
    git("init", "-q", f"--object-format={algo}")
    sizes = (0, 1, 15, 16, 2047, 2048, 1 << 20, (1 << 20) + 1, 3 << 20)
    for size in sizes:
        Path(f"{size}").write_bytes(os.urandom(size))
    with Objects(Repo.find()) as objects:
        oids = [objects.write_file(b"%d" % size) for size in sizes]
    assert oids == [git("hash-object", f"{size}") for size in sizes]
    assert_readable(*oids)


def test_a_large_file_that_shrinks_while_it_is_read_spoils_nothing(objects: Objects) -> None:
    before = objects.write("blob", b"before")
    Path("large").write_bytes(os.urandom(2 << 20))
    with open("large", "rb", buffering=0) as f:
        assert objects.packs.add_stream(f, 3 << 20) is None
    after = objects.write("blob", b"after")
    objects.packs.flush()
    assert_readable(before, after)


def test_a_large_file_that_a_pack_has_is_not_compressed_again(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("large").write_bytes(os.urandom(2 << 20))
    oid = objects.write_file(b"large")
    objects.packs.flush()
    with monkeypatch.context() as without:
        without.setattr(objects.packs, "add_stream", None)
        assert objects.write_file(b"large") == oid
    assert_readable(oid)


def test_packs_are_joined_and_what_is_in_two_of_them_is_there_once(objects: Objects) -> None:
    oids = {oid for n in range(4 * LATER) for oid in write(objects, "the same", f"{n}")}
    assert len(list(PACKS.glob("*.pack"))) <= LATER
    git("gc", "-q", "--prune=now")
    assert_readable(*oids)
    assert {path.suffix for path in PACKS.iterdir()} >= {".keep", ".pack", ".idx"}
    assert len({p.stem for p in PACKS.iterdir()}) == len(list(PACKS.glob("*.idx")))


def test_what_grows_in_each_of_many_packs_is_stored_once(objects: Objects) -> None:
    """As the end of a conversation does from turn to turn; it is read without git."""
    talk = "".join(f"{number} {os.urandom(9).hex()}\n" for number in range(LATER * 100))
    grown = [talk[: len(talk) * number // LATER] for number in range(1, LATER + 1)]
    oids = [oid for text in grown for oid in write(objects, text, os.urandom(400).hex())]
    [pack] = PACKS.glob("*.pack")
    assert pack.stat().st_size < len(talk)  # the sum is many times as large
    assert_readable(*oids)
    reader = packs.Packs(objects.repo)
    assert [reader.read_small(oid)[1].decode() for oid in oids[::2]] == grown


def test_large_packs_and_those_git_counts_on_are_not_joined(objects: Objects) -> None:
    [large] = write(objects, os.urandom(5 << 20).hex())
    first = {path.name for path in PACKS.glob("*.pack")}
    oids = write(objects, "counted on")
    git("multi-pack-index", "write")
    second = {path.name for path in PACKS.glob("*.pack")} - first
    oids += [oid for n in range(LATER) for oid in write(objects, f"{n}")]
    assert {path.name for path in PACKS.glob("*.pack")} > first | second
    git("multi-pack-index", "verify")
    assert_readable(large, *oids)


@pytest.mark.parametrize("lock", ["maintenance.lock", "pack/multi-pack-index.lock"])
def test_packs_are_not_joined_while_git_may_be_about_to_count_on_them(
    objects: Objects, lock: str
) -> None:
    held = PACKS.parent / lock
    held.parent.mkdir(exist_ok=True)
    held.touch()
    oids = [oid for n in range(LATER + 2) for oid in write(objects, f"{n}")]
    assert len(list(PACKS.glob("*.pack"))) == LATER + 2
    os.utime(held, (1, 1))
    oids += write(objects, "left behind by a kill")
    assert len(list(PACKS.glob("*.pack"))) < LATER
    assert_readable(*oids)


def test_what_git_begins_to_count_on_while_packs_are_joined_stays(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    oids = [oid for n in range(LATER - 1) for oid in write(objects, f"{n}")]
    place = packs.place_pack

    def counted_on(repo: Repo, name: str, path: str) -> None:
        if "/joined-" in path:
            git("multi-pack-index", "write")
        place(repo, name, path)

    monkeypatch.setattr(packs, "place_pack", counted_on)
    oids += write(objects, "last")
    assert len(list(PACKS.glob("*.pack"))) == LATER + 1
    git("multi-pack-index", "verify")
    assert_readable(*oids)


def test_objects_on_another_disk_are_written_there(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = os.rename

    def elsewhere(path: str, to: str) -> None:
        if PACKS.resolve() == Path(to).resolve().parent != Path(path).resolve().parent:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        rename(path, to)

    monkeypatch.setattr(os, "rename", elsewhere)
    oids = [oid for n in range(LATER + 2) for oid in write(objects, f"{n}")]
    assert_readable(*oids)
    assert_no_leftovers()


def test_what_is_written_is_in_the_object_directory_that_the_environment_names(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo / "other").mkdir()
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", "other")
    monkeypatch.setenv("GIT_ALTERNATE_OBJECT_DIRECTORIES", str(repo / ".git/objects"))
    with Objects(Repo.find()) as objects:
        [oid] = write(objects, "one")
        assert objects.read(oid)
    git("cat-file", "-e", oid)
    assert list((repo / "other/pack").glob("*.keep")) and not list(PACKS.glob("*"))


@pytest.mark.parametrize("name", ["a:b", '"a\\:b"', "c\nd"])
def test_git_reads_the_objects_of_a_repository_of_any_name_where_it_writes_aside(
    repo: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    git("init", "-q", name)
    monkeypatch.chdir(name)
    with Objects(Repo.find()) as objects:
        oids = [oid for n in range(LATER) for oid in write(objects, f"{n}")]
    assert len(list(PACKS.glob("*.pack"))) < LATER
    assert_readable(*oids)
    with pack_care.open_scratch(Repo.find(), always=True) as scratch:
        assert scratch.objects.read(oids[0])
        assert scratch.git.run("cat-file", "-t", oids[0])[1] == b"blob\n"


def test_a_damaged_pack_is_left_where_it_is(objects: Objects) -> None:
    write(objects, "spoilt")
    [spoilt] = PACKS.glob("*.pack")
    spoilt.chmod(0o644)
    spoilt.write_bytes(spoilt.read_bytes()[:-1] + b"x")
    oids = [oid for n in range(LATER) for oid in write(objects, f"{n}")]
    assert spoilt.exists()
    assert len(list(PACKS.glob("*.pack"))) <= 3
    assert_no_leftovers()
    spoilt.unlink()
    spoilt.with_suffix(".idx").unlink()
    assert_readable(*oids)


def test_a_damaged_pack_is_named_where_objects_cannot_be_taken_out_of_it(objects: Objects) -> None:
    oids = write(objects, "doomed", "kept")
    [spoilt] = PACKS.glob("*.pack")
    spoilt.chmod(0o644)
    content = spoilt.read_bytes()
    spoilt.write_bytes(content[:-30] + bytes([content[-30] ^ 1]) + content[-29:])
    with pytest.raises(Error, match=r"^cannot take objects out of '[^']*\.pack': [^']*$"):
        pack_care.destroy_unneeded(Repo.find(), oids[1:])
    assert spoilt.exists()


def test_after_two_weeks_git_prunes_and_packs_as_it_does(objects: Objects) -> None:
    write(objects, "of nobody")
    age(13)
    sweep_leftovers(Repo.find())
    assert list(PACKS.glob("*.keep"))
    age(15)
    sweep_leftovers(Repo.find())
    git("gc", "-q")
    assert not list(PACKS.glob("*.keep"))
    assert loose() == 0, "nothing is unpacked to be kept another two weeks"
    write(objects, "of nobody")
    assert list(PACKS.glob("*.keep"))


def test_what_is_asked_for_again_is_kept_longer(objects: Objects) -> None:
    oids = write(objects, "asked for")
    age(15)
    assert objects.packs.has(oids[0])
    sweep_leftovers(Repo.find())
    git("gc", "-q", "--prune=now")
    assert_readable(*oids)


def test_of_many_blobs_those_are_written_that_no_pack_has(objects: Objects) -> None:
    old = write(objects, "one", "two")
    oids = objects.write_blobs([b"three", b"two", b"three"])
    objects.packs.flush()
    assert oids[1] == old[1] and oids[0] == oids[2]
    assert "in-pack: 3\n" in git("count-objects", "-v")
    assert_readable(*old, *oids)


def test_blobs_whose_pack_was_pruned_are_written_again(objects: Objects) -> None:
    old = write(objects, "one", "two")
    assert objects.packs.list_held(old) == {*old}
    for path in PACKS.iterdir():
        path.unlink()
    oids = objects.write_blobs([b"one", b"two"])
    objects.packs.flush()
    assert oids == old
    assert_readable(*oids)


def test_what_is_uninstalled_leaves_all_packs_to_git(objects: Objects) -> None:
    write(objects, "one")
    pack_care.release_packs(Repo.find(), age=3600)
    assert list(PACKS.glob("*.keep")), "it may be on its way to a ref"
    pack_care.release_packs(Repo.find())
    git("gc", "-q", "--prune=now")
    assert not list(PACKS.glob("*.keep"))


@pytest.mark.parametrize("left", [(".keep",), (".keep", ".pack")])
def test_a_pack_that_a_kill_left_half_moved_goes(objects: Objects, left: tuple[str, ...]) -> None:
    write(objects, "half")
    for path in sorted(PACKS.iterdir()):
        if path.suffix not in left:
            path.unlink()
    age(0.5)
    sweep_leftovers(Repo.find())
    assert {path.suffix for path in PACKS.iterdir()} == set(left), "it may still be moved"
    age(2)
    sweep_leftovers(Repo.find())
    assert not list(PACKS.iterdir())


def test_packs_that_others_keep_are_theirs(objects: Objects) -> None:
    oids = write(objects, "theirs")
    for path in PACKS.glob("*.keep"):
        path.chmod(0o644)
        path.write_text("fetch-pack 1 on here\n")
    age(100)
    sweep_leftovers(Repo.find())
    oids += [oid for n in range(LATER) for oid in write(objects, f"{n}")]
    assert len([p for p in PACKS.glob("*.keep") if p.read_bytes() != packs.KEEP]) == 1
    assert_readable(*oids)


def test_a_disk_that_is_full_loses_nothing_that_was_written(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    oid = objects.write("blob", b"it must be there")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as m:
        m.setattr(packs, "place_pack", full)
        with pytest.raises(OSError, match="space"):
            objects.flush()
    assert objects.flush()
    assert_readable(oid)


@contextmanager
def room(size: int) -> Iterator[None]:
    """No file becomes larger than size bytes: what is written beyond is not taken."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("size", [5, 30, 500, 1090])
def test_a_disk_that_fills_up_in_the_middle_of_a_file_leaves_no_half_pack(
    objects: Objects, size: int
) -> None:
    oid = objects.write("blob", b"it must be there")
    with room(size), pytest.raises(OSError, match="too large"):
        objects.packs.flush()
    assert not list(PACKS.glob("*"))
    assert_readable(*write(objects, "more"), oid)


def test_packs_that_there_is_no_room_to_join_stay_as_they_are(objects: Objects) -> None:
    oids = [oid for n in range(LATER - 1) for oid in write(objects, f"{n}" * 99)]
    with room(1100):
        oids += write(objects, "one too many")
    assert len(list(PACKS.glob("*.idx"))) == LATER
    assert_no_leftovers()
    assert_readable(*oids)
    oids += write(objects, "and one more")
    assert len(list(PACKS.glob("*.idx"))) < LATER
    assert_readable(*oids)


def test_sessions_and_their_commits_leave_nothing_for_gc_to_do(world: World) -> None:
    """What is loose after two sessions' turns and commits is git's own; and not even all of that,
    for contents that we have stored are there for git."""
    plain = Path(shutil.copytree(world.path, world.path.parent / "plain"))
    git("config", "core.hooksPath", os.devnull, cwd=plain)
    for number in range(2):
        agent = world.agent(f"session-{number}")
        agent.turn("write", {f"{number}.py": f"{number}\n", "both.py": f"{number}\n"})
        world.commit(f"{number}.py", "both.py")
        agent.turn("talk", {})
        agent.end()
        for name in (f"{number}.py", "both.py"):
            (plain / name).write_text(f"{number}\n")
        git("add", ".", cwd=plain)
        git("commit", "-q", "-m", "x", cwd=plain)
    ours, alone = (int(git("count-objects", cwd=at).split()[0]) for at in (world.path, plain))
    assert ours <= alone
    kept = len(list((world.path / PACKS).glob("*.keep")))
    assert 0 < kept <= LATER
    world.git("gc", "-q", "--prune=now")
    world.git("fsck", "--strict", "--no-dangling")
