"""Which values given to a name are secrets: the form they stand in decides with the value."""

from __future__ import annotations

import pytest

from gitcp.checkpoints.redact.assigned import find_assigned, may_be_secret

# Eight characters of letters and digits: no word, no type, no piece of code.
VALUE = "zk4w7b2x"


def values(text: str) -> list[str]:
    """What is taken for a secret in a text."""
    data = text.encode()
    return [data[start:end].decode() for start, end in find_assigned(data)]


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"token={VALUE}", True),
        (f"token: {VALUE}", True),
        (f'token = "{VALUE}"', True),
        (f"login --token {VALUE}", True),
        (f"login --token '{VALUE}'", True),
        (f"--token {VALUE}", True),
        # A name and a value with only a space between are prose, where no option begins.
        (f"the token {VALUE}", False),
        (f"the token '{VALUE}'", False),
        (f'pass the token "{VALUE}" on', False),
        (f"pre--token {VALUE}", False),
    ],
)
def test_a_space_parts_a_value_from_an_option_only(text: str, secret: bool) -> None:
    assert values(text) == ([VALUE] if secret else [])


@pytest.mark.parametrize("key", ["api_key", "apikey", "secret-key", "client.key", "signing_key"])
def test_a_key_is_one_by_what_stands_before_it(key: str) -> None:
    assert values(f'{key} = "{VALUE}"') == [VALUE]
    assert values(f'keyboard_{key[-3:]} = "{VALUE}"') == []


CODE = "conf.zk4w7.b2x9q"  # attributes of attributes, yet random enough for a token


@pytest.mark.parametrize(
    ("value", "quoted", "bare", "secret"),
    [
        # Unquoted it is code; a string or a .env file holds no code.
        (CODE, False, False, False),
        (CODE, True, False, True),
        (CODE, False, True, True),
        (VALUE, False, False, True),
        # Eight characters at least, with a letter and a digit among them.
        (VALUE, True, False, True),
        (VALUE[:7], True, False, False),
        ("zkqwvbnmx", True, False, False),
        ("483950271", True, False, False),
        ("48395027", False, True, False),
        # Words and variables are none while they stand bare.
        ("message/of/the/day/20", False, False, False),
        ("zk4$w7b2x", False, False, False),
        ("zk4$w7b2x", True, False, True),
        ("deadbeef01", False, False, True),
    ],
)
def test_a_token_is_random_quoted_or_a_value_of_a_file_of_settings(
    value: str, quoted: bool, bare: bool, secret: bool
) -> None:
    assert may_be_secret(value.encode(), False, quoted, bare) is secret


@pytest.mark.parametrize(
    ("value", "quoted", "secret"),
    [
        ("correcthorse", True, True),  # a password may be a word
        ("correcthorse", False, False),
        ("correct!horse", False, True),
        ("hunter22", False, True),
        ("user_password", True, False),  # a name again
        ("${PASSWORD}", True, False),
        ("your-password", True, False),
    ],
)
def test_a_password_may_be_a_word_where_it_is_quoted(
    value: str, quoted: bool, secret: bool
) -> None:
    assert may_be_secret(value.encode(), True, quoted, False) is secret


def test_a_value_in_capitals_is_one_of_a_file_of_settings() -> None:
    assert values("export API_TOKEN=conf.zk4w7.b2x9q\n") == ["conf.zk4w7.b2x9q"]
    assert values("api_token=conf.zk4w7.b2x9q\n") == []
    assert values("API_TOKEN = conf.zk4w7.b2x9q\n") == []
