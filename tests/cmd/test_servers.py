"""lsp, mcp: what a signal does to a server whose client keeps its standard input open."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.support.harness import World
from tests.support.paths import BIN

MCP = {"protocolVersion": "2025-06-18", "clientInfo": {"name": "a client", "version": "1"}}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize(("name", "package"), [("lsp", "pygls"), ("mcp", "mcp")])
def test_a_signal_ends_a_server_that_waits_for_a_request(
    world: World, name: str, package: str, number: int
) -> None:
    if not find_spec(package):
        pytest.skip(f"the extra '{name}' is not installed")
    params = {"capabilities": {}, **({"processId": None} if name == "lsp" else MCP)}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    data = json.dumps(request).encode()
    head = b"Content-Length: %d\r\n\r\n" % len(data) if name == "lsp" else b""
    argv = [sys.executable, str(BIN / f"gitcp-{name}")]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, cwd=world.path, stdin=pipe, stdout=pipe, stderr=pipe) as server:
        assert server.stdin and server.stdout and server.stderr
        server.stdin.write(head + data + b"\n" * (name == "mcp"))
        server.stdin.flush()
        assert server.stdout.readline()
        server.send_signal(number)
        try:
            assert server.wait(60) == -number
            assert not server.stderr.read()
        finally:
            server.kill()


@pytest.mark.parametrize(("name", "package"), [("lsp", "pygls"), ("mcp", "mcp")])
def test_a_server_ends_well_whose_client_reads_no_more(
    world: World, name: str, package: str
) -> None:
    """Not by SIGPIPE at an answer that nobody takes.  The library for editors says so."""
    if not find_spec(package):
        pytest.skip(f"the extra '{name}' is not installed")
    params = {"capabilities": {}, **({"processId": None} if name == "lsp" else MCP)}
    messages: list[dict[str, object]] = [
        {"id": number, "method": "initialize" if number == 1 else "ping", "params": params}
        for number in range(1, 20)
    ]
    argv = [sys.executable, str(BIN / f"gitcp-{name}")]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, cwd=world.path, stdin=pipe, stdout=pipe, stderr=pipe) as server:
        assert server.stdin and server.stdout and server.stderr
        for message in messages:
            data = json.dumps({"jsonrpc": "2.0", **message}).encode()
            head = b"Content-Length: %d\r\n\r\n" % len(data) if name == "lsp" else b""
            server.stdin.write(head + data + b"\n" * (name == "mcp"))
            if message["id"] == 1:
                server.stdin.flush()
                assert server.stdout.readline()
                server.stdout.close()
        try:
            server.stdin.close()
            assert server.wait(60) == 0
            said = server.stderr.read()
            assert not said if name == "mcp" else b"the client is lost" in said.lower()
        finally:
            server.kill()


def test_a_language_server_ends_well_when_its_editor_says_so(world: World) -> None:
    if not find_spec("pygls"):
        pytest.skip("the extra 'lsp' is not installed")
    params: dict[str, object] = {"capabilities": {}, "processId": None}
    messages: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": params},
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    ]
    pipe = subprocess.PIPE
    argv = [sys.executable, str(BIN / "gitcp-lsp")]
    with subprocess.Popen(argv, cwd=world.path, stdin=pipe, stdout=pipe, stderr=pipe) as server:
        assert server.stdin and server.stderr
        for message in messages:
            data = json.dumps({"jsonrpc": "2.0", **message}).encode()
            server.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))
        server.stdin.flush()
        try:
            assert server.wait(60) == 0  # while its standard input is open
            assert not server.stderr.read()
        finally:
            server.kill()
