"""Firefox without a window, asked over its own WebDriver BiDi."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Self

import pytest

BROWSER = shutil.which("firefox-esr") or shutil.which("firefox")
READY = """new Promise((done) => {
  const look = () => document.documentElement.dataset.ready === "all" ? done(true)
    : requestAnimationFrame(look);
  look();
})"""
needs_firefox = pytest.mark.skipif(not BROWSER, reason="no firefox")


class Firefox:
    """A browser with one page.  words: what its console said."""

    def __init__(self, home: Path) -> None:
        self._home, self._count, self.words = home, 0, list[str]()

    def __enter__(self) -> Self:
        from websocket import create_connection

        profile = self._home / "profile"
        profile.mkdir()
        argv = [str(BROWSER), "--headless", "--no-remote", "--profile", str(profile)]
        # Whatever the machine has for sandboxes, the page is ours.
        env = {**os.environ, "HOME": str(self._home), "MOZ_DISABLE_CONTENT_SANDBOX": "1"}
        self._process = subprocess.Popen(
            [*argv, "--remote-debugging-port", "0", "about:blank"],
            env=env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stderr
        lines = iter(self._process.stderr.readline, "")
        address = next(line.split()[-1] for line in lines if "BiDi listening" in line)
        self._socket = create_connection(f"{address}/session", timeout=60, suppress_origin=True)
        self._ask("session.new", capabilities={})
        self._ask("session.subscribe", events=["log.entryAdded"])
        self._page = self._ask("browsingContext.getTree")["contexts"][0]["context"]
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._process.terminate()
        self._process.wait()
        if self._process.stderr:
            self._process.stderr.close()

    def open(self, address: str) -> None:
        """Show a page of ours, all of which is unpacked."""
        self._ask("browsingContext.navigate", context=self._page, url=address, wait="complete")
        self.run(READY)

    def set_size(self, width: int, height: int) -> None:
        """Let the page have so many pixels."""
        size = {"width": width, "height": height}
        self._ask("browsingContext.setViewport", context=self._page, viewport=size)

    def run(self, expression: str) -> Any:
        """The value of an expression, a plain one; of one that promises, what it promised."""
        about = {"expression": expression, "target": {"context": self._page}}
        answer = self._ask("script.evaluate", **about, awaitPromise=True)
        assert answer["type"] == "success", answer
        return answer["result"].get("value")

    def print(self) -> bytes:
        """The page as PDF."""
        answer = self._ask("browsingContext.print", context=self._page)
        return base64.b64decode(answer["data"])

    def _ask(self, method: str, **params: Any) -> Any:
        self._count += 1
        asked = {"id": self._count, "method": method, "params": params}
        self._socket.send(json.dumps(asked))
        while True:
            answer = json.loads(self._socket.recv())
            if answer.get("method") == "log.entryAdded":
                self.words.append(str(answer["params"].get("text")))
            elif answer.get("id") == self._count:
                assert answer["type"] == "success", answer
                return answer["result"]
