"""An import: finds conversations, plans the links, and carries the plan out."""

from __future__ import annotations

import tempfile
from collections import Counter

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
    """The plan of an import.

    imported: session -> the token usage of its imported checkpoints.  counts: agent -> number of
    conversations.  size: their bytes.  recorded: the number of those whose sessions gitcp recorded
    itself.  folder: a temporary directory for copies from databases.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="gitcp-import-")
        self.folder = self._folder.name
        self.gathered = Gathered()
        self.links: list[Link] = []
        self.imported: dict[str, Usage] = {}
        self.counts = Counter[str]()
        self.recorded = self.size = 0

    def list_linked_sessions(self) -> set[str]:
        """The sessions that the plan links."""
        return {part["session"] for link in self.links for part in link["parts"]}

    def format_reason(self) -> str:
        """The numbers of sessions and commits, on one line."""
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
    """Plan an import of a repository's conversations.

    clients: names of agents, by default all.  former: former directories of the repository.
    since: a date as git reads it.  coarse, unlinked: link sessions without evidence by time and
    files, or store them without a commit.
    """
    plan, roots = Plan(), find.list_roots(repo, former)
    recorded, plan.imported = list_known(repo)
    seconds = find.parse_date(repo, since)
    conversations = find.find_conversations(home, roots, plan.folder, clients, seconds)
    plan.size = sum(conversation.size for conversation in conversations)
    plan.counts = Counter(conversation.client.AGENT_TYPE for conversation in conversations)
    plan.recorded = sum(conversation.session in recorded for conversation in conversations)
    new = [conversation for conversation in conversations if conversation.session not in recorded]
    for conversation in progress.iterate_shown("Reading conversations", new):
        plan.gathered.read(conversation, roots)
    with Contents(repo) as contents:
        planner = Planner(repo, contents, plan.gathered)
        plan.links = list(planner.find_links(find.list_own_addresses(repo), coarse))
        if unlinked:
            plan.links += planner.list_unlinked(plan.list_linked_sessions() | plan.imported.keys())
    return plan


def prepare_one(
    repo: Repo, home: str, name: str, agent: str, former: Sequence[str], oids: Sequence[str]
) -> Plan:
    """Plan to attach one session, by its id or the file of its transcript, to the commits that
    have its edits, and by hand to those of oids that have none.

    agent: the transcript's client, '' to recognise it.  former: former directories of the
    repository.  Raises Error if the name matches no conversation, or several, and for a session
    that gitcp recorded itself.
    """
    plan = Plan()
    conversations, roots = find.find_session(repo, home, name, agent, former, plan.folder)
    session = conversations[0].session
    recorded, plan.imported = list_known(repo)
    if session in recorded:
        raise Error(f"session '{session}' is recorded here: 'gitcp link <commit> {session}'")
    for conversation in conversations:
        plan.gathered.read(conversation, roots)
    with Contents(repo) as contents:
        planner = Planner(repo, contents, plan.gathered)
        plan.links = list(planner.find_links_among(oids))
        linked = {link["commit"] for link in plan.links}
        unlinked = [oid for oid in oids if oid not in linked and not planner.has(oid, session)]
        plan.links += [planner.make_link_by_hand(oid, session) for oid in unlinked]
    return plan


def list_known(repo: Repo) -> tuple[set[str], dict[str, Usage]]:
    """(the sessions that gitcp recorded itself; imported session -> the token usage of its
    checkpoints)."""
    recorded = set(states.list_ids(repo))
    imported: dict[str, Usage] = {}
    for checkpoint in committed_list.list_checkpoints(repo, brief=True):
        for entry in checkpoint["sessions"]:
            session_id, metadata = entry["session_id"], entry["metadata"]
            if metadata.get("kind") == write.KIND:
                usage = metadata.get("token_usage_delta")
                imported[session_id] = tokens.add(imported.get(session_id), usage)
            else:
                recorded.add(session_id)
    return recorded, imported


def write_links(repo: Repo, objects: Objects, plan: Plan) -> str:
    """Carry out a plan; return the id of the step that undoes it."""
    reason = plan.format_reason()
    return write.write_links(repo, objects, plan.gathered, plan.links, reason, plan.imported)
