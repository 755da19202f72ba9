"""The life of a session as a state machine: idle, active, ended (doc/behaviour.md "Phases")."""

from __future__ import annotations

IDLE = "idle"
ACTIVE = "active"
ENDED = "ended"
TURN_START = "turn-start"
TURN_END = "turn-end"
GIT_COMMIT = "git-commit"
SESSION_START = "session-start"
SESSION_END = "session-end"
CONDENSE = "condense"
CONDENSE_IF_FILES_TOUCHED = "condense-if-files-touched"
DISCARD_IF_NO_FILES = "discard-if-no-files"
UPDATE_LAST_INTERACTION = "update-last-interaction"
CLEAR_ENDED_AT = "clear-ended-at"
WARN_STALE_SESSION = "warn-stale-session"


# Files in the git directory while git replays commits.  A merge, a revert and a bisect make
# commits like any other, so MERGE_HEAD, REVERT_HEAD and BISECT_LOG are not listed.
REWRITING = ("rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD")
TABLE = {
    (IDLE, TURN_START): (ACTIVE, (UPDATE_LAST_INTERACTION,)),
    (IDLE, GIT_COMMIT): (IDLE, (CONDENSE, UPDATE_LAST_INTERACTION)),
    (IDLE, SESSION_END): (ENDED, (UPDATE_LAST_INTERACTION,)),
    (ACTIVE, TURN_START): (ACTIVE, (UPDATE_LAST_INTERACTION,)),  # the last turn was interrupted
    (ACTIVE, TURN_END): (IDLE, (UPDATE_LAST_INTERACTION,)),
    (ACTIVE, GIT_COMMIT): (ACTIVE, (CONDENSE, UPDATE_LAST_INTERACTION)),
    (ACTIVE, SESSION_START): (ACTIVE, (WARN_STALE_SESSION,)),
    (ACTIVE, SESSION_END): (ENDED, (UPDATE_LAST_INTERACTION,)),
    (ENDED, TURN_START): (ACTIVE, (CLEAR_ENDED_AT, UPDATE_LAST_INTERACTION)),
    (ENDED, GIT_COMMIT): (ENDED, (CONDENSE_IF_FILES_TOUCHED, UPDATE_LAST_INTERACTION)),
    (ENDED, SESSION_START): (IDLE, (CLEAR_ENDED_AT,)),
}


def parse_phase(phase: str | None) -> str:
    """The phase in a state file: `active_committed` is active, an unknown one is idle."""
    if phase == "active_committed":
        return ACTIVE
    return phase if phase in (IDLE, ACTIVE, ENDED) else IDLE


def find_transition(
    phase: str | None, event: str, *, rewriting: bool = False, files_touched: bool = True
) -> tuple[str, tuple[str, ...]]:
    """Return the next phase and the actions to take, in order (doc/behaviour.md "Phases").

    rewriting: git replays commits (REWRITING); then a commit changes nothing.
    files_touched: the session has files in the commit; matters for an ended session only.
    The condense actions apply only if `match` linked the session to the commit.  An event that is
    not in the table changes nothing.
    """
    current = parse_phase(phase)
    if event == GIT_COMMIT and rewriting:
        return current, ()
    if (current, event) == (ENDED, GIT_COMMIT) and not files_touched:
        return ENDED, (DISCARD_IF_NO_FILES, UPDATE_LAST_INTERACTION)
    return TABLE.get((current, event), (current, ()))
