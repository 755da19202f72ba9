"""Summaries of a committed checkpoint's sessions, by the command of gitcp.summarize.

Only a person's command runs it, never a hook: it may cost money and send data elsewhere.
"""

from __future__ import annotations

import json
import tempfile

from gitcp.agents.reading import conversation
from gitcp.core.v1 import generated
from gitcp.errors import Error, GitError
from gitcp.process.running import Running
from gitcp.store.v1 import committed_read, committed_write, redaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

_SECONDS = 300


def summarize_sessions(
    repo: Repo, objects: Objects, checkpoint_id: str, force: bool
) -> Iterator[str]:
    """Summarize the sessions of a checkpoint that have no summary, or all with force; yield the id
    of each when its summary is stored.

    Raises Error if the command fails or prints no summary.
    """
    checkpoint = committed_read.read_checkpoint(repo, objects, checkpoint_id)
    for entry in checkpoint["sessions"]:
        session = committed_read.read_session(objects, checkpoint, entry["index"])
        metadata = session["metadata"]
        if (metadata.get("summary") and not force) or not session["transcript"]:
            continue
        start = metadata.get("checkpoint_transcript_start")
        start = start if isinstance(start, int) else 0
        dialogue = conversation.list_entries(session["transcript"], start)
        request = generated.build_request(metadata.get("files_touched") or (), dialogue)
        summary = _redact_summary(repo, generated.parse_summary(_ask_model(repo, request)))
        session_id = session["session_id"]
        data: committed_write.SessionData = {"session_id": session_id}
        data["metadata"] = {"summary": summary}
        subject = f"Update summary for checkpoint {checkpoint_id} (session: {session_id})"
        committed_write.write_sessions(repo, objects, [(checkpoint_id, data)], subject=subject)
        yield session_id


def write_prose(repo: Repo, request: str) -> str:
    """The model's answer to a request, as redacted text.  Raises Error if the command fails."""
    printed = _ask_model(repo, request)
    return redaction.redact_text(repo, generated.parse_prose(printed)).strip()


def _redact_summary(repo: Repo, summary: dict[str, object]) -> dict[str, object]:
    """Redact a summary: a model may repeat a secret, or join pieces of it."""
    data = redaction.get_redactor(repo).redact_document(json.dumps(summary).encode())
    redacted: dict[str, object] = json.loads(data)
    return redacted


def _ask_model(repo: Repo, request: str) -> str:
    """The output of gitcp.summarize for a request on its standard input, run outside of the
    repository."""
    command = repo.config.get_option("gitcp.summarize")
    env = {k: v for k, v in repo.git.env.items() if not k.startswith("GIT_")}
    with tempfile.TemporaryDirectory() as folder:
        argv = ("sh", "-c", f'cd "$1" && {command}', "sh", folder)
        try:
            _, out = Running(argv, env, True).finish(request.encode(), limit=_SECONDS)
        except GitError as e:
            raise Error(f"'{command}' failed: {e.complaint}") from None
    return out.decode(errors="replace")
