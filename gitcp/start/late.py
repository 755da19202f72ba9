"""Modules of gitcp that a process imports when it first uses them: `late.blobs` is the module
gitcp.store.snapshot.blobs.

Beside each stand the milliseconds that a process saves if it does not need the module.
"""

# ruff: noqa: PLC0414
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp import agent_hook as agent_hook  # 0.5
    from gitcp import agents as agents  # 0.3
    from gitcp import hook as hook  # 20
    from gitcp import jj as jj  # 0.1
    from gitcp.agents import other as other  # 0.05
    from gitcp.console import cli as cli  # 1.7
    from gitcp.console import ending as ending  # 11
    from gitcp.console import foreground as foreground  # 2.1
    from gitcp.core.credit import cutting as cutting  # 0.05
    from gitcp.core.credit import evidence as evidence  # 0.09
    from gitcp.core.decide import line_evidence as line_evidence  # 0.05
    from gitcp.core.git import sharing as sharing  # 0.03
    from gitcp.core.guard import discards as discards  # 0.3
    from gitcp.core.guard import messages as messages  # 0.06
    from gitcp.core.lines import moves as moves  # 0.5
    from gitcp.core.lines import replay as replay  # 0.3
    from gitcp.core.redact import personal as personal  # 2.2
    from gitcp.core.redact import redactor as redactor  # 55
    from gitcp.core.redact import rules as rules  # 0.4
    from gitcp.core.render import spans as spans  # 0.1
    from gitcp.core.render import wrapping as wrapping  # 1.3
    from gitcp.core.transcript import tool_ends as tool_ends  # 0.1
    from gitcp.store.auto import settling as settling  # 21
    from gitcp.store.git import cat_file as cat_file  # 0.1
    from gitcp.store.git import direct as direct  # 0.05
    from gitcp.store.git import hook_warnings as hook_warnings  # 0.04
    from gitcp.store.git import reflog as reflog  # 0.09
    from gitcp.store.git import spelling as spelling  # 0.04
    from gitcp.store.git import spread as spread  # 3
    from gitcp.store.guard import open_elsewhere as open_elsewhere  # 0.7
    from gitcp.store.journal import contested as contested  # 1.1
    from gitcp.store.journal import edits_ref as edits_ref  # 0.1
    from gitcp.store.journal import file_tools as file_tools  # 0.08
    from gitcp.store.journal import first_look as first_look  # 0.1
    from gitcp.store.journal import look as look  # 0.2
    from gitcp.store.journal import sources as sources  # 0.5
    from gitcp.store.journal import visits as visits  # 1.1
    from gitcp.store.journal import windows as windows  # 0.3
    from gitcp.store.journal import work as work  # 0.3
    from gitcp.store.lines import carried as carried  # 35
    from gitcp.store.lines import exports as exports  # 40
    from gitcp.store.lines import recording as recording  # 0.5
    from gitcp.store.link import finalize as finalize  # 0.1
    from gitcp.store.link import session_metadata as session_metadata  # 0.3
    from gitcp.store.link import unhooked as unhooked  # 5.2
    from gitcp.store.match import candidates as candidates  # 2.7
    from gitcp.store.match import lost_links as lost_links  # 0.2
    from gitcp.store.match import rewritten as rewritten  # 0.2
    from gitcp.store.pack import kept as kept  # 0.3
    from gitcp.store.pack import packs as packs  # 0.1
    from gitcp.store.pack import upkeep as upkeep  # 0.06
    from gitcp.store.session import conversation_copy as conversation_copy  # 0.02
    from gitcp.store.setup import adapters as adapters  # 1.3
    from gitcp.store.setup import guard_files as guard_files  # 0.04
    from gitcp.store.snapshot import blobs as blobs  # 0.2
    from gitcp.store.snapshot import snapshot as snapshot  # 0.7
    from gitcp.store.snapshot import through_git as through_git  # 0.09
    from gitcp.store.stream import recall as recall  # 0.6
    from gitcp.store.stream import state_copy as state_copy  # 0.05
    from gitcp.store.turn import tasks as tasks  # 0.08
    from gitcp.store.turn import turn_work as turn_work  # 0.1
    from gitcp.store.v1 import committed_read as committed_read  # 2.2
    from gitcp.store.v1 import committed_refs as committed_refs  # 0.1
    from gitcp.store.v1 import committed_write as committed_write  # 1.0
    from gitcp.store.v1 import find_commits as find_commits  # 0.4
    from gitcp.store.v1 import pictures as pictures  # 18
    from gitcp.store.v1.merge import histories as histories  # 11
    from gitcp.store.v1.merge import trees as trees  # 0.5
else:
    _PLACES = {
        "gitcp": "agent_hook agents hook jj",
        "gitcp.agents": "other",
        "gitcp.console": "cli ending foreground",
        "gitcp.core.credit": "cutting evidence",
        "gitcp.core.decide": "line_evidence",
        "gitcp.core.git": "sharing",
        "gitcp.core.guard": "discards messages",
        "gitcp.core.lines": "moves replay",
        "gitcp.core.redact": "personal redactor rules",
        "gitcp.core.render": "spans wrapping",
        "gitcp.core.transcript": "tool_ends",
        "gitcp.store.auto": "settling",
        "gitcp.store.git": "cat_file direct hook_warnings reflog spelling spread",
        "gitcp.store.guard": "open_elsewhere",
        "gitcp.store.journal": "contested edits_ref file_tools first_look look sources visits "
        "windows work",
        "gitcp.store.lines": "carried exports recording",
        "gitcp.store.link": "finalize session_metadata unhooked",
        "gitcp.store.match": "candidates lost_links rewritten",
        "gitcp.store.pack": "kept packs upkeep",
        "gitcp.store.session": "conversation_copy",
        "gitcp.store.setup": "adapters guard_files",
        "gitcp.store.snapshot": "blobs snapshot through_git",
        "gitcp.store.stream": "recall state_copy",
        "gitcp.store.turn": "tasks turn_work",
        "gitcp.store.v1": "committed_read committed_refs committed_write find_commits pictures",
        "gitcp.store.v1.merge": "histories trees",
    }
    _HOMES = {name: place for place, names in _PLACES.items() for name in names.split()}

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(name)
        module = globals()[name] = __import__(f"{_HOMES[name]}.{name}", fromlist=[""])
        return module
