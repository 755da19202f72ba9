"""Turns that match a query, from the index, and values for the completion of command lines."""

from __future__ import annotations

import time
from itertools import chain
from typing import NamedTuple

from gitcp.checkpoints import listing
from gitcp.checkpoints.heads import Heads
from gitcp.checkpoints.stored import read_checkpoint
from gitcp.errors import Error
from gitcp.extras.search import index, rules
from gitcp.git.objects import Objects
from gitcp.record.session import others
from gitcp.steps.back import points
from gitcp.terminal import going_back
from gitcp.terminal.hits import Parent
from gitcp.text import json, prompt_text, spans

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from sqlite3 import Connection

    from gitcp.agents.transcripts.heads import Head
    from gitcp.checkpoints.stored import SessionEntry
    from gitcp.extras.search.rules import Query
    from gitcp.git.repo import Repo
    from gitcp.terminal.completion import Candidates
    from gitcp.terminal.hits import Hit, HitCommit


_REFS = {
    "branch": ["refs/heads"],
    "commit": ["refs/heads", "refs/tags", "refs/remotes"],
    "ref": ["refs/heads/entire", "refs/gitcp", "refs/entire"],
}
_PROMPT = 60  # characters of a prompt


def find_candidates(repo: Repo, kind: str, prefix: str) -> Candidates:
    """The values of a kind that begin with prefix, each with a description."""
    if kind == "session":
        return _list_sessions(repo, prefix)
    if kind == "recorded":
        with Objects(repo):
            ids = listing.find_matching_ids(repo, prefix)
        return {**_list_sessions(repo, prefix), **dict.fromkeys(ids, "checkpoint")}
    if kind == "point":
        with Objects(repo):
            found: dict[str, str] = {}
            for point in points.list_points(repo):
                if point.can_be_gone_to:
                    text = going_back.describe_point(point)
                    found[point.id] = spans.shorten(text, _PROMPT)
            return found
    if kind == "remote":
        return dict.fromkeys(_list_lines(repo, "remote"), "remote")
    form = "%(refname:short)"
    if kind == "ref":
        form = "%(refname)"
    refs = _list_lines(repo, "for-each-ref", f"--format={form}", *_REFS[kind])
    if kind == "commit":
        refs.insert(0, "HEAD")
    return dict.fromkeys(refs, "")


def _list_sessions(repo: Repo, prefix: str) -> Candidates:
    listed = {}
    for name in others.list_state_ids(repo):
        state = None
        if name.startswith(prefix):
            state = others.peek_state(repo, name)
        if state:
            prompt = " ".join(str(state.get("first_prompt") or "").split())[:_PROMPT]
            listed[name] = f"{state.get('agent_type') or 'session'}: {prompt}"
    return listed


def _list_lines(repo: Repo, *args: str) -> list[str]:
    return [line.decode(errors="replace") for line in repo.git.read_records(*args, sep=b"\n")]


# Answering a query from the index: turns, the best first.
_PATIENCE = 120.0  # seconds that another search may take to make the index
_CANDIDATES = 500  # turns that are ranked
_EVER = float("inf")
_DAY = 86_400.0
_HALF = 180.0  # days after which a turn counts half
_LOST = 0.5  # factor of a turn whose commits are on no branch
_NEAR = 1.5  # factor of a turn that has the words close together
_WEIGHTS = "4.0, 1.0, 1.5, 2.0"  # of prompt, answer, calls, files
_MESSAGE = 3.0  # weight of a commit message
_OUTPUT = 0.1  # score of a turn that has the words in outputs alone
_SHORTEST = 3  # characters of a part that is looked up in the vocabulary
_MOST_WORDS = 1000  # words of the vocabulary that a part may match
_MARK = ("\1", "\2")  # around a match in a snippet
_LARGE = 100_000  # characters of a turn, of more a snippet is looked for in pieces


def find_hits(
    repo: Repo,
    query: Query,
    *,
    exact: bool = False,
    outputs: bool = False,
    since: float = 0.0,
    until: float = _EVER,
    most: int = 10,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> tuple[list[Hit], int]:
    """(the best turns that a query finds, at most `most`; the number of others).

    A hit has session_id, number, time, agent, branch, prompt, files, checkpoint_ids, commits,
    score, snippet, a piece of text with each match between \\1 and \\2, and found_in, the text that
    has it, one of _TEXTS, '' for none.

    exact: words match parts of words, without stemming; outputs: the outputs of calls are searched
    too; since, until: seconds since 1970, for a turn or a commit of it.  progress(done, all) is
    called while the index is brought up to date.
    """

    def answer(database: Connection) -> tuple[list[Hit], int]:
        index.refresh_index(repo, database, progress)
        index.tell_lacking(database)
        hits, left = _find_turns(database, query, exact, outputs, since, until, most)
        for hit in hits:
            turn = hit.pop("turn")
            hit["snippet"] = _read_snippet(database, turn, query, exact)
            hit["found_in"] = _find_place(database, turn, hit["snippet"])
        return hits, left

    return index.use_database(repo, answer, _PATIENCE)


def _find_turns(
    database: Connection,
    query: Query,
    exact: bool,
    outputs: bool,
    since: float,
    until: float,
    most: int,
) -> tuple[list[Hit], int]:
    """(the best hits, at most `most`; the number of others)."""
    narrow = bool(query["filters"] or since or until != _EVER)
    limit = _CANDIDATES
    if narrow:
        limit = -1
    scores, carriers = _score_turns(database, query, exact, outputs, limit)
    hits: list[Hit] = []
    left = 0
    for score, turn in _rank_turns(database, scores):
        if len(hits) + left == _CANDIDATES:
            break
        if len(hits) == most and not narrow:
            left += 1
            continue
        hit = _build_hit(database, turn, carriers.get(turn, ""))
        if hit and _fits_filters(hit, query, since, until):
            hit["score"] = score
            left += len(hits) == most
            if len(hits) < most:
                hits += [hit]
    return hits, left


def _rank_turns(database: Connection, scores: Mapping[int, float]) -> list[tuple[float, int]]:
    """(score, turn), the best first: by age, and by whether a branch has one of its commits."""
    rows = database.execute(
        "select turn.id, number, coalesce(nullif(turn.time, 0), max(linked.time), 0) as moment,"
        " max(live) from json_each(?) join turn on turn.id = value"
        " left join source_turn on source_turn.turn = turn.id"
        " left join source on source.id = source and kind = 'checkpoint'"
        " left join linked on checkpoint = name group by turn.id",
        (json.dumps([*scores]),),
    )
    now = time.time()
    ranked = []
    for turn, number, moment, live in rows:
        weight = _HALF / (_HALF + max(0.0, now - moment) / _DAY)
        if live == 0:
            weight *= _LOST
        # Four digits that count: of a word that half of the turns have, all scores are small.
        score = float(f"{scores[turn] * weight:.4g}")
        ranked.append((-score, -moment, number, turn))
    return [(-score, turn) for score, _, _, turn in sorted(ranked)]


def _read_snippet(database: Connection, turn: int, query: Query, exact: bool) -> str:
    if not query["words"]:
        return ""
    texts = database.execute(
        "select prompt, answer, calls, files from texts where rowid=?", (turn,)
    ).fetchone()
    if exact:
        return _cut_surroundings(texts, query["words"])
    expression = " OR ".join(map(rules.quote_phrase, query["words"]))
    row = None
    if sum(map(len, texts)) > _LARGE:
        row = _read_piece(database, rules.cut_pieces(texts, query["words"]), expression)
    if row is None:
        row = database.execute(
            "select snippet(texts, -1, ?, ?, '…', 16) from texts where texts match ? and rowid=?",
            (*_MARK, expression, turn),
        ).fetchone()
    if row is None:
        return ""
    return " ".join(row[0].split())


_TEXTS = ("prompt", "answer", "calls", "files")


def _find_place(database: Connection, turn: int, snippet: str) -> str:
    """Which of _TEXTS of a turn has a snippet; '' for none."""
    plain = snippet.translate({ord(_MARK[0]): None, ord(_MARK[1]): None}).strip("…")
    if not plain:
        return ""
    texts = database.execute(f"select {', '.join(_TEXTS)} from texts where rowid=?", (turn,))
    for name, text in zip(_TEXTS, texts.fetchone(), strict=True):
        if plain in " ".join(text.split()):
            return name
    return ""


def find_parents(repo: Repo, hits: Iterable[Hit]) -> dict[str, Parent]:
    """The sessions whose tasks were found, by the sessions of the tasks."""
    heads = Heads(repo)
    parents = {}
    for hit in hits:
        session_id = hit["session_id"]
        if session_id in parents or not hit["checkpoint_ids"]:
            continue
        try:
            checkpoint = read_checkpoint(repo, hit["checkpoint_ids"][0])
        except Error:
            continue  # a part is not here
        entries = {entry["session_id"]: entry for entry in checkpoint["sessions"]}
        head = _read_head(heads, entries, session_id)
        if head is not None and head.parent:
            own = _read_head(heads, entries, head.parent)
            parents[session_id] = Parent(head.parent, _name_head(own))
    return parents


def _read_head(heads: Heads, entries: Mapping[str, SessionEntry], session_id: str) -> Head | None:
    """The head of one of the sessions of a checkpoint; None if it is none of them."""
    if session_id not in entries:
        return None
    return heads.read([entries[session_id]]).get(session_id)


def _name_head(head: Head | None) -> str:
    """What a session is called: its last prompt, else its title; '' for neither."""
    if head is None:
        return ""
    prompt = prompt_text.read_first_line(head.prompt or "")
    if prompt:
        return f"> {prompt}"
    return head.title


def _read_piece(
    database: Connection, pieces: Sequence[str], expression: str
) -> tuple[str, ...] | None:
    """The row of the snippet of the piece that matches best; None if none matches.

    snippet() compares all places of a text with each other, which takes seconds for megabytes."""
    database.execute("pragma temp_store=memory")
    database.execute(
        "create virtual table if not exists temp.piece using fts5(text,"
        " tokenize='porter unicode61 remove_diacritics 2')"
    )
    database.execute("delete from temp.piece")
    database.executemany("insert into temp.piece values (?)", ((piece,) for piece in pieces))
    row: tuple[str, ...] | None = database.execute(
        "select snippet(piece, 0, ?, ?, '…', 16) from temp.piece where piece match ?"
        " order by rank limit 1",
        (*_MARK, expression),
    ).fetchone()
    return row


def _score_turns(
    database: Connection, query: Query, exact: bool, outputs: bool, most: int
) -> tuple[dict[int, float], dict[int, str]]:
    """(turn -> score of the best candidates; turn -> the commit whose message matches best).

    most: the number of candidates by text, -1 for all."""
    if not query["words"]:
        rows = database.execute("select id from turn order by time desc limit ?", (most,))
        return dict.fromkeys((turn for (turn,) in rows), 1.0), {}
    if exact:
        return dict.fromkeys(_match_exactly(database, query, most), 1.0), {}
    expression = rules.build_expression(query["words"], query["without"])
    scores = dict(_score_texts(database, expression, most))
    near = rules.build_near(query["words"])
    if near:
        for (turn,) in database.execute("select rowid from texts where texts match ?", (near,)):
            if turn in scores:
                scores[turn] *= _NEAR
    carriers: dict[int, str] = {}
    for turn, commit, score in _score_messages(database, expression, most):
        scores[turn] = scores.get(turn, 0.0) + score
        carriers.setdefault(turn, commit)
    if outputs:
        for turn in _match_outputs(database, query):
            scores.setdefault(turn, _OUTPUT)
    return scores, carriers


def _score_texts(database: Connection, expression: str, most: int) -> Iterator[tuple[int, float]]:
    rows = database.execute(
        f"select rowid, bm25(texts, {_WEIGHTS}) as rank from texts where texts match ?"
        " order by rank limit ?",
        (expression, most),
    )
    yield from ((turn, -rank) for turn, rank in rows)


class _Told(NamedTuple):
    """A turn whose commit's message matches."""

    turn: int
    commit: str
    score: float


def _score_messages(database: Connection, expression: str, most: int) -> Iterator[_Told]:
    """The last turn of each session of commits with matching messages, of those that wrote their
    lines if these are known."""
    rows = database.execute(
        "with found as (select linked.id, checkpoint, oid, bm25(messages) as rank from messages"
        " join linked on linked.id = messages.rowid where messages match ? order by rank limit ?)"
        " select coalesce(max(case when wrote then turn.id end), max(turn.id)), oid, rank"
        " from found"
        " join source on kind = 'checkpoint' and name = checkpoint"
        " join source_turn on source_turn.source = source.id"
        " join turn on turn.id = source_turn.turn"
        " group by found.id, session order by rank, found.id",
        (expression, most),
    )
    yield from (_Told(turn, commit, _MESSAGE * -rank) for turn, commit, rank in rows)


def _match_outputs(database: Connection, query: Query) -> list[int]:
    """The turns that have every word, in the outputs of calls or in other text."""
    matching: set[int] | None = None
    for word in query["words"]:
        pieces = " AND ".join(map(rules.quote_phrase, rules.split_tokens(word)))
        sql = "select rowid from outputs where outputs match ? union all"
        sql += " select rowid from texts where texts match ?"
        turns = {turn for (turn,) in database.execute(sql, (pieces, rules.quote_phrase(word)))}
        if matching is None:
            matching = turns
        else:
            matching = matching & turns
    return sorted(matching or ())


def _match_exactly(database: Connection, query: Query, most: int) -> list[int]:
    """The turns whose texts contain all words, in upper or lower case.

    The vocabulary gives candidates, and the text of each is then searched."""
    tokens = rules.split_tokens(" ".join(query["words"]))
    parts = [_build_word_choice(database, token) for token in tokens]
    if "" in parts:
        return []
    chosen = ""
    values: list[str] = []
    expression = " AND ".join(f"({part})" for part in parts if part)
    if expression:
        chosen = " where texts match ?"
        values.append(expression)
    rows = database.execute(
        "select rowid, prompt || char(10) || answer || char(10) || calls || char(10) || files"
        f" from texts{chosen} order by rowid desc",
        values,
    )
    words = [word.lower() for word in query["words"]]
    without = [word.lower() for word in query["without"]]
    matching: list[int] = []
    for turn, joined in rows:
        text = joined.lower()
        if all(word in text for word in words) and not any(word in text for word in without):
            matching.append(turn)
        if len(matching) == most:
            break
    return matching


def _build_word_choice(database: Connection, part: str) -> str | None:
    """An expression for the words of the vocabulary that contain a part; None if it is too short
    or too common, '' if no word does."""
    if len(part) < _SHORTEST:
        return None
    sql = "select text from word_parts where text match ? limit ?"
    words = [word for (word,) in database.execute(sql, (rules.quote_phrase(part), _MOST_WORDS + 1))]
    if len(words) > _MOST_WORDS:
        return None
    return " OR ".join(map(rules.quote_phrase, words))


def _build_hit(database: Connection, turn: int, carrier: str) -> Hit | None:
    """A turn with its commits: carrier first, then those on branches, the newest first."""
    row = database.execute(
        "select session, number, time, agent, branch from turn where id=?", (turn,)
    ).fetchone()
    text = database.execute("select prompt from texts where rowid=?", (turn,)).fetchone()
    if row is None or text is None:
        return None  # outputs of a deleted turn stay in their table
    files = database.execute("select path from turn_file where turn=?", (turn,))
    sources = database.execute(
        "select name, wrote from source join source_turn on source = id"
        " where kind = 'checkpoint' and turn=? order by id",
        (turn,),
    ).fetchall()
    # Each checkpoint has the whole conversation: the turn is of those that have its lines.
    wrote_any = any(wrote for _, wrote in sources)
    checkpoints = [name for name, wrote in sources if wrote or not wrote_any]
    commits = [*chain.from_iterable(_list_commits(database, name) for name in checkpoints)]
    commits.sort(key=lambda c: (c["oid"] != carrier, not c["live"], -c["time"]))
    session_id, number, moment, agent, branch = row
    return {
        "turn": turn,
        "session_id": session_id,
        "number": number,
        "time": moment or max((commit["time"] for commit in commits), default=0),
        "agent": agent,
        "branch": branch,
        "prompt": text[0],
        "files": [path for (path,) in files],
        "checkpoint_ids": checkpoints,
        "commits": commits,
        "score": 0.0,
        "snippet": "",
        "found_in": "",
    }


def _list_commits(database: Connection, checkpoint: str) -> list[HitCommit]:
    rows = database.execute(
        "select oid, checkpoint, author, time, subject, live from linked where checkpoint=?",
        (checkpoint,),
    )
    commits: list[HitCommit] = []
    for oid, checkpoint_id, author, moment, subject, live in rows:
        commits.append(
            {
                "oid": oid,
                "checkpoint_id": checkpoint_id,
                "author": author,
                "time": moment,
                "message": subject,
                "live": bool(live),
            }
        )
    return commits


def _fits_filters(hit: Hit, query: Query, since: float, until: float) -> bool:
    """Whether a hit passes the filters: one value of each kind must match."""
    times = [hit["time"], *(commit["time"] for commit in hit["commits"])]
    if not any(since <= moment <= until for moment in times):
        return False
    fields: dict[str, Sequence[str]] = {
        "agent": [hit["agent"]],
        "author": [commit["author"] for commit in hit["commits"]],
        "branch": [hit["branch"]],
        "path": hit["files"],
        "session": [hit["session_id"]],
    }
    for key, values in query["filters"].items():
        if not any(_matches_filter(key, value, fields[key]) for value in values):
            return False
    return True


def _matches_filter(key: str, wanted: str, values: Sequence[str]) -> bool:
    """Whether one of the values matches: a session by its beginning, a branch by its name, a path
    by its directories or file, others by a part in upper or lower case."""
    if key == "session":
        return any(value.startswith(wanted) for value in values)
    if key == "branch":
        return wanted in values
    if key == "path":
        inside = f"/{wanted.strip('/')}/"
        return any(inside in f"/{value.strip('/')}/" for value in values)
    plain = wanted.lower().replace("-", " ")
    return any(plain in value.lower().replace("-", " ") for value in values)


def _cut_surroundings(texts: Sequence[str], words: Sequence[str]) -> str:
    """A piece of text around the first match of a word, with the match between the marks."""
    for word in words:
        for text in texts:
            start = text.lower().find(word.lower())
            if start >= 0:
                end = start + len(word)
                before = text[max(0, start - 60) : start]
                after = text[end : end + 60]
                return " ".join(f"{before}{_MARK[0]}{text[start:end]}{_MARK[1]}{after}".split())
    return ""
