"""Links without a trailer: notes on commits under refs/notes/gitcp (behaviour.md §5.8)."""

from __future__ import annotations

from gitcp.core.git import ids
from gitcp.core.message import links
from gitcp.store.git import refs
from gitcp.store.git.commit import read_commit, write_commit
from gitcp.store.git.tree import TREE, edit_tree, read_tree, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gitcp.core.record_types import Entry
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

    Edit = Callable[[bytes | None], bytes | None]

REF = "refs/notes/gitcp"


def add(repo: Repo, objects: Objects, commit: str, checkpoint_id: str) -> None:
    """Note on commit (full oid) that it belongs to checkpoint_id; known already: nothing."""
    one = ids.checkpoint_id(checkpoint_id)
    change(repo, objects, commit, lambda note: links.added(note or b"", one))


def change(repo: Repo, objects: Objects, commit: str, edit: Edit) -> None:
    """Let edit make a new note on commit (full oid) of the old one; None: there is none.

    `git notes append` has no compare and swap (git.md §6), so this goes by our own lock; edit
    is asked again where a stranger came between.
    """

    def attempt() -> None:
        tip = read_commit(objects, REF)
        tree = tip["tree"] if tip else None
        path, entry = place(objects, tree, commit)
        old = objects.need(entry[1], "blob") if entry else None
        new = edit(old)
        if new == old:
            return
        note = None if new is None else ("100644", objects.write("blob", new))
        tree_after = edit_tree(objects, tree, {path: note})
        parents = [tip["oid"]] if tip else []
        oid = write_commit(objects, repo, tree_after, parents, "Notes added by gitcp")
        from gitcp.store.v1.committed_write import announce

        announce(repo)
        refs.update(repo, [(REF, oid, tip["oid"] if tip else None)], "gitcp: note")

    refs.again(repo, "notes", attempt)


def text_on(objects: Objects, commit: str) -> bytes | None:
    """The whole note on a commit (full oid); None without one."""
    tip = read_commit(objects, REF)
    _, entry = place(objects, tip["tree"] if tip else None, commit)
    return objects.need(entry[1], "blob") if entry else None


def every(objects: Objects) -> Iterator[tuple[str, list[str]]]:
    """(commit, ids) of every note, whatever its fan-out."""
    tip = read_commit(objects, REF)
    for path, (_, oid) in walk(objects, tip["tree"]) if tip else ():
        blob = objects.read(oid)
        names = parse(blob[2]) if blob and blob[1] == "blob" else []
        if names:
            yield path.replace("/", ""), names


def parse(note: bytes) -> list[str]:
    """The checkpoint ids of a note's text."""
    return list(links.carried(b"", note))


def place(objects: Objects, tree: str | None, commit: str) -> tuple[str, Entry | None]:
    """(path, entry) of the note on commit in a tree of notes, or where a new one goes.

    git reads any mixture of fan-outs; ours is one level, so that a note costs little however
    many there are.
    """
    path, rest, here = "", commit, tree
    while here:
        entries = read_tree(objects, here)
        if rest in entries:
            return path + rest, entries[rest]
        below = entries.get(rest[:2])
        if below is None or below[0] != TREE:
            break
        path, rest, here = path + rest[:2] + "/", rest[2:], below[1]
    return path + rest if path else f"{commit[:2]}/{commit[2:]}", None
