"""Make one self-contained HTML file, which fetches nothing and runs no script but its own.

Texts are redacted, and hidden characters escaped, before anything else uses them.  The template
escapes HTML.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime

from markupsafe import Markup

from gitcp.extras.page import page_parts
from gitcp.extras.page.drawing import Drawn, draw_files, draw_rows
from gitcp.extras.page.hunks import Mark, Owner, PageHunk, cut_hunks
from gitcp.extras.page.page_parts import map_strings
from gitcp.extras.page.sessions import PageSession, build_turn_record, parse_seconds
from gitcp.extras.page.talk import Talk, make_anchor, name_talk
from gitcp.extras.page.template import draw_path, draw_time, fill_template, pack_html
from gitcp.lines.sums import Sums
from gitcp.terminal import scales
from gitcp.terminal.history import OUTCOMES
from gitcp.text.prompt_text import name_prompt
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import AUTHORS, abbreviate, count_noun, format_number, shorten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from gitcp.checkpoints.format.line_authors import Author
    from gitcp.extras.page.change import LineWriter, PageFile
    from gitcp.extras.page.page_parts import Links
    from gitcp.git.kept import Kept
    from gitcp.git.objects import Objects
    from gitcp.text.record_types import Record

_COLOURS = 8
_LISTED = 4  # prompts in the head that are not folded
_PROMPT = 300  # characters of a prompt above a hunk
_WHOLE = 2000  # characters of a prompt in the head, and of what was said at an edit
_WORDS_A_LINE = 300  # characters of what was said at an edit, for each line that it added
_SHORT = 160  # characters of a text that is redacted once
_TAIL = 14  # characters of a path that the list of files never cuts
_PLAIN = 500_000  # characters of files that stand in the page as they are; others are packed
_BAR = 1000  # width of the bar, in its own units
_NOBODY = frozenset(("unknown", "unrecorded"))


@dataclass(slots=True, eq=False)
class PagePrompt:
    """A prompt behind lines of the change.

    text: whole, to _WHOLE characters.  start: in s since 1970, 0 if unknown.  lines: of the change.
    color: a class.
    """

    owner: Owner
    agent: str
    text: str
    start: float = 0.0
    lines: int = 0
    letters: str = ""
    color: str = ""

    @property
    def name(self) -> str:
        """Its first line."""
        return shorten(page_parts.name_prompt(self.text) or "a prompt that is not here", _PROMPT)

    @property
    def whole(self) -> str:
        """Its text, '' if its name says as much."""
        if len(self.text.strip()) > len(self.name):
            return self.text
        return ""

    def count_line(self) -> None:
        """Count a line of the change."""
        self.lines += 1

    def show_as(self, number: int, text: str, agent: str) -> None:
        """Give it the letters and the colour of its number, and redacted texts."""
        self.letters = page_parts.make_letters(number)
        self.color = f"p{number % _COLOURS}"
        self.text = text[:_WHOLE]
        self.agent = agent or "agent"


@dataclass(slots=True)
class _ShownFile:
    """A file, the author of each added line, and its hunks.  left: changed lines left out."""

    file: PageFile
    marks: dict[int, Mark]
    hunks: list[PageHunk]
    left: int
    drawn: Drawn
    words: dict[int, str] = field(default_factory=dict)  # hunk -> what was said at its edit

    def count_by_author(self) -> dict[str, int]:
        """session id, or a word of tally.WHO -> the added lines."""
        counts = Counter[str]()
        for writer in self.file.writers.values():
            counts[writer.author["session_id"] or writer.author["who"]] += 1
        return dict(counts)


class Page:
    """Collects the parts of one page; format_html() returns the file."""

    def __init__(
        self,
        place: str,
        redact: Callable[[Sequence[str]], list[str]],
        links: Links,
        with_prompts: bool = True,
        is_full: bool = False,
    ) -> None:
        """place: the repository and what was asked for.  is_full: with the conversations."""
        self._place = place
        self._redact = redact
        self._links = links
        self._with_prompts = with_prompts
        self._is_full = is_full and with_prompts
        self._cleaned: dict[str, str] = {}  # short texts: names and paths come again
        self._owners: dict[tuple[Any, ...], Owner] = {}
        self._prompts: dict[Owner, PagePrompt] = {}
        self._files: list[_ShownFile] = []
        self._abandoned: list[Record] | None = None
        self.sessions: dict[str, PageSession] = {}
        self.commits: list[Record] = []
        self.branch = ""  # that the newest commit is the end of, if it is to name the page
        self.tip = ""
        self.stats: Record = Sums().build_record()  # of the commits
        self.lacks: list[str] = []  # what is missing, in words

    def clean_text(self, value: Any) -> Any:
        """A value with every string redacted and its hidden characters escaped."""
        found = dict.fromkeys(page_parts.list_strings(value))
        texts = [text for text in found if text not in self._cleaned]
        cleaned = dict(zip(texts, map(page_parts.name_hidden, self._redact(texts)), strict=True))
        self._cleaned |= {text: cleaned[text] for text in texts if len(text) <= _SHORT}
        return map_strings(value, lambda text: cleaned.get(text) or self._cleaned.get(text, ""))

    def _clean_lines(self, lines: Sequence[str]) -> list[str]:
        """Redacted lines, as many as before: each on its own if a secret had several."""
        cleaned = str(self.clean_text("\n".join(lines))).split("\n")
        if len(cleaned) == len(lines):
            return cleaned
        return [str(self.clean_text(line)) for line in lines]

    def add_commit(
        self, record: Record, lines: Mapping[str, Mapping[str, int]], refs: Sequence[str] = ()
    ) -> None:
        """Add a commit, the newest first; lines: path -> who -> lines added; refs: its branches and
        tags."""
        sums = Counter[str]()
        for row in lines.values():
            sums.update(row)
        texts = record["message"], record["author"], list(refs)
        subject, author, names = self.clean_text(texts)
        self.commits.append(
            {
                "oid": record["oid"],
                "subject": subject,
                "author": author,
                "names": names,
                "time": float(record["time"]),
                "checkpoints": [c["checkpoint_id"] for c in record["checkpoints"]],
                "added": dict(sums),
                "is_merge": len(record.get("parents", ())) > 1,
                "link": page_parts.link_commit(self._links, record["oid"]),
            }
        )

    def add_files(
        self, objects: Objects, files: Iterable[PageFile], kept: Kept | None = None
    ) -> None:
        """Add the files of the change, after the sessions that wrote them.  kept: what earlier
        pages drew; None to keep nothing."""
        changed = [*files]
        drawn = draw_files(objects, changed, self._clean_lines, kept)
        for file, texts in zip(changed, drawn, strict=True):
            self._add_file(file, texts)
        self._name_prompts()
        if self._with_prompts:
            self._add_words()

    def _add_file(self, file: PageFile, drawn: Drawn) -> None:
        marks = {n: self._make_mark(writer) for n, writer in file.writers.items()}
        for mark in marks.values():
            if mark.owner in self._prompts:
                self._prompts[mark.owner].count_line()
        hunks, left = cut_hunks(file.edits, len(file.after or ()), marks)
        if file.after is None:
            hunks = []
        self._files.append(_ShownFile(file, marks, hunks, left, drawn))

    def _make_mark(self, writer: LineWriter) -> Mark:
        author = writer.author
        call = author["session_id"], author["tool_use_id"] or ""
        is_beside = bool(author.get("by_neighbours"))
        return Mark(self._find_owner(writer), call, is_beside, writer.commit)

    def _find_owner(self, writer: LineWriter) -> Owner:
        author = writer.author
        if author["who"] != "session":
            name = ""
            if author["who"] == "person":
                name = writer.name
            key: tuple[Any, ...] = author["who"], name
            if key not in self._owners:
                self._owners[key] = Owner(author["who"], name)
            return self._owners[key]
        key = author["session_id"], author["number"], author["prompt"]
        if key not in self._owners:
            self._owners[key] = self._find_prompt(author)
        return self._owners[key]

    def _find_prompt(self, author: Author) -> Owner:
        """The prompt behind a line; of a task, the one of the session that gave it."""
        session = self.sessions.get(author["session_id"])
        if session is None:
            session = PageSession(author["session_id"], author["agent"])
            self.sessions[author["session_id"]] = session
        number = session.find_number(author)
        turn = session.find_turn(number)
        seen = {session.session_id}
        while session.parent in self.sessions and session.parent not in seen:
            parent = self.sessions[session.parent]
            seen.add(parent.session_id)
            asked = parent.find_turn_at(session.start)
            if asked is not None:
                turn = asked
                number = asked["number"]
            session = parent
        text = author["prompt"]
        start = session.start
        if turn is not None:
            text = turn["prompt"]
            start = parse_seconds(turn["start"])
        key = "prompt", session.session_id, number or text
        if key not in self._owners:
            owner = Owner("prompt", "", session.session_id, number)
            prompt = PagePrompt(owner, session.agent or author["agent"], text, start)
            self._owners[key] = owner
            self._prompts[owner] = prompt
        return self._owners[key]

    def _name_prompts(self) -> None:
        """Give letters and colours to the prompts, those with most lines first."""
        prompts = sorted(self._prompts.values(), key=lambda one: (-one.lines, one.start))
        texts = ["" for _ in prompts]
        if self._with_prompts:
            texts = self.clean_text([prompt.text for prompt in prompts])
        agents = self.clean_text([prompt.agent for prompt in prompts])
        for number, prompt in enumerate(prompts):
            prompt.show_as(number, texts[number], agents[number])
        self._prompts = {prompt.owner: prompt for prompt in prompts}

    def _add_words(self) -> None:
        """Find what the agent said at the edit that wrote each hunk; of a file each text once."""
        found: list[tuple[_ShownFile, int, str]] = []
        for one in self._files:
            told = set[str]()
            for number, hunk in enumerate(one.hunks):
                words = self._find_words(hunk)
                if words and words not in told:
                    told.add(words)
                    limit = min(_WHOLE, _WORDS_A_LINE * len(hunk.marks))
                    found.append((one, number, words[:limit]))
        cleaned = self.clean_text([words for _, _, words in found])
        for (one, number, _), words in zip(found, cleaned, strict=True):
            one.words[number] = words

    def _find_words(self, hunk: PageHunk) -> str:
        for mark in hunk.marks:
            session_id, call = mark.call
            session = self.sessions.get(session_id)
            if mark.owner is hunk.owner and session is not None and call:
                words = session.find_words(call)
                if words:
                    return words
        return ""

    def add_abandoned(self, records: Iterable[Record]) -> None:
        """Add a section of what the sessions of the page gave up, of the records "abandoned"."""
        own = [record for record in records if record["session_id"] in self.sessions]
        self._abandoned = [*map(self._view_abandoned, own)]

    def _view_abandoned(self, record: Record) -> Record:
        prompt = ""
        then = ""
        if self._with_prompts:
            prompt = self.clean_text(shorten(name_prompt(record["prompt"]), 200))
            if not record["by"] or record["by"] in self.sessions:  # else another session's prompt
                then = self.clean_text(shorten(name_prompt(record["next_prompt"]), 200))
        return {
            "session": shorten_id(record["session_id"]),
            "agent": self.clean_text(record["agent"]),
            "day": str(datetime.fromtimestamp(record["time"], UTC).date()),
            "how": OUTCOMES.get(record["how"], ""),
            "prompt": prompt,
            "then": then,
            "files": [(self.clean_text(path), facts) for path, facts in record["files"].items()],
        }

    def name_title(self) -> str:
        """The subject of the commit; of several the branch, else the newest subject."""
        if len(self.commits) == 1:
            return str(self.commits[0]["subject"])
        if self.branch:
            return str(self.clean_text(self.branch))
        subjects = [commit["subject"] for commit in self.commits if not commit["is_merge"]]
        first = (subjects or [commit["subject"] for commit in self.commits])[0]
        return f"{first}, and {len(self.commits) - 1} more"

    def build_record(self) -> Record:
        """What the page shows, as a record `page` (gitcp-record(5)): the sums, and its sessions,
        commits and files with the lines of each author."""
        added = Counter[str]()
        alive = Counter[str]()
        for commit in self.commits:
            added.update(commit["added"])
        for one in self._files:
            alive.update(one.count_by_author())
        of_commit = ("oid", "subject", "author", "time", "checkpoints", "added")
        commits = []
        for commit in self.commits:
            commits.append({key: commit[key] for key in of_commit})
        return {
            "type": "page",
            "title": self.name_title(),
            "tip": self.tip,
            "stats": self.clean_text(self.stats),
            "sessions": [
                self._build_session_record(session, added, alive)
                for session in self.sessions.values()
            ],
            "commits": commits,
            "files": [self._build_file_record(one) for one in self._files],
        }

    def _build_session_record(
        self, session: PageSession, added: Mapping[str, int], alive: Mapping[str, int]
    ) -> Record:
        name = ""
        lines = ["" for _ in session.turns]
        if self._with_prompts:
            name = name_talk(session)
            lines = [page_parts.name_prompt(turn["prompt"]) for turn in session.turns]
        texts = session.session_id, session.agent, session.model, name, session.resume, lines
        key, agent, model, name, resume, lines = self.clean_text(texts)
        turns = zip(session.turns, lines, strict=True)
        return {
            "session_id": key,
            "agent": agent,
            "model": model,
            "name": name or f"{agent} {shorten_id(key)}",
            "resume": resume,
            "added": added[session.session_id],
            "alive": alive[session.session_id],
            "turns": [build_turn_record(turn, line) for turn, line in turns],
        }

    def _build_file_record(self, one: _ShownFile) -> Record:
        file = one.file
        return {
            "path": self.clean_text(file.name),
            "old": self.clean_text(_name_former(file)),
            "state": _name_state(file),
            "plus": file.added,
            "minus": file.removed,
            "lines": one.count_by_author(),
        }

    def format_html(self, version: str, made: str = "") -> str:
        """The HTML of the page.  made: the number of a page that is served."""
        prompts = [self._view_prompt(prompt) for prompt in self._prompts.values()]
        talks = []
        if self._is_full:
            talks = [self._view_talk(session, True) for session in self._list_talks()]
        elif made and self._with_prompts:
            talks = [self._view_talk(session, False) for session in self._list_talks()]
        view = {
            "version": version,
            "made": made,
            "title": self.name_title(),
            "facts": self._tell_facts(),
            "plus": sum([one.file.added for one in self._files]),
            "minus": sum([one.file.removed for one in self._files]),
            "sums": self._tell_sums(self._sum_lines()),
            "bar": self._build_bar(),
            "prompts": prompts[:_LISTED],
            "others": prompts[_LISTED:],
            "lacks": self.clean_text(self.lacks),
            "files": self._view_files(bool(talks)),
            "talks": talks,
            "commits": [self._view_commit(commit) for commit in self.commits],
            "counted": self._tell_sums(self.stats["added"]),
            "abandoned": self._abandoned,
            "many": count_noun,
            "path": draw_path,
            "tail": _TAIL,
        }
        return fill_template(view)

    def _tell_facts(self) -> str:
        """The place, the ids, whose commits, and when: a grey line."""
        names = list(dict.fromkeys(commit["author"] for commit in self.commits))
        by = ", ".join(names[:2])
        if len(names) > 2:
            by += f" and {len(names) - 2} more"
        facts = [
            self.clean_text(self._place),
            count_noun(len(self.commits), "commit") + f" by {by}",
        ]
        if len(self.commits) == 1:
            facts = [self.clean_text(self._place), abbreviate(self.tip), f"by {by}"]
        if self.commits:
            day = datetime.fromtimestamp(self.commits[0]["time"]).astimezone()
            facts.append(f"{day.day} {day:%b %Y}")
        return " · ".join(facts)

    def _sum_lines(self) -> dict[str, int]:
        """The lines that the change adds, by a word of tally.WHO."""
        counts = dict.fromkeys(AUTHORS, 0)
        for one in self._files:
            for writer in one.file.writers.values():
                who = writer.author["who"]
                if who == "session":
                    who = "agent"
                counts[who] += 1
        return counts

    def _tell_sums(self, counts: Mapping[str, int]) -> str:
        """Lines by author in words, as in `8 lines by agents, 2 not recorded, 0 by people`."""
        unknown = sum([counts[who] for who in _NOBODY])
        agents = count_noun(counts["agent"], "line")
        return f"{agents} by agents, {unknown} not recorded, {counts['person']} by people"

    def _build_bar(self) -> list[Record]:
        """The parts of the bar: class, x and width."""
        counts = Counter[str]()
        for prompt in self._prompts.values():
            counts[prompt.color] += prompt.lines
        sums = self._sum_lines()
        counts["pp"] = sums["person"]
        counts[""] = sum([sums[who] for who in _NOBODY])
        kept = {name: count for name, count in counts.items() if count}
        parts = scales.divide_bar(kept, _BAR)
        return [{"color": name, "x": x, "width": width} for name, x, width in parts if name]

    def _view_prompt(self, prompt: PagePrompt) -> Record:
        return {
            "color": prompt.color,
            "letters": prompt.letters,
            "name": self._name_prompt(prompt),
            "whole": prompt.whole,
            "facts": self._tell_prompt(prompt, count_noun(prompt.lines, "line"), True),
        }

    def _name_prompt(self, prompt: PagePrompt) -> str:
        if not self._with_prompts:
            return f"{prompt.agent} {shorten_id(prompt.owner.session_id)}"
        return prompt.name

    def _tell_prompt(self, prompt: PagePrompt, lines: str, is_first: bool = False) -> Markup:
        facts: list[Any] = [prompt.agent]
        if prompt.start:
            facts.append(draw_time(prompt.start))
        if prompt.owner.number:
            facts.append(f"prompt {prompt.owner.number}")
        if is_first:
            facts.insert(0, lines)
        else:
            facts.append(lines)
        return Markup(" · ").join(facts)

    def _view_files(self, has_talks: bool) -> list[Record]:
        names: dict[object, str] = {one.owner: one.color for one in self._prompts.values()}
        names |= {owner: "pp" for owner in self._owners.values() if owner.kind == "person"}
        room = _PLAIN
        number = 0
        views = []
        for one in self._files:
            hunks = []
            before: Owner | None = None
            for place, hunk in enumerate(one.hunks):
                number += 1
                head = self._draw_head(one, place, number, before, has_talks)
                hunks.append(head + Markup(draw_rows(hunk, one.drawn, one.marks, names)))
                before = hunk.owner
            body = Markup().join(hunks)
            is_packed = room < len(body)
            if is_packed:
                body = pack_html(body)
            else:
                room -= len(body)
            views.append({**self._view_file(one), "body": body, "is_packed": is_packed})
        return views

    def _view_file(self, one: _ShownFile) -> Record:
        file = one.file
        path, old = self.clean_text([file.name, _name_former(file)])
        link = ""
        if file.path:
            link = page_parts.link_file(self._links, self.tip, file.path)
        sizes = ""
        if file.before is None:
            before, after = file.sizes
            sizes = f"binary, {format_number(before)} → {format_number(after)} bytes"
        return {
            "path": path,
            "old": old,
            "state": _name_state(file),
            "plus": file.added,
            "minus": file.removed,
            "link": link,
            "sizes": sizes,
            "left": one.left,
            "stamp": _stamp_file(file),
        }

    def _draw_head(
        self, one: _ShownFile, place: int, number: int, before: Owner | None, has_talks: bool
    ) -> Markup:
        """What stands above a hunk.  number: of the hunk on the page, from 1; before: the owner of
        the hunk above it in the file."""
        hunk = one.hunks[place]
        owner = hunk.owner
        prompt = None
        if owner:
            prompt = self._prompts.get(owner)
        if prompt is None:
            return Markup('<div class="hh again" id=h{} tabindex=-1>{}</div>').format(
                number, self._name_nobody(hunk)
            )
        lines = self._count_lines(hunk)
        tag = Markup("<span class=tag>{}</span>").format(prompt.letters)
        words = one.words.get(place, "")
        if owner is before:
            title = Markup("{}<span class=soft>the same prompt · {}</span>").format(tag, lines)
        else:
            title = Markup("{}<span class=pr>{}</span><span class=meta>{}</span>").format(
                tag, self._name_prompt(prompt), self._tell_prompt(prompt, lines)
            )
        if owner is before and not words:
            return Markup('<div class="hh again {}" id=h{} tabindex=-1>{}</div>').format(
                prompt.color, number, title
            )
        why = self._draw_why(hunk, words, prompt, has_talks)
        return Markup('<details class="hh {}" id=h{}><summary>{}</summary>{}</details>').format(
            prompt.color, number, title, why
        )

    def _name_nobody(self, hunk: PageHunk) -> Markup:
        if hunk.owner is None:
            text = "only removed lines"
        elif hunk.owner.kind == "person":
            name = self.clean_text(hunk.owner.name) or "a person"
            text = f"{name} wrote this · {self._count_lines(hunk)}"
        else:
            text = "not recorded who wrote this"
        return Markup("<span class=soft>{}</span>").format(text)

    def _count_lines(self, hunk: PageHunk) -> Markup:
        """The lines of a hunk by its owner, and beside them those of others."""
        counts: dict[Owner, int] = {}
        for mark in hunk.marks:
            counts[mark.owner] = counts.get(mark.owner, 0) + 1
        parts = []
        if hunk.owner is not None:
            parts.append(Markup(count_noun(counts.pop(hunk.owner), "line")))
        nobody = 0
        for owner, count in counts.items():
            prompt = self._prompts.get(owner)
            if prompt is not None:
                tag = Markup("<span class={}><span class=tag>{}</span></span> {}")
                parts.append(tag.format(prompt.color, prompt.letters, count))
            elif owner.kind == "person":
                parts.append(Markup("{} by a person").format(count))
            else:
                nobody += count
        if nobody:
            parts.append(Markup("{} not recorded").format(nobody))
        return Markup(", ").join(parts)

    def _draw_why(self, hunk: PageHunk, words: str, prompt: PagePrompt, has_talks: bool) -> Markup:
        """What opens below the head of a hunk."""
        html = Markup()
        if words:
            html = Markup("<p><span class=soft>The agent said:</span> {}</p>").format(words)
        commits = dict.fromkeys(mark.commit for mark in hunk.marks if mark.owner is hunk.owner)
        told: list[Any] = [f"commit {abbreviate(oid)}" for oid in commits]
        told.append(f"session {shorten_id(prompt.owner.session_id)}")
        session = self.sessions.get(prompt.owner.session_id)
        if has_talks and session is not None and session.turns:
            number = 0
            if session.find_turn(prompt.owner.number):
                number = prompt.owner.number
            anchor = make_anchor(session.session_id, number)
            told.append(Markup('<a href="#{}">the whole conversation</a>').format(anchor))
        return html + Markup("<p class=soft>{}</p>").format(Markup(" · ").join(told))

    def _list_talks(self) -> list[PageSession]:
        """The sessions that have a conversation, by their start."""
        told = [session for session in self.sessions.values() if session.turns]
        return sorted(told, key=lambda session: session.start)

    def _view_talk(self, session: PageSession, with_turns: bool) -> Record:
        if with_turns:
            body = Talk(session, self.clean_text).draw()
        else:
            body = Markup()
        name, agent, resume = self.clean_text([name_talk(session), session.agent, session.resume])
        task_of = ""
        if session.parent:
            task_of = shorten_id(session.parent)
        return {
            "anchor": make_anchor(session.session_id),
            "name": name,
            "agent": agent,
            "session": shorten_id(session.session_id),
            "task_of": task_of,
            "turns": len(session.turns),
            "resume": resume,
            "body": body,
        }

    def draw_talk(self, anchor: str) -> str | None:
        """The HTML of a conversation by its anchor; None for none."""
        for session in self._list_talks():
            if self._with_prompts and make_anchor(session.session_id) == anchor:
                return str(Talk(session, self.clean_text).draw())
        return None

    def _view_commit(self, commit: Record) -> Record:
        counts = dict.fromkeys(AUTHORS, 0)
        for who, count in commit["added"].items():
            if who in AUTHORS:
                counts[who] += count
            else:
                counts["agent"] += count
        sums = ""
        if sum(counts.values()):
            sums = self._tell_sums(counts)
        return {
            **commit,
            "id": abbreviate(commit["oid"]),
            "when": draw_time(commit["time"]),
            "sums": sums,
        }


def _name_former(file: PageFile) -> str:
    """The path that a file had; '' if it is the same."""
    if file.old == file.path:
        return ""
    return file.old


def _name_state(file: PageFile) -> str:
    if not file.path:
        return "deleted"
    if file.old:
        return ""
    return "new"


def _stamp_file(file: PageFile) -> str:
    """A name for a file's change: another one when its content is another."""
    contents = [*(file.before or ()), "", *(file.after or ())]
    text = "\n".join([file.old, file.path, repr(file.sizes), *contents])
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:10]
