"""Draw the rows of files as HTML: each line redacted, escaped and highlighted once."""

from __future__ import annotations

from dataclasses import dataclass

import pygments

from gitcp.extras.page.highlight import highlight_lines
from gitcp.extras.page.hunks import AROUND, MOST_ROWS
from gitcp.git.kept import make_key
from gitcp.git.objects.reading import spread_batches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from gitcp.extras.page.change import PageFile
    from gitcp.extras.page.hunks import Mark, PageHunk
    from gitcp.git.kept import Kept
    from gitcp.git.objects import Objects
    from gitcp.git.objects.patches import Hunk

    CleanLines = Callable[[Sequence[str]], list[str]]
    Spans = list[tuple[int, int]]  # first and end of runs of lines, from 0
    # path, lines before and after, edits
    Asked = tuple[str, list[str], list[str], Sequence[Hunk]]
    Texts = dict[int, str]  # line, from 1 -> its HTML, of the lines that are shown

# Lines of the files of a batch, roughly; batches before worker processes are started.
_BATCH = 10_000
_ALONE = 2
_TAGS = {"k": "b", "t": "s", "c": "i"}  # kinds of highlighted text


@dataclass(slots=True)
class Drawn:
    """The HTML of the lines of a file that are shown, before and after."""

    before: Texts
    after: Texts


def draw_files(
    objects: Objects, files: Sequence[PageFile], clean: CleanLines, kept: Kept | None
) -> list[Drawn]:
    """The lines of each file; of a binary one none.

    clean: redacts lines.  kept: what earlier pages drew; None to keep nothing.  Several processes
    share the drawing of many files.
    """
    drawn: list[Drawn] = [Drawn({}, {}) for _ in files]
    asked: list[tuple[int, bytes, Asked]] = []
    for number, file in enumerate(files):
        if file.before is None or file.after is None:
            continue
        question: Asked = file.name, file.before, file.after, file.edits
        key = b""
        if kept is not None:
            key = make_key(question, pygments.__version__)
            found = kept.find(key)
            if found is not None:
                drawn[number] = Drawn(*found)
                continue
        asked.append((number, key, question))
    answers = _draw_all(objects, [question for _, _, question in asked], clean)
    for (number, key, _), texts in zip(asked, answers, strict=True):
        drawn[number] = Drawn(*texts)
        if kept is not None:
            kept.keep(key, texts)
    return drawn


def _draw_all(
    objects: Objects, asked: Sequence[Asked], clean: CleanLines
) -> Iterator[tuple[Texts, Texts]]:
    def begin(_: Objects) -> Callable[[list[Asked]], list[tuple[Texts, Texts]]]:
        return lambda batch: [_draw_texts(*question, clean) for question in batch]

    for batch in spread_batches(objects, _split(asked), begin, _ALONE):
        yield from batch


def _split(asked: Iterable[Asked]) -> Iterator[list[Asked]]:
    """The files in groups of about _BATCH lines."""
    batch: list[Asked] = []
    size = 0
    for question in asked:
        _, before, after, _ = question
        batch.append(question)
        size += len(before) + len(after)
        if size >= _BATCH:
            yield batch
            batch = []
            size = 0
    if batch:
        yield batch


def _draw_texts(
    path: str, before: list[str], after: list[str], edits: Sequence[Hunk], clean: CleanLines
) -> tuple[Texts, Texts]:
    gone: Spans = []
    came: Spans = []
    for start, removed, first, added in edits:
        if removed:
            gone.append((start - 1, start - 1 + min(removed, MOST_ROWS)))
        at = first
        if added:
            at -= 1
        end = at + min(added, MOST_ROWS) + AROUND
        came.append((max(0, at - AROUND), min(len(after), end)))
    return _draw_side(path, before, gone, clean), _draw_side(path, after, came, clean)


def _draw_side(path: str, lines: list[str], spans: Spans, clean: CleanLines) -> Texts:
    if not spans:
        return {}
    rows = highlight_lines(path, clean(lines), spans)
    texts: Texts = {}
    for first, end in spans:
        for number in range(first, end):
            texts[number + 1] = "".join([_draw_run(kind, text) for kind, text in rows[number]])
    return texts


def _draw_run(kind: str, text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    tag = _TAGS.get(kind)
    if tag:
        return f"<{tag}>{text}</{tag}>"
    return text


def draw_rows(
    hunk: PageHunk, drawn: Drawn, marks: Mapping[int, Mark], names: Mapping[object, str]
) -> str:
    """The table of a hunk.  marks: of the lines after.  names: owner -> the class of its lines."""
    rows = ["<table>"]
    for old, new in hunk.rows:
        if not new:
            rows.append(f"<tr class=d><td>{old}<td><td>{drawn.before[old]}")
        elif old:
            rows.append(f"<tr><td>{old}<td>{new}<td>{drawn.after[new]}")
        else:
            mark = marks.get(new)
            style = "a"
            if mark and mark.owner in names:
                style = f'"a {names[mark.owner]}"'
                if mark.is_beside:
                    style = f'"a {names[mark.owner]} w"'
            rows.append(f"<tr class={style}><td><td>{new}<td>{drawn.after[new]}")
    rows.append("</table>")
    return "".join(rows)
