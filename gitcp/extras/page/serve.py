"""Serve a page to this machine's browsers, and tell them when there is another one.

Whoever has the address may read: its path begins with a random token, and a request that names
another host, or comes from another origin, is refused.  A request reads nothing from the disk, and
writes nothing.  A conversation is drawn when it is asked for.
"""

from __future__ import annotations

import os
import secrets
import time
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Lock, Thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gitcp.git.repo import Repo

HOST = "127.0.0.1"
MADE = "{made}"  # in a page that is served: stands for its number
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_TALK = "talk/"  # behind the token, before the anchor of a conversation
_LOOK = 1.0  # seconds between two looks at the refs
_BEAT = 15.0  # seconds after which a browser that waits is told that nothing has changed
_SLOW = 30.0  # seconds that a request may take


@dataclass(slots=True)
class Served:
    """A page, and what draws a conversation of it by its anchor; None for none."""

    text: str
    draw_talk: Callable[[str], str | None]


class Server(ThreadingHTTPServer):
    """A page, and the browsers that show it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__((HOST, 0), _Handler)
        self.token = secrets.token_urlsafe(24)
        self.names = {f"{name}:{self.server_port}" for name in (HOST, "localhost")}
        self.address = f"http://{HOST}:{self.server_port}/{self.token}/"
        self._page = Served("", lambda _: None)
        self._made = 0
        self._changed = Condition()
        self._drawing = Lock()

    def publish(self, page: Served) -> None:
        """Show this page from now on, if it is another one."""
        with self._changed:
            if page.text != self._page.text:
                self._page = page
                self._made += 1
                self._changed.notify_all()

    def read_page(self) -> bytes:
        """The page, as soon as there is one."""
        with self._changed:
            self._changed.wait_for(lambda: self._made)
            return self._page.text.replace(MADE, str(self._made), 1).encode("utf-8", "replace")

    def draw_talk(self, anchor: str) -> bytes | None:
        """A conversation of the page; None for none."""
        with self._drawing:
            html = self._page.draw_talk(anchor)
        if html is not None:
            return html.encode("utf-8", "replace")
        return None

    def wait_for_page(self, shown: int) -> int:
        """The number of the page, once another one than this is shown, or after a while."""
        with self._changed:
            self._changed.wait_for(lambda: self._made != shown, _BEAT)
            return self._made


class _Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = _SLOW

    def do_GET(self) -> None:
        """Answer with the page, or with the numbers of pages as they are made."""
        name = self._find_name()
        if name == "":
            self._write_html(self.server.read_page())
        elif name is not None and name.startswith(_TALK):
            data = self.server.draw_talk(name.removeprefix(_TALK))
            if data is None:
                self.send_response(HTTPStatus.NOT_FOUND)
                self.end_headers()
            else:
                self._write_html(data)
        elif name == "events":
            self._begin("text/event-stream", {})
            shown = 0
            while True:  # until the browser is gone: writing fails then
                made = self.server.wait_for_page(shown)
                if made == shown:
                    self.wfile.write(b": \n\n")
                else:
                    self.wfile.write(f"data: {made}\n\n".encode())
                shown = made

    def _write_html(self, data: bytes) -> None:
        self._begin("text/html; charset=utf-8", {"Content-Length": str(len(data))})
        self.wfile.write(data)

    def _find_name(self) -> str | None:
        """The name in the path behind the token; None for a request that is refused."""
        hosts, origins = (self.headers.get_all(key, []) for key in ("Host", "Origin"))
        addresses = {f"http://{name}" for name in self.server.names}
        token, _, name = self.path.removeprefix("/").partition("/")
        is_ours = len(hosts) == 1 and self.server.names.issuperset(hosts)
        if not (is_ours and addresses.issuperset(origins)):
            status = HTTPStatus.FORBIDDEN
        elif secrets.compare_digest(token.encode(), self.server.token.encode()) and (
            name in ("", "events") or name.startswith(_TALK)
        ):
            return name
        else:
            status = HTTPStatus.NOT_FOUND
        self.send_response(status)
        self.end_headers()
        return None

    def _begin(self, kind: str, headers: dict[str, str]) -> None:
        self.send_response(HTTPStatus.OK)
        for key, value in {"Content-Type": kind, **headers, **_HEADERS}.items():
            self.send_header(key, value)
        self.end_headers()

    def version_string(self) -> str:
        """What the server calls itself."""
        return "gitcp"

    def handle(self) -> None:
        """Answer; a browser that goes away is no error."""
        try:
            super().handle()
        except OSError:
            pass

    def log_message(self, *_: object) -> None:
        """Say nothing of requests: their paths have the token."""


def serve(repo: Repo, make: Callable[[], Served], announce: Callable[[str], None]) -> None:
    """Serve what make() returns, and call it again when refs have changed, until Ctrl-C.
    announce: told the address, once there is a page."""
    server: Server | None = None
    try:
        for _ in _watch(repo):
            page = make()
            if server is None:
                server = Server()
                Thread(target=server.serve_forever, daemon=True).start()
                announce(server.address)
            server.publish(page)
    finally:
        if server:
            server.shutdown()
            server.server_close()


def _watch(repo: Repo) -> Iterator[None]:
    """Yield at once, and whenever refs have changed and been quiet for one look."""
    known: object = None
    before = _sign_refs(repo)
    while True:
        now = _sign_refs(repo)
        if now == before != known:
            known = now
            yield
        else:
            time.sleep(_LOOK)
        before = now


def _sign_refs(repo: Repo) -> list[tuple[str, int, int]]:
    """Paths, times and sizes of all files that have refs."""
    folders = [os.path.join(repo.common, name) for name in ("refs", "reftable")]
    paths = [os.path.join(repo.git_dir, "HEAD"), os.path.join(repo.common, "packed-refs")]
    for folder in folders:
        for at, _, names in os.walk(folder):
            paths += [os.path.join(at, name) for name in names]
    signs = []
    for path in sorted(paths):
        try:
            st = os.stat(path)
        except OSError:
            continue
        signs.append((path, st.st_mtime_ns, st.st_size))
    return signs
