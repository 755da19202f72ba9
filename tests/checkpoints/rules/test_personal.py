"""Personal data: who is found, who is told apart, and what looks like it and stays."""

from __future__ import annotations

import json
import re

import pytest

from gitcp.checkpoints.redact import Redactor
from gitcp.checkpoints.redact.personal import Personal

NAMES = ("Ada Lovelace", "José Nuñez", "Zoë")
PERSONS = Redactor(
    personal=Personal(("email", "phone", "address", "ip"), NAMES, {"ticket": r"T-\d+"}, "s1")
)
HITS = [
    *(("EMAIL", f"{local}@{domain}") for local in ("ada", "a.l", "ada+x", "o'neil", "ada_99", "a-b")
      for domain in ("acme.com", "mail.acme.co.uk", "uni-berlin.de", "acme.io", "163.com")),
    ("EMAIL", "jörg@acme.de"),
    ("EMAIL", "TALBOT@ACME.COM"),
    *(("PHONE", number) for number in (
        "+49 30 901820", "+1 (650) 253-0000", "+44 20 7031 3000", "+33 1 42 68 53 00",
        "+442070313000", "+81-3-6384-9000", "+4930901820", "+41 44 668 18 00")),
    *(("ADDRESS", place) for place in (
        "221b Baker Street, London NW1 6XE", "1600 Pennsylvania Ave, Washington, DC 20500",
        "10 Downing Street", "Hauptstraße 12a, 10115 Berlin", "Lindenallee 3",
        "221B Baker Street", "Hauptstraße 12A",
        "12 rue de la Paix, 75002 Paris", "5 avenue Anatole France, 75007 Paris")),
    *(("NAME", name) for name in (*NAMES, "Ada\n Lovelace")),
    ("TICKET", "T-4711"),
    *(("IP", address) for address in (
        "10.0.0.5", "172.16.3.4", "192.168.1.10", "100.64.0.9", "169.254.7.7", "fe80::1",
        "fd00::12:1", "2a00:1450:4001:81b::200e")),
]  # fmt: skip
STAYS = [
    "noreply@anthropic.com", "no-reply@acme.com", "git@github.com:acme/x.git", "bot@acme.com",
    "dependabot@acme.com", "49699333+dependabot[bot]@users.noreply.github.com",
    "1+ada@users.noreply.github.com", "ada@example.com", "ada@mail.example.org", "root@acme.com",
    "support@acme.com", "x@acme.iam.gserviceaccount.com", "ada@localhost", "@app.route('/x')",
    "lodash@4.17.21", "pkg@1.2.beta", "icon@2x.png", "x = a@self.weights", "y = a @ b.T",
    "a@b.to(dev)",
    "user@host.py", "getty@tty1.service", "actions/checkout@v4", "@types/node@20.1.0",
    "UTC+02:00", "+1234567890123456", "1+15551234567", "2026-11-22T22:43:42+01:00", "+1 -1 +2 -2",
    "@@ -1,12 +1,14 @@", "sum += 49309018", "+49 file changed", "x+4930901820", "555-0100",
    "127.0.0.1:8080", "0x1234567890", "e3b0c44298fc1c149afbf4c8996fb924", "1.2.3.4.5",
    "12 Drive failures", "3 Court dates", "404 Not Found Way", "Street", "2 lane road",
    "10 places", "Weg 3", "Platzhalter 12", "ada lovelace", "Adaptive Lovelace", "Zoëtrope", "T-x",
    "STATE-471x",
    # addresses that everybody has, versions, and what only has colons
    "0.0.0.0", "255.255.255.255", "192.0.2.4", "::1", "2001:db8::1", "224.0.0.1", "99.0.48.51",
    "1.2.3.4", "v10.0.0.1", "version 10.0.0.1", "lib==10.1.2.3", "x-10.0.0.1",
    '"version": "10.4.4.1"', "^10.2.3.4", "10.0.19041.1",
    "dead::beef", "std::ends", "AB:CD:EF:01:02:03", "12:34:56",
    "1.3.6.1.4.1",
]  # fmt: skip


@pytest.mark.parametrize(("label", "text"), HITS)
def test_what_tells_of_a_person_is_replaced_by_its_kind(label: str, text: str) -> None:
    for before, after in (("", ""), ("see ", ", or"), ("(", ")."), ("to: ", "\nnext")):
        given = f"{before}{text}{after}"
        done = PERSONS.redact_text(given.encode())
        pattern = rf"{re.escape(before)}\[REDACTED_{label}_[0-9a-f]{{2}}\]{re.escape(after)}"
        assert re.fullmatch(pattern, done.decode()), (given, done)
        assert PERSONS.redact_text(done) == done
        line = json.dumps({"text": given, "user_id": text}).encode() + b"\n"
        clean = json.loads(PERSONS.redact_jsonl(line))
        assert clean["text"] == done.decode()
        assert clean["user_id"] == done.decode()[len(before) : len(done.decode()) - len(after)]


@pytest.mark.parametrize("text", STAYS)
def test_what_only_looks_like_a_person_stays(text: str) -> None:
    for given in (text, f"see {text} there", f"- {text}\n"):
        assert PERSONS.redact_text(given.encode()).decode() == given
        line = json.dumps({"text": given}, ensure_ascii=False).encode()
        assert PERSONS.redact_jsonl(line) == line


@pytest.mark.parametrize(
    "text",
    [
        "ssh root@{}", "http://{}/x", "https://{}:8443/", "host: {}", '"host": "{}"',
        "ping -c 1 {}", "inet {}/24", "{}:8080 refused", "route to {}/24", "DNS server {}",
    ],
)  # fmt: skip
def test_a_public_address_is_replaced_where_the_text_is_about_networks(text: str) -> None:
    done = PERSONS.redact_text(text.format("93.184.216.34").encode()).decode()
    assert "93.184" not in done and "[REDACTED_IP_" in done


def test_a_label_is_of_characters_escaped_or_not() -> None:
    labelled = Redactor(personal=Personal((), (), {"city": r"(?i)\bKÖLN-\w+"}, "s1"))
    for line in ('{"text": "köln-Süd!"}', r'{"text": "k\u00f6ln-S\u00fcd!"}'):
        done = json.loads(labelled.redact_jsonl(line.encode()))["text"]
        assert re.fullmatch(r"\[REDACTED_CITY_[0-9a-f]{2}\]!", done)


def test_a_person_has_one_suffix_in_a_session_and_another_elsewhere() -> None:
    here, there = PERSONS.bind_session("one"), PERSONS.bind_session("two")
    same = {here.redact_text(text.encode()) for text in ("ada@acme.com", "Ada@ACME.com")}
    assert len(same) == 1 and here.redact_text(b"bob@acme.com") not in same
    people = [f"p{n}@acme.com".encode() for n in range(9)]
    assert [here.redact_text(one) for one in people] != [there.redact_text(one) for one in people]


def test_a_longer_transcript_has_the_same_beginning() -> None:
    lines = [json.dumps({"text": text}).encode() + b"\n" for _, text in HITS]
    every = PERSONS.redact_jsonl(b"".join(lines))
    assert every.startswith(PERSONS.redact_jsonl(b"".join(lines[:20])))
    assert every == b"".join(PERSONS.redact_jsonl(line) for line in lines)


def test_secrets_keep_a_push_back_and_persons_do_not() -> None:
    assert PERSONS.find(b"ada@acme.com") == []
    assert PERSONS.find(json.dumps({"text": "ada@acme.com"}).encode(), "jsonl") == []
