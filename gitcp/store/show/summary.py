"""The summary of a committed checkpoint's sessions, by a model that the person has chosen.

The command is run for whoever asks for it and in no hook: it may cost money, and what it is
given leaves this machine.
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
    """Let each session of a checkpoint be summarized that is not yet, or all with force; the ids
    of those that were, each when its summary is stored.

    The command is `gitcp.summarize`.  Raises Error when it fails or gives no summary.
    """
    checkpoint = committed_read.read_checkpoint(repo, objects, checkpoint_id)
    for entry in checkpoint["sessions"]:
        one = committed_read.read_session(objects, checkpoint, entry["index"])
        metadata = one["metadata"]
        if (metadata.get("summary") and not force) or not one["transcript"]:
            continue
        start = metadata.get("checkpoint_transcript_start")
        dialogue = conversation.list_entries(
            one["transcript"], start if isinstance(start, int) else 0
        )
        asked = generated.build_request(metadata.get("files_touched") or (), dialogue)
        summary = _redact_summary(repo, generated.parse_summary(_ask_model(repo, asked)))
        session_id = one["session_id"]
        data: committed_write.SessionData = {"session_id": session_id}
        data["metadata"] = {"summary": summary}
        subject = f"Update summary for checkpoint {checkpoint_id} (session: {session_id})"
        committed_write.write_sessions(repo, objects, [(checkpoint_id, data)], subject=subject)
        yield session_id


def write_prose(repo: Repo, asked: str) -> str:
    """What the model answers to a request, as text and redacted.  Raises Error when it fails."""
    printed = _ask_model(repo, asked)
    return redaction.redact_text(repo, generated.parse_prose(printed)).strip()


def _redact_summary(repo: Repo, summary: dict[str, object]) -> dict[str, object]:
    """A model repeats what it was given, and may put pieces of a secret together."""
    data = redaction.get_redactor(repo).redact_document(json.dumps(summary).encode())
    whole: dict[str, object] = json.loads(data)
    return whole


def _ask_model(repo: Repo, asked: str) -> str:
    """What the command prints for a request on its standard input, far from the repository."""
    command = repo.config.get_option("gitcp.summarize")
    env = {k: v for k, v in repo.git.env.items() if not k.startswith("GIT_")}
    with tempfile.TemporaryDirectory() as away:
        argv = ("sh", "-c", f'cd "$1" && {command}', "sh", away)
        try:
            _, out = Running(argv, env, True).finish(asked.encode(), limit=_SECONDS)
        except GitError as e:
            raise Error(f"'{command}' failed: {e.complaint}") from None
    return out.decode(errors="replace")
