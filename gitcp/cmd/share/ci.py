"""gitcp-ci - write the job of a forge that comments and keeps links

A job is pinned to one commit of gitcp, and has no right that it does not use.
"""

from __future__ import annotations

import os
from importlib import metadata

from gitcp.commands import make_flag, make_value
from gitcp.errors import OK, Error, InputError, hide_passwords
from gitcp.git import Git, decode_name, files, refs
from gitcp.git.repo import Repo
from gitcp.setup import ci_jobs
from gitcp.terminal import cli, extras, versions
from gitcp.text import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

_WHOLE = 40  # digits of a commit's name: a shorter one may come to mean another commit
OPTIONS = (
    make_value("--source", "<url>", "gitcp's repository (default: where this gitcp is from)"),
    make_value("--commit", "<commit>", "the commit of it to run (default: that of this gitcp)"),
    make_value("--branch", "<branch>", "where changes are merged into (default: that of origin)"),
    make_flag("--check", "let the job fail where a change breaks a rule of .gitcp.toml"),
    make_flag("-n --dry-run", "print the file, write nothing"),
    make_flag("--force", "replace a file that is not as gitcp writes it"),
    make_value("action", "install", "write the job", choices=("install",)),
    make_value("forge", "github|gitlab", "whose job", choices=tuple(ci_jobs.FORGES)),
)


def run(argv: Sequence[str]) -> int:
    """Write the job, and say what was written and what is left to do."""
    args = cli.parse("ci", OPTIONS, argv)
    repo = Repo.find()
    text = _build_job(repo, args)
    if args.dry_run:
        print(text, end="")
        return OK
    path = ci_jobs.FORGES[args.forge]
    is_new = _write(os.path.join(repo.worktree, path), text, args.force)
    print(f"wrote '{path}'" if is_new else f"'{path}' is up to date")
    _tell_rest(repo, args.forge, path)
    return OK


def _build_job(repo: Repo, args: Namespace) -> str:
    source = args.source or _find_source()
    if not source:
        raise InputError("where gitcp's repository is, is not known here: name it by --source")
    if hide_passwords(source) != source:
        raise InputError("the address of gitcp's repository has a password: name one without")
    commit = args.commit or versions.find_commit()
    if not shapes.is_object_name(commit) or len(commit) < _WHOLE:
        raise InputError("which commit of gitcp is to run is not known: name it whole by --commit")
    if args.forge == "github" and not ci_jobs.find_owner(source):
        raise InputError(f"'{source}' is not a repository on GitHub, which runs actions of its own")
    branch = args.branch or _find_branch(repo)
    return ci_jobs.build_job(args.forge, source, commit, branch, args.check)


def _find_source() -> str:
    """The URL of gitcp's repository: by the metadata of the installation, or the checkout that
    runs; "" if neither has one."""
    try:
        urls = metadata.metadata(extras.DISTRIBUTION).get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        urls = []
    for line in urls:
        label, _, url = line.partition(", ")
        if label == "Source":
            return str(url)
    top = versions.find_checkout()
    if not top:
        return ""
    git = Git(top, versions.drop_git_variables())
    status, url = git.run("config", "remote.origin.url", ok=(0, 1))
    return url.decode().strip() if status == 0 else ""


def _find_branch(repo: Repo) -> str:
    """The branch that origin calls its own, else the one that is checked out."""
    names = "symbolic-ref", "-q", "--short", "refs/remotes/origin/HEAD"
    status, said = repo.git.run(*names, ok=(0, 1))
    if status == 0:
        return decode_name(said.strip()).removeprefix("origin/")
    name = refs.read_branch(repo).removeprefix("refs/heads/")
    return "main" if name == "HEAD" else name


def _write(path: str, text: str, force: bool) -> bool:
    """Write a file, and say whether it was not there as it is.

    Raise Error for one that is not as it was written, unless force is given."""
    data = text.encode()
    old = files.read_bytes(path)
    if old == data:
        return False
    if old is not None and not force and not old.startswith(ci_jobs.MARK.encode()):
        raise Error(f"'{path}' is not gitcp's; --force replaces it")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    files.replace_file(path, data)
    return True


def _tell_rest(repo: Repo, forge: str, path: str) -> None:
    """Say what is left to do before the job runs."""
    if forge == "gitlab":
        start = files.read_bytes(os.path.join(repo.worktree, ci_jobs.START))
        if start is None or path.encode() not in start:
            print(f"add to '{ci_jobs.START}':\n  include:\n    - local: {path}")
        print("make the variable GITCP_TOKEN, which the file describes")
    print("commit the file: it runs once it is on the branch that changes are merged into")
