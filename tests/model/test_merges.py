"""Merging stores: whatever the histories, any order of merges gives the same tree."""

from __future__ import annotations

import os
from functools import partial
from itertools import permutations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitcp.checkpoints import format, merging
from gitcp.checkpoints.merging import Union
from gitcp.checkpoints.stored import Checkpoint, read_directory, write_directory
from gitcp.git.objects import TREE, Objects, edit_tree, find_entry
from gitcp.git.repo import Repo
from tests.support.checkpoints import git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.text.record_types import Entry

LONG = bool(os.environ.get("LONG"))
WRITE = st.tuples(
    st.sampled_from(["aa0000000000", "aa0000000001", "bb0000000000"]),
    st.sampled_from(["s1", "s2", "s3"]),
    st.integers(1, 3),  # how much of the transcript there is
    st.integers(-1, 3),  # when; -1 forgets it
)
Writes = list[tuple[str, str, int, int]]
CLONE = st.lists(WRITE, max_size=5)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    path = tmp_path_factory.mktemp("store")
    git("init", "-q", str(path))
    return Repo.find(str(path))


def written(objects: Objects, tree: str, writes: Writes) -> str:
    """tree after writes, as the writer of checkpoints makes it."""
    for cid, sid, lines, minute in writes:
        at = f"{cid[:2]}/{cid[2:]}"
        old = find_entry(objects, tree, at)
        if minute < 0:
            tree = forgotten(objects, tree, cid, sid)
            continue
        checkpoint = Checkpoint(objects, cid, old[1] if old else None)
        files: dict[str, Entry] = {
            "full.jsonl": ("100644", objects.write("blob", b"{}\n" * lines)),
            "content_hash.txt": ("100644", objects.write("blob", b"%d" % lines)),
        }
        created = f"2026-01-01T00:0{minute}:00Z"
        unknown = [("z", minute), ("n", {"x": minute}), ("m", 0)]
        ours = {"created_at": created, "files_touched": [f"f{lines}"], "tasks": [sid]}
        metadata = {**ours, **dict(unknown[:: 1 if lines % 2 else -1])}
        tasks = {f"tasks/{sid}/x": ("100644", objects.write("blob", b"%d" % minute))}
        checkpoint.put_session(sid, metadata, files, tasks)
        tree = edit_tree(objects, tree, {at: (TREE, checkpoint.write_tree())})
    return tree


def forgotten(objects: Objects, tree: str, cid: str, sid: str) -> str:
    """tree after a session of a checkpoint is forgotten, if it is there."""
    at = f"{cid[:2]}/{cid[2:]}"
    if not (old := find_entry(objects, tree, at)):
        return tree
    directory = read_directory(objects, old[1])
    for number, session in enumerate(directory["sessions"]):
        metadata = session["metadata"] or {}
        if metadata["session_id"] == sid and not format.is_forgotten(metadata):
            gone = format.build_forgotten(metadata, "2026-02-01T00:00:00Z")
            directory["sessions"][number] = {"metadata": gone, "files": {}}
    return edit_tree(objects, tree, {at: (TREE, write_directory(objects, cid, directory))})


@settings(
    max_examples=2000 if LONG else 60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(before=CLONE, clones=st.tuples(CLONE, CLONE, CLONE))
def test_any_order_of_merges_gives_the_same_tree(
    store: Repo, before: Writes, clones: tuple[Writes, ...]
) -> None:
    with Objects(store):
        base = written(store.objects, store.objects.write("tree", b""), before)
        a, b, c = (written(store.objects, base, writes) for writes in clones)

        def merged(ours: str, *others: str) -> str:
            for other in others:
                ours = Union(store.objects).unite_stores(ours, other)
            return ours

        trees = {merged(*order) for order in permutations((a, b, c))}
        trees |= {merged(a, merged(b, c)), merged(merged(a, b), merged(b, c), merged(c, a))}
        assert len(trees) == 1
        # The oracle: every session that was written anywhere is there, once.
        listed = [before, *clones]
        everything = [w for writes in listed for w in writes if w[3] >= 0]
        [tree] = trees
        for cid in {w[0] for w in everything}:
            want = {w[1] for w in everything if w[0] == cid}
            found = find_entry(store.objects, tree, f"{cid[:2]}/{cid[2:]}")
            assert found
            sessions = Checkpoint(store.objects, cid, found[1]).list_session_ids()
            assert sorted(sessions) == sorted(want)


@settings(
    max_examples=500 if LONG else 30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), max_size=9), st.data())
def test_any_order_of_merges_gives_the_same_notes(
    store: Repo, lines: list[tuple[str, str]], data: st.DataObject
) -> None:
    with Objects(store):
        trees = []
        for _ in range(3):
            own = data.draw(st.sets(st.sampled_from(lines))) if lines else set()
            notes: dict[str, Entry | None] = {}
            for commit in {c for c, _ in own}:
                text = "".join(f"{t}\n" for c, t in sorted(own) if c == commit)
                notes[commit * 40] = ("100644", store.objects.write("blob", text.encode()))
            trees.append(edit_tree(store.objects, None, notes))
        a, b, c = trees
        join = partial(merging.merge_note_trees, join=merging.unite_lines)
        every = {
            join(store.objects, join(store.objects, x, y), z) for x, y, z in permutations((a, b, c))
        }
        every.add(join(store.objects, a, join(store.objects, b, c)))
        assert len(every) == 1
