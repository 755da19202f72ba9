"""Make one self-contained HTML file, which fetches nothing and runs no script but its own.

Texts are redacted, and hidden characters escaped, before anything else uses them.  The template
escapes HTML, and the script inserts what it unfolds as text.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from datetime import UTC, datetime

import pygments

from gitcp.agents import transcripts
from gitcp.extras.page import page_parts
from gitcp.extras.page.highlight import highlight_lines
from gitcp.extras.page.page_parts import map_strings
from gitcp.extras.page.talk import Talk, format_span, make_key, parse_seconds
from gitcp.extras.page.template import Chunks, fill_template
from gitcp.git.kept import make_key as make_content_key
from gitcp.git.objects.reading import spread_batches
from gitcp.lines.sums import Sums, share_percent
from gitcp.terminal import scales
from gitcp.terminal.history import COUNTED, OUTCOMES, format_stats_summary
from gitcp.terminal.usage import format_usage
from gitcp.text.prompt_text import name_prompt
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import AUTHORS, count_noun, shorten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.extras.page.change import File, Writer
    from gitcp.extras.page.page_parts import Bar, Links
    from gitcp.git.kept import Kept
    from gitcp.git.objects import Objects
    from gitcp.git.objects.patches import Hunk
    from gitcp.lines.prices import Prices
    from gitcp.text.record_types import Record

    Removers = Iterable[tuple[str, str]]
    Numbers = dict[int, int]  # line of a file -> index of its writer
    # path, lines before and after (None for a binary file), edits
    Drawing = tuple[str, list[str] | None, list[str] | None, Sequence[Hunk], Numbers]

_COLOURS = 8
_NAME, _LINE = 120, 160  # cells of a session's name, of a prompt's first line
_MOST = 12  # authors that are not folded
_SHORT = 160  # characters of a text that is redacted once
# Lines of the files of a batch, roughly; batches before worker processes are started.
_BATCH, _ALONE = 10_000, 2
_ABOUT = {
    "unknown": "in commits with a session, by nobody that was recorded",
    "unrecorded": "from before, or beside, what was recorded",
}


@dataclass(slots=True)
class _Pending:
    """A file that is to be stored.  view, value: of Page._describe_file().  key: of its hunks.
    drawn: the hunks; None until they are drawn."""

    view: Record
    value: Record
    drawing: Drawing
    key: bytes = b""
    drawn: Record | None = None


class Page:
    """Collects the parts of one page; format_html() returns the file."""

    def __init__(
        self,
        title: str,
        redact: Callable[[Sequence[str]], list[str]],
        links: Links,
        with_prompts: bool = True,
        drawn: Kept | None = None,
    ) -> None:
        """drawn: the hunks that earlier pages drew."""
        self._drawn = drawn
        self._title, self._redact, self._links = title, redact, links
        self._with_prompts = with_prompts
        self._chunks = Chunks()
        self.sessions: list[Record] = []
        self._by_id: dict[str, Record] = {}
        self._talk = Talk(self.clean_text, self._chunks.store)
        self.turns: list[Record] = []
        self.commits: list[Record] = []
        self.files: list[Record] = []
        self._cost = 0.0
        self._prices: Prices | None = None
        self._spent: list[tuple[float, int, float]] = []  # time, tokens written, cost of a turn
        self._added: list[tuple[float, dict[str, int]]] = []  # time, lines by kind of a commit
        self._people = Counter[str]()  # lines of each
        self._cleaned: dict[str, str] = {}  # short texts: names, dates and paths come again
        self.stats: Record = Sums().build_record()  # of the commits
        self.tip = ""
        self._abandoned: list[Record] | None = None

    def clean_text(self, value: Any) -> Any:
        """A value with every string redacted and its hidden characters escaped."""
        found = dict.fromkeys(page_parts.list_strings(value))
        texts = [text for text in found if text not in self._cleaned]
        cleaned = dict(zip(texts, map(page_parts.name_hidden, self._redact(texts)), strict=True))
        self._cleaned |= {text: cleaned[text] for text in texts if len(text) <= _SHORT}
        return map_strings(value, lambda text: cleaned.get(text) or self._cleaned.get(text, ""))

    def add_sessions(self, stories: Iterable[Record]) -> None:
        """Add sessions with their turns, of which none is kept; they are shown by their start."""
        for story in stories:
            self._add_session(story)
        self._by_id = dict(sorted(self._by_id.items(), key=lambda item: _find_start(item[1])))
        self.sessions = [*self._by_id.values()]
        for number, session in enumerate(self.sessions):
            session.update(_number_session(number))
            for turn in session["turns"]:
                turn["session"] = number
        self.turns = [turn for session in self.sessions for turn in session["turns"]]

    def _add_session(self, story: Record) -> None:
        session = self._get_session(story["session_id"], story["agent"], story["model"])
        asked = [turn["prompt"] for turn in story["turns"]]
        if self._with_prompts and any(asked):
            name = self.clean_text(page_parts.name_session(asked, story["agent"]))
            session["name"] = shorten(name, _NAME)
        session["usage"] = story["tokens"]
        session["spent"] = format_usage(session["usage"])
        if story["cost"] is not None:
            self._cost, self._prices = self._cost + story["cost"], story["prices"]
            session["spent"] += f", {story['cost']:.2f} {story['prices'].currency}"
        session["resume"] = self.clean_text(story["resume"])
        for turn in story["turns"]:
            self._note_spent(turn, story)
            public_turn = turn if self._with_prompts else {**turn, "prompt": "", "parts": []}
            view, value = self._talk.add_turn(session["id"], public_turn, story["agent"])
            chunk, index = self._chunks.store(value)
            session["turns"].append({**view, "chunk": chunk, "index": index})

    def _note_spent(self, turn: Mapping[str, Any], story: Record) -> None:
        """Note the tokens and the cost of a turn whose time is known."""
        time = parse_seconds(turn["start"])
        if not time or not turn["spent"]:
            return
        used, table = transcripts.count_spent(turn["spent"], story["agent"]), story["prices"]
        cost = table.cost(story["model"], used) if table and story["model"] else None
        self._spent.append((time, used["output_tokens"], cost or 0.0))

    def _spell_cost(self) -> str:
        """The cost of all sessions whose prices are known; '' for none."""
        if self._prices is None:
            return ""
        return f", {self._cost:.2f} {self._prices.currency} by {self._prices.source}"

    def _get_session(self, name: str, agent: str, model: str = "") -> Record:
        """The view of a session, which is made when first needed."""
        if name not in self._by_id:
            view: Record = {
                **_number_session(len(self.sessions)),
                "id": make_key(name),
                "title": self.clean_text(name),
                "agent": self.clean_text(agent or "agent"),
                "model": self.clean_text(model),
                "name": f"{self.clean_text(agent or 'agent')} {shorten_id(self.clean_text(name))}",
                "turns": [],
                "usage": None,
                "spent": "",
                "resume": "",
                "added": 0,
                "alive": 0,
            }
            self._by_id[name] = view
            self.sessions.append(view)
        return self._by_id[name]

    def add_commit(
        self, record: Record, lines: Mapping[str, Mapping[str, int]], refs: Sequence[str] = ()
    ) -> None:
        """Add a commit; lines: path -> who -> lines added; refs: its branches and tags."""
        sums = Counter[str]()
        for row in lines.values():
            sums.update(row)
        for who, count in sums.items():
            if who not in AUTHORS:
                self._get_session(who, "")["added"] += count
        self._added.append((float(record["time"]), _sum_kinds(sums)))
        parts = [p for c in record["checkpoints"] for p in c.get("contents", ())]
        self.commits.append(
            {
                "oid": record["oid"],
                "subject": self.clean_text(record["message"]),
                "names": self.clean_text(list(refs)),
                "author": self.clean_text(record["author"]),
                "date": self.clean_text(record["date"]),
                "time": float(record["time"]),
                "checkpoints": [c["checkpoint_id"] for c in record["checkpoints"]],
                "bar": self._build_bar(sums),
                "asked": [
                    (p["session_id"], self.clean_text(asked).strip())
                    for p in parts
                    for asked in p.get("asked") or ()
                ],
                "paths": self.clean_text(sorted(lines)),
                "parents": record.get("parents", ()),
                "link": page_parts.link_commit(self._links, record["oid"]),
            }
        )

    def _build_bar(self, sums: Mapping[str, int]) -> list[Record]:
        """The parts of a bar, sessions first: author, lines, x and width of 1000."""
        order = [who for who in (*self._by_id, *AUTHORS) if who in sums]
        return [
            {**self._describe_author(who), "lines": sums[who], "x": x, "width": width}
            for who, x, width in scales.divide_bar({who: sums[who] for who in order}, 1000)
        ]

    def _describe_author(self, who: str) -> Record:
        """who, color, mark and name of a session, or of a key of AUTHORS."""
        if who in AUTHORS:
            mark = page_parts.NOBODY.get(who, "")
            return {"who": who, "color": who, "mark": mark, "name": AUTHORS[who]}
        session = self._get_session(who, "")
        return {"who": session["id"], **{key: session[key] for key in ("color", "mark", "name")}}

    def add_files(
        self, objects: Objects, files: Iterable[File], removers: Mapping[str, Removers]
    ) -> None:
        """Add the files of the change; removers: path before -> who may have removed lines of it.

        Several processes share the drawing of many files.
        """
        batches: deque[list[_Pending]] = deque()

        def list_batches() -> Iterator[list[Drawing]]:
            for batch in _split_files(files):
                pending = [self._prepare_file(f, removers.get(f["old"], ())) for f in batch]
                batches.append(pending)
                yield [file.drawing for file in pending if file.drawn is None]

        for done in spread_batches(objects, list_batches(), self._begin_drawing, _ALONE):
            results = iter(done)
            for file in batches.popleft():
                if file.drawn is None:
                    file.drawn = next(results)
                    if self._drawn is not None:
                        self._drawn.keep(file.key, file.drawn)
                self._store_file(file.view, file.value, file.drawn)

    def _prepare_file(self, file: File, removers: Removers) -> _Pending:
        """What is to be stored of a file, with its hunks if an earlier page drew them."""
        view, value, numbers = self._describe_file(file, removers)
        path = file["path"] or file["old"]
        drawing = path, file["before"], file["after"], file["edits"], numbers
        pending = _Pending(view, value, drawing)
        if self._drawn is not None:
            pending.key = make_content_key(drawing, pygments.__version__)
            pending.drawn = self._drawn.find(pending.key)
        return pending

    def _describe_file(self, file: File, removers: Removers) -> tuple[Record, Record, Numbers]:
        """(the view of a file, what it unfolds but its hunks, line -> index of its writer)."""
        path = file["path"] or file["old"]
        old = "" if file["old"] == file["path"] else self.clean_text(file["old"])
        writers, numbers, sums = self._list_writers(file["authors"])
        took = [self._describe_remover(*remover) for remover in sorted(removers)]
        value: Record = {"hunks": [], "writers": writers, "took": took, "left": 0}
        edits = file["edits"]
        view = {
            "id": "file-" + make_key(path),
            "path": self.clean_text(path),
            "real": path,
            "old": old,
            "state": "deleted" if not file["path"] else "new" if not file["old"] else "",
            "sizes": file["sizes"] if file["before"] is None else None,
            "plus": sum(edit[3] for edit in edits),
            "minus": sum(edit[1] for edit in edits),
            "bar": self._build_bar(sums),
            "sums": sums,
            "turns": sorted({w["turn"] for w in writers if w.get("turn")}),
            "link": page_parts.link_file(self._links, self.tip, path) if file["path"] else "",
            "stamp": _stamp_file(file),
        }
        return view, value, numbers

    def _store_file(self, view: Record, value: Record, drawn: Record) -> None:
        value |= drawn
        for hunk in value["hunks"]:
            hunk["by"] = _count_writers(hunk["rows"], value["writers"])
        chunk, index = self._chunks.store(value)
        rows = sum(len(hunk["rows"]) + 2 for hunk in value["hunks"])
        self.files.append({**view, "rows": rows, "chunk": chunk, "index": index})
        for who, count in view["sums"].items():
            if who not in AUTHORS:
                self._by_id[who]["alive"] += count

    def _begin_drawing(self, objects: Objects) -> Callable[[list[Drawing]], list[Record]]:
        return lambda batch: [self._build_hunks(*drawing) for drawing in batch]

    def _build_hunks(
        self,
        path: str,
        before: list[str] | None,
        after: list[str] | None,
        edits: Sequence[Hunk],
        numbers: Numbers,
    ) -> Record:
        """hunks, left and tail of a file; nothing of a binary one."""
        if before is None or after is None:
            return {}
        from_old, from_new = page_parts.list_shown(edits)
        new = highlight_lines(path, self._clean_code(after), from_new)
        old = highlight_lines(path, self._clean_code(before), from_old) if from_old else []
        views, omitted = page_parts.cut_hunks(edits, old, new, numbers)
        ends = views[-1]["new"] + sum(r[0] != "-" for r in views[-1]["rows"]) - 1 if views else 0
        tail = {"hidden": len(after) - ends, "more": new[ends : ends + page_parts.FOLDED]}
        return {"hunks": views, "left": omitted, "tail": tail}

    def _clean_code(self, lines: Sequence[str]) -> list[str]:
        """Redacted lines, as many as before: each on its own if a secret had several."""
        cleaned = str(self.clean_text("\n".join(lines))).split("\n")
        return cleaned if len(cleaned) == len(lines) else list(map(self.clean_text, lines))

    def _list_writers(
        self, authors: Mapping[int, Writer]
    ) -> tuple[list[Record], dict[int, int], dict[str, int]]:
        """(the writers of a file's lines, line -> index of its writer, who -> lines)."""
        views: list[Record] = []
        indexes: dict[tuple[Any, ...], int] = {}
        numbers, sums = {}, Counter[str]()
        for line, (author, label) in authors.items():
            who = author["session_id"] or author["who"]
            key = who, author["number"], author["tool_use_id"], label
            if key not in indexes:
                indexes[key] = len(views)
                views.append(self._describe_writer(author, label))
            numbers[line] = indexes[key]
            if who == "person":
                self._people[label] += 1
            sums[who] += 1
        return views, numbers, sums

    def _describe_writer(self, author: Mapping[str, Any], label: str) -> Record:
        if author["who"] != "session":
            name = "unknown author" if author["who"] == "unknown" else self.clean_text(label)
            name = f"{name} (nothing recorded)" if author["who"] == "unrecorded" else name
            mark = page_parts.NOBODY.get(author["who"]) or self.clean_text(
                page_parts.mark_person(label)
            )
            return {"who": author["who"], "color": author["who"], "mark": mark, "name": name}
        session = self._get_session(author["session_id"], author["agent"], author["model"])
        turn, call = self._talk.find_writer(session["id"], author)
        prompt = author["prompt"] if self._with_prompts else ""
        line = shorten(page_parts.take_line(self.clean_text(prompt)), _LINE)
        view = next((t for t in session["turns"] if t["id"] == turn), None)
        number = view["number"] if view else author["number"]
        return {
            "who": session["id"],
            "color": session["color"],
            "mark": f"{session['mark']}{number or ''}",
            "name": session["name"],
            "number": number,
            "why": (view and view["line"]) or line,
            "turn": turn,
            "call": call,
        }

    def _describe_remover(self, who: str, author: str) -> Record:
        view = self._describe_author(who)
        if who == "person":
            view["mark"] = self.clean_text(page_parts.mark_person(author))
            view["name"] = self.clean_text(author)
        return view

    def add_abandoned(self, records: Iterable[Record]) -> None:
        """Add a section of what the sessions of the page gave up, of the records "abandoned"."""

        def name(prompt: str) -> str:
            return self.clean_text(shorten(name_prompt(prompt), 200)) if self._with_prompts else ""

        ours = {"", *self._by_id}  # a page has no prompt of another session
        self._abandoned = [
            {
                "session": shorten_id(record["session_id"]),
                "agent": self.clean_text(record["agent"]),
                "day": str(datetime.fromtimestamp(record["time"], UTC).date()),
                "how": OUTCOMES.get(record["how"], ""),
                "prompt": name(record["prompt"]),
                "then": name(record["next_prompt"]) if record["by"] in ours else "",
                "files": [(self.clean_text(p), f) for p, f in record["files"].items()],
            }
            for record in records
            if record["session_id"] in self._by_id
        ]

    def build_record(self) -> Record:
        """What the page shows, as a record `page` (gitcp-record(5)): the sums, and its sessions,
        commits and files with the lines of each author."""
        ids: dict[str, str] = {session["id"]: session["title"] for session in self.sessions}

        def count(bar: Sequence[Record]) -> Record:
            names = (str(part["who"]) for part in bar)
            return {
                ids.get(name, name): part["lines"] for name, part in zip(names, bar, strict=True)
            }

        turns = ("number", "line", "start", "end")
        sessions = [
            {
                "session_id": s["title"],
                **{key: s[key] for key in ("agent", "model", "name", "resume", "added", "alive")},
                "turns": [{key: turn[key] for key in turns} for turn in s["turns"]],
            }
            for s in self.sessions
        ]
        of_commit = ("oid", "subject", "author", "time", "checkpoints")
        commits = [{**{k: c[k] for k in of_commit}, "added": count(c["bar"])} for c in self.commits]
        of_file = ("path", "old", "state", "plus", "minus")
        files = [{**{k: f[k] for k in of_file}, "lines": count(f["bar"])} for f in self.files]
        return {
            "type": "page",
            "title": self.clean_text(self._title),
            "tip": self.tip,
            "stats": self.clean_text(self.stats),
            "sessions": sessions,
            "commits": commits,
            "files": files,
        }

    def format_html(self, version: str, made: str = "") -> str:
        """The HTML of the page.  made: the number of a page that is served."""
        self._link_commits()
        changed: list[Any] = []
        for file in self.files:
            lines = file.pop("sums")
            changed.append({"path": file["real"], "added": _sum_kinds(lines)})
        ids = {file.pop("real"): file for file in self.files}
        first = [(ids[path], why) for path, why in page_parts.choose_files(changed)]
        sums = {who: sum(file["added"].get(who, 0) for file in changed) for who in AUTHORS}
        for session in self.sessions:
            del session["usage"]
        view = {
            "title": self.clean_text(self._title),
            "version": version,
            "made": made,
            "bar": self._build_bar(self._list_added()),
            "counted": format_stats_summary(self.stats),
            "counted_lines": COUNTED,
            "shares": self._list_kinds(self.stats["added"], share_percent(self.stats["added"])),
            "kinds": self._list_kinds(sums, share_percent(sums)),
            **{sign: sum(file[sign] for file in self.files) for sign in ("plus", "minus")},
            "tokens": format_usage(self.stats["tokens"]) + self._spell_cost(),
            "models": sorted({s["model"] for s in self.sessions if s["model"]}),
            "first": first,
            "rule": page_parts.RULE,
            "authors": self._sort_sessions(),
            "plot": self._draw_plot(),
            "with_prompts": self._with_prompts,
            "abandoned": self._abandoned,
            "many": count_noun,
            **self._place_in_time(),
        }
        lists = {
            "sessions": [{**s, "turns": len(s["turns"])} for s in self.sessions],
            "commits": self.commits,
            "turns": self.turns,
            "files": self.files,
        }
        return fill_template(view, lists, self._chunks)

    def _list_added(self) -> dict[str, int]:
        """The lines that the commits added, by session and by people and unknown authors."""
        by_session = {s["session_id"]: s["added"] for s in self.stats["sessions"] if s["added"]}
        others = {who: n for who, n in self.stats["added"].items() if n and who != "agent"}
        return {**by_session, **others}

    def _list_kinds(self, sums: Mapping[str, int], percent: Mapping[str, int]) -> list[Record]:
        """The lines of agents, people and unknown authors, with percentages."""
        names = sorted(self._people.items(), key=lambda item: -item[1])
        first = page_parts.mark_person(names[0][0]) if names else "·"
        about = {**_ABOUT, "person": ", ".join(self.clean_text(name) for name, _ in names[:5])}
        return [
            {
                "who": who,
                "mark": page_parts.NOBODY.get(who, first),
                "name": AUTHORS[who],
                "about": about.get(who, ""),
                "lines": count,
                "percent": percent[who],
            }
            for who, count in sums.items()
            if count
        ]

    def _sort_sessions(self) -> Record:
        """The sessions by their share of the change, those that are folded, and a word on these."""
        seen = [s for s in self.sessions if s["turns"] or s["added"] or s["alive"]]
        seen.sort(key=lambda s: (-s["alive"], -s["added"], s["at"]))
        shown = [s for s in seen[:_MOST] if s["alive"] or s["added"]]
        rest = seen[len(shown) :]
        without = sum(not (s["alive"] or s["added"]) for s in rest)
        words = f"{len(rest)} more sessions" if shown else count_noun(len(rest), "session")
        if len(rest) == 1 and shown:
            words = "1 more session"
        if without:
            words += (
                f", {without} of them without a line" if without < len(rest) else " without a line"
            )
        return {"shown": shown, "rest": rest, "words": words}

    def _draw_plot(self) -> Record | None:
        """The bars of build_plot() in a field of 1000 to 100, with what each says in words."""
        plot = page_parts.build_plot(self._added, self._spent) if self._added else None
        if plot is None:
            return None
        bars, currency = plot["bars"], self._prices.currency if self._prices else ""
        tops = {
            "lines": max(sum(bar["lines"].values()) for bar in bars),
            "tokens": max(bar["tokens"] for bar in bars),
            "cost": max(bar["cost"] for bar in bars),
        }
        width = round(1000 / len(bars), 2)
        drawn = [_draw_bar(bar, tops, n * width, width) for n, bar in enumerate(bars)]
        for bar, view in zip(bars, drawn, strict=True):
            view["cost"] = f"{bar['cost']:.2f} {currency}" if bar["cost"] else ""
        top = {**tops, "cost": f"{tops['cost']:.2f} {currency}" if tops["cost"] else ""}
        return {"bars": drawn, "tops": top, "days": plot["days"]}

    def _place_in_time(self) -> Record:
        """Set the positions of turns and commits on the time line; return its length and axis."""
        times = [turn[key] for turn in self.turns for key in ("start", "end") if turn[key]]
        # A commit's time is in whole seconds: its content was made before the second ended.
        late = [commit["time"] + 0.999 for commit in self.commits]
        scale = scales.Scale([*times, *late])
        for turn in self.turns:
            ends = turn["start"], turn["end"] or turn["start"]
            turn["x"], turn["width"] = scale.place_span(*ends) if turn["start"] else (0, 0)
            turn["ticks"] = sorted({scale(tick) for tick in turn["ticks"]})
        numbers = {commit["oid"]: n for n, commit in enumerate(self.commits)}
        history = [(c["oid"], [p for p in c.pop("parents") if p in numbers]) for c in self.commits]
        lanes = page_parts.assign_lanes(history)
        placed = zip(self.commits, late, lanes, history, strict=True)
        for commit, time, lane, (_, parents) in placed:
            commit |= {"x": scale(time), "lane": lane, "from": [numbers[p] for p in parents]}
        moments = sorted({*times, *late})
        ticks = [*moments[:: max(1, len(moments) // 200)], *moments[-1:]]
        return {
            "lasted": format_span(moments[-1] - moments[0]) if len(moments) > 1 else "",
            "linear": scale.is_linear,
            "axis": [(scale(time), round(time)) for time in ticks],
        }

    def _link_commits(self) -> None:
        """Link commits to the files and turns on the page."""
        ids = {file["path"]: file["id"] for file in self.files}
        for commit in self.commits:
            commit["files"] = [(path, ids.get(path, "")) for path in commit.pop("paths")]
            asked = commit.pop("asked")
            turns = [self._talk.find_asked(make_key(who), prompt) for who, prompt in asked]
            commit["turns"] = list(dict.fromkeys(filter(None, turns)))


def _find_start(session: Record) -> float:
    return min((turn["start"] for turn in session["turns"]), default=0.0)


def _number_session(number: int) -> Record:
    """What the view of a session has by its place among them, from 0."""
    mark = page_parts.mark_session(number)
    return {"at": number, "mark": mark, "color": f"s{number % _COLOURS}"}


def _split_files(files: Iterable[File]) -> Iterator[list[File]]:
    """The files in groups of about _BATCH lines."""
    batch: list[File] = []
    size = 0
    for file in files:
        batch.append(file)
        size += len(file["before"] or ()) + len(file["after"] or ())
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _count_writers(rows: Sequence[Any], writers: Sequence[Record]) -> list[list[int]]:
    """[writer, added lines] of rows, most lines first; the calls of a prompt are one writer."""
    counts: dict[tuple[str, str], list[int]] = {}
    for sign, _, *writer in rows:
        if sign == "+" and writers:
            view = writers[writer[0]]
            counts.setdefault((view["mark"], view["name"]), [writer[0], 0])[1] += 1
    return sorted(counts.values(), key=lambda pair: -pair[1])


def _stamp_file(file: File) -> str:
    """A name for a file's change: another one when its content is another."""
    contents = [*(file["before"] or ()), "", *(file["after"] or ())]
    return make_key("\n".join([file["old"], file["path"], repr(file["sizes"]), *contents]))


def _draw_bar(bar: Bar, tops: Mapping[str, float], x: float, width: float) -> Record:
    """A bar of the plot: its time, its numbers, and (kind, y, height) of its parts."""
    parts, y = [], 100.0
    for kind in AUTHORS:
        if lines := bar["lines"].get(kind):
            height = round(100 * lines / tops["lines"], 2)
            y = round(y - height, 2)
            parts.append((kind, y, height))
    day = datetime.fromtimestamp(bar["time"], UTC)
    heights = {
        key: round(100 * value / tops[key], 2) if tops[key] else 0.0
        for key, value in (("tokens", bar["tokens"]), ("cost", bar["cost"]))
    }
    told = [f"{count} {AUTHORS[kind]}" for kind, count in bar["lines"].items() if count]
    return {
        "x": round(x, 2),
        "width": round(0.8 * width, 2),
        "parts": parts,
        "heights": heights,
        "day": f"{day:%Y-%m-%d}",
        "hour": f"{day:%H:%M}",
        "lines": ", ".join(told) or "no lines",
        "tokens": bar["tokens"],
    }


def _sum_kinds(sums: Mapping[str, int]) -> dict[str, int]:
    """Lines by author summed up by the keys of AUTHORS."""
    kinds = Counter[str]()
    for who, count in sums.items():
        kinds[who if who in AUTHORS else "agent"] += count
    return kinds
