"""The page that is served: to whom, what of it changes, and that it leaves nothing behind."""

from __future__ import annotations

import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import pytest

from tests.extras.page.browser import needs_browser
from tests.extras.page.browser import page as run_page
from tests.support.checkpoints import git
from tests.support.paths import BIN

ARGV = [sys.executable, str(BIN / "gitcp"), "page", "--serve"]


class Served:
    """A page that is served for the tests."""

    def __init__(self, *args: str) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([*ARGV, *args], stdout=pipe, stderr=pipe, text=True)
        assert self.process.stdout
        self.address = self.process.stdout.readline().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)(/[\w-]{20,}/)", self.address)
        assert found, self.process.communicate()
        self.port, self.path = int(found[1]), found[2]

    def ask(self, path: str = "", method: str = "GET", **headers: str) -> HTTPResponse:
        """The answer to a request, whose body is not read yet."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path or self.path, headers=headers)
        return connection.getresponse()

    def status(self, *args: str, **headers: str) -> int:
        answer = self.ask(*args, **headers)
        assert answer.status == 200 or not answer.read() or answer.status == 501
        answer.close()
        return answer.status

    def end(self, by: int = signal.SIGINT) -> tuple[int, str]:
        """(status, what it said) after a signal."""
        self.process.send_signal(by)
        said = self.process.communicate(timeout=60)[1]
        return self.process.returncode, said


@pytest.fixture
def served(hostile: Path) -> Iterator[Served]:
    running = Served("HEAD~1..HEAD")
    yield running
    if running.process.poll() is None:
        running.end()


def next_number(events: HTTPResponse) -> int:
    """The number in the next event; beats between two events tell nothing."""
    while True:
        line = events.readline().decode()
        assert line, "the server has ended"
        if line.startswith("data: "):
            return int(line.removeprefix("data: "))


def list_files(top: Path) -> dict[str, int]:
    paths = [Path(at) / name for at, _, names in os.walk(top) for name in names]
    return {str(path): path.stat().st_mtime_ns for path in paths}


def test_whoever_has_the_address_gets_the_page_and_nobody_else(served: Served) -> None:
    answer = served.ask()
    text = answer.read().decode()
    assert answer.status == 200 and text.startswith("<!doctype html>")
    assert "connect-src &#39;self&#39;" in text and '<meta name="made" content="1">' in text
    assert answer.headers["Cache-Control"] == "no-store"
    here = f"127.0.0.1:{served.port}"
    assert served.status(Host=f"localhost:{served.port}") == 200
    assert served.status(Origin=f"http://{here}") == 200
    for origin in ("http://evil.example", "null", f"https://{here}", f"http://{here}.example"):
        assert served.status(Origin=origin) == 403, origin
        assert served.status(f"{served.path}events", Origin=origin) == 403, origin
    for host in ("evil.example", f"evil.example:{served.port}", "127.0.0.1"):
        assert served.status(Host=host) == 403, host
    [anchor] = re.findall(r'class="talk" id="(\w+)"', text)
    talk = served.ask(f"{served.path}talk/{anchor}").read().decode()
    assert "And a second prompt" in talk and "And a second prompt" not in text
    names = ["/", "/x/", served.path[:-2] + "/", f"{served.path}other", f"{served.path}../"]
    names += [f"{served.path}talk/", f"{served.path}talk/../{anchor}", f"/talk/{anchor}"]
    for name in (*names, served.path.rstrip("/") + "x/", "//", "/%c3%a9/"):
        assert served.status(name) == 404, name
    assert served.status(served.path, "POST") == 501
    assert served.end() == (-signal.SIGINT, "")


def test_a_request_without_a_host_or_without_sense_is_refused_and_ends_nothing(
    served: Served,
) -> None:
    for request, want in (
        (f"GET {served.path} HTTP/1.0\r\n\r\n", b"403"),
        (f"GET {served.path} HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"403"),
        (f"GET /\xe9{served.path} HTTP/1.0\r\nHost: 127.0.0.1:{served.port}\r\n\r\n", b"404"),
        ("\0\xff nonsense\r\n\r\n", b"400"),
    ):
        with socket.create_connection(("127.0.0.1", served.port), timeout=60) as door:
            door.sendall(request.encode("latin-1"))
            assert want in door.recv(200).split(b"\n")[0] or want in door.recv(200)
    with socket.create_connection(("127.0.0.1", served.port)) as door:
        door.sendall(b"GET /")  # and goes away
    assert served.status() == 200


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["", "events"])
def test_a_tab_that_is_closed_while_it_is_answered_ends_nothing(served: Served, name: str) -> None:
    """Two at once, which leave before the answer, or with a reset in the middle of it."""
    door = ("127.0.0.1", served.port)
    request = f"GET {served.path}{name} HTTP/1.1\r\nHost: {door[0]}:{door[1]}\r\n\r\n"
    reset = struct.pack("ii", 1, 0)
    for number in range(10):
        tabs = [socket.create_connection(door, timeout=60) for _ in range(2)]
        for tab in tabs:
            tab.sendall(request.encode())
        if number % 2:
            assert all(tab.recv(10) for tab in tabs)
            for tab in tabs:
                tab.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        for tab in tabs:
            tab.close()
        assert served.status() == 200
    git("commit", "-q", "--allow-empty", "-m", "Another one")  # of which all tabs are told
    deadline = time.monotonic() + 60
    while 'name="made" content="2"' not in served.ask().read().decode():
        assert time.monotonic() < deadline, "no other page was made"
        time.sleep(0.2)
    assert served.end() == (-signal.SIGINT, "")


@pytest.mark.thorough
def test_a_commit_makes_another_page_and_browsers_are_told(hostile: Path, served: Served) -> None:
    first = served.ask(f"{served.path}events")
    assert first.headers["Content-Type"] == "text/event-stream"
    assert next_number(first) == 1
    (hostile / "later.txt").write_text("a later line\n")
    git("add", "-A")
    git("commit", "-q", "-m", "Another one")
    assert next_number(first) == 2
    text = served.ask().read().decode()
    assert "Another one" in text and '<meta name="made" content="2">' in text
    first.close()  # a browser that goes away
    git("update-ref", "refs/heads/aside", "HEAD~1")
    second = served.ask(f"{served.path}events")
    assert next_number(second) >= 2
    assert served.end() == (-signal.SIGINT, "")


def test_a_range_that_has_become_empty_leaves_the_page_as_it_was(served: Served) -> None:
    events = served.ask(f"{served.path}events")
    assert next_number(events) == 1
    git("update-ref", "-d", "HEAD")
    assert served.process.stderr
    assert "the page stays as it was" in served.process.stderr.readline()
    assert served.status() == 200


@pytest.mark.thorough
def test_nothing_is_written_and_a_page_that_cannot_be_made_is_said(hostile: Path) -> None:
    run_page("-o", "-", "HEAD")  # what git itself refreshes is fresh
    before = list_files(hostile)
    running = Served("HEAD")
    assert running.status() == 200
    assert running.end(signal.SIGINT) == (-signal.SIGINT, "")
    assert list_files(hostile) == before
    refused = {"HEAD..HEAD": "no commits in", "-ox HEAD": "writes no file"}
    for args, words in refused.items():
        done = subprocess.run([*ARGV, *args.split()], capture_output=True, text=True, check=False)
        assert done.returncode in (128, 129) and words in done.stderr and not done.stdout


@pytest.mark.thorough
@needs_browser
def test_a_browser_gets_a_conversation_when_asked_and_loads_the_page_again(
    hostile: Path, served: Served, browser: Any
) -> None:
    browser.get(served.address)
    assert browser.find_element("css selector", "html[data-whole]")
    talk = browser.find_element("css selector", ".talk")
    assert "And a second prompt" not in browser.page_source, "it comes when it is asked for"
    talk.find_element("tag name", "summary").click()
    assert browser.find_element("xpath", "//article[contains(., 'And a second prompt')]")
    (hostile / "later.txt").write_text("a later line\n")
    git("add", "-A")
    git("commit", "-q", "-m", "Another one")
    assert browser.find_element("xpath", "//h1[text()='Another one']")
    assert browser.get_log("browser") == []
