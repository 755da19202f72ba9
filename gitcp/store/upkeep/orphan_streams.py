"""Streams that no session needs: those no state names, and archives that have expired."""

from __future__ import annotations

import os

from gitcp.core.decide.orphan_rules import days, orphan
from gitcp.core.git import ids
from gitcp.errors import Error
from gitcp.store.session import session_read
from gitcp.store.stream import shadow_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.core.decide.orphan_rules import Ages
    from gitcp.core.record_types import Finding, State, Tip
    from gitcp.repo import Repo
    from gitcp.store.upkeep.survey import Survey


def find(survey: Survey, ages: Ages) -> Iterator[Finding]:
    """The streams that no state names, and those that are old: archives, and branches of a base
    that no worktree is on.

    One that a state names goes with what that has in it alone (`alone`: session -> paths),
    never while the session is active.  What a state has on no ref at all goes as late.
    """
    doomed: list[tuple[str, Tip, str]] = []
    for tip in survey.tips:
        age = ages.now - _since(survey.repo, tip)
        kind, keep, why = _judge(survey, tip, ages)
        if kind and age >= keep and tip["ref"] not in survey.held:
            doomed.append((kind, tip, f"{why}; {days(age)} old"))
        elif kind and kind not in ("expired-archive", "left-stream"):
            reason = f"{why}; {days(age)} old"
            yield orphan(kind, tip["ref"], reason, settled=False, **_facts(tip))
    without = {tip["ref"] for _, tip, _ in doomed}
    for kind, tip, reason in doomed:
        alone = _alone(survey, tip, without)
        words = f"{reason}; settles {_names(alone)}" if alone else reason
        yield orphan(kind, tip["ref"], words, alone=alone, **_facts(tip))


def _judge(survey: Survey, tip: Tip, ages: Ages) -> tuple[str, float, str]:
    """(kind, seconds it is kept, why) of a stream that goes some day; kind '' for another."""
    archived = tip["ref"].startswith(shadow_refs.ARCHIVE)
    if survey.orphaned(tip):
        if survey.settled(tip):
            return "settled-stream", ages.state, "commits have settled it"
        return "orphan-stream", ages.archive, "no state names it"
    parsed = None if archived else ids.parse_shadow(tip["ref"])
    left = parsed and not any(head.startswith(parsed["base7"]) for head in survey.heads())
    # Of a state that cannot be read nobody knows what it names.
    on = survey.on(tip) if archived or left else []
    if not on or any(state["phase"] not in ("idle", "ended") for state in on):
        return "", 0, ""
    if left:
        return "left-stream", ages.archive, "no worktree is on its base"
    return "expired-archive", ages.archive, "archived"


def gone(survey: Survey, ages: Ages) -> Iterator[Finding]:
    """What states name of streams that no ref has, once it is as old as an archive may be."""
    there = {tip["stream"] for tip in survey.tips}
    for state in survey.states:
        if state.get("unreadable") or state["phase"] not in ("idle", "ended"):
            continue
        age = ages.now - last_seen(state)
        for stream in state["streams"]:
            paths = sorted(stream["files"])
            if paths and stream["id"] not in there and age >= ages.archive:
                alone = {state["session_id"]: paths}
                words = f"no ref has stream '{stream['id']}'; {days(age)} old; settles"
                facts = {"stream": stream["id"], "alone": alone}
                yield orphan(
                    "lost-stream", state["session_id"], f"{words} {_names(alone)}", **facts
                )


def last_seen(state: State) -> float:
    """When a session last did something, in seconds since 1970; 0 where it does not say."""
    keys = ("last_interaction_time", "ended_at", "started_at")
    return max(session_read.instant(state.get(key)) for key in keys)


def _facts(tip: Tip) -> dict[str, object]:
    return {"ref": tip["ref"], "oid": tip["oid"], "time": tip["time"], "stream": tip["stream"]}


def _alone(survey: Survey, tip: Tip, without: set[str]) -> dict[str, list[str]]:
    """session -> the paths its state names that no ref of the stream records once the refs
    without are gone."""
    on = survey.on(tip)
    stay = _kept(survey, tip["stream"], without) if on else set()
    paths_of = {
        state["session_id"]: sorted(
            {p for s in state["streams"] if s["id"] == tip["stream"] for p in s["files"]} - stay
        )
        for state in on
    }
    return {name: paths for name, paths in paths_of.items() if paths}


def _names(alone: dict[str, list[str]]) -> str:
    return "; ".join(f"{' '.join(paths)} of '{name}'" for name, paths in alone.items())


def _since(repo: Repo, tip: Tip) -> float:
    """When a stream came to be what it is: an old one may have been archived just now."""
    try:
        return max(tip["time"], os.stat(os.path.join(repo.common, tip["ref"])).st_mtime)
    except OSError:
        return tip["time"]  # packed long ago


def _kept(survey: Survey, stream: str, without: set[str]) -> set[str]:
    """The paths that refs of a stream record, those refs left out that are without."""
    paths: set[str] = set()
    for tip in survey.tips:
        if tip["stream"] == stream and tip["ref"] not in without:
            try:
                paths.update(shadow_refs.recorded(survey.objects, tip))
            except Error:  # not everything of it is there: nothing is known to be away
                paths.update(
                    path for s in survey.on(tip) for x in s["streams"] for path in x["files"]
                )
    return paths
