"""What a delta makes of its base, and that a damaged one makes nothing."""

from __future__ import annotations

import pytest

from gitcp.git.gitdir import pack_format

BASE = bytes(range(256)) * 300  # 76,800 bytes, a length that takes three bytes of a delta
HEAD = b"\x80\xd8\x04"
DELTAS = {
    "bytes of its own": (b"\x03" + b"\x03new", b"new"),
    "a part of the base": (b"\x04" + b"\x91\x02\x04", BASE[2:6]),
    "two parts": (b"\x05" + b"\x91\xff\x02" + b"\x03abc", BASE[255:257] + b"abc"),
    "a length of 64 KiB": (b"\x80\x80\x04" + b"\x80", BASE[: 1 << 16]),
    "a far offset": (b"\x02" + b"\x96\x2a\x01\x02", BASE[0x12A00:0x12A02]),
}


@pytest.mark.parametrize("case", DELTAS)
def test_a_delta_makes_the_content(case: str) -> None:
    delta, content = DELTAS[case]
    assert pack_format.apply_delta(BASE, HEAD + delta) == content


@pytest.mark.parametrize("case", DELTAS)
def test_a_delta_that_was_cut_short_is_damaged(case: str) -> None:
    with pytest.raises(ValueError, match="damaged"):
        pack_format.apply_delta(BASE, HEAD + DELTAS[case][0][:-1])


def test_a_delta_that_makes_too_much_is_not_carried_out() -> None:
    large = b"\x80\x80\x80\x02" + b"\x80" * 64  # 4 MiB, in steps of 64 KiB
    with pytest.raises(ValueError, match="large"):
        pack_format.apply_delta(BASE, HEAD + large)


@pytest.mark.parametrize("data", [b"", b"\xe0", b"\x61\xff", b"\x71" + b"\1" * 19, b"\x51x"])
def test_what_is_no_object_is_none(data: bytes) -> None:
    assert pack_format.parse_object(data, 20) is None
