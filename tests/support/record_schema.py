"""Whether what a command prints is as share/gitcp/schema/record.json declares it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.support.paths import TOP

SCHEMA = json.loads((TOP / "share" / "gitcp" / "schema" / "record.json").read_text())
RECORDS = {rule["if"]["properties"]["type"]["const"] for rule in SCHEMA["allOf"]}


def make_validator() -> Any:
    """Checks records against the schema, in which a key that it does not name is a fault."""
    from jsonschema import Draft202012Validator  # not by every worker: it takes a second

    strict = json.loads(json.dumps(SCHEMA))
    for shape in strict["$defs"].values():
        if "properties" in shape:
            shape["additionalProperties"] = False
    return Draft202012Validator(strict)


def list_faults(text: str) -> Iterator[str]:
    """What is wrong with the records of a text, by the schema."""
    valid = make_validator()
    for line in text.splitlines():
        record = json.loads(line)
        assert record["type"] in RECORDS
        for fault in valid.iter_errors(record):
            yield f"{record['type']}{fault.json_path}: {fault.message}"
