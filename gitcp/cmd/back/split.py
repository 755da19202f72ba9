"""gitcp-split - make one commit for each session of what the worktree has"""

from __future__ import annotations

from contextlib import nullcontext

from gitcp import record
from gitcp.cmd.back import stage, undo
from gitcp.commands import JSON, make_flag, make_value
from gitcp.errors import NO, OK
from gitcp.git import refs
from gitcp.git.objects import Objects, find_tree, need_commit, pack_care
from gitcp.git.repo import Repo
from gitcp.steps import under_way
from gitcp.steps.commits import person_hooks, split
from gitcp.steps.commits.selection import NamedWork, select
from gitcp.steps.commits.split import Bench
from gitcp.steps.commits.stage import need_index
from gitcp.steps.whose import open_work
from gitcp.terminal import cli
from gitcp.text import console
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import abbreviate, count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator, Sequence, Set

    from gitcp.steps.commits.division import Division
    from gitcp.steps.commits.split import Key, Made, Share, Splitter
    from gitcp.text.record_types import Record

OPTIONS = (
    make_value(
        "--by",
        "<what>",
        "a commit for each session (default) or for each prompt",
        choices=("session", "prompt"),
        default="session",
    ),
    make_value(
        "--session",
        "<id>",
        "only what this session wrote, even if it is in mid-turn; may be repeated",
        action="append",
        default=[],
    ),
    make_flag("--with-overlaps", "give lines that several sessions replaced to the last one"),
    make_flag("--no-edit", "take the messages as they are, without an editor"),
    make_flag("-n --dry-run", "show the commits and stop"),
    JSON,
    make_value(
        "commit",
        "HEAD",
        "split the last commit, not what is uncommitted",
        nargs="?",
        choices=("HEAD",),
    ),
)


def run(argv: Sequence[str]) -> int:
    """Make the commits; NO if there is none to make, or something is left out."""
    args = cli.parse("split", OPTIONS, argv)
    with pack_care.open_scratch(Repo.find_here(), args.dry_run) as repo, Objects(repo):
        need_index(repo)
        undo.finish(repo)
        with nullcontext() if args.dry_run else under_way.hold_split(repo):
            if not args.dry_run:
                split.remove_abandoned(repo)
            branch = refs.read_branch(repo)
            return _Splitting(repo, args, branch, _read_change(repo, args)).run()


def _read_change(repo: Repo, args: Namespace) -> Splitter:
    return split.read_change(repo, args.commit is not None, args.by == "prompt", args.dry_run)


class _Splitting:
    """One run of the command.  branch: that of HEAD before the change was read."""

    def __init__(self, repo: Repo, args: Namespace, branch: str, splitter: Splitter) -> None:
        self._repo = repo
        self._args = args
        self._branch = branch
        self._splitter = splitter

    def run(self) -> int:
        splitter = self._splitter
        args = self._args
        lines = splitter.stager.present.lines
        named = select(self._repo, lines, NamedWork(args.session)).ids
        keys = splitter.list_keys(named)
        shares = self._plan(keys, splitter.first)
        if len(shares) < 1 + bool(splitter.commit):
            return self._tell_nothing(shares, keys)
        split.refuse(self._repo, shares, named)
        last = shares[-1].tree
        head_tree = find_tree(self._repo.objects, splitter.head or None) or self._repo.empty_tree
        split.map_entries(self._repo, head_tree, last, splitter.target)
        if args.dry_run:
            return self._report(shares, (), "", splitter.list_left(keys, last))
        made = self._make(keys, shares)  # which may have read the worktree again, and another HEAD
        split.note_links(self._repo, made, splitter.head if splitter.commit else "")
        try:
            step = split.publish(
                self._repo, made, splitter.head, self._splitter.target, self._branch
            )
        finally:
            split.link(record.open_context(self._repo))
        self._run_post_commit()
        last = need_commit(self._repo.objects, made[-1].commit)["tree"]
        left = self._splitter.list_left(keys, last)
        return self._report([one.share for one in made], made, step, left)

    def _plan(self, keys: Sequence[Key], tree: str) -> list[Share]:
        shares = [*self._splitter.plan(keys, tree, self._args.with_overlaps)]
        rest = None
        if shares:
            rest = self._splitter.make_rest(shares[-1].tree)
        return [*shares, *([rest] if rest else [])]

    def _make(self, keys: Sequence[Key], shares: list[Share]) -> list[Made]:
        """Commit the shares, in the scratch repository."""
        splitter = self._splitter
        made: list[Made] = []
        with Bench(self._repo, splitter.parent, splitter.commit) as bench:
            while shares:
                share = shares.pop(0)
                made.append(bench.make_commit(share, not self._args.no_edit))
                tree = bench.read_tree()
                if shares and tree != share.tree:  # a hook has changed it
                    bench.hand_over(splitter.parent)
                    if not splitter.commit:
                        self._splitter = _read_change(self._repo, self._args)
                    done = {one.share.key for one in made}
                    shares = self._plan([key for key in keys if key not in done], tree)
            bench.hand_over(splitter.parent)
        return made

    def _run_post_commit(self) -> None:
        try:
            person_hooks.run_person_hook(self._repo, "post-commit")
        except person_hooks.Refused as e:
            console.warn(str(e))  # the commits exist already

    def _tell_nothing(self, shares: Sequence[Share], keys: Sequence[Key]) -> int:
        left = self._splitter.list_left(keys, self._splitter.first)
        if not self._args.json:
            whose = "no session wrote it"
            if shares:
                whose = f"all of it is by {self._name(shares[0])}"
            what = "what is not committed"
            if self._splitter.commit:
                what = "the last commit"
            cli.show(f"nothing to split in {what}: {whose}")
        stage.warn_left(left, by_split=True)
        return NO

    def _report(
        self, shares: Sequence[Share], made: Sequence[Made], step: str, left: Division
    ) -> int:
        splitter = self._splitter
        if self._args.json:
            cli.write_records(_make_records(shares, made, step))
        else:
            for n, share in enumerate(shares):
                head = "-" * 8
                message = share.message
                if made:
                    head = abbreviate(made[n].commit)
                    message = need_commit(self._repo.objects, made[n].commit)["message"]
                subject = message.partition("\n")[0]
                cli.show(f"  {head} {subject}")
                added = sum(part.added for part in share.parts)
                removed = sum(part.removed for part in share.parts)
                files = count_noun(len(share.parts), "file")
                cli.show(f"          {self._name(share)}: {files} (+{added} -{removed})")
            count = count_noun(len(shares), "commit")
            them = "it" if len(shares) == 1 else "them"
            tail = f"; 'gitcp undo' takes {them} back"
            cli.show(f"{count}{tail}" if made else f"would make {count}")
        if splitter.commit:  # what is left is the last of the commits
            return OK
        stage.warn_left(left, by_split=True)
        if left.has_left:
            return NO
        if made and self._warn_uncommitted({share.session_id for share in shares}):
            return NO
        return OK

    def _warn_uncommitted(self, session_ids: Set[str]) -> bool:
        """Name the paths where something of these sessions, or of all without --session, is still
        uncommitted, as where another session's commit moved a file that they had changed."""
        here = open_work.read_open_work(self._repo, ()).places.get(self._repo.worktree_id, {})
        left = False
        for path, owners in sorted(here.items()):
            if self._args.session:
                asked = owners & session_ids
            else:
                asked = owners
            if asked:
                whose = " and ".join(f"session {shorten_id(owner)}" for owner in sorted(asked))
                console.warn(f"'{path}' still has work of {whose} that is in no commit")
                left = True
        return left

    def _name(self, share: Share) -> str:
        if not share.session_id:
            return "what no session wrote"
        turns = ""
        if share.turns:
            turns = f", {count_noun(len(share.turns), 'prompt')}"
        return f"session {shorten_id(share.session_id)}{turns}"


def _make_records(shares: Iterable[Share], made: Sequence[Made], step: str) -> Iterator[Record]:
    for n, share in enumerate(shares):
        commit = ""
        if made:
            commit = made[n].commit
        yield share.make_record(commit)
    if step:
        yield {"type": "step", "step": step}
