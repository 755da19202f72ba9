"""How the process of a hook starts.

Half of what `import os` costs goes into the 25 classes of collections.abc, of which os needs one,
for os.environ.  A hook imports os without them (0.13 P less).
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import KeysView
    from typing import Any

_CLASSES = "_collections_abc"


def import_os() -> None:
    """Import os, with a base of os.environ that becomes MutableMapping when a method is missing."""
    if "os" in sys.modules or _CLASSES in sys.modules:
        return
    few: Any = type(sys)(_CLASSES)
    few.MutableMapping, few.Mapping, few._check_methods = _Mapping, dict, _check_methods
    sys.modules[_CLASSES] = few
    try:
        import os  # noqa: F401
    except (ImportError, AttributeError):
        pass  # in this Python os needs more of them: the next import gives it all
    finally:
        del sys.modules[_CLASSES]


class _Mapping:
    """The methods of MutableMapping that a hook needs of os.environ."""

    __slots__ = ()

    def __contains__(self: "Any", key: str) -> bool:
        return self.get(key) is not None

    def get(self: "Any", key: str, default: "str | None" = None) -> "str | None":
        try:
            return self[key]  # type: ignore[no-any-return]
        except KeyError:
            return default

    def keys(self: "Any") -> "KeysView[str]":
        return dict.fromkeys(self).keys()

    def __getattr__(self, name: str) -> "Any":
        from collections.abc import MutableMapping

        type(self).__bases__ = (MutableMapping,)
        return getattr(self, name)


def _check_methods(*words: "Any") -> "Any":
    from _collections_abc import _check_methods  # type: ignore[attr-defined]

    return _check_methods(*words)
