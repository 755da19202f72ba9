"""A turn that began under the original program and goes on under gitcp."""

from __future__ import annotations

import time
from itertools import islice

from gitcp.agents.transcripts.transcript_facts import parse_time
from gitcp.record import session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import State


def take_over(repo: Repo, state: State) -> None:
    """Write a baseline for a turn that began under the original program: nothing was dirty, and
    its transcript begins behind the condensed part."""
    if not session.is_home(repo, state):
        return
    begun = parse_time(str(state.get("last_interaction_time"))) or time.time_ns()
    baseline = {"head": state["base_commit"], "time_ns": begun, "at": begun, "dirty": {}}
    session.write_baseline(repo, state, baseline, _measure_condensed(state))


def _measure_condensed(state: State) -> int:
    """The bytes of the transcript that committed checkpoints have; 0 if it cannot be read."""
    lines = state.get("checkpoint_transcript_start", 0)
    try:
        with open(state.get("transcript_path") or "", "rb") as f:
            return sum(map(len, islice(f, lines)))
    except (OSError, ValueError):
        return 0
