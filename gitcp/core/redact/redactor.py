"""Redact secrets in transcripts, prompts and subjects before they are stored.

The raw line of a transcript is searched first, which is fast.  Its JSON is parsed only if that
finds a secret or an escape may hide one.
"""

from __future__ import annotations

from gitcp.core.git.ids import start_sha256
from gitcp.core.redact import json_strings, line_search
from gitcp.core.redact.detect import REDACTED, Detector, flatten, merge_secrets, replace_secrets
from gitcp.core.redact.patterns import compile_option, load_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gitcp.core.redact.personal import Personal
    from gitcp.core.redact.rules import Secret

    Part = tuple[int, int, json_strings.Decoded]

_DONE = load_pattern(REDACTED)


class Redactor:
    """The built-in rules, the person's own, and the patterns of allowed findings."""

    def __init__(
        self,
        rules: Sequence[str] = (),
        allow: Sequence[str] = (),
        personal: Personal | None = None,
        pictures: Callable[[bytes], bytes] | None = None,
    ) -> None:
        """rules and allow are regular expressions (git config gitcp.redact, gitcp.redact-allow).

        The first group of a rule, if it has one, is the secret.  A finding in which an allow
        pattern matches is not redacted.  Raise InputError, which names it, for an invalid pattern.
        personal: the rules for personal data; pictures: replaces pictures in lines.
        """
        self._own = [compile_option("gitcp.redact", rule) for rule in rules]
        self._allow = [compile_option("gitcp.redact-allow", rule) for rule in allow]
        self._personal, self._pictures = personal, pictures
        self._detector = Detector()
        self._clean: set[bytes] = set()  # digests of blocks in which nothing was found

    def bind_session(self, session: str) -> Redactor:
        """The same rules, with tokens of personal data keyed by a session."""
        if not self._personal:
            return self
        other = Redactor.__new__(Redactor)
        other.__dict__.update(self.__dict__)
        other._personal = self._personal.bind_session(session)
        return other

    def redact_text(self, data: bytes) -> bytes:
        """A plain text, such as a prompt, redacted."""
        return replace_secrets(
            data, self._find_in_text, self._choose_replacement, bool(self._personal)
        )

    def redact_jsonl(self, data: bytes) -> bytes:
        """A transcript with the strings of each line redacted; appending lines does not change the
        result for the earlier ones."""
        data = self._pictures(data) if self._pictures else data
        pieces: list[bytes] = []
        position = 0
        for start, end in self._find_suspect_lines(data, persons=bool(self._personal)):
            pieces += (data[position:start], self._redact_json(data[start:end]))
            position = end
        return b"".join((*pieces, data[position:]))

    def redact_document(self, data: bytes) -> bytes:
        """A JSON text of any number of lines, redacted; other data is redacted as plain text."""
        return self._redact_json(self._pictures(data) if self._pictures else data)

    def _redact_json(self, data: bytes) -> bytes:
        find = self._find_in_json if json_strings.is_well_formed(data) else self._find_in_text
        return replace_secrets(data, find, self._choose_replacement, bool(self._personal))

    def _choose_replacement(self, rule: str, data: bytes) -> bytes:
        return self._personal.make_token(rule, data) if self._personal and ":" in rule else REDACTED

    def find(self, data: bytes, kind: str = "text") -> list[Secret]:
        """The sorted (rule, start, end) of secrets that would be redacted; kind: text, jsonl,
        document, or own for a document of gitcp.  Rules are those of Detector.find(), and `custom`
        for the person's own."""
        if kind == "jsonl":
            return [
                (rule, start + a, start + b)
                for start, end in self._find_suspect_lines(data, self._clean)
                for rule, a, b in self.find(data[start:end], "document")
            ]
        if kind in ("document", "own") and json_strings.is_well_formed(data):
            return self._find_in_json(data, own=kind == "own")
        return self._find_in_text(data)

    def find_suspects(self, texts: Sequence[bytes]) -> list[int]:
        """The numbers of the texts in which find() may find secrets; in the others it finds none.
        Many small texts are searched at once."""
        if self._own:
            return list(range(len(texts)))
        return line_search.find_suspects(texts, self._detector)

    def _find_in_text(self, text: bytes, persons: bool = False) -> list[Secret]:
        flat = flatten(text)
        secrets = (
            *self._detector.find(flat),
            *self._find_custom(text),
            *self._find_persons(flat, persons),
        )
        return self._drop_allowed(text, secrets)

    def _find_in_names(self, text: bytes, persons: bool = False) -> list[Secret]:
        flat = flatten(text)
        secrets = (*self._detector.find_formats(flat), *self._find_persons(flat, persons))
        return self._drop_allowed(text, secrets)

    def _find_persons(self, flat: bytes, persons: bool) -> Iterable[Secret]:
        return self._personal.find(flat) if persons and self._personal else ()

    def _drop_allowed(self, text: bytes, secrets: Iterable[Secret]) -> list[Secret]:
        return merge_secrets(
            item
            for item in secrets
            if not any(pattern.search(text[item[1] : item[2]]) for pattern in self._allow)
        )

    def _find_in_json(self, data: bytes, persons: bool = False, own: bool = False) -> list[Secret]:
        values, names, documents = json_strings.list_values(data, own)
        text, parts = json_strings.join_values(data, values)
        out = _map_to_values(self._find_in_text(text, persons), parts)
        text, parts = json_strings.join_values(data, names)
        out += _map_to_values(self._find_in_names(text, persons), parts)
        encoded = self._detector.is_encoded_secret
        out += [("encoded", a, b) for a, b, _ in documents if b > a and encoded(data[a:b])]
        return sorted(out, key=lambda item: item[1:])

    def _find_custom(self, text: bytes) -> Iterator[Secret]:
        done = [match.span() for match in _DONE.finditer(text)] if self._own else []
        for pattern in self._own:
            group = min(1, pattern.groups)
            for match in pattern.finditer(text):
                start, end = match.span(group)
                if start < end and not any(a <= start and end <= b for a, b in done):
                    yield "custom", start, end

    def _find_suspect_lines(
        self, data: bytes, clean: set[bytes] | None = None, persons: bool = False
    ) -> Iterator[tuple[int, int]]:
        """Yield the [start, end) of each line, without its newline, that may have a secret.

        clean: digests of blocks without secrets, which are skipped and added.
        """
        for start, end in line_search.split_blocks(data):
            block = data[start:end]
            digest = b"" if clean is None else start_sha256(block).digest()
            if clean and digest in clean:
                continue
            offsets = self._find_offsets(block, persons)
            if clean is not None and not offsets:
                clean.add(digest)
            done = -1
            for offset in offsets:
                if offset > done:
                    done = block.find(b"\n", offset)
                    done = len(block) if done < 0 else done
                    yield start + block.rfind(b"\n", 0, offset) + 1, start + done

    def _find_offsets(self, block: bytes, persons: bool) -> list[int]:
        if self._own or (persons and self._personal and self._personal.hides and b"\\u" in block):
            return line_search.list_line_starts(block)
        offsets = line_search.find_offsets(block, self._detector)
        if persons and self._personal:
            offsets += [start for _, start, _ in self._personal.find(flatten(block))]
        return sorted(offsets)


def _map_to_values(secrets: Sequence[Secret], parts: Iterable[Part]) -> list[Secret]:
    """The secrets in a joined text, with their offsets in the raw data of its values."""
    out: list[Secret] = []
    first = 0
    for start, end, value in parts if secrets else ():
        while first < len(secrets) and secrets[first][2] <= start:
            first += 1
        for rule, a, b in secrets[first:]:
            if a >= end:
                break
            out.append((rule, *value.find_raw_span(max(a, start) - start, min(b, end) - start)))
    return out
