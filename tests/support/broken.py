"""Ways to break the stored data: each breaks one promise, and names the code that tells it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gitcp.checkpoints import notes
from gitcp.git import refs
from gitcp.git.objects import Objects, edit_tree, need_commit, write_commit
from gitcp.git.repo import Repo
from gitcp.record.journal import edits
from gitcp.setup.care import table
from tests.support.checkpoints import V1, blob, forget, git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tests.support.harness import Json

Broken = Callable[["Store"], object]
UNKNOWN = "0123456789ab"


class Store:
    """A repository with a committed checkpoint, and work on a stream that is not committed."""

    def __init__(self, path: Path) -> None:
        self.path, self.git_dir = path, path / ".git"
        self.repo = Repo.find(str(path))
        self.cid = git(
            "log", "-1", "--format=%(trailers:key=Entire-Checkpoint,valueonly)", cwd=path
        )
        self.at = f"{self.cid[:2]}/{self.cid[2:]}"
        self.state = self.git_dir / "entire-sessions" / "s-one.json"
        self.marker = self.git_dir / "gitcp" / "open" / "s-one"

    @property
    def stream(self) -> str:
        names = git("for-each-ref", "--format=%(refname)", "refs/heads/entire", cwd=self.path)
        return next(name for name in names.split() if name != V1)

    def pack(self, end: str) -> Path:
        """A file of a pack of gitcp."""
        return sorted(self.git_dir.glob(f"objects/pack/*{end}"))[0]

    def put(self, name: str, data: bytes | None) -> None:
        """Change a file of the checkpoint's directory, None: delete it; commit that."""
        with Objects(self.repo):
            tip = need_commit(self.repo.objects, V1)
            entry = None if data is None else ("100644", self.repo.objects.write("blob", data))
            tree = edit_tree(
                self.repo.objects, tip["tree"], {os.path.normpath(f"{self.at}/{name}"): entry}
            )
            oid = write_commit(self.repo, tree, [tip["oid"]], "break it")
        refs.update_refs(self.repo, [(V1, oid, tip["oid"])], "test")

    def get(self, name: str) -> bytes:
        return blob(f"{V1}:{self.at}/{name}", self.path)

    def json(self, name: str, **change: object) -> None:
        self.put(name, json.dumps({**json.loads(self.get(name)), **change}).encode())

    def edit_state(self, **change: object) -> None:
        self.state.write_text(json.dumps({**json.loads(self.state.read_text()), **change}))

    def forget(self, spec: str) -> None:
        """Delete an object for good, as no gc of git would."""
        oid = git("rev-parse", spec, cwd=self.path)
        forget(self.git_dir, oid)

    def old(self, name: str) -> None:
        """A file in the git directory that nothing has touched for a day."""
        path = self.git_dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
        os.utime(path, (1e9, 1e9))

    def check(self, **options: bool) -> list[Json]:
        return self.check_at(self.path, **options)

    @staticmethod
    def check_at(path: Path, **options: bool) -> list[Json]:
        """The records of gitcp-fsck(1)."""
        found = table.check_store(Repo.find(str(path)), **options)
        return [each.build_stored_record() for each in found]


def branch(name: str) -> Broken:
    return lambda s: refs.update_refs(s.repo, [(name, refs.read_ref(s.repo, "HEAD"), None)], "test")


def note(commit: str, checkpoint: str) -> Broken:
    def broken(store: Store) -> None:
        with Objects(store.repo):
            oid = commit if len(commit) == 40 else refs.read_ref(store.repo, commit) or "1" * 40
            notes.add_link(store.repo, oid, checkpoint or store.cid)

    return broken


def trailer(store: Store) -> None:
    message = f"x\n\nEntire-Checkpoint: {UNKNOWN}"
    git("-c", "core.hooksPath=/", "commit", "-q", "--allow-empty", "-m", message, cwd=store.path)


def stranger(store: Store) -> None:
    """A commit of nothing whose message names the checkpoint of another."""
    message = f"x\n\nEntire-Checkpoint: {store.cid}"
    git("-c", "core.hooksPath=/", "commit", "-q", "--allow-empty", "-m", message, cwd=store.path)


def namesake(store: Store) -> None:
    """A commit that changes a file of the checkpoint otherwise, and names it."""
    [path] = json.loads(store.get("metadata.json"))["files_touched"][:1]
    (store.path / path).write_text("what the person wrote by hand\n")
    message = f"x\n\nEntire-Checkpoint: {store.cid}"
    git("-c", "core.hooksPath=/", "commit", "-q", "-m", message, "--", path, cwd=store.path)


def mention(store: Store) -> None:
    """A commit whose message quotes the line of the checkpoint."""
    message = f"x\n\nIt follows\nEntire-Checkpoint: {store.cid}\nto the letter."
    git("-c", "core.hooksPath=/", "commit", "-q", "--allow-empty", "-m", message, cwd=store.path)


def promise(store: Store) -> None:
    """A commit of the session's work whose post-commit is killed."""
    hook = store.git_dir / "hooks" / "post-commit"
    text = hook.read_text()
    hook.write_text("#!/bin/sh\nkill -9 $$\n")
    git("add", "c.txt", cwd=store.path)
    git("commit", "-q", "-m", "promised", cwd=store.path)
    hook.write_text(text)


def renumber(store: Store) -> None:
    root = json.loads(store.get("metadata.json"))
    for name in ("metadata.json", "full.jsonl", "content_hash.txt", "prompt.txt", "context.md"):
        store.put(f"2/{name}", store.get(f"0/{name}"))
        store.put(f"0/{name}", None)
    entries = [{k: v.replace("/0/", "/2/") for k, v in e.items()} for e in root["sessions"]]
    store.json("metadata.json", sessions=entries)


def delete(*patterns: str) -> Broken:
    def broken(store: Store) -> None:
        for name in patterns:
            refs.update_refs(store.repo, [(name, None, refs.read_ref(store.repo, name))], "test")

    return broken


def cut(path: Path) -> None:
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data[: len(data) // 2])


def empty_object(store: Store) -> None:
    oid = git("hash-object", "-w", "--stdin", cwd=store.path, stdin="staged, and lost\n")
    path = store.git_dir / "objects" / oid[:2] / oid[2:]
    path.unlink()
    path.touch()


def append(path: str, text: str = "# mine\n") -> Broken:
    def broken(store: Store) -> None:
        with (store.git_dir / path).open("a") as f:
            f.write(text)

    return broken


def nobody(store: Store) -> None:
    store.state.unlink()
    store.marker.unlink()


def only_stored(store: Store) -> None:
    delete(store.stream)(store)
    nobody(store)
    store.forget(f"{V1}:{store.at}/0/full.jsonl")


def scratch(store: Store) -> None:
    store.old("gitcp/tmp/git-1/ab/file")
    os.utime(store.git_dir / "gitcp/tmp/git-1", (1e9, 1e9))


def killed_bisection(store: Store) -> None:
    place = store.path.parent / "gitcp-bisect-0a"
    place.mkdir()
    note = store.git_dir / "gitcp/bisect/gitcp-bisect-0a"
    note.parent.mkdir(parents=True)
    note.write_bytes(os.fsencode(place))


def lost_note(store: Store) -> None:
    note("HEAD", "")(store)
    commit = git("rev-parse", "HEAD", cwd=store.path)
    store.forget(f"{notes.REF}:{commit[:2]}/{commit[2:]}")


def old_commit(store: Store) -> None:
    store.put("0/extra.txt", b"more")
    store.forget(f"{V1}~1")


def new_commit(store: Store) -> None:
    store.put("0/extra.txt", b"more")
    store.forget(V1)


def settle(store: Store) -> None:
    store.edit_state(streams=[], phase="idle")
    delete(store.stream)(store)


def nowhere(place: str) -> Broken:
    """A link to nothing where git would make a directory for refs."""

    def broken(store: Store) -> None:
        git("pack-refs", "--all", cwd=store.path)
        shutil.rmtree(store.git_dir / place, ignore_errors=True)
        (store.git_dir / place).symlink_to("nowhere")

    return broken


def lost(store: Store) -> None:
    [stream] = edits.list_open_streams(store.repo, json.loads(store.state.read_text()))
    journal = store.git_dir / "gitcp/journal"
    oid = stream["files"]["c.txt"]["oid"]
    other = journal.with_name("other")  # a journal only grows, or is another file
    other.write_text(journal.read_text().replace(oid, "1" * 40))
    other.rename(journal)
    journal.with_name("journal-checked").unlink()  # or the refs would put the line back
    delete(store.stream)(store)


def at_a_blob(store: Store) -> None:
    oid = git("rev-parse", "HEAD:README.md", cwd=store.path)
    git("update-ref", "refs/gitcp/odd", oid, cwd=store.path)


# A sentence of what is broken -> how, the code that tells it, the severity.
STORED: dict[str, tuple[Broken, str, str]] = {
    "a summary that is no JSON": (
        lambda s: s.put("metadata.json", b"{"), "bad-summary", "error"),
    "a summary without its strategy": (
        lambda s: s.put("metadata.json", s.get("metadata.json").replace(b"strategy", b"tactics")),
        "bad-summary", "error"),
    "a summary of another checkpoint": (
        lambda s: s.json("metadata.json", checkpoint_id=UNKNOWN), "bad-summary", "error"),
    "a session without metadata": (
        lambda s: s.put("0/metadata.json", None), "bad-metadata", "error"),
    "a session with a count that is none": (
        lambda s: s.json("0/metadata.json", checkpoints_count="3"), "bad-metadata", "error"),
    "a session at no time": (
        lambda s: s.json("0/metadata.json", created_at="yesterday"), "bad-metadata", "error"),
    "a path that leads elsewhere": (
        lambda s: s.json("metadata.json", sessions=[{"metadata": "/aa/bb/0/metadata.json"}]),
        "bad-path", "error"),
    "a session that is not listed": (
        lambda s: s.put("1/metadata.json", s.get("0/metadata.json")), "bad-path", "error"),
    "a listed prompt that is not there": (
        lambda s: s.put("0/prompt.txt", None), "bad-path", "note"),
    "a gap in the numbers": (renumber, "bad-number", "error"),
    "a gap in the pieces": (
        lambda s: s.put("0/full.jsonl.002", b""), "bad-chunk", "error"),
    "a piece that sorts wrong": (
        lambda s: s.put("0/full.jsonl.1", b""), "bad-chunk", "error"),
    "a transcript that was changed": (
        lambda s: s.put("0/full.jsonl", s.get("0/full.jsonl") + b"{}\n"), "bad-hash", "error"),
    "a transcript without a hash": (
        lambda s: s.put("0/content_hash.txt", None), "bad-hash", "error"),
    "a file between checkpoints": (
        lambda s: s.put("../../README", b""), "stray", "note"),
    "a commit that names no checkpoint": (trailer, "dangling-trailer", "warning"),
    "a note that names no checkpoint": (note("HEAD", UNKNOWN), "dangling-note", "warning"),
    "a commit that names another's checkpoint": (stranger, "empty-link", "note"),
    "a commit of other lines in a file of another's checkpoint": (namesake, "empty-link", "note"),
    "a commit that quotes the line of another": (mention, "mention", "note"),
    "a branch that was not fetched": (delete(V1), "no-store", "warning"),
    "a note that is gone": (lost_note, "missing-object", "error"),
    "a person's branch by our name": (
        branch("refs/heads/entire/1111111-e3b0c4"), "not-a-stream", "warning"),
    "a stream without a state": (nobody, "orphan-stream", "warning"),
    "a state without its stream, which a person deleted": (
        lambda s: delete(s.stream)(s), "lost-stream", "note"),
    "a state without its stream and its contents": (lost, "lost-stream", "error"),
}  # fmt: skip
MENDED: dict[str, tuple[Broken, str]] = {
    "a note that names another commit's checkpoint": (
        lambda s: note(git("rev-parse", "HEAD~1", cwd=s.path), s.cid)(s), "wrong-note"),
    "a commit whose last hook was killed": (promise, "dangling-trailer"),
    "a piece of a transcript that is gone": (only_stored, "broken-store"),
    "a commit of the permanent branch that is gone": (old_commit, "broken-store"),
    "a newest commit of the permanent branch that is gone": (new_commit, "broken-store"),
    "a ref that git cannot read": (append("refs/heads/entire/1111111-e3b0c4"), "bad-ref"),
    "a ref at a file": (at_a_blob, "bad-ref"),
    "a link to nothing among the refs": (nowhere("refs/gitcp"), "bad-ref"),
    "a link to nothing above a ref": (nowhere("refs/notes"), "bad-ref"),
    "a link to nothing above a reflog": (nowhere("logs/refs/notes"), "bad-ref"),
    "a branch whose commit is missing": (
        lambda s: (s.git_dir / "refs/heads/entire/mine").write_text("1" * 40 + "\n"), "bad-ref"),
    "a pack without its index": (lambda s: s.pack(".idx").unlink(), "unindexed-pack"),
    "a pack whose index is cut short": (lambda s: cut(s.pack(".idx")), "bad-pack"),
    "an object file that is empty": (empty_object, "empty-object"),
    "a line of the journal that is nothing": (append("gitcp/journal", "{x\n"), "bad-journal"),
    "a stream's ref that git cannot read": (
        lambda s: (s.git_dir / s.stream).write_text("garbage"), "bad-ref"),
    "a copy of a state that is gone": (
        lambda s: s.forget(f"{s.stream}:.entire/metadata/s-one/state.json"), "broken-stream"),
    "a tree that is gone": (lambda s: s.forget(f"{s.stream}:.entire"), "broken-stream"),
    "a whole tree that is gone": (lambda s: s.forget(f"{s.stream}^{{tree}}"), "broken-stream"),
    "a file that is gone": (lambda s: s.forget(f"{s.stream}:c.txt"), "broken-stream"),
    "a tip that is gone": (lambda s: s.forget(s.stream), "broken-stream"),
    "a commit that is gone": (lambda s: s.forget(f"{s.stream}~1"), "broken-stream"),
    "a session's edits that are gone": (
        lambda s: s.forget("refs/gitcp/edits/s-one:entries"), "broken-edits"),
    "a state cut short": (lambda s: s.state.write_bytes(s.state.read_bytes()[:99]), "bad-state"),
    "a state of another session": (lambda s: s.edit_state(session_id="s-two"), "bad-state"),
    "a state that is gone": (lambda s: s.state.unlink(), "lost-state"),
    "a state from before the checkpoint": (lambda s: s.edit_state(revision=1), "old-state"),
    "a marker whose name is no id": (lambda s: s.old("gitcp/open/s9.lock"), "lost-state"),
    "a state whose name is no id": (lambda s: s.old("entire-sessions/s9.lock.json"), "bad-state"),
    "a marker that is gone": (lambda s: s.marker.unlink(), "no-marker"),
    "a marker that nothing needs": (settle, "bad-marker"),
    "a marker of an older state": (
        lambda s: s.marker.write_text(s.marker.read_text().replace('"count":', '"count":1')),
        "bad-marker"),
    "a marker cut short": (lambda s: s.marker.write_bytes(b"{"), "bad-marker"),
    "a lock of a dead process": (
        lambda s: s.old("refs/heads/entire/checkpoints/v1.lock"), "lock"),
    "a scratch file of a dead process": (lambda s: s.old("gitcp/tmp/1-2-3"), "leftover"),
    "a scratch directory of a dead process": (scratch, "leftover"),
    "a scratch directory of a killed bisection": (killed_bisection, "killed-command"),
}  # fmt: skip


def break_git(monkeypatch: pytest.MonkeyPatch, folder: Path, command: str, complaint: str) -> None:
    """Put a git first on PATH whose `command` ends with 128 after that complaint."""
    folder.mkdir()
    git = folder / "git"
    git.write_text(
        f'#!/bin/sh\nfor word; do case $word in {command}) echo "{complaint}" >&2; exit 128; esac;'
        f' done\nexec {shutil.which("git")} "$@"\n'
    )
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
