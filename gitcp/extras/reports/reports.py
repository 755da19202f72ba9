"""The records of recap, check and verify, the repositories of a workspace, and how long agents'
lines last."""

from __future__ import annotations

import os
from typing import NamedTuple

from gitcp.agents import find_client
from gitcp.agents.reading.turns import gather_turns
from gitcp.checkpoints import listing, recorded_edits
from gitcp.checkpoints.share import remote
from gitcp.checkpoints.stored import Parts, Places, read_session
from gitcp.errors import Error, GitError
from gitcp.extras.imports.find import list_own_addresses
from gitcp.extras.reports import stored_sessions
from gitcp.git import Git, decode_name, encode_name, objects
from gitcp.git.gitdir import ask_config
from gitcp.git.objects import Objects, read_commit
from gitcp.git.records import decode_lines, load_entry
from gitcp.git.repo import Repo
from gitcp.lines import absent, exports, tallies
from gitcp.lines.check_rules import (
    judge_attested,
    judge_checkpoint,
    judge_secret,
    judge_shares,
    parse_rules,
)
from gitcp.lines.sums import Sums
from gitcp.lines.survival import Survival
from gitcp.lines.tally import WHO, count_commit, get_default_owner
from gitcp.link import commits
from gitcp.record.session import is_gone
from gitcp.record.turn import sessions
from gitcp.setup import adapters
from gitcp.steps.commits import open_work
from gitcp.terminal.rows import STATES, name_state
from gitcp.text import ids
from gitcp.text.times import format_day, parse_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, Self

    from gitcp.lines.check_rules import Reason
    from gitcp.lines.committed.evidence import Evidence
    from gitcp.lines.survival import Files
    from gitcp.lines.tally import CommitCounts
    from gitcp.text.record_types import Record, State


def build_recap(repo: Repo, since: str, until: str, author: str) -> Record:
    """A record `recap` (gitcp-record(5)) of the commits of all branches and tags since a date in
    git's syntax, and of the sessions with open work.

    author: only commits of matching authors, as in git-log(1), which then count as the person's
    own; open sessions, which have no author, are left out.
    """
    chosen = [f"--since={since}", *([f"--until={until}"] if until else [])]
    if author:
        chosen += [f"--author={author}"]
    own = None if author else list_own_addresses(repo)
    chosen += listing.ALL
    sums = Sums()
    days: dict[str, dict[str, Any]] = {}
    with Objects(repo):
        for tally in tallies.list_tallies(repo, (), (), chosen):
            sums.take(tally)
    counted = sums.build_record()
    for commit in commits.list_commits(repo, (), chosen):
        day = days.setdefault(format_day(commit["time"]), {"sessions": {}, "commits": []})
        _add_commit(day, commit, own is None or commit["email"].lower() in own)
    return {
        "type": "recap",
        "repository": repo.top or repo.common,
        "commits": counted["commits"],
        "sessions": len(sums.list_stored()),
        "added": counted["added"],
        "tokens": counted["tokens"],
        "days": [
            {
                "day": day,
                "lines": {who: sums.days[day][who] for who in WHO},
                "sessions": [_finish_row(row) for row in days[day]["sessions"].values()],
                "commits": days[day]["commits"],
            }
            for day in sorted(days, reverse=True)
        ],
        "open": [] if author else _list_open(repo, since),
    }


def _add_commit(day: dict[str, Any], commit: Record, is_own: bool) -> None:
    """Add a commit to its sessions of that day, or to the commits without one."""
    shown = {key: commit[key] for key in ("oid", "author", "message")} | {"own": is_own}
    parts = [part for link in commit["checkpoints"] for part in link.get("contents", ())]
    for part in parts:
        _add_session(day["sessions"], part, shown)
    if not parts:
        day["commits"].append(shown)


def _add_session(
    sessions: dict[tuple[str, str], dict[str, Any]], part: Record, commit: Record
) -> None:
    """Add a session's part in a commit to its row of that day and branch."""
    key = part["session_id"], str(part.get("branch") or "")
    names = {"session_id": key[0], "agent": part["agent"], "branch": key[1]}
    row = sessions.setdefault(key, {**names, "prompts": {}, "commits": {}, "files": {}})
    row["prompts"].update(dict.fromkeys(reversed(part["asked"])))
    row["commits"].setdefault(commit["oid"], {**commit, "prompts": part["asked"]})
    row["files"].update(dict.fromkeys(part["files"]))


def _finish_row(row: dict[str, Any]) -> Record:
    """A row as a record, with prompts oldest first."""
    return {
        **row,
        "prompts": list(reversed(row["prompts"])),
        "commits": list(row["commits"].values()),
        "files": sorted(row["files"]),
    }


def _list_open(repo: Repo, since: str) -> list[Record]:
    """The sessions with open work that had an event since a date."""
    least = float(repo.git.read_line("rev-parse", f"--since={since}").rpartition(b"=")[2])
    return [row for row in list_sessions(repo) if row["last"] >= least and row["files_touched"]]


def list_activities(repos: Iterable[Repo], *, ended: bool) -> Iterator[Record]:
    """The sessions of repositories that are at work or have uncommitted work; ended: also the
    others."""
    for repo in repos:
        for record in list_all_sessions(repo) if ended else list_sessions(repo):
            if ended or record["state"] != "ended" or record["files_touched"]:
                yield record


def list_all_sessions(repo: Repo) -> list[Record]:
    """list_sessions() and the records of the sessions that are known only from commits, the latest
    first."""
    records = {record["session_id"]: record for record in list_sessions(repo)}
    with Objects(repo):
        for name, session in stored_sessions.read_stored(repo).sessions.items():
            if name in records:
                records[name] |= {"title": session.title, "tasks": len(session.tasks)}
            else:
                records[name] = stored_sessions.build_record(repo, session)
    return sorted(records.values(), key=lambda record: -record["last"])


def list_sessions(repo: Repo) -> list[Record]:
    """A record `activity` (gitcp-record(5)) of each session with a state, the latest first."""
    states = sessions.list_states(repo)
    with Objects(repo):
        open_work.set_files(repo, states)
    records = [build_activity(repo, state) for state in states]
    return sorted(records, key=lambda record: -record["last"])


def build_activity(repo: Repo, state: State) -> Record:
    """The record `activity` (gitcp-record(5)) of a session."""
    is_dead = is_gone(state.get("agent_process"))
    doing = name_state(str(state.get("phase")), is_dead)
    moment = state.get("last_interaction_time") or state.get("started_at")
    return {
        "type": "activity",
        "repository": repo.top or repo.common,
        "session_id": state["session_id"],
        "agent": str(state.get("agent_type") or ""),
        "state": next(word for word, state in STATES.items() if state == doing),
        "worktree": os.path.basename(state.get("worktree_path") or ""),
        "last": parse_time(moment),
        "prompt": sessions.get_last_prompt(state),
        "files_touched": list(state.get("files_touched") or ()),
    }


_DEEPEST = 6  # levels of directories that are searched
_SKIPPED = frozenset(("node_modules", "__pycache__", "venv", "target", "vendor"))


def list_repositories(directories: Sequence[str]) -> list[Repo]:
    """The enabled repositories in and below directories, each once, sorted by path.

    A repository with several worktrees is given by its main one, if that is found.  Without
    directories those of `gitcp.workspace`, else the current repository.  Raises Error for a path
    that is not a directory, and without a current repository.
    """
    places = list(directories) or _read_workspace()
    if not places:
        return [Repo.find_here()]
    enabled = [repo for repo in find_below(places) if os.path.isdir(repo.join_shared())]
    return sorted(enabled, key=lambda repo: repo.top or repo.common)


def _read_workspace() -> list[str]:
    """The directories of `gitcp.workspace`, also outside of a repository."""
    try:
        return Repo.find_here().config.get_all("gitcp.workspace")
    except Error:
        return ask_config(Git()).get("gitcp.workspace", [])


def find_below(directories: Sequence[str]) -> list[Repo]:
    """The repositories in and below directories, each once, by the main worktree if that is found.
    Raises Error for a path that is not a directory."""
    by_common: dict[str, Repo] = {}
    for place in directories:
        top = os.path.abspath(os.path.expanduser(place))
        if not os.path.isdir(top):
            raise Error(f"not a directory: '{place}'")
        for folder in _walk_checkouts(top):
            try:
                repo = Repo.find(folder)
            except Error:
                continue  # git refuses it, or it is not a repository
            if not (repo.worktree_id and repo.common in by_common):
                by_common[repo.common] = repo
    return list(by_common.values())


def _walk_checkouts(top: str) -> Iterator[str]:
    """The directories with a `.git` or `.jj` in them; such a directory is not searched further."""
    level = [top]
    for _ in range(_DEEPEST + 1):
        below: list[str] = []
        for folder in level:
            names = {entry.name: entry for entry in _list_entries(folder)}
            if ".git" in names or ".jj" in names:
                yield folder
            else:
                below += [e.path for name, e in names.items() if _is_open(name, e)]
        level = sorted(below)


def _list_entries(folder: str) -> Iterable[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return ()


def _is_open(name: str, entry: os.DirEntry[str]) -> bool:
    return name[:1] != "." and name not in _SKIPPED and entry.is_dir(follow_symlinks=False)


# How long the agents' lines of a history last, by a replay of its patches.
#
# A first stream of git counts the children of each commit, and a second one lists the changes of
# merges from their first parent.  A commit's files are those of its parent with its patches
# applied; they are dropped after its last child.
_ORDER = ("--reverse", "--topo-order")
OPTIONS = (*_ORDER, "-c")  # of git log, for the order of replay_commit()
_MERGES = """--merges --diff-merges=first-parent --raw --no-abbrev --no-renames --no-color
--no-show-signature --no-notes --format=%H""".split()


class Replay:
    """Replays a history in paths (none: all of it) and counts which lines of agents last."""

    def __init__(
        self, repo: Repo, evidence: Evidence, revisions: Sequence[str], paths: Sequence[str]
    ) -> None:
        self._repo = repo
        self._evidence = evidence
        self._where = [b"--end-of-options", *map(encode_name, revisions or ["HEAD"]), b"--"]
        self._paths = paths
        self.survival = Survival()
        self._children: dict[str, int] = {}  # commit -> its children to come, if not 1
        self._kept: dict[str, Files] = {}
        self._files: Files = {}
        self.commits = 0
        self._merges: Iterator[dict[str, str]] = iter(())

    def begin(self) -> Self:
        """Count the commits, before the first one is replayed; return self.  Raises Error for an
        unknown revision."""
        self.commits, merges = self._count_commits()
        if merges:
            self._merges = self._read_merges()
        return self

    def replay_commit(self, commit: CommitCounts) -> None:
        """Replay one commit.  Every commit must come, in the order of OPTIONS."""
        parents = [self._take_parent(parent) for parent in commit["parents"]] or [{}]
        self._files = parents[0]
        if len(parents) > 1:
            self._merge_files(commit, parents, next(self._merges, {}))
        else:
            self._apply_patches(commit, self._files)
        if self._children.get(commit["oid"], 1):
            self._kept[commit["oid"]] = self._files

    def build_record(self) -> dict[str, Any]:
        """The sums, after the last commit of the history."""
        next(self._merges, None)  # git ends, and an error of it is raised
        self.survival.finish(self._files)
        return self.survival.build_record()

    def _stream_log(self, *args: str) -> Iterator[bytes]:
        with absent.stand_in(self._repo, absent.ask_log(*self._where)) as stand_ins:
            running = self._repo.git.start("log", "-z", *args, *self._where, env=stand_ins.env)
            try:
                yield from running.stream_records()
            except GitError as e:
                raise e.shorten() from None

    def _count_commits(self) -> tuple[int, int]:
        """(number of commits, number of merges); fills _children."""
        total = merges = 0
        tips: set[str] = set()
        seen: set[int] = set()  # numbers of parents; equal numbers only cost a copy
        for line in self._stream_log("--no-show-signature", "--format=%H %P"):
            commit, *parents = decode_name(line).split()
            total += 1
            merges += len(parents) > 1
            if _number_commit(commit) not in seen:
                tips.add(commit)
            for parent in parents:
                number = _number_commit(parent)
                if number in seen:
                    self._children[parent] = self._children.get(parent, 1) + 1
                seen.add(number)
                tips.discard(parent)
        self._children |= dict.fromkeys(tips, 0)
        return total, merges

    def _read_merges(self) -> Iterator[dict[str, str]]:
        """For each merge, path -> blob of what differs from its first parent, '' if deleted."""
        changed: dict[str, str] | None = None
        oid = ""
        for token in self._stream_log(*_MERGES, *_ORDER):
            if oid and changed is not None:
                changed[decode_name(token)], oid = oid.strip("0") and oid, ""
            elif token.lstrip(b"\n").startswith(b":"):
                oid = decode_name(token.split(b" ")[3])
            else:  # the oid of the next merge
                if changed is not None:
                    yield changed
                changed = {}
        if changed is not None:
            yield changed

    def _take_parent(self, oid: str) -> Files:
        """The files of a commit, which may be changed: a copy if another child needs them."""
        left = self._children.pop(oid, 1) - 1
        if not left:
            return self._kept.pop(oid, {})
        self._children[oid] = left
        return dict(self._kept.get(oid, {}))

    def _apply_patches(self, commit: CommitCounts, files: Files) -> None:
        default = get_default_owner(commit)
        before = {patch["old"]: files.get(patch["old"], ("", "")) for patch in commit["patches"]}
        for patch in commit["patches"]:
            if patch["old"] != patch["path"]:
                files.pop(patch["old"], None)
        for patch in commit["patches"]:
            path, (blob, owners) = patch["path"], before[patch["old"]]
            if not exports.is_below(path or patch["old"], self._paths):
                continue
            if patch["hunks"]:
                known = commit["known"].get(path, {})
                owners = self.survival.replay_change(
                    owners, patch["hunks"], known, default, lambda: _find_remover(commit)
                )
            elif patch["oid"]:
                owners = ""  # binary
            if path:
                files[path] = patch["oid"] or blob, owners

    def _merge_files(
        self, commit: CommitCounts, states: list[Files], brought: dict[str, str]
    ) -> None:
        files = states[0]
        resolved = {p["path"]: p["resolved"] for p in commit["patches"]}
        for path, blob in brought.items():
            if not blob:
                files.pop(path, None)
                continue
            same = next((s[path] for s in states[1:] if s.get(path, ("",))[0] == blob), None)
            if same is None:
                owners = ""
                if resolved.get(path):
                    parents = [state.get(path, ("", ""))[1] for state in states]
                    known = self._evidence.find_line_authors(commit["oid"], path)
                    self._evidence.forget()
                    owners = self.survival.merge(parents, resolved[path], known)
                same = blob, owners
            files[path] = same


def _number_commit(oid: str) -> int:
    return int(oid[:15], 16)


def _find_remover(commit: CommitCounts) -> str:
    """Who removed the lines of a commit; 'unknown' if several did."""
    removers = [who for who, count in count_commit(commit).sum_removed().items() if count]
    return removers[0] if len(removers) == 1 else "unknown"


def list_turns(data: bytes, agent: object, start: int) -> list[Record]:
    """prompt, start, end and tokens (None if unknown) of the turns that begin at line `start` or
    later."""
    return [
        {key: turn[key] for key in ("prompt", "start", "end")} | {"tokens": turn["spent"]}
        for turn in gather_turns(data, find_client(str(agent)), load=load_entry)
        if turn["line"] >= start
    ]


def check_range(repo: Repo, revisions: Sequence[str], target: str) -> Record:
    """A record `check` (gitcp-record(5)) of the commits of the revisions.

    target: the revision whose file has the rules, '' for the start of a range `<target>..<head>`.
    Raises Error without a target, for an invalid file and for an unknown revision.
    """
    target = target or _find_target(revisions)
    rules = parse_rules(*adapters.read_table(repo, target, "check"))
    sums = Sums()
    reasons = list["Reason"]()
    seen: dict[str, None] = {}
    with Objects(repo):
        for commit in exports.list_commits(repo, revisions, ()):
            sums.take(count_commit(commit))
            agent = commit["unsaid"]["agent"]
            if agent and not commit["linked"]:
                reasons += judge_attested(rules, commit["oid"], agent)
        if {"need-checkpoints", "need-signatures", "no-secrets"} & rules.keys():
            for verified in verify_links(repo, revisions):
                seen[verified["checkpoint_id"]] = None
                reasons += judge_checkpoint(rules, verified)
        if "no-secrets" in rules:
            reasons += _find_secrets(repo, revisions, seen)
    reasons = [*judge_shares(rules, sums.added), *reasons]
    return {
        "type": "check",
        "target": target,
        "rules": rules,
        "verdict": "fails" if reasons else "passes",
        "reasons": reasons,
        "commits": sums.commits,
        "linked": sums.linked,
        "added": sums.added,
    }


def _find_target(revisions: Sequence[str]) -> str:
    for word in revisions:
        for dots in ("...", ".."):
            begin, mark, _ = word.partition(dots)
            if mark:
                return begin or "HEAD"
    raise Error("give a range such as main..HEAD, or name the rules: '--rules <revision>'")


def _find_secrets(
    repo: Repo, revisions: Sequence[str], checkpoints: Iterable[str]
) -> Iterator[Reason]:
    """The reasons against secrets that the range adds, and against those in its checkpoints."""
    ends = decode_lines(repo.git.run("rev-parse", "--revs-only", *revisions)[1])
    tips = [end for end in ends if not end.startswith("^")]
    excluded = [end[1:] for end in ends if end.startswith("^")]
    for _, path, kind in remote.find_secrets(repo, tips, excluded, stored=False):
        yield judge_secret(path, kind)
    places = Places(repo)
    trees = {name: place[1] for name in checkpoints if (place := places.find_checkpoint(name))}
    if trees and any(remote.find_secrets(repo, trees.values(), ())):
        for name, tree in trees.items():
            for _, path, kind in remote.find_secrets(repo, [tree], ()):
                yield judge_secret(f"checkpoint {name}: {path}", kind)


# Verifying the checkpoints of linked commits: signature, hashes, and the commit's content.
_SIGNED = ("log", "-1", "--format=%H%x00%G?%x00%GS%x00%GK")
# git's letters for the state of a signature.
_WORDS = {
    "G": "good",
    "U": "good, of unknown validity",
    "X": "good, expired",
    "Y": "good, by a key that expired",
    "R": "by a key that was revoked",
    "E": "cannot be checked",
    "B": "bad",
    "N": "none",
}
_BAD = ("B", "R")


def verify_links(
    repo: Repo, revisions: Sequence[str], need_signed: bool = False
) -> Iterator[Record]:
    """A record of type verified for each checkpoint of each linked commit of the revisions (none:
    HEAD): signature, signer, key, hashes (session -> match, differs or absent), content, and
    failures, the errors found.

    need_signed: a signature that is missing or cannot be checked is a failure.
    """
    with Objects(repo):
        places = Places(repo)
        for commit in commits.list_bare_commits(repo, revisions):
            for link in commit["checkpoints"]:
                if link["linked"] in ("trailer", "note"):
                    yield _verify_checkpoint(
                        repo, places, commit["oid"], link["checkpoint_id"], need_signed
                    )
            repo.objects.ahead.forget()


def _verify_checkpoint(
    repo: Repo,
    places: Places,
    oid: str,
    checkpoint_id: str,
    need_signed: bool,
) -> Record:
    record: Record = {"type": "verified", "commit": oid, "checkpoint_id": checkpoint_id}
    try:
        place = places.find_checkpoint(checkpoint_id)
    except Error as e:
        return {**record, "failures": [str(e)]}
    if place is None:
        return {**record, "failures": ["it is not stored here"]}
    checkpoint = Parts(repo.objects, checkpoint_id).load_checkpoint(*place)
    letter, signer, key = _read_signature(repo, checkpoint_id, place[0])
    hashes = {}
    for entry in checkpoint["sessions"]:
        stored = read_session(repo.objects, checkpoint, entry["index"])
        hashes[entry["session_id"]] = stored["hash"]
    commit = read_commit(repo.objects, oid)
    if commit:
        changed = objects.read_changes(repo.objects, commit)[1]
    else:
        changed = {}
    content = recorded_edits.has_content(repo.objects, checkpoint, changed)
    signed = letter in "GUXY"
    if letter in _BAD:
        failures = [f"its signature is {_WORDS[letter]}"]
    else:
        failures = []
    if need_signed and not signed and not failures:
        failures.append(f"its signature: {_WORDS[letter]}")
    differing = [session for session, state in hashes.items() if state == "differs"]
    failures += [f"the transcript of '{name}' is not what its hash says" for name in differing]
    failures += [] if content else ["the commit has nothing of it"]
    failures += checkpoint["lacks"]
    return {
        **record,
        "signature": _WORDS[letter],
        "signer": signer,
        "key": key,
        "hashes": hashes,
        "content": content,
        "failures": failures,
    }


class _Signature(NamedTuple):
    """What git says of a commit's signature."""

    letter: str
    signer: str
    key: str


def _read_signature(repo: Repo, checkpoint_id: str, ref: str) -> _Signature:
    """The signature of the store's last commit that changed a checkpoint."""
    own = ids.parse_checkpoint_ref(ref)
    paths = () if own else ("--", f"{checkpoint_id[:2]}/{checkpoint_id[2:]}")
    line = decode_name(repo.git.run(*_SIGNED, ref, *paths)[1]).rstrip("\n")
    fields = [*line.split("\0"), "", "", ""]
    return _Signature(fields[1] if fields[1] in _WORDS else "N", fields[2], fields[3])
