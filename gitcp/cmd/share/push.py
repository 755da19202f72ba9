"""gitcp-push - send what is recorded to a remote"""

from __future__ import annotations

from gitcp.checkpoints import listing, stored
from gitcp.checkpoints.share import places, preview, remote, sync
from gitcp.cmd.stages.checkpoints import TIMEOUT, choose_timeout
from gitcp.commands import JSON, make_flag, make_value
from gitcp.errors import OK, Error, InputError
from gitcp.events.pre_push import share_abandoned
from gitcp.git.objects import Objects
from gitcp.git.places import clean_url
from gitcp.git.repo import Repo
from gitcp.setup.care.space_sums import format_size
from gitcp.terminal import cli
from gitcp.text import console, term
from gitcp.text.prompt_text import name_prompt
from gitcp.text.spans import count_noun, shorten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Sequence

    from gitcp.checkpoints.share.places import SharedPlace
    from gitcp.checkpoints.share.preview import Outgoing, Preview
    from gitcp.checkpoints.share.sync import Pushed
    from gitcp.text.record_types import Record

OPTIONS = (
    JSON,
    TIMEOUT,
    make_flag("-n --dry-run", "list what would be sent, and send nothing"),
    [
        make_value(
            "--to",
            "<remote>",
            "agree to its place: from now on each 'git push' there sends checkpoints too",
        ),
        make_value("--forget-place", "<remote>", "send nothing more to its place"),
        make_value(
            "remote",
            "<remote>",
            "a remote or its URL, this once (default: the places that were agreed to)",
            nargs="?",
        ),
    ],
)
_PROMPT = 60  # characters of a prompt that are shown


def run(argv: Sequence[str]) -> int:
    """Send the permanent store, and print how many checkpoints were sent where."""
    args = cli.parse("push", OPTIONS, argv)
    repo = Repo.find()
    settled = places.settle(repo)
    if settled:
        console.tell(settled)
    if args.forget_place:
        return _forget_place(repo, args)
    name = args.to or args.remote
    if name:
        there = places.find_places(repo, name)
    else:
        there = places.need_destinations(repo)
    if args.dry_run:
        return _show_preview(repo, args, there)
    held: list[remote.Held] = []
    for place in there:
        held += _send(repo, args, place).held
    if args.to:
        _agree(repo, args.to, there)
        if not args.json:
            cli.show_whole(*places.describe_sending(repo))
    if held:
        raise Error(remote.explain(held))
    return OK


def _send(repo: Repo, args: Namespace, place: SharedPlace) -> Pushed:
    """Send the store to a place, and print what was sent."""
    term.show_line("sending checkpoints")
    with Objects(repo):
        share_abandoned(repo)
        ours = listing.list_tips(repo)
        pushed = sync.push_store(repo, place, choose_timeout(repo, args.timeout))
        lacking_before = listing.count_changed(repo.objects, ours, pushed.before)
        lacking_after = places.count_lacking(repo, place)
    term.hide_progress()
    sync.note_success(repo, place)
    if args.json:
        records = ({"type": "ref", "ref": ref, "oid": oid} for ref, oid in pushed.tips.items())
        cli.write_records({**record, "remote": place.label} for record in records)
        return pushed
    left_on_branch = 0 if stored.is_branch_sent(repo) else lacking_after
    sent = lacking_before - lacking_after
    _print_outcome(place.label, bool(pushed.tips), sent, lacking_after, left_on_branch)
    if pushed.merges:
        print("merged with what others had pushed")
    return pushed


def _agree(repo: Repo, name: str, there: Sequence[SharedPlace]) -> None:
    """Agree to the places of a remote or a URL; a URL to which no remote leads gets the store at
    each push."""
    places.agree(repo, [place.url for place in there])
    sync.forget_words(repo)
    if name in places.list_remotes(repo):
        return
    urls = [place.url for place in there]
    if not any(place.url in urls for place in places.list_reached(repo)):
        places.make_own(repo, name)


def _forget_place(repo: Repo, args: Namespace) -> int:
    """Take the places of a remote or a URL out of those that are agreed to."""
    name = args.forget_place
    if args.dry_run or args.json:
        raise InputError("--forget-place cannot be used with --dry-run or --json")
    urls = {clean_url(name), *(place.url for place in places.find_places(repo, name))}
    agreed = [url for url in places.list_agreed(repo) if url in urls]
    if not agreed:
        known = ", ".join(f"'{url}'" for url in places.list_agreed(repo)) or "none"
        raise Error(f"not a place that was agreed to: '{clean_url(name)}' (agreed to: {known})")
    places.withdraw(repo, agreed)
    for url in agreed:
        print(f"no checkpoints are sent to '{url}' any more; what is there stays there")
    cli.show_whole(*places.describe_sending(repo))
    return OK


def _show_preview(repo: Repo, args: Namespace, there: Sequence[SharedPlace]) -> int:
    """List what the next push would send to each place."""
    seconds = choose_timeout(repo, args.timeout)
    for place in there:
        with Objects(repo):
            what = preview.preview_push(repo, place, seconds)
        if args.json:
            cli.write_records(_build_record(place, outgoing) for outgoing in what.checkpoints)
        else:
            cli.show_whole(*_format_preview(place, what))
    return OK


def _build_record(place: SharedPlace, outgoing: Outgoing) -> Record:
    return {
        "type": "checkpoint",
        "checkpoint_id": outgoing.checkpoint_id,
        "agents": outgoing.agents,
        "first_prompt": outgoing.prompt,
        "files_touched": outgoing.files,
        "size": outgoing.size,
        "redactions": outgoing.redactions,
        "place": place.url,
    }


def _format_preview(place: SharedPlace, what: Preview) -> Iterator[str]:
    if place.label == place.url:
        to = f"'{place.label}'"
    else:
        to = f"'{place.label}' ({place.url})"
    if not what.checkpoints and not what.other_refs:
        yield f"nothing would be sent to {to}"
    else:
        yield f"would send {count_noun(len(what.checkpoints), 'checkpoint')} to {to}"
    for outgoing in what.checkpoints:
        prompt = shorten(name_prompt(outgoing.prompt), _PROMPT)
        files = count_noun(len(outgoing.files), "file")
        size = f"{format_size(outgoing.size)}, {count_noun(outgoing.redactions, 'redaction')}"
        agents = ", ".join(outgoing.agents) or "no agent"
        yield f"  {outgoing.checkpoint_id}  {agents}  '{prompt}'  {files}, {size}"
    if what.other_refs:
        yield f"  and {' '.join(what.other_refs)}"
    if what.held:
        yield remote.explain(what.held)


def _print_outcome(name: str, has_any: bool, sent: int, lacking: int, left: int) -> None:
    """Print how many checkpoints were sent; lacking: that were not; left: on a branch that is not
    sent."""
    if left:
        unsent = count_noun(left, "checkpoint")
        print(f"not sent: {unsent} on the branch; 'gitcp convert-store' makes them refs")
    if not has_any and not lacking:
        print("nothing to push: there are no checkpoints")
    elif sent > 0:
        print(f"sent {count_noun(sent, 'checkpoint')} to '{name}'")
    elif not lacking:
        print(f"'{name}' has every checkpoint")
    elif not left:
        print(f"nothing was sent to '{name}', which lacks {count_noun(lacking, 'checkpoint')}")
