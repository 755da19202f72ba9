"""Checkpoints of the permanent store: the directory of one, read and written; where checkpoints
are stored; and reading checkpoints of every shape that was ever written."""

from __future__ import annotations

from gitcp import VERSION
from gitcp.agents import transcripts
from gitcp.checkpoints import format
from gitcp.checkpoints.transcripts import CHUNKS, hash_chunks, hash_content
from gitcp.errors import Error
from gitcp.git import decode_name, format_now, gitdir, refs
from gitcp.git.objects import TREE, edit_tree, read_tree, write_commit, write_tree
from gitcp.text import console, json, line_credit, prompt_text, value_class
from gitcp.text.ids import CHECKPOINTS, build_checkpoint_ref, is_ulid, parse_checkpoint_ref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, TypedDict

    from gitcp.checkpoints.format.merge_rules import Directory, Session
    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Entry, Tree

    class SessionEntry(TypedDict):
        """A session in a checkpoint; directory is "" in the legacy layout, which has it at the
        root."""

        index: int
        directory: str
        tree: str
        files: Tree
        session_id: str
        metadata: dict[str, Any]

    class StoredCheckpoint(TypedDict):
        """A checkpoint without its transcripts; summary: the stored JSON; lacks: the parts that
        could not be read."""

        checkpoint_id: str
        ref: str
        tree: str
        summary: dict[str, Any]
        sessions: list[SessionEntry]
        lacks: list[str]


BLOB = "100644"
FILES = (BLOB, "100755")
_STRATEGY = "manual-commit"


@value_class
class Content:
    """What one session stored; hash: "match", "differs" or "absent".  lacks: the parts that could
    not be read."""

    index: int
    session_id: str
    metadata: dict[str, Any]
    transcript: bytes
    prompts: list[str]
    context: str
    content_hash: str
    hash: str
    tasks: list[str]
    lacks: list[str]


class Checkpoint:
    """The directory of checkpoint_id: tree (None: empty) and the sessions that are put in."""

    def __init__(self, objects: Objects, checkpoint_id: str, tree: str | None) -> None:
        self._objects = objects
        self._id = checkpoint_id
        self._directory = read_directory(objects, tree)
        self._tasks: dict[str, Entry] = {}

    def put_session(
        self,
        session_id: str,
        metadata: Mapping[str, Any],
        files: Mapping[str, Entry],
        tasks: Mapping[str, Entry],
        lines: Mapping[str, Any] | None = None,
        replaces_lines: bool = False,
    ) -> None:
        """Put in one session, at its index or as the last; one that was forgotten stays so.

        files: by name in its directory; a transcript replaces all stored chunks.  tasks: by path
        in the checkpoint.  lines: joined with the stored ones; replaces_lines: those of the same
        content go.
        """
        sessions = self._directory["sessions"]
        indices = [n for n, known in enumerate(self.list_session_ids()) if known == session_id]
        index = indices[-1] if indices else len(sessions)
        stored: Session = sessions[index] if indices else {"metadata": None, "files": {}}
        if format.is_forgotten(stored["metadata"]):
            return
        new = {**metadata, "checkpoint_id": self._id, "session_id": session_id}
        if not indices:
            defaults = {"cli_version": VERSION, "created_at": format_now(), "strategy": _STRATEGY}
            new = {**defaults, **new}

        united = dict(stored["files"])
        if transcripts.NAME in files:
            for name in stored["files"]:
                if transcripts.parse_number(name) is not None:
                    del united[name]
        united.update(files)
        if lines:
            united[format.LINES] = self._write_lines(stored, lines, replaces_lines)
        merged = format.merge_metadata(stored["metadata"], new)
        sessions[index:] = [{"metadata": merged, "files": united}, *sessions[index + 1 :]]
        self._tasks.update(tasks)

    def _write_lines(self, stored: Session, lines: Mapping[str, Any], replaces: bool) -> Entry:
        """Write lines, joined with the stored ones."""
        stored_lines = read_json(self._objects, stored["files"], format.LINES)
        if replaces and stored_lines:
            gone = set[str]()
            for entries in lines.values():
                gone.update(entry["oid"] for entry in entries)
            for path in lines.keys() & stored_lines.keys():
                stored_lines[path] = [e for e in stored_lines[path] if e.get("oid") not in gone]
        data = format.dump_json(line_credit.join_entries(stored_lines, lines))
        return BLOB, self._objects.write("blob", data)

    def write_tree(self) -> str:
        """Write the tree of the checkpoint; return its oid."""
        return write_directory(self._objects, self._id, self._directory, self._tasks)

    def list_session_ids(self) -> list[str]:
        """The ids of the sessions in their order, "" for one without metadata."""
        parsed = (session["metadata"] or {} for session in self._directory["sessions"])
        return [str(metadata.get("session_id", "")) for metadata in parsed]


def read_directory(
    objects: Objects, tree: str | None, largest: int = 0, *, lenient: bool = False
) -> Directory:
    """A checkpoint's directory in today's layout, from any that it was written in; None is empty.

    A metadata.json that is no JSON object, or has more than `largest` bytes, stays among the files.
    Raises Error if an object is missing; lenient: what it belongs to stays as it is.
    """
    entries = read_tree(objects, tree) if tree else {}
    files = {name: entry for name, entry in entries.items() if not _is_number(name)}
    root = _take_metadata(objects, files, largest, lenient)
    files.pop(format.METADATA, None)
    sessions: list[Session] = []
    for name in list_directories(entries, root or {}):
        if name:
            sessions.append(_read_session(objects, entries[name][1], largest, lenient))
        else:  # the legacy layout
            own = {name: entry for name, entry in files.items() if entry[0] in FILES}
            for file in own:
                del files[file]
            sessions.append({"metadata": root, "files": own})
            root = None
    return {"root": root, "sessions": sessions, "files": files}


def _read_session(objects: Objects, tree: str, largest: int, lenient: bool) -> Session:
    try:
        files = read_tree(objects, tree)
    except Error:
        if not lenient:
            raise
        files = {}
    return {
        "metadata": _take_metadata(objects, files, largest, lenient),
        "files": files,
        "tree": tree,
    }


def _take_metadata(
    objects: Objects, files: Tree, largest: int, lenient: bool
) -> format.Metadata | None:
    """Remove metadata.json from files and return it; one that cannot be used stays there."""
    mode, oid = files.get(format.METADATA, ("", ""))
    try:
        if mode not in FILES or (largest and objects.read_size(oid) > largest):
            return None
        metadata = format.parse_json(objects.need(oid, "blob"))
    except Error:
        if not lenient:
            raise
        return None
    if metadata is not None:
        del files[format.METADATA]
    return metadata


def write_directory(
    objects: Objects,
    checkpoint_id: str,
    directory: Directory,
    tasks: Mapping[str, Entry] | None = None,
) -> str:
    """Write a checkpoint's directory; return the oid of its tree.  What the root has of a forgotten
    session is left out.

    tasks: files to add, by path in the checkpoint.
    """
    root = directory["root"]
    numbered = dict[str, tuple[str, str]]()
    sessions: list[format.Session] = []
    for number, session in enumerate(directory["sessions"]):
        metadata = session["metadata"]
        files = session["files"]
        if metadata is not None:
            files = {**files, format.METADATA: ("", "")}
        numbered[str(number)] = (TREE, session.get("tree") or _write_session(objects, session))
        sessions.append((metadata, files))
    edits: dict[str, Entry | None] = {**directory["files"], **(tasks or {})}
    gone = [metadata for metadata, _ in sessions if metadata and format.is_forgotten(metadata)]
    if gone and len(gone) == len(sessions):
        root = None
        edits = {}
    elif gone and root:
        root = {**root, "files_touched": []}
    for metadata in gone:
        edits |= {f"tasks/{task}": None for task in format.list_strings(metadata.get("tasks"))}
    data = format.dump_json(format.summarize(checkpoint_id, root, sessions))
    edits |= {**numbered, format.METADATA: (BLOB, objects.write("blob", data))}
    return edit_tree(objects, None, edits)


def _write_session(objects: Objects, session: Session) -> str:
    files = dict(session["files"])
    if session["metadata"] is not None:
        data = format.dump_json(session["metadata"])
        files[format.METADATA] = (BLOB, objects.write("blob", data))
    return write_tree(objects, files)


def read_json(objects: Objects, entries: Mapping[str, Entry], name: str) -> dict[str, Any] | None:
    """The JSON object in a file among entries; None if there is none, or it is no object."""
    entry = entries.get(name)
    if entry:
        return format.parse_json(objects.need(entry[1], "blob"))
    return None


def list_numbers(entries: Mapping[str, Entry]) -> list[str]:
    """The names of the session directories among entries, in their order."""
    numbers = [name for name in entries if _is_number(name) and entries[name][0] == TREE]
    if len(numbers) > 1:
        return sorted(numbers, key=int)
    return numbers


def _is_number(name: str) -> bool:
    return name.isdigit() and name.isascii()


def list_directories(entries: Tree, root: dict[str, Any]) -> list[str]:
    """The session directories of a checkpoint: those of sessions[] in its order, then the others.

    Paths in sessions[] may be doubled or wrong: only the number before the file name counts.  ""
    is the checkpoint's own directory, which has the newest session in the legacy layout.
    """
    folders = list_numbers(entries)
    if len(folders) == 1 and "session_id" not in root:
        return folders
    listed: list[str] = []
    if root.get("session_id") and "sessions" not in root:
        listed.append("")
    sessions = root.get("sessions")
    if not isinstance(sessions, list):
        sessions = []
    for item in sessions:
        path = item.get("metadata") if isinstance(item, dict) else None
        if not isinstance(path, str):
            continue
        folder = path.rpartition("/")[0].rpartition("/")[2]
        if folder in folders:
            listed.append(folder)
    return list(dict.fromkeys([*listed, *folders]))


_LEGACY = "refs/heads/entire/sessions"
TRACKING = "refs/remotes/**/entire/checkpoints/v1"
STORE_KEY = "gitcp.store"  # branch or refs: where new checkpoints go
_TRACKING_LEGACY = "refs/remotes/**/entire/sessions"


def list_sources(repo: Repo) -> list[str]:
    """The places to read checkpoints from: CHECKPOINTS if any has a ref of its own; our branch, or
    the remotes' branches if we have none; then the same of the legacy branch."""
    return _choose_places(repo, _list_all_places(repo))


def list_own_places(repo: Repo) -> list[str]:
    """The places that this clone writes to and shares."""
    return [place for place in (CHECKPOINTS, refs.REF) if place in _list_all_places(repo)]


def list_places(repo: Repo) -> list[str]:
    """list_sources(), then the remotes' branches that are not read because ours exists."""
    places = _list_all_places(repo)
    return list(dict.fromkeys([*_choose_places(repo, places), *places]))


def list_tips(repo: Repo) -> dict[str, str]:
    """ref -> oid of every checkpoint that has a ref of its own."""
    tips = refs.list_refs(repo, CHECKPOINTS)
    return {ref: oid for ref, oid in tips.items() if parse_checkpoint_ref(ref)}


def has_own_refs(repo: Repo) -> bool:
    """Whether any checkpoint has a ref of its own."""
    if not gitdir.may_be_below(repo, f"{CHECKPOINTS}/"):
        return False
    return bool(repo.git.run("for-each-ref", "--count=1", CHECKPOINTS)[1])


def has_checkpoints(repo: Repo) -> bool:
    """Whether this clone has checkpoints, on our branch or on refs."""
    return refs.read_ref(repo, refs.REF) is not None or has_own_refs(repo)


def explain_deletion(repo: Repo) -> str:
    """What happened to the branch that MEMORY remembers, and the commands that bring it back and
    agree; "" if the branch is there, or checkpoints have refs of their own."""
    if refs.read_ref(repo, refs.REF) or needs_own_ref(repo) or not refs.read_ref(repo, refs.MEMORY):
        return ""
    name = refs.REF.removeprefix("refs/heads/")
    back = f"git branch {name} {refs.MEMORY}"
    agreed = f"git update-ref -d {refs.MEMORY}"
    ways = f"'{back}' brings it back, '{agreed}' agrees to it"
    return f"branch '{name}', the store of checkpoints, was deleted: {ways}"


def is_branch_sent(repo: Repo) -> bool:
    """Whether the branch is pushed: unless checkpoints get their own refs, by gitcp.store or
    because jj would make a bookmark of the branch."""
    kind = repo.config.get_option(STORE_KEY)
    if kind:
        return bool(kind == "branch")
    return not repo.jj_root


def needs_own_ref(repo: Repo) -> bool:
    """Whether a new checkpoint gets a ref of its own.  Without gitcp.store and without jj it is
    stored as the existing checkpoints are."""
    if not is_branch_sent(repo):
        return True
    return not repo.config.get_option(STORE_KEY) and has_own_refs(repo)


def find_holding_ref(place: str, checkpoint_id: str) -> str:
    """The ref of a checkpoint of a place."""
    if place == CHECKPOINTS:
        return build_checkpoint_ref(checkpoint_id)
    return place


def list_remote_branches(repo: Repo) -> list[str]:
    """The remote-tracking branches of checkpoints, the destination's first."""
    return order_tracking(repo, list(refs.list_refs(repo, TRACKING)))


def order_tracking(repo: Repo, branches: list[str]) -> list[str]:
    """Remote-tracking branches, those of the destination before origin's before others."""
    if len(branches) > 1:
        target = repo.config.get_option("gitcp.remote")
        preferred = [f"refs/remotes/{name}/" for name in (target, "origin")]
        branches.sort(key=lambda ref: ([not ref.startswith(p) for p in preferred], ref))
    return branches


def _list_all_places(repo: Repo) -> list[str]:
    found: list[str] = []
    if has_own_refs(repo):
        found.append(CHECKPOINTS)
    found += [ref for ref in (refs.REF, _LEGACY) if refs.read_ref(repo, ref)]
    found += refs.list_refs(repo, TRACKING, _TRACKING_LEGACY)
    return found


def _choose_places(repo: Repo, ref_names: list[str]) -> list[str]:
    def pick(branch: str) -> list[str]:
        local = f"refs/heads/{branch}"
        if local in ref_names:
            return [local]
        remote = [n for n in ref_names if n.endswith(f"/{branch}")]
        return order_tracking(repo, remote)

    own = [CHECKPOINTS] if CHECKPOINTS in ref_names else []
    return own + pick("entire/checkpoints/v1") + pick("entire/sessions")


def find_checkpoint(repo: Repo, checkpoint_id: str) -> tuple[str, str] | None:
    """(ref, tree) of a checkpoint; None if no ref has it.

    Raises Error if no readable ref has it and one is unreadable.
    """
    return Places(repo).find_checkpoint(checkpoint_id)


class Places:
    """find_checkpoint() for many: the refs are listed once, and each directory is read once.

    A ref that moves later is not noticed.
    """

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self._refs: list[str] | None = None
        self._may_have_own: bool | None = None
        self._tips: dict[str, str | None] = {}
        self._trees: dict[str, Tree | Error] = {}

    def find_checkpoint(self, checkpoint_id: str) -> tuple[str, str] | None:
        """As find_checkpoint()."""
        trouble: list[Error] = []
        tree = self.find_tree(CHECKPOINTS, checkpoint_id, trouble)
        if tree:
            return build_checkpoint_ref(checkpoint_id), tree
        if is_ulid(checkpoint_id) and not trouble:
            return None
        tree = self.find_tree(refs.REF, checkpoint_id, trouble)
        if tree:
            return refs.REF, tree
        if self._refs is None:
            self._refs = list_places(self._repo)
        for ref in self._refs:
            if ref == CHECKPOINTS:
                continue
            tree = self.find_tree(ref, checkpoint_id, trouble)
            if tree:
                return ref, tree
        if trouble:
            raise trouble[0]
        return None

    def list_unread_shards(self, ids: Iterable[str], place: str = refs.REF) -> list[str]:
        """The directories that find_tree() has still to read in a place for these ids."""
        if place == CHECKPOINTS:
            return []
        try:
            tip = self._read_tip(place, [])
            if not tip:
                return []
            entries = self._read_tree(tip)
        except Error:
            return []
        shards = dict.fromkeys(checkpoint_id[:2] for checkpoint_id in ids)
        oids = [entries[shard][1] for shard in shards if shard in entries]
        return [oid for oid in oids if oid not in self._trees]

    def find_tree(self, place: str, checkpoint_id: str, trouble: list[Error]) -> str | None:
        """The directory of a checkpoint in one place, else None.  If the place is unreadable, an
        error is added to trouble."""
        if place == CHECKPOINTS:
            if self._may_have_own is None:
                self._may_have_own = gitdir.may_be_below(self._repo, f"{CHECKPOINTS}/")
            if self._may_have_own:
                return self._read_tip(build_checkpoint_ref(checkpoint_id), trouble)
            return None
        shard = checkpoint_id[:2]
        try:
            root = self._read_tip(place, trouble)
            below = self._find_directory(root, shard, f"'{place}:{shard}'")
            return self._find_directory(below, checkpoint_id[2:], f"checkpoint '{checkpoint_id}'")
        except Error as e:
            trouble.append(Error(f"checkpoint '{checkpoint_id}': {e}"))
            return None

    def _find_directory(self, tree: str | None, name: str, label: str) -> str | None:
        """The directory of that name in a tree; None if there is none.  Raises Error, with the
        label, for a file."""
        if not tree:
            return None
        mode, oid = self._read_tree(tree).get(name, ("", ""))
        if mode and mode != TREE:
            raise Error(f"{label} is not a directory")
        return oid or None

    def _read_tip(self, ref: str, trouble: list[Error]) -> str | None:
        if ref not in self._tips:
            tip = self._repo.objects.read(f"{ref}^{{tree}}")
            self._tips[ref] = tip[0] if tip else None
        if self._tips[ref] is None and self._repo.objects.read(ref):
            tip = self._repo.objects.read(f"{ref}^{{tree}}")  # the ref may be new
            self._tips[ref] = tip[0] if tip else None
            if tip is None:
                trouble.append(Error(f"'{ref}': its tree is missing"))
        return self._tips[ref]

    def _read_tree(self, oid: str) -> Tree:
        if oid not in self._trees:
            try:
                self._trees[oid] = read_tree(self._repo.objects, oid)
            except Error as e:
                self._trees[oid] = e
        tree = self._trees[oid]
        if isinstance(tree, Error):
            raise tree
        return tree


def write_store_commit(
    repo: Repo, tree: str, parents: Sequence[str], message: str, session_id: str = "-"
) -> str:
    """Write a commit of the store, signed if that is configured; return its oid.  session_id: of
    the session that it is about."""
    if not _is_signed(repo):
        return write_commit(repo, tree, parents, message)

    from gitcp.checkpoints import signing

    return signing.write_signed(repo, tree, parents, message, session_id)


def _is_signed(repo: Repo) -> bool:
    """Whether commits of the store are to be signed: gitcp.sign, else commit.gpgSign."""
    try:
        own = repo.config.get_option("gitcp.sign")
        if own is None:
            return repo.config.get_flag("commit.gpgsign")
        return bool(own)
    except Error:
        return False  # git itself refuses to commit with such a value


# Reading committed checkpoints, in every shape they were ever written
# (doc/formats.md "Accepted variations").
_MOST = 20_000  # entries below one directory
_BESIDE = (format.METADATA, "tasks")  # what a checkpoint has beside its sessions


class Damage:
    """What of a checkpoint could not be read.  lacks: each part, and why.  absent: the oids of
    missing objects."""

    def __init__(self, checkpoint_id: str) -> None:
        self._checkpoint_id = checkpoint_id
        self.lacks: list[str] = []
        self.absent: list[str] = []

    def note(self, part: str, why: object, kind: str = console.DAMAGED) -> None:
        """Note, and warn of, a part that is missing or damaged; kind: of warn_lacking()."""
        line = f"{part}: {why}" if part else str(why)
        if line not in self.lacks:
            self.lacks.append(line)
        console.warn_lacking(f"checkpoint '{self._checkpoint_id}': {line}", kind)

    def note_absent(self, oid: str, part: str, error: Error, kind: str = console.ABSENT) -> None:
        """Note a part whose object is missing."""
        self.absent.append(oid)
        self.note(part, error, kind)


class Parts:
    """A reader that does not stop at damage."""

    def __init__(
        self,
        objects: Objects,
        checkpoint_id: str,
        trees: Mapping[str, Tree] | None = None,
        parse: Callable[[bytes], Any] = json.loads,
    ) -> None:
        """trees: directories that were read before, by oid.  parse: used like json.loads()."""
        self._objects = objects
        self.checkpoint_id = checkpoint_id
        self._known = trees or {}
        self._parse = parse
        self.damage = Damage(checkpoint_id)

    def load_checkpoint(self, ref: str, tree: str, skip_summary: bool = False) -> StoredCheckpoint:
        """The checkpoint whose directory is tree, as far as it can be read.

        skip_summary: leave summary empty if there is only one session, which is found without it.
        """
        entries = self.read_tree(tree)
        only = find_sole_session(entries) if skip_summary else ""
        if only:
            root = {}
            folders = [only]
        else:
            root = self.read_json(entries, "", "root")
            folders = list_directories(entries, root)
        sessions: list[SessionEntry] = []
        for index, folder in enumerate(folders):
            if folder:
                sessions.append(self._load_session(index, folder, entries[folder][1]))
            else:  # the legacy layout
                metadata = _build_metadata(entries, root)
                sessions.append(_build_entry(index, "", tree, entries, metadata))
        return {
            "checkpoint_id": self.checkpoint_id,
            "ref": ref,
            "tree": tree,
            "summary": root,
            "sessions": sessions,
            "lacks": self.damage.lacks,
        }

    def _load_session(self, index: int, folder: str, tree: str) -> SessionEntry:
        files = self.read_tree(tree, folder)
        metadata = _build_metadata(files, self.read_json(files, folder))
        return _build_entry(index, folder, tree, files, metadata)

    def read_tree(self, oid: str, part: str = "") -> Tree:
        """The entries of a directory; {} if it is unreadable."""
        if oid in self._known:
            return self._known[oid]
        try:
            return read_tree(self._objects, oid)
        except Error as e:
            self.damage.note_absent(oid, part, e)
            return {}

    def read_blob(self, files: Tree, name: str, folder: str = "") -> bytes | None:
        """The bytes of a file; None if there is none, or it is unreadable."""
        mode, oid = files.get(name, ("", ""))
        if not mode:
            return None
        where = f"{folder}/{name}" if folder else name
        if mode not in FILES:
            self.damage.note(where, f"it is not a file (mode {mode})")
            return None
        try:
            return self._objects.need(oid, "blob")
        except Error as e:
            kind = console.ABSENT
            if name == format.NAME or transcripts.parse_number(name) is not None:
                kind = console.TRANSCRIPT
            self.damage.note_absent(oid, where, e, kind)
            return None

    def read_json(
        self,
        files: Tree,
        folder: str = "",
        shape: str = "session",
        name: str = format.METADATA,
    ) -> dict[str, Any]:
        """What conforms to a shape of schema.SHAPES in a directory's metadata; {} if it is
        unreadable or no JSON object."""
        data = self.read_blob(files, name, folder)
        if data is None:
            return {}
        content = format.parse_json(data, self._parse)
        if content is None:
            self.damage.note(f"{folder}/{name}".strip("/"), "it is no JSON object")
            return {}

        from gitcp.checkpoints.format import schema

        conforming, complaints = schema.select_conforming(content, schema.SHAPES[shape])
        if complaints:
            self.damage.note(f"{folder}/{name}".strip("/"), _join_complaints(complaints))
        return conforming

    def read_lines(self, entry: SessionEntry) -> dict[str, Any] | None:
        """The lines.json of a session; None if there is none, or it is unreadable."""
        if format.LINES not in entry["files"]:
            return None
        before = len(self.damage.lacks)
        lines = self.read_json(entry["files"], entry["directory"], "lines", format.LINES)
        if lines or len(self.damage.lacks) == before:
            return lines
        return None

    def read_prompts(self, files: Tree, folder: str = "") -> list[str]:
        """The prompts of a session's directory; [] if they are unreadable."""
        joined = decode_name(self.read_blob(files, format.PROMPT, folder) or b"")
        return prompt_text.cut_prompts(joined)

    def read_transcript(self, files: Tree, folder: str = "") -> bytes:
        """The transcript in a session's directory, as far as it can be read."""
        return b"\n".join(_read_chunks(files, lambda name: self.read_blob(files, name, folder)))

    def list_paths(self, entry: Entry | None, part: str) -> list[str]:
        """The paths of the files below a directory, as far as it can be read."""
        if entry is None or entry[0] != TREE:
            return []
        from gitcp.git.objects.object_lists import list_files

        paths: list[str] = []
        try:
            for path, _ in list_files(self._objects, entry[1], most=_MOST):
                paths.append(path)
        except Error as e:
            self.damage.note(part, e, console.ABSENT)
        return paths


def read_checkpoint(repo: Repo, checkpoint_id: str) -> StoredCheckpoint:
    """A checkpoint by its full id; raises Error if there is none."""
    place = find_checkpoint(repo, checkpoint_id)
    if place is None:
        raise Error(f"no such checkpoint: '{checkpoint_id}'")
    return Parts(repo.objects, checkpoint_id).load_checkpoint(*place)


def _join_complaints(complaints: list[str]) -> str:
    more = ""
    if len(complaints) > 1:
        more = f", and {len(complaints) - 1} more"
    return complaints[0] + more


def list_session_ids(repo: Repo, checkpoint_id: str) -> list[str]:
    """The ids of a checkpoint's sessions; [] if there is no such checkpoint."""
    place = find_checkpoint(repo, checkpoint_id)
    if place is None:
        return []
    checkpoint = Parts(repo.objects, checkpoint_id).load_checkpoint(*place)
    return [entry["session_id"] for entry in checkpoint["sessions"]]


def _build_entry(
    index: int, directory: str, tree: str, files: Tree, metadata: format.Metadata
) -> SessionEntry:
    return {
        "index": index,
        "directory": directory,
        "tree": tree,
        "files": files,
        "session_id": metadata.get("session_id", ""),
        "metadata": metadata,
    }


def _build_metadata(files: Tree, stored: dict[str, Any]) -> dict[str, Any]:
    """A session's metadata in today's form; its transcript start is that of what read_pieces()
    reads."""
    metadata = format.upgrade_metadata(stored)
    if format.NAME in files and not list_chunks(files):
        metadata["checkpoint_transcript_start"] = metadata.get("compact_transcript_start", 0)
    return metadata


def find_sole_session(entries: Tree) -> str:
    """The session directory of a checkpoint with one session; "" if there may be several, whose
    order is in the summary."""
    names = [name for name in entries if name not in _BESIDE]
    if len(names) == 1 and names == list_numbers(entries):
        return names[0]
    return ""


def read_session(objects: Objects, checkpoint: StoredCheckpoint, which: int | str) -> Content:
    """What one session of a checkpoint stored, by index or session id.

    A wrong hash is no error (doc/formats.md "Committed checkpoint").  Raises Error if the
    checkpoint has no such session.
    """
    entry = pick_session(checkpoint, which)
    parts = Parts(objects, checkpoint["checkpoint_id"])
    folder = entry["directory"]
    files = parts.read_tree(entry["tree"], folder)
    transcript = parts.read_transcript(files, folder)
    stored = decode_name(parts.read_blob(files, format.HASH, folder) or b"").strip()
    tasks = files.get("tasks") or parts.read_tree(checkpoint["tree"]).get("tasks")
    chunks = [files[name][1] for name in list_chunks(files)]
    return Content(
        entry["index"],
        entry["session_id"],
        entry["metadata"],
        transcript,
        parts.read_prompts(files, folder),
        context=decode_name(parts.read_blob(files, format.CONTEXT, folder) or b""),
        content_hash=stored,
        hash=_compare_hash(stored, transcript, chunks),
        tasks=_choose_tasks(checkpoint, entry, parts.list_paths(tasks, "tasks")),
        lacks=parts.damage.lacks,
    )


def _choose_tasks(checkpoint: StoredCheckpoint, entry: SessionEntry, paths: list[str]) -> list[str]:
    """The paths below tasks/ of the tasks that a session's metadata lists; if it lists none, of
    the tasks that no other session lists."""
    listed = {
        session["index"]: set(format.list_strings((session["metadata"] or {}).get("tasks")))
        for session in checkpoint["sessions"]
    }
    own = listed.pop(entry["index"])
    foreign = set().union(*listed.values())
    chosen: list[str] = []
    for path in paths:
        task = path.split("/")[0]
        is_own = task in own if own else task not in foreign
        if is_own:
            chosen.append(path)
    return chosen


def read_task_transcripts(objects: Objects, checkpoint_id: str, tree: str) -> dict[str, bytes]:
    """Tool use id -> the transcript of the subagent that it started, for those that are stored in
    the checkpoint whose directory is tree."""
    parts = Parts(objects, checkpoint_id)
    found: dict[str, bytes] = {}
    mode, oid = parts.read_tree(tree).get("tasks", ("", ""))
    if mode != TREE:
        return found
    for task, (inner, below) in parts.read_tree(oid, "tasks").items():
        if inner != TREE:
            continue
        folder = f"tasks/{task}"
        files = parts.read_tree(below, folder)
        for name in files:
            if name.startswith("agent-") and name.endswith(".jsonl"):
                found[task] = parts.read_blob(files, name, folder) or b""
        if task in found:
            continue
        why = _read_reason(parts, files, folder)
        if why:
            parts.damage.note(folder, f"no transcript: {why}", console.TRANSCRIPT)
    return found


def _read_reason(parts: Parts, files: Tree, folder: str) -> str:
    """Why the transcript of a subagent was not stored; "" if its task does not say."""
    task = format.parse_json(parts.read_blob(files, "task.json", folder)) or {}
    return format.get_text(task, "transcript_unavailable_reason")


def read_pieces(objects: Objects, files: Tree) -> Iterator[bytes]:
    """Yield the chunks of a session's transcript, to be joined with newlines; the lines of the
    compact transcript if only that is stored.  Raises Error if one is missing."""
    return _read_chunks(files, lambda name: objects.need(files[name][1], "blob"))


def list_chunks(files: Tree) -> list[str]:
    """The names of the chunks of a session's transcript, in their order."""
    numbered: dict[int, str] = {}
    for name in files:
        number = transcripts.parse_number(name)
        if number is not None:
            numbered[number] = name
    return [numbered[number] for number in sorted(numbered)]


def _read_chunks(files: Tree, read: Callable[[str], bytes | None]) -> Iterator[bytes]:
    chunk_names = list_chunks(files)
    for name in chunk_names:
        data = read(name)
        if data is not None:
            yield data
    if not chunk_names and format.NAME in files:
        yield format.expand_lines(read(format.NAME) or b"")


def pick_session(checkpoint: StoredCheckpoint, which: int | str) -> SessionEntry:
    """A session of a checkpoint, by index or id; raises Error if there is none."""
    # Some stores have a session twice in one checkpoint: the later one has more.
    matching = [e for e in checkpoint["sessions"] if which in (e["index"], e["session_id"])]
    if matching:
        return matching[-1]
    raise Error(f"no session '{which}' in checkpoint '{checkpoint['checkpoint_id']}'")


def _compare_hash(stored: str, transcript: bytes, chunks: Sequence[str]) -> str:
    if not stored:
        return "absent"
    if stored == _hash_as(stored, transcript, chunks):
        return "match"
    return "differs"


def _hash_as(stored: str, transcript: bytes, chunks: Sequence[str]) -> str:
    """The hash of the kind that is stored."""
    if stored.startswith(CHUNKS):
        return hash_chunks(chunks)
    return hash_content(transcript)
