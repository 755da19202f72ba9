"""The jobs that `gitcp ci install` writes: what a forge runs of gitcp's contrib/ (gitcp-ci(1))."""

from __future__ import annotations

import json

FORGES = {"github": ".github/workflows/gitcp.yml", "gitlab": ".gitlab/gitcp.yml"}
# The start of a repository's GitLab pipeline, which has to name the job's file.
START = ".gitlab-ci.yml"
_CHECKOUT = "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1  # v7.0.1"
MARK = "# Written by 'gitcp ci install"  # begins every file of ours
_HEAD = """\
{mark} {forge}': a comment with numbers on a change, links to checkpoints
# carried along after its merge.  No code of the change is run.  gitcp-ci(1) has the rest.
"""
_GITHUB = """\
name: gitcp
on:
  pull_request:
  push:
    branches: [{branch}]
permissions: {{}}
jobs:
  comment:
    if: github.event_name == 'pull_request'
    runs-on: ubuntu-latest
    permissions:
      contents: read
      pull-requests: write
      checks: write  # annotations on the lines of the change
    concurrency: gitcp-${{{{ github.event.number }}}}
    steps:
      - uses: {checkout}
        with:
          fetch-depth: 0
      - uses: {owner}/contrib/github@{commit}
        with:
          check: "{check}"
  links:
    if: github.event_name == 'push'
    runs-on: ubuntu-latest
    permissions:
      contents: write  # the refs of checkpoints, and notes
    concurrency: gitcp-${{{{ github.ref }}}}
    steps:
      - uses: {checkout}
        with:
          fetch-depth: 0
      - uses: {owner}/contrib/github@{commit}
"""
_GITLAB = """\
# GITCP_TOKEN, a masked variable, is an access token of the project with the role Developer and the
# scopes api and write_repository.
gitcp:
  image: python:3.13.5-bookworm
  variables:
    GIT_DEPTH: "0"
    GITCP_SOURCE: {source}
    GITCP_COMMIT: {commit}
    CHECKPOINTS: origin
    PROMPTS: "false"
    PAGE: "true"
    ANNOTATIONS: "true"
    CHECK: "{check}"
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
    - if: $CI_PIPELINE_SOURCE == "push" && $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
  script:
    - git init -q "$CI_BUILDS_DIR/gitcp"
    - git -C "$CI_BUILDS_DIR/gitcp" fetch -q --depth=1 "$GITCP_SOURCE" "$GITCP_COMMIT"
    - git -C "$CI_BUILDS_DIR/gitcp" checkout -q FETCH_HEAD
    - python3 -m venv "$CI_BUILDS_DIR/venv"
    - >-
      "$CI_BUILDS_DIR/venv/bin/pip" install -q -c "$CI_BUILDS_DIR/gitcp/contrib/constraints.txt"
      "$CI_BUILDS_DIR/gitcp"
    - >-
      TOKEN="$GITCP_TOKEN" "$CI_BUILDS_DIR/venv/bin/python" "$CI_BUILDS_DIR/gitcp/contrib/forge.py"
  artifacts:
    when: always
    paths: [gitcp.html]
    reports:
      codequality: gl-code-quality-report.json
    expire_in: 30 days
"""


def build_job(forge: str, source: str, commit: str, branch: str, check: bool) -> str:
    """The text of a job's file.

    source: the URL of gitcp's repository; commit: the one of it that is to run; branch: where
    changes are merged into; check: whether a broken rule of .gitcp.toml fails the job.
    """
    text = _GITHUB if forge == "github" else _GITLAB
    return _HEAD.format(mark=MARK, forge=forge) + text.format(
        branch=json.dumps(branch),
        checkout=_CHECKOUT,
        owner=find_owner(source),
        source=json.dumps(source),
        commit=commit,
        check=str(check).lower(),
    )


def find_owner(source: str) -> str:
    """<owner>/<name> of a URL of GitHub's, "" for any other."""
    path = source.removesuffix("/").removesuffix(".git").partition("github.com")[2]
    words = path.lstrip(":/").split("/")
    if len(words) == 2 and all(words):
        return "/".join(words)
    return ""
