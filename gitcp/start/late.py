"""Modules of gitcp that a process imports when it first uses them: `late.blobs` is the module
gitcp.store.snapshot.blobs.

Beside each stand the milliseconds that its import takes, with all that it imports, in a process
that has gitcp.agent_hook and gitcp.context (for the console gitcp.__main__): the least of eight
runs with `-X importtime`.  A hook has part of that already, and reads modules from one file.
"""

# ruff: noqa: PLC0414
from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp import agent_hook as agent_hook  # 1.3
    from gitcp import agents as agents  # 0.9
    from gitcp import hook as hook  # 18
    from gitcp import jj as jj  # 0.2
    from gitcp.agents import other as other  # 0.1
    from gitcp.agents.reading import items as items  # 1.7
    from gitcp.console import cli as cli  # 9.2
    from gitcp.console import ending as ending  # 5.7
    from gitcp.console import foreground as foreground  # 8.8
    from gitcp.console import shell as shell  # 19
    from gitcp.core.credit import cutting as cutting  # 0.5
    from gitcp.core.credit import evidence as evidence  # 0.5
    from gitcp.core.credit import file_edits as file_edits  # 0.1
    from gitcp.core.decide import line_evidence as line_evidence  # 0.2
    from gitcp.core.decide import remaining as remaining  # 0.4
    from gitcp.core.git import sharing as sharing  # 0.07
    from gitcp.core.guard import discards as discards  # 0.3
    from gitcp.core.guard import messages as messages  # 0.2
    from gitcp.core.lines import moves as moves  # 0.6
    from gitcp.core.lines import replay as replay  # 1.0
    from gitcp.core.redact import personal as personal  # 8.4
    from gitcp.core.redact import redactor as redactor  # 17
    from gitcp.core.redact import rules as rules  # 6.1
    from gitcp.core.render import spans as spans  # 1.0
    from gitcp.core.render import wrapping as wrapping  # 6.5
    from gitcp.core.transcript import tool_ends as tool_ends  # 0.3
    from gitcp.core.v1 import schema as schema  # 0.7
    from gitcp.core.v1 import summary as summary  # 0.6
    from gitcp.start import lazy_modules as lazy_modules  # 3.7
    from gitcp.store.auto import save as save  # 13
    from gitcp.store.auto import settling as settling  # 13
    from gitcp.store.back import carry_out as carry_out  # 22
    from gitcp.store.back import conversation as conversation  # 30
    from gitcp.store.back import moments as moments  # 17
    from gitcp.store.back import points as points  # 24
    from gitcp.store.back import present as present  # 8.4
    from gitcp.store.care import edits as edits  # 13
    from gitcp.store.git import cat_file as cat_file  # 0.2
    from gitcp.store.git import direct as direct  # 0.8
    from gitcp.store.git import hook_warnings as hook_warnings  # 0.1
    from gitcp.store.git import notes as notes  # 0.7
    from gitcp.store.git import prefetch as prefetch  # 0.2
    from gitcp.store.git import reflog as reflog  # 0.3
    from gitcp.store.git import spelling as spelling  # 0.3
    from gitcp.store.git import spread as spread  # 1.6
    from gitcp.store.git import transactions as transactions  # 0.3
    from gitcp.store.guard import guard as guard  # 1.5
    from gitcp.store.guard import open_elsewhere as open_elsewhere  # 1.5
    from gitcp.store.guard import roster as roster  # 5.8
    from gitcp.store.guard import session_change as session_change  # 4.0
    from gitcp.store.journal import contested as contested  # 2.7
    from gitcp.store.journal import edits_ref as edits_ref  # 0.8
    from gitcp.store.journal import elsewhere as elsewhere  # 1.2
    from gitcp.store.journal import file_tools as file_tools  # 1.5
    from gitcp.store.journal import first_look as first_look  # 1.9
    from gitcp.store.journal import look as look  # 1.3
    from gitcp.store.journal import many_edits as many_edits  # 0.2
    from gitcp.store.journal import sources as sources  # 1.6
    from gitcp.store.journal import turn_look as turn_look  # 1.5
    from gitcp.store.journal import visits as visits  # 4.0
    from gitcp.store.journal import windows as windows  # 2.2
    from gitcp.store.journal import work as work  # 1.0
    from gitcp.store.lines import ai_notes as ai_notes  # 0.2
    from gitcp.store.lines import carried as carried  # 31
    from gitcp.store.lines import exports as exports  # 35
    from gitcp.store.lines import recording as recording  # 7.3
    from gitcp.store.link import after_commit as after_commit  # 5.8
    from gitcp.store.link import before_commit as before_commit  # 3.1
    from gitcp.store.link import commit_match as commit_match  # 1.8
    from gitcp.store.link import commit_sessions as commit_sessions  # 10
    from gitcp.store.link import disclosure as disclosure  # 0.2
    from gitcp.store.link import finalize as finalize  # 3.2
    from gitcp.store.link import session_metadata as session_metadata  # 4.2
    from gitcp.store.link import unhooked as unhooked  # 11
    from gitcp.store.match import candidates as candidates  # 5.3
    from gitcp.store.match import commit_memory as commit_memory  # 0.8
    from gitcp.store.match import lost_links as lost_links  # 9.7
    from gitcp.store.match import rewritten as rewritten  # 2.2
    from gitcp.store.pack import kept as kept  # 0.2
    from gitcp.store.pack import packs as packs  # 0.7
    from gitcp.store.pack import upkeep as upkeep  # 0.6
    from gitcp.store.relink import catch_up as catch_up  # 3.3
    from gitcp.store.relink import reconcile as reconcile  # 12
    from gitcp.store.session import agent_messages as agent_messages  # 0.09
    from gitcp.store.session import conversation_copy as conversation_copy  # 0.09
    from gitcp.store.session import turn_log as turn_log  # 0.08
    from gitcp.store.setup import adapters as adapters  # 9.9
    from gitcp.store.setup import guard_files as guard_files  # 0.3
    from gitcp.store.setup import notices as notices  # 7.2
    from gitcp.store.setup import strategy as strategy  # 0.2
    from gitcp.store.share import sync as sync  # 23
    from gitcp.store.snapshot import blobs as blobs  # 1.3
    from gitcp.store.snapshot import index as index  # 1.5
    from gitcp.store.snapshot import snapshot as snapshot  # 2.3
    from gitcp.store.snapshot import through_git as through_git  # 3.3
    from gitcp.store.stream import carry_forward as carry_forward  # 3.0
    from gitcp.store.stream import place as place  # 1.8
    from gitcp.store.stream import recall as recall  # 1.7
    from gitcp.store.stream import stash_notice as stash_notice  # 1.5
    from gitcp.store.stream import state_copy as state_copy  # 0.6
    from gitcp.store.stream import stated_checkpoint as stated_checkpoint  # 5.7
    from gitcp.store.stream import stream_list as stream_list  # 2.4
    from gitcp.store.stream import stream_verdict as stream_verdict  # 2.2
    from gitcp.store.turn import events as events  # 3.1
    from gitcp.store.turn import greeting as greeting  # 1.8
    from gitcp.store.turn import session_list as session_list  # 11
    from gitcp.store.turn import session_read as session_read  # 4.9
    from gitcp.store.turn import tasks as tasks  # 2.8
    from gitcp.store.turn import turn_work as turn_work  # 7.7
    from gitcp.store.v1 import committed_read as committed_read  # 3.5
    from gitcp.store.v1 import committed_refs as committed_refs  # 0.4
    from gitcp.store.v1 import committed_write as committed_write  # 2.8
    from gitcp.store.v1 import conversion as conversion  # 15
    from gitcp.store.v1 import find_commits as find_commits  # 1.1
    from gitcp.store.v1 import pictures as pictures  # 7.2
    from gitcp.store.v1 import transcript as transcript  # 1.3
    from gitcp.store.v1.merge import histories as histories  # 15
    from gitcp.store.v1.merge import trees as trees  # 11
else:
    _PLACES = {
        "gitcp": "agent_hook agents hook jj",
        "gitcp.agents": "other",
        "gitcp.agents.reading": "items",
        "gitcp.console": "cli ending foreground shell",
        "gitcp.core.credit": "cutting evidence file_edits",
        "gitcp.core.decide": "line_evidence remaining",
        "gitcp.core.git": "sharing",
        "gitcp.core.guard": "discards messages",
        "gitcp.core.lines": "moves replay",
        "gitcp.core.redact": "personal redactor rules",
        "gitcp.core.render": "spans wrapping",
        "gitcp.core.transcript": "tool_ends",
        "gitcp.core.v1": "schema summary",
        "gitcp.start": "lazy_modules",
        "gitcp.store.auto": "save settling",
        "gitcp.store.back": "carry_out conversation moments points present",
        "gitcp.store.care": "edits",
        "gitcp.store.git": "cat_file direct hook_warnings notes prefetch reflog spelling spread "
        "transactions",
        "gitcp.store.guard": "guard open_elsewhere roster session_change",
        "gitcp.store.journal": "contested edits_ref elsewhere file_tools first_look look "
        "many_edits sources turn_look visits windows work",
        "gitcp.store.lines": "ai_notes carried exports recording",
        "gitcp.store.link": "after_commit before_commit commit_match commit_sessions disclosure "
        "finalize session_metadata unhooked",
        "gitcp.store.match": "candidates commit_memory lost_links rewritten",
        "gitcp.store.pack": "kept packs upkeep",
        "gitcp.store.relink": "catch_up reconcile",
        "gitcp.store.session": "agent_messages conversation_copy turn_log",
        "gitcp.store.setup": "adapters guard_files notices strategy",
        "gitcp.store.share": "sync",
        "gitcp.store.snapshot": "blobs index snapshot through_git",
        "gitcp.store.stream": "carry_forward place recall stash_notice state_copy "
        "stated_checkpoint stream_list stream_verdict",
        "gitcp.store.turn": "events greeting session_list session_read tasks turn_work",
        "gitcp.store.v1": "committed_read committed_refs committed_write conversion "
        "find_commits pictures transcript",
        "gitcp.store.v1.merge": "histories trees",
    }
    _HOMES = {name: place for place, names in _PLACES.items() for name in names.split()}

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(name)
        place = f"{_HOMES[name]}.{name}"
        load = getattr(sys.meta_path[0], "import_module", None)  # of a hook's file of bytecode
        module = globals()[name] = load(place) if load else __import__(place, fromlist=[""])
        return module
