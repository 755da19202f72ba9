"""A session's part in a commit, by its metadata and prompts in a checkpoint."""

from __future__ import annotations

from gitcp.core.transcript.facts import ensure_object
from gitcp.core.v1 import summary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gitcp.core.record_types import Record


_FACTS = frozenset(
    """token_usage token_usage_delta initial_attribution branch created_at turn_id strategy
summary checkpoint_transcript_start transcript_path is_task tool_use_id commit omitted
forgotten""".split()
)
_INTERRUPTED = "[Request interrupted"  # written by the client in the person's place


def build_part(metadata: Record, prompts: Sequence[str] = ()) -> Record:
    """A session's part: session_id, agent, asked, files and facts of its metadata.

    prompts: the session's up to the commit (prompt.txt).  asked: the prompts that led to the
    commit's files, by choose_prompts().  files: path -> {turn_id, prompt}.
    """
    causes = {path: ensure_object(f) for path, f in ensure_object(metadata.get("files")).items()}
    touched = summary.list_strings(metadata.get("files_touched"))
    files = {path: _build_cause(causes.get(path, {})) for path in sorted({*touched, *causes})}
    return {
        "session_id": metadata.get("session_id", ""),
        "agent": metadata.get("agent", ""),
        "asked": choose_prompts([f["prompt"] for f in files.values()], prompts),
        "files": files,
        **{k: fact for k, fact in metadata.items() if k in _FACTS and fact is not None},
    }


def _build_cause(fact: Record) -> dict[str, str]:
    return {"turn_id": str(fact.get("turn_id") or ""), "prompt": str(fact.get("prompt") or "")}


def choose_prompts(causes: Sequence[str], prompts: Sequence[str]) -> list[str]:
    """The causing prompts, each once, in the order of prompts; the last prompt if none is known,
    as in data of the original program."""
    causing = dict.fromkeys(p for p in causes if p)
    if len(causing) == 1:
        return [*causing]
    if causing:
        order = {prompt.strip(): n for n, prompt in enumerate(prompts)}
        return sorted(causing, key=lambda p: order.get(p.strip(), len(order)))
    return select_typed(prompts)[-1:]


def select_typed(prompts: Iterable[str]) -> list[str]:
    """The prompts that a person typed."""
    return [p for p in prompts if p.strip() and not p.startswith(_INTERRUPTED)]
