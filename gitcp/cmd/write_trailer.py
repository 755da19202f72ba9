"""gitcp-write-trailer - write the checkpoint id into a commit message"""

from __future__ import annotations

import os

from gitcp.console import stage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitcp.record import Record
    from gitcp.repo import Repo


def _trailers(records: Iterable[Record]) -> Iterator[Record]:
    """The message file a match record names (args) gets a trailer for each of its ids."""
    for record in records:
        if record.get("type") == "match" and record.get("args"):
            _write(record)
        yield record


def _write(match: Record) -> None:
    from gitcp.core.message import message_file, trailers
    from gitcp.repo import Repo
    from gitcp.store.link import commit_verdict

    repo = Repo.here()
    path, source, ids = match["args"][0], (match["args"] + [""])[1], list(match["ids"])
    with open(path, "rb") as f:
        text = f.read()
    editor = os.environ.get("GIT_EDITOR") != ":"
    comment = message_file.comment_char(text, repo.config.get("core.commentchar", "#"))
    comment = comment if editor else b""
    _keep_template(repo, text if source == "template" else None)
    before = text
    if match["gather"]:
        found, rest = trailers.collect(text, comment=comment)
        if set(found) != set(trailers.read(text, comment=comment)):
            text, ids = rest, [*found, *ids]
    fresh = [one for one in ids if one not in trailers.read(text, comment=comment)]
    if fresh and source == "message" and match["sessions"] and not _agreed(repo, match):
        fresh = []
    text = trailers.add(
        text, fresh, comment=comment, comments=_reason(repo, match) if fresh else ()
    )
    if text != before:
        with open(path, "wb") as f:
            f.write(text)
    if match["sessions"]:
        commit_verdict.tell(repo)


def _keep_template(repo: Repo, text: bytes | None) -> None:
    """Keep a template as git gave it: left so it is no message, which check-message tells."""
    from gitcp.store.session import state as states

    path = repo.own("template")
    if text is not None:
        states.write_file(repo, path, text)
    elif os.path.exists(path):
        os.unlink(path)


def _reason(repo: Repo, match: Record) -> list[str]:
    """What the editor shows the person about the line."""
    lines = ["Remove the line Entire-Checkpoint if this commit is not the work of:"]
    for marker in _markers(repo, match):
        lines.append(f"  {marker['agent_type'] or 'an agent'}: {marker['prompt'][:60]}")
    return lines


def _markers(repo: Repo, match: Record) -> list[Record]:
    from gitcp.store.session import markers

    return [m for m in markers.read(repo) if m["session_id"] in match["sessions"]]


def _agreed(repo: Repo, match: Record) -> bool:
    """gitcp.link=ask: ask the person, where there is one; yes is the default."""
    if repo.config.get("gitcp.link", "always") != "ask":
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
