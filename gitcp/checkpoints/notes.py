"""Links without a trailer: notes on commits under refs/notes/gitcp
(doc/behaviour.md "Commits without hooks")."""

from __future__ import annotations

from gitcp.git import refs
from gitcp.git.objects import TREE, edit_tree, read_commit, read_tree, write_commit
from gitcp.text import ids
from gitcp.text.ids import NOTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Entry, Tree

    ReadTree = Callable[[Objects, str], Tree]
    Edit = Callable[[bytes | None], bytes | None]

REF = NOTES
AI = "refs/notes/ai"  # of Git AI, and of other programs that write its format


def add_link(repo: Repo, commit: str, checkpoint_id: str) -> None:
    """Note on commit (full oid) that it belongs to checkpoint_id, unless its note says so."""
    ids.check_checkpoint_id(checkpoint_id)

    from gitcp.checkpoints import links

    edit_note(repo, commit, lambda note: links.add_link(note or b"", checkpoint_id))


def deny_link(repo: Repo, commit: str, checkpoint_id: str, reason: str) -> None:
    """Note on commit (full oid) that it does not belong to checkpoint_id, whatever its message
    says."""

    from gitcp.checkpoints import links

    edit_note(repo, commit, lambda note: links.remove_link(note or b"", checkpoint_id, reason))


def edit_note(repo: Repo, commit: str, edit: Edit) -> None:
    """Replace the note on commit (full oid) by what edit makes of it; None: no note.

    `git notes append` has no compare and swap (doc/git.md "Notes"): gitcp takes its own lock, and
    calls edit again if another program writes meanwhile.
    """
    edit_notes(repo, {commit: edit})


def edit_notes(repo: Repo, edits: Mapping[str, Edit]) -> None:
    """edit_note() of the notes on many commits at once."""

    def attempt_move() -> None:
        tip = read_commit(repo.objects, REF)
        tree = tip["tree"] if tip else None
        changed: dict[str, Entry | None] = {}
        for commit, edit in edits.items():
            path, entry = find_place(repo.objects, tree, commit)
            old = None
            if entry:
                old = repo.objects.need(entry[1], "blob")
            new = edit(old)
            if new != old:
                if new is None:
                    changed[path] = None
                else:
                    changed[path] = ("100644", repo.objects.write("blob", new))
        if not changed:
            return
        tree_after = edit_tree(repo.objects, tree, changed)
        old_tip = tip["oid"] if tip else None
        parents = [old_tip] if old_tip else []
        oid = write_commit(repo, tree_after, parents, "Notes added by gitcp")
        refs.set_markers(repo)
        refs.update_refs(repo, [(REF, oid, old_tip)], "gitcp: note")

    refs.retry_moved(repo, "notes", attempt_move)


def read_note(objects: Objects, commit: str) -> bytes | None:
    """The whole note on a commit (full oid); None without one."""
    return Reader(objects).read_note(commit)


class Reader:
    """The notes of one ref, for many commits: each directory of them is read once."""

    def __init__(self, objects: Objects, ref: str = REF) -> None:
        self._objects = objects
        self._ref = ref
        self._tree: str | None = ""
        self._trees: dict[str, Tree] = {}

    def find_oid(self, commit: str) -> str | None:
        """The blob of the note on a commit (full oid); None without one."""
        if self._tree == "":
            tip = read_commit(self._objects, self._ref)
            self._tree = tip["tree"] if tip else None
        if self._tree is None:
            return None
        _, entry = find_place(self._objects, self._tree, commit, self._read)
        return entry[1] if entry else None

    def read_note(self, commit: str) -> bytes | None:
        """The whole note on a commit (full oid); None without one."""
        oid = self.find_oid(commit)
        return self._objects.need(oid, "blob") if oid else None

    def _read(self, objects: Objects, oid: str) -> Tree:
        if oid not in self._trees:
            self._trees[oid] = read_tree(objects, oid)
        return self._trees[oid]


def list_links(objects: Objects) -> Iterator[tuple[str, list[str]]]:
    """(commit, ids) of every note, whatever its fan-out."""
    tip = read_commit(objects, REF)
    if not tip:
        return
    from gitcp.git.objects.object_lists import list_files

    for path, (_, oid) in list_files(objects, tip["tree"]):
        blob = objects.read(oid)
        if not blob or blob[1] != "blob":
            continue
        names = parse_note(blob[2])
        if names:
            yield path.replace("/", ""), names


def parse_note(note: bytes) -> list[str]:
    """The checkpoint ids of a note's text."""

    from gitcp.checkpoints import links

    return list(links.list_carried(b"", note))


def find_place(
    objects: Objects, tree: str | None, commit: str, read: ReadTree = read_tree
) -> tuple[str, Entry | None]:
    """(path, entry) of the note on commit in a tree of notes, or where a new one goes.

    git reads any mixture of fan-outs.  gitcp makes one level, so that the size of the trees to
    write stays small.
    """
    path = ""
    name = commit
    while tree:
        entries = read(objects, tree)
        if name in entries:
            return path + name, entries[name]
        below = entries.get(name[:2])
        if below is None or below[0] != TREE:
            break
        path = f"{path}{name[:2]}/"
        name = name[2:]
        tree = below[1]
    if path:
        return path + name, None
    return f"{commit[:2]}/{commit[2:]}", None
