"""gitcp-forget - remove content from the store, here and where it was sent"""

from __future__ import annotations

import sys
import time

from gitcp.checkpoints import conversion
from gitcp.checkpoints.share import places, summaries, sync
from gitcp.cmd.stages.checkpoints import choose_timeout
from gitcp.commands import JSON, make_flag, make_value
from gitcp.errors import OK, Error, InputError
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.link import commits
from gitcp.setup.care import forgetting
from gitcp.setup.care.forgetting import ForgetChoice
from gitcp.terminal import cli
from gitcp.text import console
from gitcp.text.spans import count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping, Sequence

    from gitcp.checkpoints.share.places import SharedPlace

OPTIONS = (
    [
        make_flag("--all", "everything that is stored"),
        make_value("--before", "<date>", "what was stored before a day, such as 2026-11-22"),
        make_value("name", "<name>", "a session or a checkpoint, by its id", nargs="?"),
    ],
    make_flag("--remote", "at the destination too, whose history is replaced"),
    make_flag("-n --dry-run", "show how much would be forgotten, and forget nothing"),
    make_flag("-y --yes", "do not ask"),
    JSON,
)
_ELSEWHERE = "copies that others have fetched, or that a forge keeps, cannot be deleted from here"


def run(argv: Sequence[str]) -> int:
    """Forget what is chosen, and print what is left to do."""
    args = cli.parse("forget", OPTIONS, argv)
    repo = Repo.find()
    choice = _read_choice(repo, args)
    if args.dry_run:
        return _show_counts(repo, args, choice)
    try:
        return _forget(repo, args, choice)
    finally:
        conversion.leave_branch(repo)


def _forget(repo: Repo, args: Namespace, choice: ForgetChoice) -> int:
    there = _fetch_destinations(repo) if args.remote else []
    if not (args.yes or _ask_consent()):
        return OK
    moved, counts = forgetting.forget_chosen(repo, choice)
    moved_there = 0
    try:
        if not args.json:
            words = _join_counts(counts)
            print(f"forgotten: {words}" if words else "there was nothing to forget here")
        for place in there:
            count = _forget_there(repo, place)
            moved_there += count
            if not args.json:
                has = "has nothing of it"
                if count:
                    has = "does not have it any more"
                print(f"'{place.label}' {has}")
    finally:
        forgetting.purge_objects(repo, moved)
    in_git = forgetting.is_still_in_git(repo, moved)
    if args.json:
        more = {"remote_refs": moved_there} if there else {}
        return _write_counts(counts, there, done=True, in_git=in_git, **more)
    if in_git:
        print("git still has it in packs of its own: 'git gc --prune=now' removes it")
    if counts["checkpoint part"] or moved_there:
        print(_ELSEWHERE)
    return OK


def _show_counts(repo: Repo, args: Namespace, choice: ForgetChoice) -> int:
    counts = forgetting.count_chosen(repo, choice)
    if args.json:
        there = _need_destinations(repo) if args.remote else []
        return _write_counts(counts, there, done=False)
    words = _join_counts(counts)
    print(f"would forget: {words}" if words else "there is nothing to forget here")
    if args.remote:
        labels = ", ".join(f"'{place.label}'" for place in _need_destinations(repo))
        print(f"would delete the same at {labels}")
    return OK


def _write_counts(counts: Mapping[str, int], there: Sequence[SharedPlace], **more: object) -> int:
    """Write the record of what was forgotten, or would be, also there."""
    sums = {f"{what.replace(' ', '_')}s": count for what, count in counts.items()}
    remote = ", ".join(place.label for place in there)
    record = {"type": "forgotten", **sums, "remote": remote, **more}
    return cli.write_records([record])


def _join_counts(counts: dict[str, int]) -> str:
    return ", ".join(count_noun(count, what) for what, count in counts.items() if count)


def _ask_consent() -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError("this cannot be undone: give --yes")
    return cli.ask_line("this cannot be undone: forget it? [y/N] ") in ("y", "yes")


def _read_choice(repo: Repo, args: Namespace) -> ForgetChoice:
    """What the options choose.  Raises Error for an unknown session or checkpoint."""
    if args.all:
        return ForgetChoice()
    if args.before:
        try:
            day = time.strptime(args.before, "%Y-%m-%d")
        except ValueError:
            raise InputError(f"not a day such as 2026-11-22: '{args.before}'") from None
        return ForgetChoice(before=time.mktime(day) or 1.0)
    if not args.name:
        raise InputError("name a session or a checkpoint, or give --before or --all")
    with Objects(repo):
        recorded = commits.find_recorded(repo, args.name, every=True)
        if recorded is None:
            if summaries.has_session(repo, args.name):
                return ForgetChoice(session_id=args.name)
            raise Error(f"no such checkpoint or session: '{args.name}'")
    if recorded.kind == "session":
        return ForgetChoice(session_id=recorded.key)
    return ForgetChoice(checkpoint_id=recorded.key)


def _need_destinations(repo: Repo) -> list[SharedPlace]:
    """The places that were agreed to; raises Error without one."""
    settled = places.settle(repo)
    if settled:
        console.tell(settled)
    return places.need_destinations(repo)


def _fetch_destinations(repo: Repo) -> list[SharedPlace]:
    """Fetch the store of each place, and return them.  Raises Error without one."""
    there = _need_destinations(repo)
    for place in there:
        with Objects(repo):
            sync.fetch_store(repo, place, choose_timeout(repo), to_forget=True)
    return there


def _forget_there(repo: Repo, place: SharedPlace) -> int:
    """Delete in a place what was forgotten here; return the number of refs that moved."""
    count, left = sync.forget_there(repo, place, choose_timeout(repo))
    if left:
        moved = " ".join(left)
        raise Error(f"'{place.label}' has changed meanwhile: {moved}; run this again")
    sync.note_success(repo, place)
    return count
