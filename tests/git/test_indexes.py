"""One file tells which objects small packs have, and says nothing that is not so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gitcp.git.gitdir import packs
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from tests.git.test_packs import PACKS, write
from tests.support.checkpoints import git

FILE = Path(".git/gitcp/cache/indexes")


@pytest.fixture
def oids(repo: Path) -> list[str]:
    """Of objects, each in a pack of its own."""
    with Objects(Repo.find()) as objects:
        return [write(objects, f"text {n}")[0] for n in range(3)]


def found(oids: list[str]) -> list[bool]:
    """Whether a new process finds each in a pack of ours."""
    repo = Repo.find()
    return [packs.Packs(repo).has(oid) for oid in oids]


def test_the_file_has_each_pack_once(oids: list[str]) -> None:
    before = FILE.read_bytes()
    assert found(oids) == [True] * 3
    assert FILE.read_bytes() == before
    assert before.count(b"\xfftOc") == len(list(PACKS.glob("*.idx"))) == 3


def test_a_pack_that_is_gone_or_left_to_git_has_nothing(oids: list[str]) -> None:
    at = packs.Packs(Repo.find())
    first, second = (PACKS / at.find_pack(oid) for oid in oids[:2])
    first.with_suffix(".keep").unlink()
    for end in (".keep", ".pack", ".idx"):
        second.with_suffix(end).unlink()
    assert found(oids) == [False, False, True]


def _cut_short(data: bytes) -> bytes:
    return data[:-10]


def _with_a_wrong_oid(data: bytes) -> bytes:
    return data[:1100] + bytes([data[1100] ^ 1]) + data[1101:]


def _with_a_wrong_name(data: bytes) -> bytes:
    return data[:5] + b"0" * 40 + data[45:]


def _with_other_words(data: bytes) -> bytes:
    return b"hello\n" + data


SPOILT = (
    _cut_short,
    _with_a_wrong_oid,
    _with_a_wrong_name,
    _with_other_words,
    lambda data: data + b"\n",
    lambda _: b"",
)


@pytest.mark.parametrize("spoil", SPOILT)
def test_what_is_damaged_is_read_from_the_packs_and_made_again(
    oids: list[str], spoil: Callable[[bytes], bytes]
) -> None:
    whole = FILE.read_bytes()
    FILE.write_bytes(spoil(whole))
    assert found([*oids, "1" * 40]) == [True, True, True, False]
    assert len(packs._read_file(Repo.find())) == 3
    assert len(FILE.read_bytes()) == len(whole)


def test_when_packs_are_joined_it_begins_anew(repo: Path) -> None:
    with Objects(Repo.find()) as objects:
        oids = [write(objects, f"text {n}")[0] for n in range(packs.MOST + 2)]
    assert found(oids) == [True] * len(oids)
    assert len(packs._read_file(Repo.find())) == len(list(PACKS.glob("*.idx"))) < 4
    git("fsck", "--strict", "--no-dangling")
