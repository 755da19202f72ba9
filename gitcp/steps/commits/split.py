"""One commit for each session, or each prompt, of a change (doc/behaviour.md "Splitting").

`git commit` makes the commits in a repository of its own below <git-dir>/gitcp/split, which reads
the objects, the configuration and the branches of the person's and runs their hooks.  HEAD, index
and branches of the person's move once, when all commits are made; until then a failure or a kill
leaves nothing but that directory.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from functools import cached_property

from gitcp.checkpoints import listing, notes, redactor
from gitcp.checkpoints.format import schema
from gitcp.checkpoints.stored import list_session_ids, read_checkpoint, read_session
from gitcp.errors import Busy, Changed, Error, Moved
from gitcp.git import (
    build_person_env,
    commit_message,
    encode_name,
    files,
    objects,
    refs,
    silence_hooks,
)
from gitcp.git.commit_message import KEY
from gitcp.git.objects import compare_trees, edit_tree, find_tree, need_commit, object_lists
from gitcp.link import commit_sessions, disclosure
from gitcp.record import match, session
from gitcp.record.journal import settling
from gitcp.record.session import make_id, others
from gitcp.record.snapshot import index
from gitcp.record.stream import writing
from gitcp.steps import effects, under_way, undo
from gitcp.steps.back.plan import OURS
from gitcp.steps.commits import person_hooks, stage
from gitcp.steps.commits.division import Division
from gitcp.steps.commits.scratch import Copy, remove_folder
from gitcp.steps.commits.selection import Selection
from gitcp.steps.step import HeadMove
from gitcp.steps.whose.path_history import PathChange, get_writer
from gitcp.text import json, prompt_text, term
from gitcp.text.ids import UNKNOWN
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import abbreviate, count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from gitcp.checkpoints.stored import StoredCheckpoint
    from gitcp.git.repo import Repo
    from gitcp.record import Context
    from gitcp.steps.commits.division import Part
    from gitcp.steps.commits.stage import Stager
    from gitcp.text.record_types import Commit, Linked, Record, Version, Writer


@dataclass(slots=True, frozen=True, order=True)
class Key:
    """Who gets a commit: a session, or with a turn that prompt of it."""

    session_id: str
    turn: str = ""


@dataclass(slots=True)
class Share:
    """What becomes a commit.

    key: None for what no session wrote.  turns: those that wrote it, oldest first.  tree: the
    commit's.  checkpoint_id: '' for none."""

    key: Key | None
    turns: list[str]
    parts: list[Part]
    tree: str
    message: str
    checkpoint_id: str

    @property
    def session_id(self) -> str:
        """Whose it is; '' for what no session wrote."""
        if self.key is None:
            return ""
        return self.key.session_id

    def make_record(self, commit: str) -> Record:
        """It as a record.  commit: the one that was made of it, '' for none."""
        return {
            "type": "split",
            "commit": commit,
            "session_id": self.session_id,
            "turns": self.turns,
            "parts": [asdict(part) for part in self.parts],
            "message": self.message,
            "checkpoint_id": self.checkpoint_id,
        }


@dataclass(slots=True)
class Made:
    """A commit that was made of a share.  parent: '' for none."""

    share: Share
    commit: str
    parent: str


@dataclass(slots=True)
class Link:
    """What is to be stored of a commit.  replaced: the commit that was split, '' for none."""

    commit: str
    parent: str
    replaced: str
    session_id: str
    checkpoint_id: str
    paths: list[str]


@dataclass(slots=True)
class IndexChange:
    """Entries of the index before and after."""

    old: index.Entries
    new: index.Entries


_HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg")


class _Prompts(Selection):
    """What several turns of sessions wrote."""

    def __init__(self, keys: Collection[Key]) -> None:
        super().__init__(list(dict.fromkeys(key.session_id for key in keys)))
        self._keys = set(keys)

    def has(self, who: Writer) -> bool:
        session_id, turn, _ = who
        return Key(session_id, turn) in self._keys or Key(session_id) in self._keys


def read_change(repo: Repo, of_head: bool, by_prompt: bool, dry: bool) -> Splitter:
    """What divides the worktree's change, or that of the last commit.

    dry: write nothing into the journal.  Raises Error if the last commit cannot be split."""
    head = refs.read_head(repo) or ""
    if not of_head:
        return Splitter(repo, stage.read_change(repo, dry), head, None, by_prompt)
    commit = _need_last(repo, head)
    stager = stage.read_change_since(repo, commit["parents"][0], dry)
    return Splitter(repo, stager, head, commit, by_prompt)


class Splitter:
    """Divides the change of the worktree, or of HEAD, among those who wrote it."""

    def __init__(
        self, repo: Repo, stager: Stager, head: str, commit: Commit | None, by_prompt: bool
    ) -> None:
        """commit: the last one, None to divide the worktree's change."""
        self._repo = repo
        self.stager = stager
        self._by_prompt = by_prompt
        self.head = head
        self.commit = commit
        self.parent = head
        if commit:
            self.parent = commit["parents"][0]

    @property
    def target(self) -> str:
        """The tree that is divided: the worktree's, or that of the last commit."""
        if self.commit:
            return self.commit["tree"]
        return self.stager.present.tree

    @cached_property
    def _first(self) -> str | None:
        return find_tree(self._repo.objects, self.parent or None)

    @cached_property
    def _writers(self) -> dict[str, dict[Key, int]]:
        """path -> who changed it, each with the time of the first edit."""
        found: dict[str, dict[Key, int]] = {}
        for path, change in self._compare(self._first):
            found[path] = self._list_writers(path, change)
        return found

    @property
    def first(self) -> str:
        """The tree on which the first commit is made."""
        return self._first or self._repo.empty_tree

    def _compare(self, tree: str | None) -> Iterator[tuple[str, PathChange]]:
        """Yield the paths of which something is left after a tree, with the change."""
        for path, old, new in compare_trees(self._repo.objects, tree, self.target):
            if not path.startswith(OURS):
                yield path, PathChange(old, new)

    def _list_writers(self, path: str, change: PathChange) -> dict[Key, int]:
        found: dict[Key, int] = {}
        for edit in self.stager.list_edits(path, change):
            who = get_writer(edit)
            if who != UNKNOWN and who[0]:
                key = Key(who[0], who[1] if self._by_prompt else "")
                found.setdefault(key, edit.at)
        return found

    def list_keys(self, session_ids: Collection[str]) -> list[Key]:
        """Those who changed something, oldest first, but who moved a file before the others who
        changed it.  session_ids: of these sessions, none: all."""
        first: dict[Key, int] = {}
        for writers in self._writers.values():
            for key, at in writers.items():
                if not session_ids or key.session_id in session_ids:
                    first[key] = min(at, first.get(key, at))
        keys = sorted(first, key=lambda key: (first[key], key))
        return _put_before(keys, self._map_movers())

    def _map_movers(self) -> dict[Key, set[Key]]:
        """Who changed a file that others have moved -> these."""
        movers: dict[Key, set[Key]] = {}
        for path, change in self._compare(self._first):
            move = self.stager.find_move(path, change.old)
            if move is None:
                continue
            session_id, turn, _ = move.mover
            mover = Key(session_id, turn if self._by_prompt else "")
            for key in self._writers[path]:
                movers.setdefault(key, set()).add(mover)
        return movers

    def plan(self, keys: Sequence[Key], tree: str, with_overlaps: bool) -> Iterator[Share]:
        """Yield the share of each of keys that has one, on the tree of the commit before.

        with_overlaps: lines that several of keys replaced are of the last of them."""
        for n, key in enumerate(keys):
            taken = [*keys[: n + 1]]
            if not with_overlaps:
                taken = [one for one in taken if one.session_id == key.session_id]
            parts = self._divide(tree, [key], taken).parts
            if parts:
                changed = {part.path: part.new for part in parts}
                tree = edit_tree(self._repo.objects, tree, changed)
                yield self._make_share(key, parts, tree)

    def _divide(self, tree: str, keys: Sequence[Key], taken: Sequence[Key]) -> Division:
        """What is left after a tree of the paths that one of keys changed, divided.  taken: whose
        lines are taken."""
        changes: dict[str, PathChange] = {}
        for path, change in self._compare(tree):
            if not self._writers.get(path, {}).keys().isdisjoint(keys):
                changes[path] = change
        return self.stager.divide(changes, _Prompts(taken))

    def list_left(self, keys: Sequence[Key], tree: str) -> Division:
        """What keys wrote that the commits up to a tree lack, and why."""
        left = Division()
        for session_id in dict.fromkeys(key.session_id for key in keys):
            own = [key for key in keys if key.session_id == session_id]
            division = self._divide(tree, own, own)
            left.overlaps += [one for one in division.overlaps if one not in left.overlaps]
            left.needs += division.needs
        return left

    def make_rest(self, tree: str) -> Share | None:
        """What no share has of the last commit, which keeps its message; None if nothing is
        left."""
        if self.commit is None or tree == self.commit["tree"]:
            return None
        keys: list[Key] = []
        for writers in self._writers.values():
            keys += writers
        message = self.commit["message"]
        if not self.list_left(keys, tree).has_left:
            bare = commit_message.remove_trailers(encode_name(message))
            message = bare.decode(errors="surrogateescape")
        parts = [self.stager.count_lines(path, change) for path, change in self._compare(tree)]
        return Share(None, [], parts, self.commit["tree"], message, "")

    def _make_share(self, key: Key, parts: list[Part], tree: str) -> Share:
        session_id = key.session_id
        state = others.peek_state(self._repo, session_id)
        if key.turn:
            turns = [key.turn]
        else:
            turns = self._list_turns(session_id, parts)
        agent = "an agent"
        prompts: list[str] = []
        checkpoint_id = ""
        if state:
            agent = state.get("agent_type") or agent
            known = state.get("turns", {})
            prompts = [str(known.get(turn, {}).get("prompt") or "") for turn in turns]
            checkpoint_id = make_id()
        else:
            stored = self._find_stored(session_id)
            if stored:
                checkpoint_id = stored["checkpoint_id"]
                prompts = _list_stored_prompts(self._repo, stored, key, parts)
        draft = prompt_text.make_draft(prompts, agent)
        draft = redactor.redact_text(self._repo, draft, session_id)
        message = f"{draft}\n"
        trailers = self._list_trailers(session_id, checkpoint_id)
        if trailers:
            message += "\n" + "".join(f"{line}\n" for line in trailers)
        return Share(key, turns, parts, tree, message, checkpoint_id)

    def _list_trailers(self, session_id: str, checkpoint_id: str) -> list[str]:
        """The last lines of the message of a session's commit."""
        config = self._repo.config
        lines: list[str] = []
        if checkpoint_id and config.get_option("gitcp.link") != "note":
            lines.append(f"{KEY}: {checkpoint_id}")
        disclosed = config.get_option("gitcp.disclose")
        if disclosed:
            lines += disclosure.format_lines(self._repo, disclosed, [session_id])
        return lines

    def _find_stored(self, session_id: str) -> StoredCheckpoint | None:
        """The checkpoint of the commit that is split that has a session, whose state has gone."""
        if self.commit is None:
            return None
        for checkpoint_id in listing.list_ids(self._repo, self.commit["oid"]):
            if session_id in list_session_ids(self._repo, checkpoint_id):
                return read_checkpoint(self._repo, checkpoint_id)
        return None

    def _list_turns(self, session_id: str, parts: Sequence[Part]) -> list[str]:
        """The turns of a session that edited the paths of parts, oldest first."""
        turns: dict[str, int] = {}
        paths = {part.path for part in parts}
        for path, change in self._compare(self._first):
            if path not in paths:
                continue
            for edit in self.stager.list_edits(path, change):
                writer, turn, _ = get_writer(edit)
                at = edit.at
                if writer == session_id and turn:
                    turns[turn] = min(at, turns.get(turn, at))
        return sorted(turns, key=turns.__getitem__)


def _put_before(keys: Sequence[Key], earlier: Mapping[Key, Collection[Key]]) -> list[Key]:
    """The keys in their order, except that the earlier ones of each come before it, unless they go
    round in a circle."""
    placed: list[Key] = []
    rest = [*keys]
    while rest:
        chosen = rest[0]
        for key in rest:
            waits_for = [one for one in earlier.get(key, ()) if one in rest and one != key]
            if not waits_for:
                chosen = key
                break
        rest.remove(chosen)
        placed.append(chosen)
    return placed


def _list_stored_prompts(
    repo: Repo, stored: StoredCheckpoint, key: Key, parts: Sequence[Part]
) -> list[str]:
    """The prompts of a session or turn that led to parts of a commit, by its checkpoint."""
    content = read_session(repo.objects, stored, key.session_id)
    causes = schema.build_part(content.metadata or {})["files"]
    asked: list[str] = []
    for part in parts:
        cause = causes.get(part.path)
        if cause and key.turn in ("", cause["turn_id"]):
            asked.append(cause["prompt"])
    return schema.choose_prompts(asked, content.prompts)


def _need_last(repo: Repo, head: str) -> Commit:
    """The last commit; raises Error if it cannot be split."""
    if not head:
        raise Error("there is no commit yet")
    commit = need_commit(repo.objects, head)
    if len(commit["parents"]) != 1:
        raise Error("a merge, or a commit without a parent, cannot be split")
    if effects.is_pushed(repo, head, commit["parents"][0]):
        raise Error("HEAD was pushed: to split it would rewrite what others have")
    return commit


def refuse(repo: Repo, shares: Sequence[Share], named: Collection[str]) -> None:
    """Raise Error if these commits may not be made now.  named: the sessions that may be in
    mid-turn."""
    for operation in index.list_under_way(repo):
        raise Error(f"{operation} is in progress")
    for session_id in dict.fromkeys(share.session_id for share in shares):
        marker = None
        if session_id:
            marker = session.find_marker(repo, session_id)
        if marker and session_id not in named and others.is_at_work(repo, marker):
            raise Error(
                f"session {shorten_id(session_id)} is in mid-turn: wait for its end, or name it by"
                f" '--session {shorten_id(session_id)}' to take what it has written so far"
            )


def map_entries(repo: Repo, old: str, new: str, target: str) -> IndexChange:
    """The entries of the index that change when HEAD's tree old becomes new; those that are staged
    stay.  Raises Error if one of these is staged otherwise than in the tree target."""
    staged = index.list_staged(repo, old)
    wanted = objects.Lookup(repo.objects, target)
    befores: dict[str, Version] = {}
    afters: dict[str, Version] = {}
    for path, before, after in compare_trees(repo.objects, old, new):
        if path not in staged:
            befores[path] = before
            afters[path] = after
        elif staged[path] != objects.find_file(wanted, path):
            raise Error(
                f"'{path}' has staged changes that the worktree lacks:"
                f" 'git add' or 'git restore --staged' it first"
            )
    return IndexChange(befores, afters)


class Bench:
    """The repository in which the commits are made, in a `with`."""

    def __init__(self, repo: Repo, head: str, author: Commit | None) -> None:
        """author: the commit whose author and date the commits get, None: the person, now."""
        self._repo = repo
        self._author = author
        self._place = repo.join_own(under_way.SPLIT, make_id())
        self.head = head

    def __enter__(self) -> Bench:
        self._repo.make_folder(os.path.dirname(self._place))
        os.mkdir(self._place, 0o700)
        try:
            self._prepare()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _prepare(self) -> None:
        repo = self._repo
        hooks = os.path.join(self._place, "hooks")
        settings = silence_hooks("post-commit", "post-rewrite")
        settings["core.hooksPath"] = hooks
        self._copy = Copy(
            os.path.join(self._place, "worktree"), repo.git, repo.git_dir, repo.common, settings
        )
        self._copy.create()
        self._git_dir = os.path.join(self._copy.top, ".git")
        _write_hooks(repo, hooks)
        entries = index.copy_index(repo, "split-index")
        tree = find_tree(self._repo.objects, self.head or None) or repo.empty_tree
        entries.run("-c", "core.splitIndex=false", "read-tree", "--reset", tree)
        os.rename(entries.path, os.path.join(self._git_dir, "index"))
        if self.head:
            self._copy.git.run("update-ref", "HEAD", self.head)

    def __exit__(self, *_: object) -> None:
        remove_folder(self._place)

    def make_commit(self, share: Share, edit: bool) -> Made:
        """Commit a share on the commit before, with the person's hooks, and their editor if edit
        is set.  Raises Error if it is not made."""
        env = self._build_env()
        draft = os.path.join(self._place, "draft")
        with open(draft, "wb") as file:
            file.write(encode_name(share.message))
        self._put(share.tree)
        words = ["git", "-C", self._repo.worktree, "commit", "-q", "-F", draft]
        if edit:
            words += ["-e"]
        before = self.head
        status = term.run_foreground(words, env)
        self.head = self._copy.git.run("rev-parse", "-q", "--verify", "HEAD", ok=(0, 1))[1].decode()
        self.head = self.head.strip()
        if status or self.head == before:
            raise Error(f"'git commit' ended with {status}; everything is as it was")
        return Made(share, self.head, before)

    def _put(self, tree: str) -> None:
        """Give the index the entries of a tree."""
        git = self._copy.git
        self._repo.objects.flush()
        git.run("read-tree", "--reset", tree)
        env = {"GIT_WORK_TREE": self._repo.worktree, "GIT_DIR": self._git_dir}
        git.copy_with(self._repo.worktree, env).run("update-index", "-q", "--refresh", ok=(0, 1))

    def _build_env(self) -> dict[str, str]:
        env = {k: v for k, v in build_person_env(os.environ).items() if k not in person_hooks.TIES}
        env |= {"GIT_DIR": self._git_dir, "GIT_WORK_TREE": self._repo.worktree}
        env |= {"GITCP_ACTIVE": person_hooks.CONFIGURED}
        if self._author:
            name, _, rest = self._author["author"].rpartition(" <")
            mail, _, date = rest.partition("> ")
            env |= {
                "GIT_AUTHOR_NAME": name,
                "GIT_AUTHOR_EMAIL": mail,
                "GIT_AUTHOR_DATE": f"@{date}",
            }
        return env

    def read_tree(self) -> str:
        """The tree of the newest commit."""
        return self._copy.git.read_line("rev-parse", f"{self.head}^{{tree}}").decode()

    def hand_over(self, old: str) -> None:
        """Bring the objects of the commits since old into the person's repository."""
        wanted = f"{self.head}\n"
        if old:
            wanted += f"^{old}\n"
        args = ("pack-objects", "--revs", "--local", "--stdout", "-q")
        pack = self._copy.git.run(*args, stdin=wanted.encode())[1]
        self._repo.git.run("unpack-objects", "-q", stdin=pack)


def _write_hooks(repo: Repo, folder: str) -> None:
    """Write a hook for each of the person's that decides about a commit."""
    place = repo.git.read_line("rev-parse", "--path-format=absolute", "--git-path", "hooks")
    os.mkdir(folder)
    for name in _HOOKS:
        theirs = os.path.join(os.fsdecode(place), name)
        if os.access(theirs, os.X_OK):
            quoted = theirs.replace("'", "'\\''")
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(f"#!/bin/sh\nexec '{quoted}' \"$@\"\n")
            os.chmod(path, 0o700)


def remove_abandoned(repo: Repo) -> None:
    """Remove the repositories that kills left.  The caller holds the lock."""
    for path in under_way.list_splits(repo):
        remove_folder(path)


def publish(repo: Repo, made: Sequence[Made], head: str, target: str, branch: str) -> str:
    """Move HEAD from head to the last of the commits, and the index with it, as a step of the undo
    log; return its id.  Raises Error, with nothing changed, if HEAD or the index has changed."""
    if refs.read_branch(repo) != branch:
        raise Error("another branch was checked out meanwhile; everything is as it was")
    new = made[-1].commit
    old_tree = find_tree(repo.objects, head or None) or repo.empty_tree
    entries = map_entries(repo, old_tree, need_commit(repo.objects, new)["tree"], target)
    head_move = HeadMove(head, new, refs.read_branch(repo))
    effect = effects.describe_commits(repo, entries.old, entries.new, head_move)
    step = undo.make_step(
        "split", f"{count_noun(len(made), 'commit')} of {_name_base(head)}", [effect]
    )
    subject = need_commit(repo.objects, new)["message"].partition("\n")[0]

    def move() -> None:
        written = undo.write_step(repo, step, None)
        undo.append_step(repo, written)
        try:
            effects.move_head(repo, head, new, f"commit: {subject}")
        except BaseException:
            undo.withdraw_step(repo, written)
            raise

    with undo.hold_log(repo):
        try:
            index.replace_entries(repo, entries.old, entries.new, move)
        except (Changed, Moved) as e:
            raise Error(f"{e}; everything is as it was") from None
    return step.id


def _name_base(head: str) -> str:
    if head:
        return abbreviate(head)
    return "no commit"


# Storing the checkpoints of commits that are made: <git-dir>/gitcp/split/links says what is to be
# done from before HEAD moves until it is done.
_LINK = {
    **dict.fromkeys("commit parent replaced session_id checkpoint_id".split(), str),
    "paths": [str],
}


def note_links(repo: Repo, made: Sequence[Made], replaced: str) -> None:
    """Write down what is to be stored of the commits, once HEAD has them."""
    links: list[Record] = []
    for one in made:
        share = one.share
        paths = [part.path for part in share.parts]
        link = Link(one.commit, one.parent, replaced, share.session_id, share.checkpoint_id, paths)
        links.append(asdict(link))
    data = json.dumps(links).encode()
    files.write_private(repo, under_way.get_links_path(repo), data, durable=True)


def finish(ctx: Context) -> None:
    """Store what a killed split has not stored of its commits; nothing while a split runs."""
    try:
        with under_way.hold_split(ctx.repo):
            link(ctx)
    except Busy:
        return


def link(ctx: Context) -> None:
    """Store the checkpoint of each commit that was noted and that HEAD has, and move the streams
    on.  The caller holds the lock."""
    stored = files.load_cache(under_way.get_links_path(ctx.repo), [_LINK]) or []
    links = [Link(**one) for one in stored]
    if links and object_lists.is_ancestor(ctx.repo, links[-1].commit, "HEAD"):
        for n, one in enumerate(links):
            _link_one(ctx, one, is_first=not n, is_last=one is links[-1])
    files.remove_private(ctx.repo, under_way.get_links_path(ctx.repo))


def _link_one(ctx: Context, one: Link, is_first: bool, is_last: bool) -> None:
    repo = ctx.repo
    commit = need_commit(repo.objects, one.commit)
    replaced = one.replaced
    old = one.parent or refs.get_zeros(repo)
    since = old
    if is_first and replaced:
        since = replaced
    with ctx:
        settled = _store(ctx, commit, one, since)
        ctx.leave()  # streams are moved by the states on disk
        changes = objects.read_changes(repo.objects, commit)[1]
        settling.settle_commit(repo, commit, changes)
        if not replaced:
            writing.carry_streams(repo, old, commit, settled)
        elif is_last:
            writing.carry_streams(repo, replaced, commit, None)
        match.add_judged(repo, commit["oid"], replaced or old)


def _store(ctx: Context, commit: Commit, one: Link, old: str) -> set[str] | None:
    """Store the session of a commit as its checkpoint; the sessions that were settled."""
    repo = ctx.repo
    checkpoint_id = one.checkpoint_id
    state = None
    if checkpoint_id:
        state = ctx.read_state(one.session_id)
    noted = repo.config.get_option("gitcp.link") == "note"
    if state is None:
        if checkpoint_id and noted:
            notes.add_link(repo, commit["oid"], checkpoint_id)
        return None
    ids = commit_message.read_trailers(encode_name(commit["message"]))
    if not noted and checkpoint_id not in ids:  # the person has removed it
        commit_sessions.dismiss_sessions(repo, commit, [state], old)
        match.write_refused(repo, [checkpoint_id])
        ctx.keep(state)
        return None
    if one.session_id not in list_session_ids(repo, checkpoint_id):
        linked: Linked = {"how": "content", "paths": one.paths, "reasons": {}}
        commit_sessions.store_sessions(repo, commit, checkpoint_id, [(state, linked)], old, noted)
    ctx.keep(state)
    return {one.session_id}
