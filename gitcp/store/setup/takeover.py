"""Take over the settings, states and data of the original program
(doc/formats.md "The original program")."""

from __future__ import annotations

import json
import os

from gitcp.agents import find_client
from gitcp.agents.install import json_text
from gitcp.core.git import ids
from gitcp.core.setup import entire_settings
from gitcp.core.setup.installation import ENTIRE_SWITCH
from gitcp.core.upkeep import shapes
from gitcp.errors import Error, InputError, hide_passwords
from gitcp.process import files
from gitcp.record import decode_name, encode_name
from gitcp.repo import Repo
from gitcp.store.git import private, refs
from gitcp.store.journal import open_edits, work
from gitcp.store.journal.journal import Journal
from gitcp.store.session import markers, turn_log
from gitcp.store.session import state as states
from gitcp.store.setup import exclude
from gitcp.store.stream import shadow_refs
from gitcp.store.v1 import committed_list, committed_read, destination

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.core.record_types import File, State
    from gitcp.core.setup.installation import Write
    from gitcp.store.git.objects import Objects
    from gitcp.store.setup.manifest import Entry, Manifest

    Plan = tuple[list[Write], list[str]]  # writes, notes


_KEY = "enabled"
_LEFT = "'{}' {}, so both programs record here: 'entire disable' switches the original off"
_STORED = "refs/heads/entire/checkpoints/v1"
_OWN = "refs/entire/checkpoints"
_REMOTE = "refs/remotes/*/entire/checkpoints/v1 refs/notes/gitcp"
_LEGACY = "refs/heads/entire/sessions refs/remotes/*/entire/sessions"


def read_settings(repo: Repo, record: Manifest) -> tuple[dict[str, str], list[str]]:
    """(git config key -> value, by Entire's settings and by old names, for keys that are not set;
    notes).  record: of what enable wrote into Entire's settings, which is ignored."""
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
    values, more = entire_settings.translate(entire_settings.merge(*read_files))
    for section in ("entire", "gitcp"):
        old = f"{section}.{entire_settings.OLD_WARNING}"
        if repo.config.get_all(old):
            values[entire_settings.WARNING] = "false" if repo.config.get_flag(old) else "true"
    remote, name, tracked = read_destination(repo)
    if remote and not tracked:
        values["gitcp.remote"] = remote
    elif find_proposal(repo)[0]:
        more.append(f"'{name}' proposes to send checkpoints: 'gitcp enable --checkpoints {remote}'")
    unset = {key: value for key, value in values.items() if not repo.config.get_all(key)}
    return unset, notes + more


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
    before, data = data, _edit_config(repo, data, "--unset-all", old)
    if not new and data == before:
        return None  # the old name is in another configuration file
    lines = [f"{key}={value}" for key, value in new.items()]
    note = f"set {hide_passwords(', '.join(lines))}" if lines else f"unset {old}"
    return {"path": path, "kind": "config", "data": data, "lines": lines, "note": note}


def remove_values(repo: Repo, entry: Entry, data: bytes) -> bytes:
    """A configuration without the values that gitcp set and nobody changed."""
    for line in entry["lines"]:
        key, _, value = line.partition("=")
        data = _edit_config(repo, data, "--fixed-value", "--unset-all", key, value)
    return data


def _edit_config(repo: Repo, data: bytes, *args: str) -> bytes:
    """The bytes of a configuration file after `git config` with args; 5: nothing to unset."""
    path = repo.join_shared("tmp", f"config-{os.getpid()}")
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
    stored = refs.list_refs(repo, _STORED, _OWN, *_REMOTE.split(), *_LEGACY.split())
    unpushed = any(ref.startswith((_STORED, _OWN)) for ref in stored)
    for name, wanted in (("linked", bool(stored)), ("unpushed", unpushed)):
        path = repo.join_shared(name)
        if wanted and not os.path.exists(path):
            private.touch_private(repo, path)


def adopt(repo: Repo, objects: Objects) -> list[str]:
    """Take over the sessions with open work of the original program; return their ids.

    Its states have no streams: the files of a session are read from its branch.
    """
    taken = []
    for name in states.list_ids(repo):
        try:
            ids.check_session_id(name)
        except Error:
            continue
        with states.held(repo, [name]):
            state = states.load(repo, name)
            foreign = state is not None and not state["streams"] and "turns" not in state
            if state and foreign and state.get("phase") == "active":
                turn_log.take_over(repo, state)
                state["tool_events"] = True  # an unexplained edit is not the turn's
            if state and not state["streams"] and _add_stream(objects, state):
                _note_condensed(repo, objects, state)
                _record_edits(repo, objects, state)
                work.save(repo, state)
                taken.append(name)
            elif state and markers.is_unsettled(state):
                work.save(repo, state) if foreign else markers.write(repo, state)
    return taken


def _record_edits(repo: Repo, objects: Objects, state: State) -> None:
    """Write the files that the session recorded into the journal of its worktree."""
    try:
        home = repo if markers.is_home(repo, state) else Repo.find(state["worktree_path"])
    except (Error, OSError):
        return  # the worktree is gone
    for stream in state["streams"]:
        files = {
            path: ((file["mode"], file["oid"]) if file["oid"] else None, file["turn_id"])
            for path, file in stream["files"].items()
        }
        open_edits.record_edits(home, objects, state["session_id"], stream["base_commit"], files)
        entries = {path: entry for path, (entry, _) in files.items()}
        with Journal(home) as held:
            work.record_checkpoint(held, state, stream["id"], entries, "", {})


def _note_condensed(repo: Repo, objects: Objects, state: State) -> None:
    """Note the tokens of a session that are stored already; its state has no line of the transcript
    where the next checkpoint begins."""
    if state.get("checkpoint_transcript_start") or "tokens_at_condensation" in state:
        return
    name, longest = state["session_id"], b""
    for checkpoint in committed_list.list_checkpoints(repo):
        if any(entry["session_id"] == name for entry in checkpoint["sessions"]):
            transcript = committed_read.read_session(objects, checkpoint, name)["transcript"]
            longest = max(longest, transcript, key=len)
    scan = find_client(state.get("agent_type", "")).scan
    if longest and (usage := scan(longest)["usage"]):
        state["tokens_at_condensation"] = usage


def _add_stream(objects: Objects, state: State) -> bool:
    touched, base = set(state.get("files_touched") or ()), str(state["base_commit"])
    home = ids.hash_worktree(str(state.get("worktree_id") or ""))
    names = (f"{ids.BRANCHES}{base[:7]}-{home}", ids.BRANCHES + base[:7])
    for ref in names if touched and len(base) >= 7 else ():
        if tip := shadow_refs.peek_tip(objects, ref):
            recorded = shadow_refs.read_changes(objects, {**tip, "base": base})
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


# Where hooks of the original program have to stay, it is switched off for this clone alone, in
# `.entire/settings.local.json`, which git does not track.


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
        if exclude.list_tracked(repo, [file]):
            raise InputError("is tracked")
        base = json_text.cut_value(text, (_KEY,)) if _KEY in settings else text
    except UnicodeDecodeError:
        return [], [_LEFT.format(file, "is not UTF-8")]
    except InputError as e:
        return [], [_LEFT.format(file, f"is {e}" if "JSON" in str(e) else e)]
    write: Write = {
        "path": file,
        "kind": ENTIRE_SWITCH,
        "data": encode_name(json_text.add_value(base, (_KEY,), False)),
        "note": f"wrote '{file}': Entire's hooks, which are tracked, do nothing in this clone",
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
        return None if len(settings) == 1 else encode_name(json_text.cut_value(text, (_KEY,)))
    except (InputError, ValueError):
        return data


_FILES = (".entire/settings.local.json", ".entire/settings.json")  # the stronger first


def read_destination(repo: Repo) -> tuple[str, str, bool]:
    """(the remote or URL that a file of _FILES names, the file, whether git tracks it); "" if none
    does, or if the remote is not configured."""
    remotes = destination.list_remotes(repo)
    url = repo.config.get(f"remote.{destination.find_usual_remote(repo)}.url")
    for name in _FILES:
        try:
            settings = json.loads(files.read_bytes(os.path.join(repo.worktree, name)) or b"{}")
        except ValueError:
            continue
        if remote := entire_settings.choose_destination(settings, remotes, url):
            return remote, name, _is_tracked(repo, name)
    return "", "", False


def _is_tracked(repo: Repo, name: str) -> bool:
    """Whether git tracks a file of _FILES, or the link or submodule that leads to it."""
    git = repo.git.copy_with(None, {"GIT_LITERAL_PATHSPECS": "0"})
    listed = git.read_records("ls-files", "-z", "--", ":(top,icase).entire")
    tracked = {decode_name(path).lower() for path in listed}
    path = os.path.join(repo.worktree, name)
    return bool(tracked & {name, ".entire"} or exclude.list_tracked(repo, [path]))


def find_proposal(repo: Repo) -> tuple[str, str]:
    """(the destination that a tracked file proposes and nobody has answered, the file) or ""."""
    remote, name, tracked = read_destination(repo)
    if not tracked or remote == destination.read_destination(repo):
        return "", ""
    return ("", "") if remote in _read_answers(repo) else (remote, name)


def answer(repo: Repo, choice: str) -> None:
    """Remember that a person has answered a proposal, by its value."""
    path = repo.join_shared("proposals-answered")
    private.write_words(repo, path, [*_read_answers(repo), choice])


def _read_answers(repo: Repo) -> list[str]:
    return private.read_words(repo.join_shared("proposals-answered"), shapes.is_printable)
