"""Values of a repository for the completion of command lines."""

from __future__ import annotations

from gitcp.store.back import points
from gitcp.store.git.objects import Objects
from gitcp.store.session import state as states
from gitcp.store.v1 import committed_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.render.completion import Candidates
    from gitcp.repo import Repo

_REFS = {
    "branch": ["refs/heads"],
    "commit": ["refs/heads", "refs/tags", "refs/remotes"],
    "ref": ["refs/heads/entire", "refs/gitcp", "refs/entire"],
}
_PROMPT = 60  # characters of a prompt


def find_candidates(repo: Repo, kind: str, begun: str) -> Candidates:
    """The values of a kind that begin with begun, each with a description."""
    if kind == "session":
        return _list_sessions(repo, begun)
    if kind == "recorded":
        with Objects(repo) as objects:
            ids = committed_list.find_ids(repo, objects, begun)
        return {**_list_sessions(repo, begun), **dict.fromkeys(ids, "checkpoint")}
    if kind == "point":
        with Objects(repo) as objects:
            return {point["id"]: str(point["kind"]) for point in points.list_points(repo, objects)}
    if kind == "remote":
        return dict.fromkeys(_list_lines(repo, "remote"), "remote")
    form = "%(refname)" if kind == "ref" else "%(refname:short)"
    refs = _list_lines(repo, "for-each-ref", f"--format={form}", *_REFS[kind])
    return dict.fromkeys([*(["HEAD"] if kind == "commit" else []), *refs], "")


def _list_sessions(repo: Repo, begun: str) -> Candidates:
    listed = {}
    for name in states.list_ids(repo):
        state = states.peek(repo, name) if name.startswith(begun) else None
        if state:
            prompt = " ".join(str(state.get("first_prompt") or "").split())[:_PROMPT]
            listed[name] = f"{state.get('agent_type') or 'session'}: {prompt}"
    return listed


def _list_lines(repo: Repo, *args: str) -> list[str]:
    return [line.decode(errors="replace") for line in repo.git.read_records(*args, sep=b"\n")]
