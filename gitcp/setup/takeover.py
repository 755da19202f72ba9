"""Take over the settings, states and data of the original program
(doc/formats.md "The original program"); the record of the files that enable wrote."""

from __future__ import annotations

import json
import os
from functools import partial

from gitcp.agents import find_client
from gitcp.checkpoints import listing
from gitcp.checkpoints.share import places
from gitcp.checkpoints.stored import read_session
from gitcp.errors import Error, InputError, hide_passwords
from gitcp.git import decode_name, encode_name, files, refs
from gitcp.git.files import Damaged, locate_scratch
from gitcp.git.objects import object_lists
from gitcp.git.repo import Repo
from gitcp.record import session
from gitcp.record.journal import Journal, edits
from gitcp.record.session import original, others
from gitcp.record.stream import peek_tip, read_changes, save_work
from gitcp.setup import entire_settings, hook_texts
from gitcp.setup.clients import json_text
from gitcp.setup.entire_settings import ENTIRE_SWITCH
from gitcp.text import ids, shapes, value_class
from gitcp.text.ids import CHECKPOINTS, V1

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gitcp.git.objects import Objects
    from gitcp.setup.hook_texts import Write
    from gitcp.text.record_types import File, State, Version

    Plan = tuple[list[Write], list[str]]  # writes, notes
    Entry = dict[str, Any]  # path, kind, before, after, mode, dirs and facts of the kind
    Strip = Callable[[Entry, bytes], bytes | None]

_KEY = "enabled"
_STILL_ON = "'{}' {}, so both programs record here: 'entire disable' switches the original off"
_STORED = V1
_CHECKPOINT_REFS = CHECKPOINTS
_REMOTE = "refs/remotes/*/entire/checkpoints/v1 refs/notes/gitcp"
_LEGACY = "refs/heads/entire/sessions refs/remotes/*/entire/sessions"


def read_settings(repo: Repo, record: Manifest) -> tuple[dict[str, str], list[str]]:
    """(git config key -> value, notes).  The values are those of Entire's settings and of keys'
    former names, without keys that have a value already.

    record: what it lists of Entire's settings was written by enable, and is ignored.
    """
    read_files: list[dict[str, Any]] = []
    notes = []
    for name in ("settings.json", "settings.local.json"):
        path = os.path.join(repo.worktree, ".entire", name)
        data = files.read_bytes(path)
        try:
            loaded = json.loads(data) if data else {}
            read_files.append(loaded if isinstance(loaded, dict) else {})
        except ValueError as e:
            read_files.append({})
            notes.append(f"'{path}' is not JSON and is ignored: {e}")
    if record.find(switch_path(repo)):
        read_files[-1].pop("enabled", None)
    settings = entire_settings.merge_settings(*read_files)
    values, further_notes = entire_settings.translate_settings(settings)
    for section in ("entire", "gitcp"):
        old = f"{section}.{entire_settings.OLD_WARNING}"
        if repo.config.get_all(old):
            if repo.config.get_flag(old):
                values[entire_settings.WARNING] = "false"
            else:
                values[entire_settings.WARNING] = "true"
    found = read_destination(repo)
    if found.remote and not found.tracked and not places.is_settled(repo):
        values["gitcp.remote"] = found.remote
    elif find_proposal(repo)[0]:
        further_notes.append(
            f"'{found.file}' proposes to send checkpoints:"
            f" 'gitcp enable --checkpoints {found.remote}'"
        )
    unset = {key: value for key, value in values.items() if not repo.config.get_all(key)}
    return unset, notes + further_notes


def plan_config(repo: Repo, values: dict[str, str]) -> Write | None:
    """The write that sets values in the repository's configuration; None if they are set."""
    new = {key: v for key, v in values.items() if repo.config.get(key, "\0") != v}
    old = f"gitcp.{entire_settings.OLD_WARNING}"
    if not new and not repo.config.get_all(old):
        return None
    path = os.path.realpath(os.path.join(repo.common, "config"))
    data = files.read_bytes(path) or b""
    for key, value in new.items():
        data = _edit_config(repo, data, key, value)
    before = data
    data = _edit_config(repo, data, "--unset-all", old)
    if not new and data == before:
        return None  # the old name is in another configuration file
    lines = [f"{key}={value}" for key, value in new.items()]
    named = [line for line in lines if not line.startswith("hook.")]
    if len(named) < len(lines):
        named.insert(0, f"hook.{hook_texts.CONFIGURED}* in '{path}'")
    if named:
        note = f"set {hide_passwords(', '.join(named))}"
    else:
        note = f"unset {old}"
    return {"path": path, "kind": "config", "data": data, "lines": lines, "note": note}


def remove_values(repo: Repo, entry: Entry, data: bytes) -> bytes:
    """A configuration without the values that gitcp set and nobody changed."""
    for line in entry["lines"]:
        key, _, value = line.partition("=")
        data = _edit_config(repo, data, "--fixed-value", "--unset-all", key, value)
    return data


def _edit_config(repo: Repo, data: bytes, *args: str) -> bytes:
    """The bytes of a configuration file after `git config` with args; 5: nothing to unset."""
    path = locate_scratch(repo, f"config-{os.getpid()}")
    repo.make_folder(os.path.dirname(path))
    try:
        files.replace_file(path, data, 0o600)
        repo.git.run("config", "--file", path, *args, ok=(0, 5))
        return files.read_bytes(path) or b""
    finally:
        os.unlink(path)


def refuse_branches(repo: Repo) -> None:
    """Raise Error if a branch of the person is in the way of gitcp's branches."""
    for name in ("entire", "entire/checkpoints"):
        if refs.read_ref(repo, f"refs/heads/{name}"):
            remedy = f"rename it (git branch -m {name} <another name>)"
            raise Error(f"branch '{name}' is in the way of gitcp's 'entire/…': {remedy}")


def write_markers(repo: Repo) -> None:
    """Write the markers of the sh guard for existing data (doc/git.md "The guard in sh")."""
    stored = refs.list_refs(repo, _STORED, _CHECKPOINT_REFS, *_REMOTE.split(), *_LEGACY.split())
    unpushed = any(ref.startswith((_STORED, _CHECKPOINT_REFS)) for ref in stored)
    for name, wanted in (("linked", bool(stored)), ("unpushed", unpushed)):
        path = repo.join_shared(name)
        if wanted and not os.path.exists(path):
            files.touch_private(repo, path)


def adopt_sessions(repo: Repo) -> list[str]:
    """Take over the sessions with open work of the original program; return their ids.

    Its states have no streams: the files of a session are read from its branch.
    """
    taken = []
    for name in others.list_state_ids(repo):
        try:
            ids.check_session_id(name)
        except Error:
            continue
        with others.held_state(repo, [name]):
            state = session.load_state(repo, name)
            is_entires = state is not None and not state["streams"] and "turns" not in state
            if state and is_entires and state.get("phase") == "active":
                original.take_over(repo, state)
                state["tool_events"] = True  # an unexplained edit is not the turn's
            if state and not state["streams"] and _add_stream(repo.objects, state):
                _note_condensed(repo, state)
                _record_edits(repo, state)
                save_work(repo, state)
                taken.append(name)
            elif state and session.is_unsettled(state):
                if is_entires:
                    save_work(repo, state)
                else:
                    session.write_marker(repo, state)
    return taken


def _record_edits(repo: Repo, state: State) -> None:
    """Write the files that the session recorded into the journal of its worktree."""
    try:
        if session.is_home(repo, state):
            home = repo
        else:
            home = Repo.find(state["worktree_path"])
    except (Error, OSError):
        return  # the worktree is gone
    for stream in state["streams"]:
        entries: dict[str, Version] = {}
        of_turns: dict[str, tuple[Version, str]] = {}
        for path, file in stream["files"].items():
            entries[path] = None
            if file["oid"]:
                entries[path] = (file["mode"], file["oid"])
            of_turns[path] = (entries[path], file["turn_id"])
        edits.record_edits(home, state["session_id"], stream["base_commit"], of_turns)
        with Journal(home) as held:
            edits.record_checkpoint(held, state, stream["id"], entries, "", {})


def _note_condensed(repo: Repo, state: State) -> None:
    """Note in the state the tokens that the session's checkpoints have counted already.  Entire's
    states do not say at which line of the transcript the next checkpoint begins."""
    if state.get("checkpoint_transcript_start") or "tokens_at_condensation" in state:
        return
    name = state["session_id"]
    longest = b""
    for checkpoint in listing.list_checkpoints(repo):
        if any(entry["session_id"] == name for entry in checkpoint["sessions"]):
            transcript = read_session(repo.objects, checkpoint, name).transcript
            longest = max(longest, transcript, key=len)
    scan = find_client(state.get("agent_type", "")).scan
    if longest:
        usage = scan(longest)["usage"]
        if usage:
            state["tokens_at_condensation"] = usage


def _add_stream(objects: Objects, state: State) -> bool:
    touched = set(state.get("files_touched") or ())
    base = str(state["base_commit"])
    home = ids.hash_worktree(str(state.get("worktree_id") or ""))
    names = (f"{ids.BRANCHES}{base[:7]}-{home}", ids.BRANCHES + base[:7])
    if touched and len(base) >= 7:
        for ref in names:
            tip = peek_tip(objects, ref)
            if tip:
                recorded = read_changes(objects, {**tip, "base": base})
                work_files: dict[str, File] = {
                    path: {"oid": e[1] if e else "", "mode": e[0] if e else "000000", "turn_id": ""}
                    for path, e in recorded.items()
                    if path in touched
                }
                if work_files:
                    state["streams"] = [
                        {"id": tip["stream"], "ref": ref, "base_commit": base, "files": work_files}
                    ]
                return bool(work_files)
    return False


def switch_path(repo: Repo) -> str:
    """The path of the original program's local settings."""
    return os.path.join(repo.worktree, ".entire", "settings.local.json")


def plan_switch(repo: Repo) -> Plan:
    """Plan to switch the original program off, so that its hooks do nothing here."""
    file = switch_path(repo)
    try:
        text = (files.read_bytes(file) or b"").decode() or "{}\n"
        settings = json_text.parse(text)
        if settings.get(_KEY) is False:
            return [], []
        if object_lists.list_tracked(repo, [file]):
            raise InputError("is tracked")
        if _KEY in settings:
            base = json_text.cut_value(text, (_KEY,))
        else:
            base = text
    except UnicodeDecodeError:
        return [], [_STILL_ON.format(file, "is not UTF-8")]
    except InputError as e:
        return [], [_STILL_ON.format(file, f"is {e}" if "JSON" in str(e) else e)]
    write: Write = {
        "path": file,
        "kind": ENTIRE_SWITCH,
        "data": encode_name(json_text.add_value(base, (_KEY,), False)),
        "note": f"wrote '{file}', by which the hooks of Entire do nothing in this clone",
        "alone": True,
        "worktree": os.path.realpath(repo.worktree),
    }
    return [write], []


def remove_switch(data: bytes) -> bytes | None:
    """The local settings without the switch; None if nothing else is in them."""
    try:
        text = data.decode()
        settings = json_text.parse(text)
        if settings.get(_KEY) is not False:
            return data
        if len(settings) == 1:
            return None
        return encode_name(json_text.cut_value(text, (_KEY,)))
    except (InputError, ValueError):
        return data


_FILES = (".entire/settings.local.json", ".entire/settings.json")  # the stronger first


@value_class
class Destination:
    """Where a file says that checkpoints go."""

    remote: str  # or a URL; "" for nowhere
    file: str
    tracked: bool  # whether git tracks the file


def read_destination(repo: Repo) -> Destination:
    """The remote or URL that a file of _FILES names, if it is configured."""
    remotes = places.list_remotes(repo)
    url = repo.config.get(f"remote.{places.find_usual_remote(repo)}.url")
    for name in _FILES:
        try:
            settings = json.loads(files.read_bytes(os.path.join(repo.worktree, name)) or b"{}")
        except ValueError:
            continue
        remote = entire_settings.choose_destination(settings, remotes, url)
        if remote:
            return Destination(remote, name, _is_tracked(repo, name))
    return Destination("", "", False)


def _is_tracked(repo: Repo, name: str) -> bool:
    """Whether git tracks a file of _FILES, or the link or submodule that leads to it."""
    git = repo.git.copy_with(None, {"GIT_LITERAL_PATHSPECS": "0"})
    listed = git.read_records("ls-files", "-z", "--", ":(top,icase).entire")
    tracked = {decode_name(path).lower() for path in listed}
    path = os.path.join(repo.worktree, name)
    return bool(tracked & {name, ".entire"} or object_lists.list_tracked(repo, [path]))


def find_proposal(repo: Repo) -> tuple[str, str]:
    """(the destination that a tracked file proposes and nobody has answered, the file) or ""."""
    found = read_destination(repo)
    remote = found.remote
    if not found.tracked or remote == places.read_destination(repo):
        return "", ""
    if remote in _read_answers(repo):
        return "", ""
    agreed = places.list_agreed(repo)
    if remote and all(place.url in agreed for place in places.find_places(repo, remote)):
        return "", ""
    return remote, found.file


def answer_proposal(repo: Repo, choice: str) -> None:
    """Remember that a person has answered the proposal of a destination."""
    files.write_words(repo, _locate_answers(repo), [*_read_answers(repo), choice])


def ask_once(repo: Repo, question: str) -> bool:
    """Whether a question, a word, was never asked here before; from now on it was."""
    if question in _read_answers(repo):
        return False
    answer_proposal(repo, question)
    return True


def _read_answers(repo: Repo) -> list[str]:
    return files.read_words(_locate_answers(repo), shapes.is_printable)


def _locate_answers(repo: Repo) -> str:
    return repo.join_shared("answered")


# The record of installed files and of what was in their place, so that disable restores it.
#
# <common>/gitcp/installed/manifest.json lists each file with the hash of what gitcp wrote; the
# bytes before are kept beside it.  An entry is written before its file.
_NOTHING: dict[str, Any] = {"before": None, "mode": None, "dirs": (), "aside": None, "lines": ()}


def load_manifest(repo: Repo) -> Manifest:
    """The record of what enable wrote for a repository."""
    return _load(repo.join_shared("installed"), repo.common, repo.share_file)


def load_person() -> Manifest:
    """The record of what enable --user wrote for the person."""
    return _load(files.locate_state("installed"), os.path.expanduser("~"), lambda path: None)


def load_all(repo: Repo) -> tuple[list[Manifest], list[Damaged]]:
    """(the readable records for a repository and for the person, the errors of damaged ones)."""
    readable: list[Manifest] = []
    damaged: list[Damaged] = []
    for load_one in (partial(load_manifest, repo), load_person):
        try:
            readable.append(load_one())
        except Damaged as e:
            damaged.append(e)
    return readable, damaged


def _load(folder: str, home: str, share: Callable[[str], None]) -> Manifest:
    known = files.load_json(os.path.join(folder, "manifest.json"), shapes.MANIFEST)
    entries: list[Entry] = [{**_NOTHING, **e} for e in known["files"]] if known else []
    return Manifest(folder, home, share, entries)


class Manifest:
    """The record of one installation.  folder: its directory; home: paths are stored relative to
    it, so that a repository can be moved; share sets a file's permissions in a shared repository.
    """

    def __init__(
        self, folder: str, home: str, share: Callable[[str], None], entries: list[Entry]
    ) -> None:
        self._folder = folder
        self._home = home
        self._share = share
        self.entries = entries

    def find(self, path: str) -> Entry | None:
        """The entry of a file, None if gitcp did not write it."""
        return next((e for e in self.entries if self.get_path(e) == path), None)

    def get_path(self, entry: Entry) -> str:
        """The absolute path of an entry's file."""
        return os.path.normpath(os.path.join(self._home, entry["path"]))

    def get_worktree(self, entry: Entry) -> str | None:
        """The top of the worktree whose clients alone read the file, None for other files."""
        top = entry.get("worktree")
        if top:
            return os.path.normpath(os.path.join(self._home, top))
        return None

    def is_intact(self, entry: Entry) -> bool:
        """Whether the file is as gitcp wrote it."""
        data = files.read_bytes(self.get_path(entry)) or b""
        return bool(files.hash_bytes(data) == entry["after"])

    def has_written(self, data: bytes) -> bool:
        """Whether gitcp wrote a file with these bytes, wherever it was moved."""
        return files.hash_bytes(data) in {entry["after"] for entry in self.entries}

    def put(self, write: Write, strip: Strip) -> None:
        """Write one file, and before it its entry, by which restore() gives back the file from
        before gitcp first wrote it.

        strip(entry, data) returns an edited file without gitcp's part.
        """
        path = write["path"]
        entry = self.find(write["path"])
        new = self._build_entry(write, entry, strip)
        self.entries = [*(e for e in self.entries if e is not entry), new]
        self.save()
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if write.get("aside") and (entry or not write.get("adopted")):
            _link_aside(path, path + write["aside"])
        _replace(new, path, write["data"])
        if write["kind"] == "hook":
            self._share(path)

    def _build_entry(self, write: Write, entry: Entry | None, strip: Strip) -> Entry:
        """The new entry of a file; entry: the one so far."""
        path = write["path"]
        former = entry or _NOTHING
        missing = _list_missing_folders(os.path.dirname(path))
        aside = write.get("aside", former["aside"])
        before = self._find_before(write, entry, strip)
        new: Entry = {
            "path": self._shorten_path(path),
            "kind": write["kind"],
            "before": None if before is None or aside else self._store_before(before),
            "mode": os.stat(path).st_mode & 0o7777 if os.path.exists(path) else None,
            "after": files.hash_bytes(write["data"]),
            "dirs": [*former["dirs"], *map(self._shorten_path, missing)],
            "aside": aside,
            "agent": write.get("agent"),
            "lines": [*former["lines"], *write.get("lines", ())],
        }
        if "worktree" in write:
            new["worktree"] = self._shorten_path(write["worktree"])
        return new

    def _find_before(self, write: Write, entry: Entry | None, strip: Strip) -> bytes | None:
        """The bytes of a file before gitcp first wrote it; None for no file."""
        path = write["path"]
        data = files.read_bytes(path)
        if data is None:
            return None
        if entry:
            if self.is_intact(entry):
                return self._read_before(entry)
            return strip(entry, data)
        if not write.get("adopted"):
            return data
        facts = {"path": self._shorten_path(path), "kind": write["kind"]}
        return strip({**_NOTHING, **facts, "agent": write.get("agent")}, data)

    def restore(self, entry: Entry, strip: Strip) -> str:
        """Remove or restore one file; return what was done: restored, removed, edited, kept or
        gone.

        strip(entry, data) returns an edited file without gitcp's part, None if nothing is left.
        """
        path = self.get_path(entry)
        done = "gone"
        old = files.read_bytes(path)
        if old is not None:
            touched = files.hash_bytes(old) != entry["after"]
            rest = strip(entry, old) if touched else None
            if rest is None:
                done = self._put_back(entry, path)
            else:
                done = _write_rest(entry, path, old, rest)
        elif entry["aside"] and os.path.lexists(path + entry["aside"]):
            done = self._put_back(entry, path)  # gitcp's hook was removed, the former is aside
        for folder in reversed(entry["dirs"]):
            files.remove_if_empty(os.path.join(self._home, folder))
        self.entries.remove(entry)
        self.save()
        return done

    def save(self) -> None:
        """Write the record; without entries remove it and the bytes that were kept."""
        if self.entries:
            os.makedirs(self._folder, 0o700, exist_ok=True)
            data = json.dumps({"version": 1, "files": self.entries}, indent=1).encode()
            path = os.path.join(self._folder, "manifest.json")
            files.replace_file(path, data + b"\n", 0o600)
            self._share(self._folder)
            self._share(path)
        elif os.path.isdir(self._folder):
            for name in os.listdir(self._folder):
                os.unlink(os.path.join(self._folder, name))
            files.remove_if_empty(self._folder)

    def _put_back(self, entry: Entry, path: str) -> str:
        aside = path + (entry["aside"] or "")
        if aside != path and os.path.lexists(aside):
            os.replace(aside, path)
            return "restored"
        before = self._read_before(entry)
        if before is None:
            os.unlink(path)
            return "removed"
        _replace(entry, path, before, entry["mode"])
        return "restored"

    def _read_before(self, entry: Entry) -> bytes | None:
        name = entry["before"]
        data = None
        if name:
            data = files.read_bytes(os.path.join(self._folder, name))
        if name and data is None:
            raise Error(f"'{self._folder}/{name}', the kept copy of '{entry['path']}', is missing")
        return data

    def _store_before(self, data: bytes) -> str:
        """Store the bytes of a file from before gitcp; return the name of the copy."""
        name = files.hash_bytes(data)
        os.makedirs(self._folder, 0o700, exist_ok=True)
        files.replace_file(os.path.join(self._folder, name), data, 0o600)
        return name

    def _shorten_path(self, path: str) -> str:
        parent = os.path.dirname(self._home) + os.sep
        if path.startswith(parent):
            return os.path.relpath(path, self._home)
        return path


def _replace(entry: Entry, path: str, data: bytes, mode: int | None = None) -> None:
    if mode is None and entry["kind"] in ("hook", "script"):
        mode = _compute_program_mode()
    # The configuration is replaced under git's own lock.
    files.replace_file(path, data, mode, tmp=path + ".lock" if entry["kind"] == "config" else None)


def _write_rest(entry: Entry, path: str, old: bytes, rest: bytes) -> str:
    if rest == old:
        return "kept"
    _replace(entry, path, rest, os.stat(path).st_mode & 0o7777)
    return "edited"


def _link_aside(path: str, target: str) -> None:
    """Link the file at path to target, for a copy that stays when path is replaced.  A file at
    target with other bytes gets a number after its name."""
    try:
        if os.path.lexists(target):
            if files.read_bytes(target) == files.read_bytes(path):
                return
            number = 1
            while os.path.lexists(f"{target}.{number}"):
                number += 1
            os.rename(target, f"{target}.{number}")
        os.link(path, target, follow_symlinks=False)
    except OSError as e:
        raise Error(f"cannot keep '{path}' as '{target}': {e.strerror}") from None


def _list_missing_folders(folder: str) -> list[str]:
    """The directories to make for a file in folder, outermost first."""
    folders: list[str] = []
    while not os.path.lexists(folder):
        folders.insert(0, folder)
        folder = os.path.dirname(folder)
    return folders


def _compute_program_mode() -> int:
    """The mode of a new program under the umask."""
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o777 & ~mask
