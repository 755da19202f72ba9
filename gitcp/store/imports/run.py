"""An import from its beginning to its end: what is found, what is planned, what is done."""

from __future__ import annotations

import tempfile

from gitcp.console import progress
from gitcp.core.render.spans import count_noun
from gitcp.core.transcript import tokens
from gitcp.errors import Error
from gitcp.store.imports import find, write
from gitcp.store.imports.gather import Contents, Gathered
from gitcp.store.imports.plan import Planner
from gitcp.store.session import state as states
from gitcp.store.v1 import committed_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.core.record_types import Usage
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.imports.plan import Link


class Plan:
    """What an import would do.  imported: the sessions that are stored, and what their checkpoints
    count of tokens; counts: how many conversations of each agent; size: their bytes;
    recorded: how many of them are of sessions that gitcp has recorded itself; folder: what came
    out of databases, as long as the plan is needed."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="gitcp-import-")
        self.folder = self._folder.name
        self.gathered = Gathered()
        self.links: list[Link] = []
        self.imported: dict[str, Usage] = {}
        self.counts: dict[str, int] = {}
        self.recorded = self.size = 0

    def list_linked_sessions(self) -> set[str]:
        """The sessions that would be linked."""
        return {part["session"] for link in self.links for part in link["parts"]}

    def format_reason(self) -> str:
        """What it does, on one line."""
        commits = sum(bool(link["commit"]) for link in self.links)
        sessions = len(self.list_linked_sessions())
        return f"{count_noun(sessions, 'session')}, {count_noun(commits, 'commit')}"


def prepare(
    repo: Repo,
    home: str,
    clients: Sequence[str] = (),
    former: Sequence[str] = (),
    since: str = "",
    coarse: bool = False,
    unlinked: bool = False,
) -> Plan:
    """Look for conversations of a repository and for the commits that hold their edits.

    clients: of agents, default all.  former: directories where the repository was.  since: a date
    as git reads it.  coarse, unlinked: what to do with sessions of which no commit holds any.
    """
    plan, places = Plan(), find.list_roots(repo, former)
    known, plan.imported = list_known(repo)
    seconds = find.parse_date(repo, since)
    listed = find.find_conversations(home, places, plan.folder, clients, seconds)
    plan.size = sum(one.size for one in listed)
    for one in listed:
        plan.counts[one.client.AGENT_TYPE] = plan.counts.get(one.client.AGENT_TYPE, 0) + 1
    plan.recorded = sum(one.session in known for one in listed)
    fresh = [one for one in listed if one.session not in known]
    for one in progress.iterate_shown("Reading conversations", fresh):
        plan.gathered.read(one, places)
    with Contents(repo) as contents:
        planner = Planner(repo, contents, plan.gathered)
        plan.links = list(planner.find_links(find.list_own_addresses(repo), coarse))
        if unlinked:
            plan.links += planner.list_unlinked(plan.list_linked_sessions() | plan.imported.keys())
    return plan


def prepare_one(
    repo: Repo, home: str, name: str, agent: str, former: Sequence[str], oids: Sequence[str]
) -> Plan:
    """The plan of attaching one session, by its id or the file of its transcript: to the commits
    that hold its edits, and to those of some that do not by the person's word.

    agent: whose transcript it is, '' where that shows.  former: directories where the repository
    was.  Raises Error for a name of no conversation, or of several, and for a session that gitcp
    has recorded itself.
    """
    plan = Plan()
    parts, places = find.find_session(repo, home, name, agent, former, plan.folder)
    session = parts[0].session
    recorded, plan.imported = list_known(repo)
    if session in recorded:
        raise Error(f"session '{session}' is recorded here: 'gitcp link <commit> {session}'")
    for one in parts:
        plan.gathered.read(one, places)
    with Contents(repo) as contents:
        planner = Planner(repo, contents, plan.gathered)
        plan.links = list(planner.find_links_among(oids))
        proven = {link["commit"] for link in plan.links}
        unproven = [oid for oid in oids if oid not in proven and not planner.has(oid, session)]
        plan.links += [planner.make_link_by_hand(oid, session) for oid in unproven]
    return plan


def list_known(repo: Repo) -> tuple[set[str], dict[str, Usage]]:
    """(the sessions that gitcp has recorded as they went, for what it did not link then has no
    link; those that an import has stored, and what their checkpoints count of tokens)."""
    recorded = set(states.list_ids(repo))
    imported: dict[str, Usage] = {}
    for checkpoint in committed_list.list_checkpoints(repo, brief=True):
        for entry in checkpoint["sessions"]:
            name, metadata = entry["session_id"], entry["metadata"]
            if metadata.get("kind") == write.KIND:
                imported[name] = tokens.add(imported.get(name), metadata.get("token_usage_delta"))
            else:
                recorded.add(name)
    return recorded, imported


def carry_out(repo: Repo, objects: Objects, plan: Plan) -> str:
    """Do what a plan says; the id of the step that takes it back."""
    reason = plan.format_reason()
    return write.carry_out(repo, objects, plan.gathered, plan.links, reason, plan.imported)
