"""The permissions that core.sharedRepository asks for, as git computes them."""

from __future__ import annotations

import stat

_GROUP, _EVERYBODY = 0o660, 0o664
_WORDS = {
    **dict.fromkeys(("group", "true", "yes", "on", "1"), _GROUP),
    **dict.fromkeys(("all", "world", "everybody", "2"), _EVERYBODY),
}


def compute_shared_mode(setting: str, mode: int) -> int:
    """The permissions under a value of core.sharedRepository; mode: st_mode, with its type."""
    word, old = setting.lower(), stat.S_IMODE(mode)
    if word in _WORDS:
        bits, base = _WORDS[word], old
    elif word[:1] == "0" and word.isdecimal() and not word.strip("01234567"):
        bits, base = int(word, 8) & 0o666, old & ~0o777
    else:
        return old
    if not bits:
        return old  # 0 means umask
    if not old & stat.S_IWUSR:
        bits &= ~0o222
    if old & stat.S_IXUSR:
        bits |= (bits & 0o444) >> 2
    new = base | bits
    return new | stat.S_ISGID if stat.S_ISDIR(mode) and new & 0o060 else new
