"""One self-contained HTML file of what gather found: nothing in it is fetched, nothing obeyed.

Texts are redacted and made visible before anything else sees them; the template escapes, and
what the script unfolds it puts in as text.
"""

from __future__ import annotations

import hashlib
import time
from datetime import datetime

from gitcp.core.page import safe, timeline
from gitcp.core.page.turns import mapped
from gitcp.core.render.spans import many, short, spent
from gitcp.store.page.lanes import lanes_of
from gitcp.store.page.template import filled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from gitcp.core.record_types import Record


_COLOURS = 8
_CHUNK = 200_000  # characters of JSON in a chunk, about


class Page:
    """The parts of one page, taken in one after the other; html() gives the file."""

    def __init__(self, title: str, redact: Callable[[str], str]) -> None:
        self._title, self._redact = title, redact
        self._chunks: list[list[Any]] = [[]]
        self._size = 0
        self._colours: dict[str, str] = {}
        self._labels: dict[str, str] = {}
        self.sessions: list[Record] = []
        self.commits: list[Record] = []
        self.files: list[Record] = []

    def text(self, value: Any) -> Any:
        """value as it may be shown: every string redacted, what hides in it made visible."""
        return mapped(value, lambda text: safe.visible(self._redact(text)))

    def session(self, story: Record) -> None:
        """Take in a session with its turns."""
        name = story["session_id"]
        color = self._colours.setdefault(name, f"s{len(self._colours) % _COLOURS}")
        agent, model = self.text(story["agent"]), self.text(story["model"])
        self._labels[name] = f"{agent} {self.text(name)[:8]}"
        key = _key(name)
        turns = [self._turn(key, agent, turn) for turn in story["turns"]]
        facts = [self.text(name), model, many(len(turns), "turn"), spent(story["tokens"], agent)]
        self.sessions.append(
            {
                "id": key,
                "name": name,
                "color": color,
                "label": self._labels[name],
                "facts": ", ".join(filter(None, facts)),
                "turns": turns,
            }
        )

    def _turn(self, key: str, agent: str, turn: Record) -> Record:
        prompt = self.text(turn["prompt"])
        chunk, index = self._keep(self.text(turn["parts"]))
        start, end = _seconds(turn["start"]), _seconds(turn["end"])
        tools = many(len(turn["ticks"]), "tool use")
        lasted = f", {end - start:.0f} s" if start and end else ""
        when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(start)) + " UTC, " if start else ""
        used = ", " + spent(turn["spent"], agent) if turn["spent"] else ""
        line = short(prompt, 160)
        return {
            "id": f"turn-{key}-{turn['number']}",
            "number": turn["number"],
            "prompt": line or "(no prompt)",
            "whole": prompt if prompt.strip() != line else "",
            "find": prompt,
            "facts": when + tools + lasted + used,
            "start": start,
            "end": end,
            "ticks": [t for t in map(_seconds, turn["ticks"]) if t],
            "chunk": chunk,
            "index": index,
        }

    def commit(
        self, record: Record, lines: Mapping[str, Mapping[str, int]], names: Sequence[str] = ()
    ) -> None:
        """Take in a commit; lines: path -> who -> lines added; names: branches and tags on it."""
        sums: dict[str, int] = {}
        for row in lines.values():
            for who, count in row.items():
                sums[who] = sums.get(who, 0) + count
        bar = [
            {"color": self._color(who), "x": x, "width": width, "label": self._count(who, sums)}
            for who, x, width in timeline.shares(sums, 1000)
        ]
        subject = self.text(record["message"])
        paths = {self.text(path): row for path, row in lines.items()}
        parts = [p for c in record["checkpoints"] for p in c.get("contents", ())]
        ids = [c["checkpoint_id"] for c in record["checkpoints"]]
        self.commits.append(
            {
                "oid": record["oid"],
                "subject": subject,
                "names": self.text(", ".join(names)),
                "author": self.text(record["author"]),
                "date": self.text(record["date"]),
                "time": float(record["time"]),
                "checkpoints": ids,
                "marks": [(_key(p["session_id"]), _seconds(p.get("created_at"))) for p in parts],
                "bar": bar,
                "bar_label": ", ".join(self._count(w, sums) for w, n in sums.items() if n),
                "files": [
                    {"path": p, "lines": ", ".join(self._count(w, r) for w in r if r[w])}
                    for p, r in paths.items()
                ],
                "asked": [(p["session_id"], prompt) for p in parts for prompt in p["asked"]],
                "find": " ".join([subject, *paths]),
            }
        )

    def file(self, path: str, rows: Sequence[tuple[str, Record, str]]) -> None:
        """Take in a file: its lines with their authors."""
        from gitcp.store.page.highlight import highlighted

        authors: dict[tuple[Any, ...], int] = {}
        views: list[Record] = []
        numbers, sums = [], dict[str, int]()
        for _, author, label in rows:
            key = (author["session_id"], author["number"], author["who"], label)
            if key not in authors:
                authors[key] = len(views)
                who = author["session_id"] or author["who"]
                prompt = self.text(author["prompt"])
                view = {"label": self.text(label), "prompt": prompt, "color": self._color(who)}
                views.append(view)
            numbers.append(authors[key])
            who = author["session_id"] or author["who"]
            sums[who] = sums.get(who, 0) + 1
        code = [self.text(content) for content, _, _ in rows]
        tokens = highlighted(path, code)
        name = "file-" + _key(path)
        value = {"id": name, "authors": views, "rows": list(zip(numbers, tokens, strict=True))}
        chunk, index = self._keep(value)
        bar = [
            {"color": self._color(w), "x": x, "width": n} for w, x, n in timeline.shares(sums, 1000)
        ]
        facts = ", ".join(self._count(who, sums) for who in sums)
        view = {"id": name, "path": self.text(path), "bar": bar, "chunk": chunk, "index": index}
        self.files.append({**view, "facts": facts})

    def _keep(self, value: Any) -> tuple[int, int]:
        """(chunk, index) of a value that is unfolded on demand."""
        size = len(repr(value))
        if self._size and self._size + size > _CHUNK:
            self._chunks.append([])
            self._size = 0
        self._size += size
        self._chunks[-1].append(value)
        return len(self._chunks) - 1, len(self._chunks[-1]) - 1

    def _color(self, who: str) -> str:
        if who in ("person", "unknown", "unrecorded"):
            return who
        return self._colours.setdefault(who, f"s{len(self._colours) % _COLOURS}")

    def _count(self, who: str, sums: Mapping[str, int]) -> str:
        name = self._labels.get(who) or self.text(who[:8] if len(who) > 8 else who)
        return f"{name} {sums[who]}"

    def html(self, version: str) -> str:
        """The whole file."""
        self._join()
        lanes, height = lanes_of(self.sessions, self.commits)
        view = {
            "title": self.text(self._title),
            "version": version,
            "summary": ", ".join(
                many(len(part), word)
                for part, word in (
                    (self.commits, "commit"),
                    (self.sessions, "session"),
                    ([t for s in self.sessions for t in s["turns"]], "turn"),
                    (self.files, "file"),
                )
            ),
            "sessions": self.sessions,
            "commits": self.commits,
            "files": self.files,
            "lanes": lanes,
            "height": height,
        }
        return filled(view, self._chunks)

    def _join(self) -> None:
        """Link commits to files and turns that are on the page."""
        ids = {file["path"]: file["id"] for file in self.files}
        turns = {
            (s["name"], turn["find"].strip()): {
                "id": turn["id"],
                "label": f"{s['label']} #{turn['number']}",
            }
            for s in self.sessions
            for turn in s["turns"]
        }
        for commit in self.commits:
            for file in commit["files"]:
                file["id"] = ids.get(file["path"], "")
            asked = [(name, self.text(prompt).strip()) for name, prompt in commit["asked"]]
            commit["turns"] = [turns[key] for key in dict.fromkeys(asked) if key in turns]


def _key(name: str) -> str:
    """A name that may stand in a link, made of one that may hold anything."""
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:10]


def _seconds(stamp: object) -> float:
    """Seconds since 1970 of an ISO time, or of ms since then; 0 where it is neither."""
    text = stamp if isinstance(stamp, str) else ""
    try:
        return int(text) / 1000 if text.isdecimal() else datetime.fromisoformat(text).timestamp()
    except ValueError:
        return 0.0
