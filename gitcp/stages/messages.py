"""The stages that write a commit's message: its ids, and emptying one that has nothing else."""

from __future__ import annotations

import os

from gitcp import files
from gitcp.core import commit_message
from gitcp.repo import Repo
from gitcp.store import private
from gitcp.store.link import commit
from gitcp.store.match import commit_memory
from gitcp.store.session import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.core.record_types import Marker, Record

_KEEPING = ("scissors", "whitespace", "verbatim")  # cleanup modes that keep comments


def write_trailer(args: object, records: Iterable[Record]) -> Iterator[Record]:
    """Write a trailer for each id of a match record into the message file that it names."""
    for record in records:
        if record.get("type") == "match" and record.get("args"):
            _write_message(record)
        yield record


def _write_message(match: Record) -> None:
    """Write the ids of a commit into its message, or a comment that a note has them."""
    repo = Repo.find_here()
    if os.path.isdir(repo.join_shared("exports")):
        for session_id in match["sessions"]:
            states.renew_copy(repo, session_id)
    path, source = match["args"][0], (match["args"] + [""])[1]
    with open(path, "rb") as f:
        before = f.read()
    _keep_template(repo, before if source == "template" else None)
    comment, edited = b"", os.environ.get("GIT_EDITOR") != ":" or source in ("", "template")
    if edited or commit.find_cleanup_mode(repo) == "strip":
        comment = _find_comment_char(repo, before)
    by_note = repo.config.get_option("gitcp.link") == "note"
    text, ids = _clean_message(match, before, comment, by_note)
    if ids and source == "message" and match["sessions"] and not _ask_consent(repo, match):
        ids = []
    if ids and not by_note and _will_stay_empty(repo, text, comment, source):
        text, noted = _add_comment(repo, match, text, ids, comment), True
    else:
        noted = by_note and bool(ids)
        text = _add_trailers(repo, match, text, [] if noted else ids, comment)
    if text != before:
        files.replace_file(path, text, durable=False)  # on a full disk the old text stays
    commit_memory.mark_told(repo, commented=noted)


def _find_comment_char(repo: Repo, text: bytes) -> bytes:
    return commit_message.choose_comment_char(text, repo.config.get("core.commentchar", "#"))


def _clean_message(
    match: Record, text: bytes, comment: bytes, by_note: bool
) -> tuple[bytes, list[str]]:
    """(the message without trailers in the wrong place or of other commits, the ids it lacks).
    by_note: the message stays as it is."""
    carried = commit_message.read_trailers(text, comment=comment)
    drop, moved = set(match.get("drop", ())), list[str]()
    if match["gather"] and by_note:
        moved = commit_message.find_anywhere(text)
    elif match["gather"]:
        buried, without = commit_message.collect_trailers(text, comment=comment)
        if set(buried) != set(carried) or drop.intersection(buried):
            text, moved = without, buried
    elif drop:
        text, moved = commit_message.remove_trailers(text, comment=comment), carried
    ids = [*(cid for cid in moved if cid not in drop), *match["ids"]]
    carried = commit_message.read_trailers(text, comment=comment)
    return text, [cid for cid in dict.fromkeys(ids) if cid not in carried]


def _will_stay_empty(repo: Repo, text: bytes, comment: bytes, source: str) -> bool:
    """Whether trailers would keep an empty message from aborting the commit: `git commit -n` runs
    no hook that empties it again."""
    empty = source == "template" or commit_message.is_unwritten(text, comment=comment)
    return empty and not commit.will_check_message(repo)


def _will_strip_comments(repo: Repo) -> bool:
    return commit.find_cleanup_mode(repo) not in ("verbatim", "whitespace")


def _add_comment(repo: Repo, match: Record, text: bytes, ids: list[str], comment: bytes) -> bytes:
    """The message with a comment about ids, which a note will have."""
    if not (comment and _will_strip_comments(repo)):
        return text
    about = [f"{commit_message.KEY}: {cid} (in a note)" for cid in ids]
    about += _list_prompts(repo, match)
    return b"".join(commit_message.add_comments(commit_message.split_lines(text), comment, about))


def _add_trailers(repo: Repo, match: Record, text: bytes, ids: list[str], comment: bytes) -> bytes:
    """The message with its ids in the last trailer block, a comment about them, and the trailers
    of gitcp.disclose about the sessions."""
    about: Sequence[str] = ()
    if ids and _will_strip_comments(repo):
        heading = "Remove the line Entire-Checkpoint if this commit is not the work of:"
        about = [heading, *_list_prompts(repo, match)]
    key, more = repo.config.get_option("gitcp.disclose"), list[str]()
    if key and match["sessions"]:
        if commit_message.is_unwritten(text, comment=comment):
            from gitcp.store.link import unhooked

            unhooked.request_check(repo)
        from gitcp.store.link import unhooked

        more = unhooked.format_lines(repo, key, sorted(match["sessions"]))
    return commit_message.add_trailers(text, ids, comment=comment, comments=about, more=more)


def _keep_template(repo: Repo, text: bytes | None) -> None:
    """Store the template that git gave, for check-message: a message that equals it is empty."""
    path = repo.join_own("template")
    if text is None:
        private.remove_private(repo, path)
    else:
        private.write_private(repo, path, text)


def _list_prompts(repo: Repo, match: Record) -> list[str]:
    """A line for each session, for the person's editor."""
    linked = _list_markers(repo, match)
    return [f"  {m['agent_type'] or 'an agent'}: {m['prompt'][:60]}" for m in linked]


def _list_markers(repo: Repo, match: Record) -> list[Marker]:
    return [m for name in sorted(match["sessions"]) if (m := states.find_marker(repo, name))]


def _ask_consent(repo: Repo, match: Record) -> bool:
    """Ask the person at the terminal if gitcp.link is `ask`; yes is the default."""
    if repo.config.get_option("gitcp.link") != "ask":
        return True
    if any(linked["how"] != "content" for linked in match["sessions"].values()):
        return True  # the agent commits by itself
    try:
        with open("/dev/tty", "r+b", buffering=0) as tty:
            for marker in _list_markers(repo, match):
                tty.write(f"Last prompt: {marker['prompt'][:80]}\n".encode())
            tty.write(b"Link this commit to the session? [Y/n] ")
            return tty.readline().strip().lower() not in (b"n", b"no")
    except OSError:
        return True


def check_message(args: object, records: Iterable[Record]) -> Iterator[Record]:
    """Empty the file of a commit-msg event that has nothing but trailers, so that the commit
    aborts, as it would without gitcp."""
    for record in records:
        if record.get("event") == "commit-msg" and record["args"]:
            _check_file(Repo.find_here(), record["args"][0])
        yield record


def _check_file(repo: Repo, path: str) -> None:
    with open(path, "rb") as f:
        text = f.read()
    comment = _find_comment_char(repo, text)
    template = private.read_cache(repo.join_own("template"))
    mode = commit.find_cleanup_mode(repo)
    if mode in _KEEPING or (mode != "strip" and os.environ.get("GIT_EDITOR") == ":"):
        # Comments are text here; what is below the scissors line is not.
        text, template = _cut_message(text, comment), _cut_message(template, comment)
        comment = b""
    key = repo.config.get_option("gitcp.disclose") or ""
    if commit_message.has_only_trailers(text, comment=comment, template=template, disclosing=key):
        emptied = commit_message.collect_trailers(
            commit_message.remove_key(text, key), comment=comment
        )[1]
        files.replace_file(path, emptied, durable=False)


def _cut_message(text: bytes, comment: bytes) -> bytes:
    lines = commit_message.split_lines(text)
    return b"".join(lines[: commit_message.find_cut(lines, comment)])


STAGES = {"write-trailer": (write_trailer,), "check-message": (check_message,)}
