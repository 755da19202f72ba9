"""The password of a URL is in the configuration, and in private copies of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitcp.errors import Error, hide_passwords
from tests.support.harness import World
from tests.support.warm import run

PASSWORD = "pa55-w0rd"
URL = f"http://person:{PASSWORD}@127.0.0.1:1/x.git"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"cannot reach '{URL}': no", "cannot reach 'http://127.0.0.1:1/x.git': no"),
        ("https://token@host/x and ssh://a:b@c", "https://host/x and ssh://c"),
        ("http://a:b@c@host/d@e", "http://host/d@e"),
        ("'https://host/x?a=b&token=c/': no", "'https://host/x?a=b': no"),
        ("https://host/x?private_token=c is gone", "https://host/x is gone"),
        ("'https://a:b'c@host/x'", "'https://host/x'"),
        ("https://host: ask x@y", "https://host: ask x@y"),
        ("git@host:a/b", "git@host:a/b"),
        ("a://", "a://"),
    ],
)
def test_a_text_shows_urls_without_user_and_password(text: str, shown: str) -> None:
    assert hide_passwords(text) == shown == str(Error(text))


@pytest.mark.thorough
@pytest.mark.parametrize("url", [URL, f"http://127.0.0.1:1/x.git?private_token={PASSWORD}"])
def test_no_command_no_hook_and_no_other_file_of_gitcp_has_the_password(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    world.remote("origin")
    world.agent("s-one").turn("write", {"one.py": "one\n"})
    world.commit("one.py")
    trace = tmp_path / "trace"
    monkeypatch.setenv("GITCP_TRACE", str(trace))
    told = [run("enable", "--checkpoints", url, cwd=world.path)]
    told += [run("push", cwd=world.path), run("push", url, cwd=world.path)]
    told += [run("fetch", cwd=world.path), run("show", "0123456789ab", cwd=world.path)]
    told += [run("forget", "--remote", "--yes", "--all", cwd=world.path)]
    assert told[1].returncode == told[3].returncode == told[5].returncode == 128, told
    assert world.git("push", "-q", "origin", "main", warns="anything") == ""
    told += [run(name, cwd=world.path) for name in ("status", "doctor", "du")]
    said = "".join(done.stdout + done.stderr for done in told)
    assert "http://127.0.0.1:1/x.git" in said and PASSWORD not in said
    assert trace.exists() and PASSWORD not in trace.read_text()
    for path in (world.path / ".git/gitcp").rglob("*"):
        assert PASSWORD not in str(path)
        if path.is_file() and PASSWORD.encode() in path.read_bytes():
            assert path.name in ("manifest.json", "asked"), path  # of the configuration
            assert path.stat().st_mode & 0o077 == 0
