"""gitcp-write-trailer - write the checkpoint id into a commit message"""

from __future__ import annotations

import os

from gitcp.console import stage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitcp.core.record_types import Marker, Record
    from gitcp.repo import Repo


def _trailers(records: Iterable[Record]) -> Iterator[Record]:
    """The message file a match record names (args) gets a trailer for each of its ids."""
    for record in records:
        if record.get("type") == "match" and record.get("args"):
            _write(record)
        yield record


def _write(match: Record) -> None:
    from gitcp.core.message import message_file
    from gitcp.repo import Repo
    from gitcp.store.link import commit_arguments, commit_verdict

    repo = Repo.here()
    path, source = match["args"][0], (match["args"] + [""])[1]
    with open(path, "rb") as f:
        before = f.read()
    comment, edited = b"", os.environ.get("GIT_EDITOR") != ":" or source in ("", "template")
    if edited or commit_arguments.cleanup(repo) == "strip":
        comment = message_file.comment_char(before, repo.config.get("core.commentchar", "#"))
    _keep_template(repo, before if source == "template" else None)
    text, ids = _as_it_is_to_stay(match, before, comment)
    if ids and source == "message" and match["sessions"] and not _agreed(repo, match):
        ids = []
    text, commented = _with_ids(repo, match, text, ids, comment)
    if text != before:
        from gitcp.store.git import files

        files.replace(path, text, durable=False)  # what the person wrote survives a full disk
    commit_verdict.tell(repo, commented)


def _as_it_is_to_stay(match: Record, text: bytes, comment: bytes) -> tuple[bytes, list[str]]:
    """The message without lines that stand in the wrong place, or are not this commit's; the
    ids it still lacks."""
    from gitcp.core.message import trailers

    ids, carried = list(match["ids"]), trailers.read(text, comment=comment)
    if match["gather"]:
        buried, rest = trailers.collect(text, comment=comment)
        if set(buried) != set(carried):
            text, ids = rest, [*(one for one in buried if one not in match.get("drop", ())), *ids]
    elif match.get("drop"):
        ids = [one for one in carried if one not in match["drop"]] + ids
        text = trailers.remove(text, comment=comment)
    carried = trailers.read(text, comment=comment)
    return text, [one for one in ids if one not in carried]


def _with_ids(
    repo: Repo, match: Record, text: bytes, ids: list[str], comment: bytes
) -> tuple[bytes, bool]:
    """The message with its ids, as a rule in the last trailer block; whether they are not.

    With -n nobody checks the message afterwards: a line of ours would keep an empty one from
    aborting.  Then it has them as comments, and the commit gets a note.
    """
    from gitcp.core.message import message_file, trailers
    from gitcp.store.link import commit_arguments

    strips = bool(ids) and commit_arguments.cleanup(repo) not in ("verbatim", "whitespace")
    about = _reason(repo, match) if strips else []
    empty = "template" in match["args"][1:2] or trailers.unwritten(text, comment=comment)
    if not (ids and empty) or commit_arguments.checks_message():
        return trailers.add(text, ids, comment=comment, comments=about), False
    if comment and strips:
        about = [f"{trailers.KEY}: {one} (in a note)" for one in ids] + about[1:]
        text = b"".join(message_file.explained(message_file.split(text), comment, about))
    return text, True


def _keep_template(repo: Repo, text: bytes | None) -> None:
    """Keep a template as git gave it: left so it is no message, which check-message tells."""
    from gitcp.store.git import private

    path = repo.own("template")
    if text is None:
        private.remove(repo, path)
    else:
        private.write(repo, path, text)


def _reason(repo: Repo, match: Record) -> list[str]:
    """What the editor shows the person about the line."""
    lines = ["Remove the line Entire-Checkpoint if this commit is not the work of:"]
    for marker in _markers(repo, match):
        lines.append(f"  {marker['agent_type'] or 'an agent'}: {marker['prompt'][:60]}")
    return lines


def _markers(repo: Repo, match: Record) -> list[Marker]:
    from gitcp.store.session import markers

    return [m for name in sorted(match["sessions"]) if (m := markers.of(repo, name))]


def _agreed(repo: Repo, match: Record) -> bool:
    """gitcp.link=ask: ask the person, where there is one; yes is the default."""
    if repo.config.option("gitcp.link") != "ask":
        return True
    if any(linked["how"] != "content" for linked in match["sessions"].values()):
        return True  # the agent commits by itself
    try:
        with open("/dev/tty", "r+b", buffering=0) as tty:
            for marker in _markers(repo, match):
                tty.write(f"Last prompt: {marker['prompt'][:80]}\n".encode())
            tty.write(b"Link this commit to the session? [Y/n] ")
            return tty.readline().strip().lower() not in (b"n", b"no")
    except OSError:
        return True


parser, bind, main = stage.plain("write-trailer", _trailers)
