"""The lanes of a page's timeline: a session each, with its turns, tool uses and checkpoints."""

from __future__ import annotations

from gitcp.core.page import timeline
from gitcp.core.render.spans import short

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.core.record_types import Record


_LANE = 44  # units of the drawing from one lane to the next


def lanes_of(sessions: Sequence[Record], commits: Sequence[Record]) -> tuple[list[Record], int]:
    """(the lanes, the height of the drawing); gives each of commits its place `x`."""
    times = [commit["time"] for commit in commits]
    for session in sessions:
        times += [turn[k] for turn in session["turns"] for k in ("start", "end") if turn[k]]
    scale = timeline.Scale(times)
    for commit in commits:
        commit["x"] = round(min(max(scale(commit["time"]), 4), 996), 1)
    lanes = []
    for n, session in enumerate(sessions):
        blocks = [_block(scale, turn) for turn in session["turns"] if turn["start"]]
        marks = [
            {"x": scale(seconds), "id": ", ".join(commit["checkpoints"])}
            for commit in commits
            for key, seconds in commit["marks"]
            if key == session["id"] and seconds
        ]
        lane = {"y": 16 + n * _LANE, "blocks": blocks, "marks": marks}
        lanes.append({**lane, "label": session["label"], "color": session["color"]})
    return lanes, 16 + len(lanes) * _LANE + 24


def _block(scale: timeline.Scale, turn: Record) -> Record:
    x, width = scale.span(turn["start"], turn["end"] or turn["start"])
    label = f"turn {turn['number']}: {short(turn['prompt'], 80)}"
    ticks = sorted({round(min(max(scale(t), x), x + width), 1) for t in turn["ticks"]})
    return {"id": turn["id"], "x": x, "width": width, "label": label, "ticks": ticks}
