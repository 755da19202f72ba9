"""The agents gitcp knows: every module beside this one is the adapter of a client.

An adapter has NAME (ours, on command lines: the module's), AGENT_TYPE (in stored data: its words,
perhaps with CLI), PROGRAM and FOLDERS (by what `enable` finds it), FORM, HOOKS and settings_paths
(what `enable` installs and where), TRUST (what its client asks before it runs them), SESSION_ENV
(what names the session to a git hook), ANSWERS (its way of hearing no:
gitcp.agents.exchange.replies), KINDS and EVENTS (what its tools and hooks are in our words), event
(payload to record), scan (transcript to facts), session_dir and resume_command.  Where its client
gives cause it also has

    PROJECT_ENV             what names the directory in which the client was started
    HERE_ONLY               True: it reads the settings of that directory alone
    COVERED_BY              the agent whose hooks it runs, so that `enable` need not write its own
    is_own(payload)         False where the payload may be of a client that runs its hooks too
    is_payload(payload)     whether a payload that came to another's hook is of this client
    export(record, folder)  writes the conversation where it can be read, before a record is taken
    subagent_transcript(path, id)
                            where a subagent's transcript is, given its session's; else None
    cutter(), transcript_name(id, time)
                            what cuts its conversations (gitcp.core.conversation), and their names
    is_open(home, id)       whether its client has a conversation open
"""

from __future__ import annotations

import os

from gitcp.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType
    from typing import Any


def names() -> list[str]:
    """The agents' names, in order."""
    files = os.listdir(os.path.dirname(__file__))
    modules = (file[:-3] for file in files if file.endswith(".py") and file[0] not in "_.")
    return sorted(module.replace("_", "-") for module in modules)


def adapter(name: str) -> ModuleType:
    """The adapter of a name, or of an agent type found in stored data; else InputError."""
    known, named = names(), name.lower().replace(" ", "-")
    for one in (named, named.removesuffix("-cli")):
        if one in known:
            return __import__("gitcp.agents." + one.replace("-", "_"), fromlist=["NAME"])
    raise InputError(f"unknown agent '{name}'; known are {', '.join(known)}")


def type_of(name: str) -> str:
    """What stored data calls an agent; any other tool is called by its own name."""
    return str(adapter(name).AGENT_TYPE) if name in names() else name


def answers(name: str) -> str:
    """The way in which an agent hears an answer (gitcp.agents.exchange.replies)."""
    return str(adapter(name).ANSWERS) if name in names() else "plain"


def session_env(agent_type: str) -> tuple[str, ...]:
    """The variables by which a git hook learns the session of an agent, and of any other tool."""
    from gitcp.agents.exchange import other

    try:
        return *adapter(agent_type).SESSION_ENV, *other.SESSION_ENV
    except InputError:
        return other.SESSION_ENV


def subagent_transcript(agent: str, transcript_path: str, agent_id: str) -> str | None:
    """Where the transcript of a subagent is, given its session's; None where the client keeps none
    that we know of.  InputError for an unknown agent, and an id that is not safe."""
    client = adapter(agent)
    if not hasattr(client, "subagent_transcript"):
        return None
    path: str | None = client.subagent_transcript(transcript_path, agent_id)
    return path


def recognise(named: ModuleType, payload: Mapping[str, Any]) -> ModuleType:
    """Whose payload it is: some clients also run the hooks that are installed for another."""
    if hasattr(named, "is_own") and not named.is_own(payload):
        for guest in map(adapter, names()):
            if hasattr(guest, "is_payload") and guest.is_payload(payload):
                return guest
    return named
