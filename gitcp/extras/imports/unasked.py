"""Conversations that no hook heard of: a person is told of them, or they are imported."""

from __future__ import annotations

import os

from gitcp.extras.imports import linking
from gitcp.record.unheard import unrecorded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.git.repo import Repo
    from gitcp.record.unheard.unrecorded import Unheard


def notice_unrecorded(repo: Repo, *, tells: bool = True) -> str:
    """What a person is to be told of conversations that were not recorded, each once; '' for
    nothing.  With gitcp.import=auto they are imported first.  tells: whether somebody reads it."""
    found = unrecorded.read_current(repo).list_unrecorded()
    if is_automatic(repo):
        done = import_unrecorded(repo, found)
        return done if tells else ""
    fresh = [one for one in found if not one.told]
    if not fresh or not tells:
        return ""
    unrecorded.note_told(repo, fresh)
    return f"{unrecorded.describe(found)}: 'gitcp import'"


def import_silently(repo: Repo) -> None:
    """With gitcp.import=auto, import the conversations that were not recorded."""
    if is_automatic(repo):
        import_unrecorded(repo, unrecorded.look(repo).list_unrecorded())


def is_automatic(repo: Repo) -> bool:
    """Whether conversations that were not recorded are imported without a question."""
    return bool(repo.config.get_option("gitcp.import") == unrecorded.AUTO)


def import_unrecorded(repo: Repo, found: Sequence[Unheard]) -> str:
    """Import conversations that were not recorded; return what was done, '' for nothing."""
    if not found:
        return ""
    home = os.path.expanduser("~")
    sessions = {one.session for one in found}
    plan = linking.prepare_import(repo, home, sessions=sessions)
    step = linking.carry_out_plan(repo, plan)
    if not step:
        return ""
    return f"imported {plan.format_reason()}: 'gitcp undo' takes it back ({step[:8]})"
