"""Repairing what `doctor` finds: leftovers, missing objects, packs, refs, states, journals,
streams."""

from __future__ import annotations

import json
import os
import shutil

from gitcp.agents import transcripts
from gitcp.checkpoints.redactor import redact_transcript
from gitcp.checkpoints.stored import list_remote_branches, list_session_ids
from gitcp.checkpoints.transcripts import Copy, locate_copy, read_live
from gitcp.checkpoints.writing import move_refs
from gitcp.errors import Error, GitError, InputError
from gitcp.git import decode_name, encode_name, files, refs
from gitcp.git.files import (
    Damaged,
    choose_place_aside,
    exclusive,
    locate_scratch,
    move_aside,
    read_file,
)
from gitcp.git.gitdir import packs
from gitcp.git.objects import (
    TREE,
    Lookup,
    cat_file,
    edit_tree,
    find_tree,
    parse_commit,
    read_commit,
    read_tree,
    write_commit,
    write_tree,
)
from gitcp.git.objects.pack_care import forget_logs
from gitcp.git.refs import REF
from gitcp.link import unhooked
from gitcp.record import journal, session
from gitcp.record.journal import held_lines
from gitcp.record.journal.line_kinds import parse_lines
from gitcp.record.session import others
from gitcp.record.stream import (
    ARCHIVE,
    METADATA,
    PREFIXES,
    find_trailer,
    get_lock_name,
    list_tips,
    read_tip,
    read_with_turns,
    save_work,
)
from gitcp.record.stream.stream_list import recall_state
from gitcp.record.stream.writing import build_message
from gitcp.record.turn import sessions
from gitcp.text import ids
from gitcp.text.ids import NOTES, SESSION_KEY, V1
from gitcp.text.spans import abbreviate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Commit, Entry, File, State, Stream, Tree

    Named = list[tuple[State, Stream]]  # a state, and its record of the stream

LOCK_AGE = 60  # seconds; no transaction of git takes so long
SCRATCH_AGE = 3600


def remove_leftover(repo: Repo, path: str, seconds: int) -> str:
    """Remove a file or directory that is still old; return what was done, '' for nothing.

    A file that another process put there meanwhile is put back.
    """
    if not files.is_older(path, seconds):
        return ""
    if os.path.isdir(path):
        shutil.rmtree(path)
        return "removed the directory"
    before = os.lstat(path)
    aside = locate_scratch(repo, f"aside-{os.getpid()}-{before.st_ino}")
    repo.make_folder(os.path.dirname(aside))
    os.rename(path, aside)
    after = os.lstat(aside)
    if (before.st_ino, before.st_mtime_ns) != (after.st_ino, after.st_mtime_ns):
        os.link(aside, path)
        os.unlink(aside)
        return ""
    os.unlink(aside)
    return f"removed it, {before.st_size} bytes"


# Objects that a ref of gitcp lacks: find them, and write them again if possible.
WALK = ("rev-list", "--objects", "--missing=print", "--quiet")
_GROWN = 1 << 20  # bytes of the largest chunk whose beginnings are tried too
_LARGEST = 64 << 20  # bytes of the largest file of the worktree that is hashed


def list_lacking(repo: Repo, name: str, *options: str) -> set[str]:
    """The oids of missing objects that a ref or commit needs; its own oid if git cannot walk it.
    Objects that a partial clone has left with its remote are not missing."""
    try:
        _, out = repo.git.run(*WALK, *options, "--end-of-options", name)
    except GitError:
        return {refs.read_ref(repo, name) or name}
    missing = {decode_name(line[1:]) for line in out.splitlines() if line.startswith(b"?")}
    return cat_file.list_unpromised(repo, [name], missing)


def read_log(repo: Repo, ref: str) -> list[str]:
    """The former values of a ref by its reflog, newest first."""
    log = files.peek(os.path.join(os.fsencode(repo.common), b"logs", encode_name(ref)))
    lines = log.decode("utf-8", "replace").splitlines()
    found: list[str] = []
    for line in reversed(lines):
        found += reversed(line.split(" ", 2)[:2])
    return found


def follow_parents(tips: list[str], read: Callable[[str], Commit | None]) -> list[Commit]:
    """The commits from the first of tips that read() finds, and their first parents; newest
    first."""
    commits: list[Commit] = []
    for oid in dict.fromkeys(tips):
        commit = read(oid)
        while commit:
            commits.append(commit)
            if commit["parents"]:
                commit = read(commit["parents"][0])
            else:
                commit = None
        if commits:
            break
    return commits


def write_note(repo: Repo, ref: str, old: str, log: list[str]) -> str:
    """Write the value and the log of a ref to a new file; return its path."""
    path = choose_place_aside(repo.common, ref)
    with open(path, "x") as f:
        f.writelines(f"{line}\n" for line in [f"{ref} {old}", *log])
    return path


def format_lost(paths: list[str]) -> str:
    """The end of a report with the first lost paths, / for the top; '' for none."""
    names = " ".join(path or "/" for path in paths[:10])
    if paths:
        return f"; lost: {names}{' ...' if paths[10:] else ''}"
    return ""


def write_objects_again(repo: Repo, ref: str) -> tuple[str | None, str]:
    """Write the missing blobs of a ref that the copy of a transcript or the worktree still has.

    Returns (the value of the ref, '') if it still lacks objects, else (None, what was done).
    """
    old = refs.read_ref(repo, ref)
    gone = list_lacking(repo, ref) if old else set()
    written: set[str] = set()
    if gone:
        for data in (*_read_transcripts(repo), *_read_files(repo, gone)):
            if repo.objects.hash_object("blob", data) in gone:
                written.add(repo.objects.write("blob", data))
    repo.objects.flush()
    if gone and not (written and not list_lacking(repo, ref)):
        return old, ""
    return None, f"wrote {len(written)} missing objects again" if written else ""


def _read_transcripts(repo: Repo) -> Iterator[bytes]:
    for name in files.list_names(locate_copy(repo)):
        stem = name.removesuffix(".json")
        if stem == name:
            continue
        with exclusive(repo, f"transcript-{stem.partition('~')[0]}"):
            copy = Copy(repo, stem)
            try:
                yield from _read_copy(copy)
            except Error:  # a chunk is missing
                yield from _read_live(repo, stem)
            copy.close()


def _read_copy(copy: Copy) -> Iterator[bytes]:
    start = 0
    stored = copy.known.get("chunks", [])
    for _, size, _ in stored:
        yield from _list_stages(copy.read(start, start + size))
        start += size
    for chunk in transcripts.split_chunks(copy.read(start), len(stored)):
        yield from _list_stages(chunk)


def _read_live(repo: Repo, session_id: str) -> Iterator[bytes]:
    """The chunks of a session's own transcript, if it is still there."""
    state = session.load_state(repo, session_id)
    path = ""
    if state:
        path = state.get("transcript_path") or ""
    if not path:
        return
    try:
        redacted = redact_transcript(repo, read_live(path), session_id)
    except (Error, OSError):
        return
    for chunk in transcripts.split_chunks(redacted):
        yield from _list_stages(chunk)


def _list_stages(chunk: bytes) -> Iterator[bytes]:
    """A chunk as it was stored at last, and while it was the last one and grew."""
    yield chunk
    yield chunk.removesuffix(b"\n")
    end = chunk.find(b"\n") + 1
    while 0 < end < len(chunk) <= _GROWN:
        yield chunk[:end]
        end = chunk.find(b"\n", end) + 1


def _read_files(repo: Repo, gone: set[str]) -> Iterator[bytes]:
    for state in sessions.list_states(repo):
        top = str(state.get("worktree_path") or "")
        if top:
            for stream in state["streams"]:
                for path, file in stream["files"].items():
                    if isinstance(file, dict) and file.get("oid") in gone:
                        yield from _read_file(os.path.join(os.fsencode(top), encode_name(path)))


def _read_file(path: bytes) -> Iterator[bytes]:
    try:
        if os.path.islink(path):
            yield os.readlink(path)
        elif os.path.isfile(path) and os.path.getsize(path) <= _LARGEST:
            with open(path, "rb") as f:
                yield f.read()
    except OSError:
        return


def find_fault(repo: Repo, path: str) -> str:
    """Why git cannot open a pack; '' if it can, or there is none.  path: without `.pack`."""
    width = len(repo.empty_tree) // 2
    try:
        with open(f"{path}.pack", "rb") as f:
            start = f.read(4)
            f.seek(max(0, os.fstat(f.fileno()).st_size - width))
            trailer = f.read()
    except FileNotFoundError:
        return ""
    if start != b"PACK" or os.path.basename(path) != f"pack-{trailer.hex()}":
        return "it is cut short or overwritten"
    index = files.peek(f"{path}.idx")
    if not index:
        return "its index is gone"
    sums = trailer + files.find_hasher(repo.algo, much=True)(index[:-width]).digest()
    if index.endswith(sums):
        return ""
    return "its index is damaged"


def mend_pack(repo: Repo, path: str) -> str:
    """Write the index of a pack again.  If git cannot read the pack, move it aside, and write the
    objects that it still has one by one.  Returns what was done."""
    with exclusive(repo, "packs"):
        if not find_fault(repo, path):
            return ""
        packs.forget_file(repo)
        new = locate_scratch(repo, f"{os.path.basename(path)}.idx")
        repo.make_folder(os.path.dirname(new))
        try:
            repo.git.run("index-pack", "-o", new, f"{path}.pack")
        except GitError:
            return _take_out(repo, path)
        repo.share_file(new)
        os.replace(new, f"{path}.idx")
    return "wrote its index again"


def list_empty_objects(repo: Repo) -> list[str]:
    """The empty files among git's loose objects."""
    top = os.path.dirname(packs.locate_folder(repo))
    shards = [name for name in files.list_names(top) if len(name) == 2]
    entries = (entry for name in shards for entry in os.scandir(os.path.join(top, name)))
    return sorted(e.path for e in entries if e.is_file() and not e.stat().st_size)


def mend_empty_object(repo: Repo, path: str) -> str:
    """Take an empty object file away, and write its object again if the index names it and the
    worktree has it; return what was done."""
    if path not in list_empty_objects(repo):
        return ""
    os.unlink(path)
    oid = "".join(path.split(os.sep)[-2:])
    if not _list_absent(repo, [oid]):
        return "took it away: a pack has the object"
    if repo.top:
        _write_index_again(repo)
    if _list_absent(repo, [oid]):
        return f"took it away; {oid} is lost: 'git fsck' names what needs it"
    return "took it away, and wrote the object again from the worktree"


def _take_out(repo: Repo, path: str) -> str:
    named = _list_indexed(repo, path)
    files.remove_file(f"{path}.idx")  # git writes no object that an index lists
    with open(f"{path}.pack", "rb") as f:
        try:
            repo.git.run("unpack-objects", "-q", "-r", stdin=f.read())
        except GitError:
            pass  # it ends where the pack does
    aside = choose_place_aside(repo.common, os.path.basename(path))
    os.rename(f"{path}.pack", aside)
    packs.remove_pack(path)
    packs.release_pack(repo, os.path.basename(path))
    gone = _list_absent(repo, named)
    saved = "what could be read of it is"
    if named:
        saved = f"{len(named) - len(gone)} of its {len(named)} objects are"
    head = _write_head_again(repo) if repo.top else ""
    return f"took it away, {saved} saved{head}; it is kept as '{aside}'"


def _list_indexed(repo: Repo, path: str) -> list[str]:
    """The oids that the index of a pack lists; [] if it cannot be read."""
    try:
        out = repo.git.run("show-index", stdin=files.peek(f"{path}.idx"))[1]
    except GitError:
        return []
    return [decode_name(line).split()[1] for line in out.splitlines()]


def _list_absent(repo: Repo, oids: Iterable[str]) -> set[str]:
    """Those of some objects that are not here."""
    argv = ("cat-file", "--batch-check", "--buffer")
    out = repo.git.run(*argv, stdin="".join(f"{oid}\n" for oid in oids).encode())[1]
    rows = (decode_name(line).partition(" ") for line in out.splitlines())
    return {oid for oid, _, kind in rows if kind == "missing"}


def _write_head_again(repo: Repo) -> str:
    """Write what is missing of HEAD; return what was done, and what HEAD still lacks."""
    if not list_lacking(repo, "HEAD", "--no-walk"):
        return ""
    lacks = _write_index_again(repo)
    if list_lacking(repo, "HEAD", "--no-walk"):
        ask = "a fetch or a copy of this repository may have them"
        return f", and the commit HEAD lacks objects that {ask}{format_lost(lacks)}"
    return ", and the commit HEAD was completed from the worktree"


def _write_index_again(repo: Repo) -> list[str]:
    """Write the missing files and directories of the index from the worktree, which git does not
    while it takes them for written; return the paths that it still lacks."""
    out = repo.git.run("ls-files", "-s", "-z")[1]
    rows = [decode_name(row).partition("\t")[::2] for row in out.split(b"\0")[:-1]]
    oids = {path: words.split()[1] for words, path in rows if words.startswith("100")}
    gone = _list_absent(repo, set(oids.values()))
    paths = [path for path, oid in oids.items() if oid in gone and "\n" not in path]
    there = [path for path in paths if os.path.isfile(os.path.join(repo.worktree, path))]
    argv = ("hash-object", "-w", "--stdin-paths")
    repo.git.run(*argv, stdin=b"".join(encode_name(path) + b"\n" for path in there))
    try:
        repo.git.run("write-tree")
    except GitError:
        pass  # a file of the index is lost
    return [path for path in paths if path not in there or _list_absent(repo, [oids[path]])]


# Mending gitcp's refs that git cannot read or that lack objects: the branch of committed
# checkpoints, the edits of sessions, and others.
#
# `git gc` fails if a branch lacks an object.  The old value of a ref is written to a file; its
# content is kept as far as it can be read here or on a remote's branch.
_LOCKS = {V1: "v1", NOTES: "notes"}
_SUBJECT = "Rebuilt from what was left of it"


def mend_ref(repo: Repo, ref: str) -> str:
    """Set a ref without a commit to the last one in its reflog, or remove it; return what was done,
    '' if it has a commit by now."""
    with exclusive(repo, _LOCKS.get(ref) or get_lock_name(repo, ref)):
        path = os.path.join(os.fsencode(repo.common), encode_name(ref))
        log_path = os.path.join(repo.common, "logs", ref)
        old = refs.read_ref(repo, ref)
        log = read_log(repo, ref)
        stands = _is_no_folder(path)
        is_logged = _is_no_folder(log_path)
        if (old and is_commit(repo.objects, old)) or not (old or stands or is_logged):
            return ""
        if stands:
            aside = choose_place_aside(repo.common, ref)
            os.rename(path, encode_name(aside))
        else:
            aside = write_note(repo, ref, old or "", log)
        packed = refs.read_ref(repo, ref)  # the file hid this value
        oid = next((oid for oid in [*log, packed or ""] if is_commit(repo.objects, oid)), None)
        if oid is None and is_logged:
            os.rename(log_path, choose_place_aside(repo.common, f"logs/{ref}"))
        if oid != packed:
            refs.update_refs(repo, [(ref, oid, packed)], "gitcp: fsck")
    return (
        f"{f'put it back to {abbreviate(oid)}, ' if oid else ''}moved what stood there to '{aside}'"
    )


def _is_no_folder(path: str | bytes) -> bool:
    """Whether something other than a directory stands at path, such as a link."""
    return os.path.lexists(path) and (os.path.islink(path) or not os.path.isdir(path))


def is_commit(objects: Objects, oid: str) -> bool:
    """Whether an object exists and is a commit."""
    answer = objects.read(oid) if oid.strip("0") else None
    return bool(answer and answer[1] == "commit")


def mend_store(repo: Repo, ref: str) -> str:
    """Write the branch of checkpoints, or the ref of one, again without missing objects; return
    what was done, '' if it lacks none."""
    with exclusive(repo, "v1"):
        old, done = write_objects_again(repo, ref)
        if old is None:
            return done
        log = read_log(repo, ref)
        note = write_note(repo, ref, old, log)
        if ref == REF:
            remote = list_remote_branches(repo)
        else:
            remote = []
        theirs = [name for name in remote if not list_lacking(repo, name)]
        tip, lost = _rebuild_commit(repo, [old, *log], theirs)
        move_refs(repo, [(ref, tip, old)], "gitcp: fsck")
        forget_logs(repo, [ref])
    if tip is None:
        return f"nothing of it could be read: removed, noted in '{note}'"
    return f"built it again, what it was is noted in '{note}'{format_lost(lost)}"


def _rebuild_commit(repo: Repo, tips: list[str], theirs: list[str]) -> tuple[str | None, list[str]]:
    """(a commit with the readable content of the newest readable tip, the paths that it lacks)."""
    history = follow_parents(tips, lambda oid: read_commit(repo.objects, oid))
    sound = _find_sound(repo, history)
    fallbacks = []
    for name in (sound, *theirs):
        if name:
            c = read_commit(repo.objects, name)
            if c:
                fallbacks.append(c)
    if not history:
        return (fallbacks[0]["oid"] if fallbacks else None), []
    gone = list_lacking(repo, history[0]["oid"])
    trees = [commit["tree"] for commit in fallbacks]
    tree, lost = _rebuild_tree(repo.objects, history[0]["tree"], trees, gone)
    if tree is None:
        return (fallbacks[0]["oid"] if fallbacks else None), lost
    parents = list(dict.fromkeys(commit["oid"] for commit in fallbacks))
    return write_commit(repo, tree, parents, _SUBJECT), sorted(lost)


def _find_sound(repo: Repo, history: list[Commit]) -> str | None:
    """A commit of the history that lacks no object; each one tried is twice as far back."""
    number = 0
    while number < len(history):
        if not list_lacking(repo, history[number]["oid"]):
            return history[number]["oid"]
        number = number * 2 + 1
    return None


def _rebuild_tree(
    objects: Objects, oid: str, sound: Sequence[str], gone: Collection[str]
) -> tuple[str | None, list[str]]:
    """Write a tree again without the objects in gone; return (its oid, None if nothing is left; the
    paths of what was missing, with a slash at the end for a directory).

    sound: trees that lack nothing; the first that has an entry replaces a missing one.
    """
    if oid in sound:
        return oid, []
    try:
        if oid in gone:
            entries = None
        else:
            entries = read_tree(objects, oid)
    except Error:
        entries = None
    if entries is None:
        return (sound[0] if sound else None), [""]
    layers = [_read_entries(objects, tree) for tree in sound]
    rebuilt = dict(entries)
    lost: list[str] = []
    for name, entry in entries.items():
        substitutes = [layer[name] for layer in layers if name in layer]
        if entry[0] == TREE:
            trees = [other for mode, other in substitutes if mode == TREE]
            tree, below = _rebuild_tree(objects, entry[1], trees, gone)
            lost += [f"{name}/{path}" for path in below]
            substitutes = [(TREE, tree)] if tree else []
        elif entry[1] in gone:
            lost.append(name)
        else:
            continue
        if substitutes:
            rebuilt[name] = substitutes[0]
        else:
            del rebuilt[name]
    if rebuilt == entries:
        return oid, lost
    return (write_tree(objects, rebuilt) if rebuilt else None), lost


def _read_entries(objects: Objects, oid: str) -> Tree:
    try:
        return read_tree(objects, oid)
    except Error:
        return {}  # the person's own history lacks it


def mend_edits(repo: Repo, ref: str) -> str:
    """Write the history of a session's edits again, as far as it can be read; return what was
    done."""
    old = refs.read_ref(repo, ref)
    if old is None:
        return ""
    gone = set[str]()
    count = 0
    tip: str | None = None
    for commit in reversed(follow_parents([old], lambda oid: read_commit(repo.objects, oid))):
        gone |= list_lacking(repo, commit["oid"], "--no-walk")
        tree = _rebuild_tree(repo.objects, commit["tree"], (), gone)[0]
        if tree:
            parents = [tip] if tip else []
            tip = write_commit(repo, tree, parents, commit["message"])
            count = count + 1
    refs.update_refs(repo, [(ref, tip, old)], "gitcp: fsck")
    if tip is None:
        return (
            "all are lost, and no author of uncommitted lines is known; the files stay as they are"
        )
    lost = ""
    if gone:
        lost = f"; {len(gone)} of their contents are lost, and cannot be put back"
    return f"kept {count} of its turns{lost}"


def mend_state(repo: Repo, session_id: str) -> str:
    """Write the state and its marker again; take a lost state from the copy on its stream; return
    what was done.  Files whose name is no session's id are moved aside."""
    try:
        ids.check_session_id(session_id)
    except InputError:
        return _report_unknown(repo, session_id)
    with others.held_state(repo, [session_id]):
        state = recall_state(repo, session_id)
        if state is None:
            return _report_unknown(repo, session_id)
        save_work(repo, state)
    return f"wrote the state, revision {state['revision']}, and its marker"


def take_copy(repo: Repo, session_id: str, ref: str) -> str:
    """Replace a state by its copy on a stream if that is newer; return what was done."""
    with others.held_state(repo, [session_id]):
        tip = read_tip(repo.objects, ref)
        copy = None
        if tip:
            copy = read_with_turns(repo.objects, tip, session_id)
        state = session.load_state(repo, session_id)
        if not state or not copy or copy.get("revision", 0) <= state.get("revision", 0):
            return ""
        before = state.get("revision", 0)
        copy = session.update_fields(copy)
        save_work(repo, copy)
        return f"took the copy: revision {before} became {copy['revision']}"


def _report_unknown(repo: Repo, session_id: str) -> str:
    """Move the marker and the state of an unknown session aside; an unreadable state may have been
    moved before."""
    state = os.path.join(session.get_folder(repo), f"{session_id}.json")
    places = {"marker": others.find_path(repo, session_id), "state": state}
    done = [
        f"moved the {what} to '{move_aside(repo.common, path)}'"
        for what, path in places.items()
        if os.path.lexists(path)
    ]
    if done:
        return " and ".join(done)
    return f"moved what could not be read to '{files.locate_aside(repo.common)}'"


def store_missing_checkpoint(repo: Repo, oid: str, checkpoint_id: str) -> str:
    """Store the open sessions of this worktree, except those at work, in the checkpoint that a
    commit made here names; return what was done."""
    commit = read_commit(repo.objects, oid)
    if commit is None or not repo.top or oid not in refs.select_made(refs.list_head_moves(repo)):
        return ""
    before = list_session_ids(repo, checkpoint_id)
    for name in [marker["session_id"] for marker in unhooked.list_resting(repo)]:
        with others.held_state(repo, [name]):
            state = session.load_state(repo, name)
            if state:
                unhooked.link_one(repo, state, commit)
                save_work(repo, state)
    after = list_session_ids(repo, checkpoint_id)
    return "stored it" if set(after) - set(before) else ""


_MOST = 1 << 30  # bytes


def count_unreadable_lines(path: str) -> int:
    """The number of unreadable lines of a journal; -1 if it is not a text file."""
    try:
        data = read_file(path, _MOST) or b""
    except Damaged:
        return -1
    if not data.isascii():
        return -1
    data = data[: data.rfind(b"\n") + 1]  # a process may be writing the last line
    return data.count(b"\n") - len(parse_lines(data))


def mend_journal(repo: Repo, path: str) -> str:
    """Move a damaged journal aside and write it again from its readable lines and the refs of
    sessions; return what was done."""
    git_dir = os.path.dirname(os.path.dirname(path))
    with exclusive(repo, f"journal-{journal.hash_home(repo, git_dir)}"):
        count = count_unreadable_lines(path)
        if not count:
            return ""
        lines = parse_lines(b"" if count < 0 else read_file(path, _MOST) or b"")
        aside = move_aside(repo.common, path)
        remaining = journal.expand_trees(repo, lines)
        rebuilt = held_lines.rebuild_journal(repo, journal.hash_home(repo, git_dir), remaining)
        journal.replace_journal(repo, git_dir, rebuilt)
    return f"kept {len(lines)} lines, moved it to '{aside}'"


# Building streams again that lack objects, so that git can work.
#
# The readable content of each checkpoint stays, under the commit's message; files that the states
# of its sessions record are added.  A stream without readable content is removed, and its value
# written to a file.
BLOB = "100644"


def is_stream(ref: str) -> bool:
    """Whether a ref has the name of a stream."""
    return ref.startswith(ARCHIVE) or bool(ids.parse_shadow(ref))


def mend_stream(repo: Repo, ref: str) -> str:
    """Build a stream again without missing objects; return what was done, '' if it lacks none or
    is the person's."""
    with exclusive(repo, get_lock_name(repo, ref)):
        old, done = write_objects_again(repo, ref)
        if old is None:
            return done
        log = read_log(repo, ref)
        commits = follow_parents([old, *log], lambda oid: _read_checkpoint(repo.objects, oid))
        named = _find_states(repo, ref, commits)
        if not commits and not named and not ref.startswith(ARCHIVE):
            return ""  # it may be the person's
        note = write_note(repo, ref, old, log)
        rebuilder = Rebuilder(repo)
        tip = None
        for commit in reversed(commits):
            gone = list_lacking(repo, commit["oid"], "--no-walk")
            tip = rebuilder.rebuild_commit(commit, tip, gone)
        tip = _complete_tip(repo, rebuilder, tip, named)
        refs.update_refs(repo, [(ref, tip, old)], "gitcp: fsck")
        name = ids.parse_stream_name(ref)
        forget_logs(repo, {ref, *(prefix + name for prefix in PREFIXES)})
    if tip is None:
        return f"nothing of it could be read: removed, noted in '{note}'"
    lost = format_lost(sorted(rebuilder.lost))
    return f"built it again from {len(commits)} checkpoints and its states{lost}"


def _read_checkpoint(objects: Objects, oid: str) -> Commit | None:
    answer = objects.read(oid)
    commit = None
    if answer and answer[1] == "commit":
        commit = parse_commit(oid, answer[2])
    session = find_trailer(commit["message"], SESSION_KEY) if commit else ""
    return commit if session else None


def _find_states(repo: Repo, ref: str, commits: list[Commit]) -> Named:
    """The states' records of a stream, found by its id.  If no commit has the id, those of streams
    of this name that no other ref has."""
    if commits:
        stream_id = find_trailer(commits[0]["message"], "Gitcp-Stream")
    else:
        stream_id = ""
    elsewhere = {tip["stream"] for tip in list_tips(repo) if tip["ref"] != ref}
    name = ids.parse_stream_name(ref)

    def is_meant(stream: Stream) -> bool:
        if stream_id:
            return stream["id"] == stream_id
        return ids.parse_stream_name(stream["ref"]) == name and stream["id"] not in elsewhere

    return [
        (state, stream)
        for state in sessions.list_states(repo)
        for stream in filter(is_meant, state["streams"])
    ]


def _complete_tip(repo: Repo, rebuilder: Rebuilder, tip: str | None, streams: Named) -> str | None:
    """The tip with the files that states record; without a tip, a first checkpoint of them."""
    if not streams:
        return tip
    commit = read_commit(repo.objects, tip) if tip else None
    state, stream = streams[-1]
    base = read_commit(repo.objects, str(stream.get("base_commit") or ""))
    before = commit["tree"] if commit else base["tree"] if base else None
    tree = rebuilder.add_states(before, streams, everything=commit is None)
    if commit and tree == commit["tree"]:
        return tip
    base_oid = base["oid"] if base else refs.get_zeros(repo)
    message = build_message(_SUBJECT, state["session_id"], base_oid, stream["id"])
    return write_commit(repo, tree, [tip] if tip else [], message)


class Rebuilder:
    """Builds commits again; lost: the missing paths, directories with a slash at the end."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self.lost: set[str] = set()

    def rebuild_commit(self, old: Commit, parent: str | None, gone: set[str]) -> str:
        """Write old again on parent without missing objects; return its oid, that of old if it
        lacks none.

        gone: the oids of the missing objects below old.  The base's entry replaces a missing one
        and is listed as omitted, so that no reader takes it for the checkpoint's.
        """
        base = find_tree(self._repo.objects, find_trailer(old["message"], "Base-Commit"))
        sound = [base] if base else []
        tree, lost = _rebuild_tree(self._repo.objects, old["tree"], sound, gone)
        if lost:
            session_id = find_trailer(old["message"], SESSION_KEY)
            tree = self._note_omitted(tree or self._repo.empty_tree, session_id, lost)
            self.lost.update(lost)
        tree = tree or self._repo.empty_tree
        if tree == old["tree"] and old["parents"] == ([parent] if parent else []):
            return old["oid"]
        head = [f"tree {tree}", *([f"parent {parent}"] if parent else [])]
        head += [f"author {old['author']}", f"committer {old['committer']}"]
        return self._repo.objects.write(
            "commit", encode_name("\n".join([*head, "", old["message"]]))
        )

    def _note_omitted(self, tree: str, session_id: str, lost: list[str]) -> str:
        path = f"{METADATA}{session_id}/omitted.json"
        entry = Lookup(self._repo.objects, tree)(path)
        if entry:
            omitted = json.loads(self._repo.objects.need(entry[1], "blob"))
        else:
            omitted = []
        omitted += [{"path": name, "reason": "missing"} for name in lost]
        blob = self._repo.objects.write("blob", json.dumps(omitted, indent=2).encode() + b"\n")
        return edit_tree(self._repo.objects, tree, {path: (BLOB, blob)})

    def add_states(
        self,
        tree: str | None,
        pairs: Iterable[tuple[State, Stream]],
        everything: bool,
    ) -> str:
        """A tree with the states' entries of the lost paths, or of all paths for everything, and
        with the copies of states that it lacks."""
        look = Lookup(self._repo.objects, tree)
        edits: dict[str, Entry | None] = {}
        for state, stream in pairs:
            for path, file in stream["files"].items():
                if everything or self._was_lost(path):
                    edits |= self._build_edit(path, file)
            copy = f"{METADATA}{state['session_id']}/state.json"
            if look(copy) is None:
                edits[copy] = (BLOB, self._repo.objects.write("blob", session.dump_state(state)))
        return edit_tree(self._repo.objects, tree, edits)

    def _was_lost(self, path: str) -> bool:
        return any(
            path == lost or (lost[-1:] in ("", "/") and path.startswith(lost)) for lost in self.lost
        )

    def _build_edit(self, path: str, file: File) -> dict[str, Entry | None]:
        if not file["oid"]:
            return {path: None}
        answer = self._repo.objects.read(file["oid"])
        if answer and answer[1] == "blob":
            return {path: (file["mode"], file["oid"])}
        self.lost.add(path)
        return {}
