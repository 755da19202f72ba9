"""What clients keep of a repository, counted by the names of files alone, and how long they do."""

from __future__ import annotations

import os
import time

from gitcp import agents
from gitcp.agents.install import json_text
from gitcp.core.render.spans import count_noun
from gitcp.errors import InputError
from gitcp.process import files
from gitcp.record import decode_name
from gitcp.store.imports import find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.agents import Client
    from gitcp.repo import Repo

    Kept = dict[str, list[float]]  # client -> when each of its conversations went on last


def count_conversations(repo: Repo, home: str) -> Kept:
    """The conversations of each client whose folders name the directory they were held in, in s
    since 1970.  One file of a folder is opened: names of several directories may be the same."""
    places = find.list_roots(repo)
    kept: Kept = {}
    for client in map(agents.get_client, agents.list_names()):
        if not client.BY_PLACE:
            continue
        paths = dict.fromkeys(p for place in places for p in client.list_conversations(home, place))
        folders: dict[str, list[str]] = {}
        for path in paths:
            if not os.path.basename(path).startswith("agent-"):  # a subagent's
                folders.setdefault(os.path.dirname(path), []).append(path)
        for group in folders.values():
            if any(find.open_file(client, path, places[0], places) for path in group[:3]):
                kept.setdefault(client.NAME, []).extend(_read_time(path) for path in group)
    return kept


def _read_time(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return time.time()


def describe(repo: Repo, home: str, clients: Kept) -> list[str]:
    """A line on how many there are, and one for each client that deletes them."""
    times = [when for group in clients.values() for when in group]
    if not times:
        return []
    oldest, today = time.localtime(min(times)), time.localtime()
    since = time.strftime("%B" if oldest.tm_year == today.tm_year else "%B %Y", oldest)
    count = count_noun(len(times), "conversation")
    lines = [f"{count} since {since}: 'gitcp import' links their commits"]
    return [*lines, *list_deletions(repo, home, clients)]


def list_deletions(repo: Repo, home: str, clients: Kept) -> list[str]:
    """A line for each client of these that deletes conversations and was not told when."""
    lines = []
    for client in map(agents.get_client, clients):
        key, days = client.DELETES
        if key and not _is_set(client, key, repo, home):
            lines.append(
                f"{client.AGENT_TYPE} deletes conversations after {days} days:"
                f" '{key}' in its settings keeps them longer"
            )
    return lines


def _is_set(client: Client, key: str, repo: Repo, home: str) -> bool:
    for path in (*client.MANAGED, *client.list_settings_paths(home, repo.worktree).values()):
        try:
            if key in json_text.parse(decode_name(files.peek(path)) or "{}", comments=True):
                return True
        except InputError:
            continue
    return False
