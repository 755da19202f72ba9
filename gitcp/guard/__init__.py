"""The guard: the base of a working copy, judged at each event (doc/guard.md).

The base is HEAD or `@` with the sessions that its message names.  A git commit never changes, so
its sessions are cached: a tool call on the same HEAD asks git nothing.
"""

from __future__ import annotations

from gitcp import git
from gitcp.errors import InputError, NoJj
from gitcp.git import files, refs
from gitcp.guard import guard_rules
from gitcp.record import session
from gitcp.text import ids, json, shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.git.jj import Change
    from gitcp.git.repo import Repo
    from gitcp.guard.guard_rules import Base, GuardVerdict
    from gitcp.text.record_types import Marker

_UNBORN = "unborn"


def list_keys(repo: Repo) -> tuple[str, ...]:
    """The trailer keys by which a commit names its session (gitcp.session-trailers)."""
    configured = []
    for value in repo.config.get_all("gitcp.session-trailers"):
        configured += value.split()
    return tuple(configured) or guard_rules.KEYS


def read_base(repo: Repo) -> Base:
    """HEAD of a worktree, or `@` of a jj workspace."""
    if is_jj(repo):
        from gitcp.git import jj

        return _make_jj_base(repo, jj.read_here(repo.worktree))
    name = refs.read_branch(repo)
    if name == "HEAD":
        oid = refs.read_head(repo)
    else:
        oid = refs.read_ref(repo, name)
    return _make_git_base(repo, name, oid)


def read_base_again(repo: Repo, started: Base) -> Base | None:
    """The base that the name of an earlier one has now; None if the name is gone."""
    if started["vcs"] == "jj":
        from gitcp.git import jj

        change = jj.find_change(repo.worktree, started["name"])
        if change:
            return _make_jj_base(repo, change)
        return None
    name = started["name"]
    if name == "HEAD":  # a detached HEAD: the commit itself is the name
        return _make_git_base(repo, name, started["id"])
    oid = refs.read_ref(repo, name)
    if oid:
        return _make_git_base(repo, name, oid)
    return None


def is_jj(repo: Repo) -> bool:
    """Whether this is a jj workspace and jj is installed."""
    if not repo.jj:
        return False
    try:
        from gitcp.git import jj

        return bool(jj.find_program_of(repo.worktree))
    except NoJj:
        return False


def _make_jj_base(repo: Repo, change: Change) -> Base:
    name = change["change"]

    return guard_rules.make_base("jj", name, name, change["message"], list_keys(repo))


def _make_git_base(repo: Repo, name: str, oid: str | None) -> Base:
    if oid is None:
        return guard_rules.make_base("git", name, _UNBORN, b"", ())
    keys = list_keys(repo)
    cached = files.load_cache(repo.join_own_cache("guard-head"), shapes.GUARD_HEAD) or {}
    if cached.get("id") != oid or cached.get("keys") != list(keys):
        message = repo.objects.need(oid, "commit").partition(b"\n\n")[2]

        cached = {
            "id": oid,
            "keys": list(keys),
            "sessions": guard_rules.read_sessions(message, keys),
            "workspace": guard_rules.find_workspace_owner(message),
        }
        _write_cache(repo, json.dumps(cached).encode())
    sessions = cached["sessions"]
    workspace = cached["workspace"]
    return {"vcs": "git", "name": name, "id": oid, "sessions": sessions, "workspace": workspace}


def _write_cache(repo: Repo, cached: bytes) -> None:
    try:
        files.write_private(repo, repo.join_own_cache("guard-head"), cached)
    except OSError:
        pass  # git is asked again next time: a full disk must not refuse a tool call


def is_at_work(repo: Repo, marker: Marker) -> bool:
    """Whether a session is in a turn here and its agent runs, if that can be seen."""
    if marker["phase"] != "active" or not session.is_home(repo, marker):
        return False

    from gitcp.record.session import others

    return others.is_at_work(repo, marker)


def judge_prompt(repo: Repo, session_id: str) -> str:
    """The objection to a first edit in this working copy; '' if its base is safe."""
    base = read_base(repo)
    judged = guard_rules.judge_start(base, session_id, find_live(repo, base))
    if judged["verdict"] == "allow":
        return ""
    return format_objection(judged, session_id)


def list_company(repo: Repo, session_id: str) -> list[str]:
    """The other sessions at work in this working copy."""
    others_here = (m for m in session.read_recent(repo) if m["session_id"] != session_id)
    return [marker["session_id"] for marker in others_here if is_at_work(repo, marker)]


def list_open(repo: Repo, session_id: str) -> set[str]:
    """The other sessions of this working copy that are open and whose agent runs, in a turn or
    not."""
    recent = (m for m in session.read_recent(repo) if m["session_id"] != session_id)
    return {m["session_id"] for m in recent if _is_open(repo, m)}


def _is_open(repo: Repo, marker: Marker) -> bool:
    if marker["phase"] == "ended" or not session.is_home(repo, marker):
        return False

    from gitcp.record.session import others, process

    return process.is_agent_working(marker["agent_process"], others.read_last_heard(repo, marker))


def find_live(repo: Repo, *bases: Base | None) -> set[str]:
    """The sessions that bases name and that are at work here."""
    names: set[str] = set()
    for base in bases:
        if base:
            names.update(base["sessions"])
    live = set()
    for name in names:
        marker = _find_marker(repo, name)
        if marker and is_at_work(repo, marker):
            live.add(name)
    return live


def _find_marker(repo: Repo, name: str) -> Marker | None:
    try:
        return session.find_marker(repo, ids.check_session_id(name))
    except InputError:
        return None  # a trailer that a person wrote may name anything


def get_mode(repo: Repo) -> str:
    """gitcp.guard: off, warn or deny; by default warn in git, deny in jj."""
    mode: str = repo.config.get_option("gitcp.guard")
    if mode:
        return mode
    return "deny" if repo.jj else "warn"


def format_objection(judged: GuardVerdict, session_id: str, path: str = "", age: str = "") -> str:
    """What words.format_refusal() says of a verdict, which is noted in the trace, too."""
    base = judged["base"]
    text = f"{judged['verdict']}: {base['name']} {base['id']}: {judged['reason']}"
    git.append_trace("guard", text)

    from gitcp.guard import words

    return words.format_refusal(judged, session_id, path, age)
