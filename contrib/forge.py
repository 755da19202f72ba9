"""What gitcp does in a forge's job: one comment on a change and annotations on its lines, links
carried along after a merge.

It runs in a clone with the whole history; actions of GitHub and jobs of GitLab call it, and say by
their environment what happened.  Nothing of the change is run.  Needs only Python and gitcp.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gitcp.text.prompt_text import read_first_line
from gitcp.text.short_ids import shorten_id

MARK = "<!-- gitcp -->"  # begins our comment, by which the next run finds it
_NONE = "0" * 40
_MOST = 60000  # characters of a comment: forges refuse one that is much longer
_PAGE = "gitcp.html"
_REPORT = "gl-code-quality-report.json"  # GitLab's name of it
_ANNOTATIONS = 50  # of a change; GitHub takes no more at once
_PROMPT = 500  # characters of a prompt in an annotation
_TARGET = "refs/gitcp/target"  # the branch that a change is to be merged into
_HEAD = "refs/gitcp/change"  # the end of a change, for what is looked for in refs


@dataclass
class Change:
    """A pull or merge request.  onto: what became of it on its target, "" before that."""

    number: int
    base: str
    head: str
    ref: str  # where the forge keeps its commits, from forks too
    onto: str = ""


@dataclass
class Event:
    """What happened: a change to comment on, or merged ones."""

    open: Change | None = None
    merged: list[Change] = field(default_factory=list)


@dataclass
class Annotation:
    """What one prompt wrote of a file.  first, last: its longest run of lines; count: all."""

    path: str
    first: int
    last: int
    count: int
    title: str
    message: str


class Refused(Exception):
    """The forge does not let us, as with the token that it gives the job of a fork's change."""


class Forge:
    """A forge's interface.  Raises Refused where the token has no right, OSError for all else."""

    def __init__(self, api: str, headers: dict[str, str]) -> None:
        self.api, self.headers = api.rstrip("/"), headers

    def ask(self, path: str, method: str = "GET", **given: object) -> Any:
        """What the forge answers."""
        data = json.dumps(given).encode() if given else None
        headers = {**self.headers, "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.api}/{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                text = answer.read()
        except urllib.error.HTTPError as e:
            if e.code in (401, 403, 404):
                raise Refused(f"{method} {path}: {e.code} {e.reason}") from None
            raise
        return json.loads(text) if text else None

    def every(self, path: str) -> list[Any]:
        """All pages of a list."""
        found: list[Any] = []
        for page in range(1, 31):
            part = self.ask(f"{path}?per_page=100&page={page}")
            found += part
            if len(part) < 100:
                break
        return found

    def event(self) -> Event:
        raise NotImplementedError

    def comments(self, change: Change) -> str:
        """The path of the comments of a change."""
        raise NotImplementedError

    def comment(self, change: Change, number: int) -> str:
        """The path of a comment."""
        raise NotImplementedError

    def is_own(self, comment: Any) -> bool:
        """Whether a comment may be ours: a person may have quoted the mark."""
        raise NotImplementedError

    def annotate(self, change: Change, annotations: list[Annotation], summary: str) -> None:
        """Show annotations on the lines of a change."""
        raise NotImplementedError


class GitHub(Forge):
    renews = "PATCH"

    def __init__(self, env: dict[str, str]) -> None:
        token = {"Authorization": f"Bearer {env['TOKEN']}"} if env.get("TOKEN") else {}
        super().__init__(env["GITHUB_API_URL"], {"Accept": "application/vnd.github+json", **token})
        self.repository = env["GITHUB_REPOSITORY"]
        self.kind = env["GITHUB_EVENT_NAME"]
        self.given = json.loads(Path(env["GITHUB_EVENT_PATH"]).read_text())

    def event(self) -> Event:
        if self.kind in ("pull_request", "pull_request_target"):
            change = self._change(self.given["pull_request"])
            if not self.given["pull_request"].get("merged"):
                closed = self.given.get("action") == "closed"
                return Event(open=None if closed else change)
            return Event(merged=[change])
        if self.kind != "push" or self.given.get("deleted"):
            return Event()
        pulls = {}
        for oid in _new_commits(self.given["before"], self.given["after"]):
            for pull in self.ask(f"repos/{self.repository}/commits/{oid}/pulls"):
                if pull.get("merged_at"):
                    pulls[pull["number"]] = self._change(pull)
        return Event(merged=[pulls[number] for number in sorted(pulls)])

    def _change(self, pull: Any) -> Change:
        number, onto = int(pull["number"]), pull.get("merge_commit_sha") or ""
        merged = pull.get("merged") or pull.get("merged_at")
        ends = pull["base"]["sha"], pull["head"]["sha"]
        return Change(number, *ends, f"refs/pull/{number}/head", onto if merged else "")

    def comments(self, change: Change) -> str:
        return f"repos/{self.repository}/issues/{change.number}/comments"

    def comment(self, change: Change, number: int) -> str:
        return f"repos/{self.repository}/issues/comments/{number}"

    def is_own(self, comment: Any) -> bool:
        return bool(comment["user"]["type"] == "Bot")

    def annotate(self, change: Change, annotations: list[Annotation], summary: str) -> None:
        """As those of a check, which neither passes nor fails."""
        shown = [
            {
                "path": one.path,
                "start_line": one.first,
                "end_line": one.last,
                "annotation_level": "notice",
                "title": one.title,
                "message": one.message,
            }
            for one in annotations
        ]
        self.ask(
            f"repos/{self.repository}/check-runs",
            "POST",
            name="gitcp",
            head_sha=change.head,
            status="completed",
            conclusion="neutral",
            output={"title": summary, "summary": summary, "annotations": shown},
        )


class GitLab(Forge):
    renews = "PUT"

    def __init__(self, env: dict[str, str]) -> None:
        token = env.get("TOKEN", "")
        super().__init__(env["CI_API_V4_URL"], {"PRIVATE-TOKEN": token} if token else {})
        self.env, self.project = env, f"projects/{env['CI_PROJECT_ID']}"

    def event(self) -> Event:
        env = self.env
        if env["CI_PIPELINE_SOURCE"] == "merge_request_event":
            number = int(env["CI_MERGE_REQUEST_IID"])
            head = env.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA") or env["CI_COMMIT_SHA"]
            base = env["CI_MERGE_REQUEST_DIFF_BASE_SHA"]
            return Event(open=Change(number, base, head, f"refs/merge-requests/{number}/head"))
        merged = {}
        for oid in _new_commits(env.get("CI_COMMIT_BEFORE_SHA", _NONE), env["CI_COMMIT_SHA"]):
            for one in self.ask(f"{self.project}/repository/commits/{oid}/merge_requests"):
                if one["state"] == "merged":
                    merged[one["iid"]] = self._change(one)
        return Event(merged=[merged[number] for number in sorted(merged)])

    def _change(self, one: Any) -> Change:
        number = int(one["iid"])
        # A merge by fast-forward, rebased or not, has neither: the commit it ended with is its own.
        onto = one.get("squash_commit_sha") or one.get("merge_commit_sha") or one["sha"]
        return Change(number, "", one["sha"], f"refs/merge-requests/{number}/head", onto)

    def comments(self, change: Change) -> str:
        return f"{self.project}/merge_requests/{change.number}/notes"

    def comment(self, change: Change, number: int) -> str:
        return f"{self.comments(change)}/{number}"

    def is_own(self, comment: Any) -> bool:
        if not hasattr(self, "name"):
            self.name = self.ask("user")["username"]
        return bool(comment["author"]["username"] == self.name)

    def annotate(self, change: Change, annotations: list[Annotation], summary: str) -> None:
        """As a code quality report, which the job hands on."""
        rows = []
        for one in annotations:
            key = f"{one.path}\0{one.title}"
            row = {
                "check_name": "gitcp",
                "description": f"{one.title}: {one.message}",
                "fingerprint": hashlib.sha256(key.encode()).hexdigest(),
                "severity": "info",
                "location": {"path": one.path, "lines": {"begin": one.first, "end": one.last}},
            }
            rows.append(row)
        Path(_REPORT).write_text(json.dumps(rows, indent=1) + "\n")


def run(*args: str) -> str:
    """What a command prints; raise CalledProcessError where it fails."""
    return subprocess.run(args, check=True, stdout=subprocess.PIPE, text=True).stdout


def gitcp(*args: str) -> str:
    """What a command of the gitcp beside this Python prints."""
    return run(str(Path(sys.executable).with_name("gitcp")), *args)


def _new_commits(before: str, after: str) -> list[str]:
    """What a push brought to its branch, the newest first and a hundred at most."""
    known = (
        before.strip("0")
        and not subprocess.run(
            ["git", "cat-file", "-e", f"{before}^{{commit}}"], stderr=subprocess.DEVNULL
        ).returncode
    )
    chosen = f"{before}..{after}" if known else after
    most = "100" if known else "1"
    return run("git", "rev-list", "--first-parent", "-n", most, chosen).split()


def prepare(env: dict[str, str]) -> bool:
    """Have the checkpoints of the destination here; whether that is this very repository."""
    destination = env.get("CHECKPOINTS") or "origin"
    run("git", "config", "gitcp.remote", destination)
    for name, value in (("user.name", "gitcp"), ("user.email", "gitcp@localhost")):
        if subprocess.run(["git", "config", name], stdout=subprocess.DEVNULL).returncode:
            run("git", "config", name, value)
    gitcp("fetch")
    return _plain(destination) in ("origin", _plain(run("git", "remote", "get-url", "origin")))


def _plain(url: str) -> str:
    """An address without what does not tell repositories apart."""
    return re.sub(r"//[^/@]*@", "//", url.strip()).removesuffix("/").removesuffix(".git")


def bring(change: Change) -> None:
    """Have the commits of a change here, from a fork too."""
    run("git", "fetch", "-q", "origin", change.ref)


def carry_along(changes: list[Change]) -> None:
    """Give what was merged the links, lines and notes of its changes, and send them."""
    changes = [change for change in changes if change.onto != change.head]
    for change in changes:
        bring(change)
        print(f"change {change.number}: {change.head[:12]} became {change.onto[:12]}")
        print(gitcp("relink", "--onto", change.onto, change.head), end="")
    if changes:
        print(gitcp("push"), end="")


def write_comment(forge: Any, change: Change, body: str) -> None:
    """Write our comment, or renew it; of two that ran at once the older one stays."""
    text = f"{MARK}\n{body}"
    own = _own(forge, change)
    if not own:
        forge.ask(forge.comments(change), "POST", body=text)
        own = _own(forge, change)
    for number in own[1:]:
        try:
            forge.ask(forge.comment(change, number), "DELETE")
        except Refused:
            pass  # the other one was faster
    forge.ask(forge.comment(change, own[0]), forge.renews, body=text)


def _own(forge: Any, change: Change) -> list[int]:
    every = forge.every(forge.comments(change))
    return sorted(c["id"] for c in every if c["body"].startswith(MARK) and forge.is_own(c))


def describe(change: Change, prompts: bool) -> str:
    """What the comment says: numbers, and where that was asked for the prompts."""
    chosen = f"{change.base}..{change.head}"
    body = gitcp("stats", "--markdown", chosen)
    if prompts:
        told = gitcp("log", chosen)
        quoted = "\n".join(f"    {line}" for line in told.splitlines())
        body += f"\n<details><summary>Commits and prompts</summary>\n\n{quoted}\n\n</details>\n"
    if len(body) > _MOST:
        body = f"{body[:_MOST].rpartition(chr(10))[0]}\n\n(cut short)\n"
    return body


def list_annotations(change: Change, prompts: bool) -> list[Annotation]:
    """What each prompt wrote of each file of a change, those with most lines first."""
    run("git", "update-ref", _HEAD, change.head)
    patch = subprocess.run(
        ["git", "diff", "--no-ext-diff", "--no-color", f"{change.base}...{change.head}"],
        check=True,
        stdout=subprocess.PIPE,
    ).stdout
    command = [str(Path(sys.executable).with_name("gitcp")), "annotate", "--json"]
    told = subprocess.run(command, input=patch, check=True, stdout=subprocess.PIPE).stdout
    groups: dict[tuple[str, str, int], list[Any]] = {}
    for line in told.splitlines():
        row = json.loads(line)
        if row.get("who") == "session":
            key = row["path"], row["session_id"], row["number"] or 0
            groups.setdefault(key, []).append(row)
    found = [_build_annotation(rows, prompts) for rows in groups.values()]
    return sorted(found, key=lambda one: (-one.count, one.path, one.first))


def _build_annotation(rows: list[Any], prompts: bool) -> Annotation:
    """rows: of `gitcp annotate --json`, of one file and prompt."""
    runs: list[list[int]] = []
    for number in sorted(row["line"] for row in rows):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    first, last = max(runs, key=lambda run: run[1] - run[0])
    about = rows[0]
    title = f"{about['agent'] or 'agent'}, session {shorten_id(about['session_id'])}"
    if about["number"]:
        title += f", prompt {about['number']}"
    places = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs[:10])
    if len(runs) > 10:
        places += ", …"
    message = f"wrote {len(rows)} line{'s' if len(rows) > 1 else ''} of this file: {places}"
    name = read_first_line(about["prompt"])
    if prompts and name:
        message += f"\n> {name[:_PROMPT]}"
    return Annotation(about["path"], first, last, len(rows), title, message)


def show_annotations(forge: Any, change: Change, prompts: bool) -> None:
    """Annotate the lines of a change, where the forge lets us."""
    found = list_annotations(change, prompts)
    summary = f"{sum(one.count for one in found)} lines by agents"
    if len(found) > _ANNOTATIONS:
        summary += f"; the {_ANNOTATIONS} largest of {len(found)} parts are shown"
    try:
        forge.annotate(change, found[:_ANNOTATIONS], summary)
    except Refused as e:
        print(f"no annotations: the forge refuses them ({e})", file=sys.stderr)


def write_page(chosen: str) -> None:
    """Write the page of a change; status 1 says that it lacks something, which it tells."""
    command = [str(Path(sys.executable).with_name("gitcp")), "page", "-o", _PAGE, chosen]
    done = subprocess.run(command)
    if done.returncode not in (0, 1):
        raise subprocess.CalledProcessError(done.returncode, command)


def _tell(env: dict[str, str], name: str, value: str) -> None:
    """Hand a value on to the next steps of a job."""
    if env.get("GITHUB_OUTPUT"):
        with open(env["GITHUB_OUTPUT"], "a") as f:
            f.write(f"{name}={value}\n")


def report(forge: Any, change: Change, env: dict[str, str], here: bool) -> None:
    """Comment on a change and annotate it, write its page where that may be seen, and check it
    where asked."""
    bring(change)
    prompts = here and env.get("PROMPTS") == "true"
    body = describe(change, prompts)
    try:
        write_comment(forge, change, body)
    except Refused as e:
        print(f"no comment: the forge refuses it ({e})", file=sys.stderr)
        with open(env.get("GITHUB_STEP_SUMMARY") or os.devnull, "a") as f:
            f.write(body)
    if env.get("ANNOTATIONS", "true") == "true":
        show_annotations(forge, change, prompts)
    chosen = f"{change.base}..{change.head}"
    if here and env.get("PAGE", "true") == "true":
        write_page(chosen)
        _tell(env, "page", _PAGE)
    if env.get("CHECK") == "true":
        branch = env.get("GITHUB_BASE_REF") or env["CI_MERGE_REQUEST_TARGET_BRANCH_NAME"]
        run("git", "fetch", "-q", "origin", f"+refs/heads/{branch}:{_TARGET}")
        print(gitcp("check", "--rules", _TARGET, chosen), end="")


def _authorize(env: dict[str, str]) -> None:
    """Let git push with the token: in this process's environment alone, written nowhere."""
    url = env.get("CI_SERVER_URL")
    if url and env.get("TOKEN"):
        word = base64.b64encode(f"oauth2:{env['TOKEN']}".encode()).decode()
        os.environ |= {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"http.{url}/.extraHeader",
            "GIT_CONFIG_VALUE_0": f"Authorization: Basic {word}",
        }


def main() -> int:
    env = dict(os.environ)
    forge = GitHub(env) if "GITHUB_EVENT_PATH" in env else GitLab(env)
    _authorize(env)
    try:
        event = forge.event()
        if not (event.open or event.merged):
            print("nothing was merged, and no change is open: nothing to do")
            return 0
        here = prepare(env)
        carry_along(event.merged)
        if event.open:
            report(forge, event.open, env, here)
    except subprocess.CalledProcessError as e:
        if e.stdout:
            print(e.stdout, end="")
        print(f"error: '{' '.join(map(str, e.cmd))}' failed", file=sys.stderr)
        return 1
    except (OSError, Refused) as e:
        print(f"error: the forge does not answer: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
