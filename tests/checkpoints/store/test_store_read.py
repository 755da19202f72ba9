"""Reading what the original program wrote, in every variation of its real data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gitcp.checkpoints import listing, writing
from gitcp.checkpoints import stored as checkpoints
from gitcp.errors import Error
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from tests.support.checkpoints import V1, blob, git, session, tree, unbundle
from tests.support.paths import DATA

SAMPLE = {
    cells[0]: set(cells[3].split())
    for cells in (
        row.split("\t") for row in (DATA / "entire/v1-sample.tsv").read_text().splitlines()[1:]
    )
}


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    return unbundle("v1-sample", tmp_path_factory.mktemp("sample") / "repo")


def has(variation: str) -> list[str]:
    return [cid for cid, all_of_it in SAMPLE.items() if variation in all_of_it]


def read(repo: Repo, cid: str) -> tuple[checkpoints.StoredCheckpoint, list[checkpoints.Content]]:
    with Objects(repo):
        found = checkpoints.read_checkpoint(repo, cid)
        return found, [
            checkpoints.read_session(repo.objects, found, s["index"]) for s in found["sessions"]
        ]


@pytest.mark.parametrize("cid", SAMPLE)
def test_every_session_of_the_real_sample_is_read_whole(sample: Repo, cid: str) -> None:
    found, contents = read(sample, cid)
    at = f"{V1}:{cid[:2]}/{cid[2:]}"
    names = tree(at, sample.top)
    dirs = {n.split("/")[0] for n in names if n.split("/")[0].isdigit()}
    assert {s["directory"] for s in found["sessions"]} == dirs
    for entry, content in zip(found["sessions"], contents, strict=True):
        stored = json.loads(blob(f"{at}/{entry['directory']}/metadata.json", sample.top))
        assert content.session_id == stored["session_id"]
        full = f"{entry['directory']}/full.jsonl"
        assert content.transcript == (blob(f"{at}/{full}", sample.top) if full in names else b"")
        assert isinstance(content.metadata["files_touched"], list)


@pytest.mark.parametrize(
    ("variation", "hash_says"),
    [("hash_match", "match"), ("hash_mismatch", "differs"), ("session_no_full.jsonl", "absent")],
)
def test_a_hash_is_reported_and_never_fails(sample: Repo, variation: str, hash_says: str) -> None:
    assert has(variation)
    for cid in has(variation):
        assert hash_says in [content.hash for content in read(sample, cid)[1]]


def test_gaps_in_the_numbers_are_followed_by_path(sample: Repo) -> None:
    assert {
        tuple(s["directory"] for s in read(sample, c)[0]["sessions"]) for c in has("index_gap")
    } == {
        ("0", "2"),
        ("0", "2", "3"),
    }


def test_doubled_paths_and_unlisted_sessions_are_found(sample: Repo) -> None:
    assert [len(read(sample, cid)[1]) for cid in has("doubled_path")] == [1]
    assert [len(read(sample, cid)[1]) for cid in has("root_lists_fewer")] == [2]


def test_steps_count_is_the_checkpoints_count(sample: Repo) -> None:
    for cid in has("s:steps_count"):
        assert read(sample, cid)[1][0].metadata["checkpoints_count"] > 0


def test_a_listing_has_every_checkpoint_once_in_order(sample: Repo) -> None:
    records = [listing.build_record(c) for c in listing.list_checkpoints(sample)]
    assert [r["checkpoint_id"] for r in records] == sorted(SAMPLE)
    assert all(r["sessions"] and r["created_at"] for r in records)


@pytest.mark.parametrize("layout", ["refs/remotes/origin", "refs/remotes/team/fork"])
def test_without_a_local_branch_the_remotes_is_read(tmp_path: Path, layout: str) -> None:
    repo = unbundle("v1-four", tmp_path / "r", f"refs/heads/*:{layout}/*")
    with Objects(repo):
        assert len(list(listing.list_checkpoints(repo))) == 5
        assert listing.resolve_id(repo, "d59") == "d59fd7b6fd9a"
        found = checkpoints.read_checkpoint(repo, "d59fd7b6fd9a")
    assert found["ref"] == f"{layout}/entire/checkpoints/v1"
    assert [s["session_id"][6:8] for s in found["sessions"]] == ["d0", "d1", "d2"]


def test_the_layout_before_v1_is_read(repo: Path) -> None:
    def entry(path: str, text: str) -> str:
        return f"100644 blob {git('hash-object', '-w', '--stdin', stdin=text)}\t{path}\n"

    def made(rows: str) -> str:
        return git("mktree", stdin=rows)

    older = made(entry("metadata.json", '{"session_id":"old"}') + entry("full.log", "old\n"))
    newest = entry("metadata.json", '{"session_id":"new","checkpoint_id":"aabbccddeeff"}')
    inner = made(newest + entry("full.jsonl", "{}\n") + f"040000 tree {older}\t1\n")
    top = made(f"040000 tree {made(f'040000 tree {inner}{chr(9)}bbccddeeff')}{chr(9)}aa\n")
    git("update-ref", "refs/heads/entire/sessions", git("commit-tree", "-m", "x", top))
    found, contents = read(Repo.find(), "aabbccddeeff")
    assert [s["session_id"] for s in found["sessions"]] == ["new", "old"]
    assert [c.transcript for c in contents] == [b"{}\n", b"old\n"]
    assert len(list(listing.list_checkpoints(Repo.find()))) == 1
    git("config", "gitcp.store", "refs")
    r = Repo.find()
    with Objects(r):  # written again, it has today's layout
        writing.write_sessions(r, [("aabbccddeeff", session("third"))])
    found, contents = read(r, "aabbccddeeff")
    assert [s["session_id"] for s in found["sessions"]] == ["new", "old", "third"]
    assert [c.transcript for c in contents] == [b"{}\n", b"old\n", b""]


@pytest.mark.parametrize(
    ("prefix", "says"),
    [
        ("0", "ambiguous checkpoint '0': 044ed289c318 05a188c59540 0b6786ea0065"),
        ("ffff", "no such checkpoint: 'ffff'"),
        ("xyz", "not a checkpoint id: 'xyz'"),
        ("", "not a checkpoint id: ''"),
        ("../../..", "not a checkpoint id: '../../..'"),
    ],
)
def test_a_prefix_names_one_checkpoint_or_the_candidates(
    sample: Repo, prefix: str, says: str
) -> None:
    with Objects(sample), pytest.raises(Error) as e:
        listing.resolve_id(sample, prefix)
    assert str(e.value) == says


def test_a_session_is_found_by_index_and_by_id(tmp_path: Path) -> None:
    sample = unbundle("v1-four", tmp_path / "r")
    with Objects(sample):
        found = checkpoints.read_checkpoint(sample, "d59fd7b6fd9a")
        sid = found["sessions"][1]["session_id"]
        by_index = checkpoints.read_session(sample.objects, found, 1)
        assert checkpoints.read_session(sample.objects, found, sid) == by_index
        with pytest.raises(Error, match="no session '3' in checkpoint 'd59fd7b6fd9a'"):
            checkpoints.read_session(sample.objects, found, 3)


def test_tasks_of_a_checkpoint_are_named(tmp_path: Path) -> None:
    repo = unbundle("v1-four", tmp_path / "r")
    assert read(repo, "4c11cdc0fdc8")[1][0].tasks == [
        "toolu_01FIXTASK00000/agent-ag1.jsonl",
        "toolu_01FIXTASK00000/checkpoint.json",
    ]


def test_commits_are_found_on_every_branch_and_back(tmp_path: Path) -> None:
    repo = unbundle("v1-four", tmp_path / "r")
    with Objects(repo):
        ids = [c["checkpoint_id"] for c in listing.list_checkpoints(repo)]
        found = listing.find_carriers(repo, [*ids, "000000000000"])
        assert found.pop("000000000000") == []
        for cid, commits in found.items():
            assert len(commits) == 1
            assert listing.list_ids(repo, commits[0]) == [cid]


def test_of_a_session_that_is_there_twice_the_later_is_meant(sample: Repo) -> None:
    with Objects(sample):
        found = checkpoints.read_checkpoint(sample, "bde5096363d6")
        first, second = found["sessions"]
        assert first["session_id"] == second["session_id"]
        assert checkpoints.read_session(sample.objects, found, first["session_id"]).index == 1
