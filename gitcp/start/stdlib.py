"""Modules of Python that cost a hook milliseconds: `stdlib.re` imports re when it is first used."""

# ruff: noqa: PLC0414
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # each with the milliseconds of its import: `python -ISX importtime`, least of 8
    import argparse as argparse  # 8.7
    import binascii as binascii  # 0.6
    import bisect as bisect  # 0.6
    import calendar as calendar  # 9.3
    import contextlib as contextlib  # 4.2
    import ctypes as ctypes  # 3.4
    import datetime as datetime  # 2.0
    import difflib as difflib  # 7.5
    import fnmatch as fnmatch  # 7.3
    import hashlib as hashlib  # 3.1
    import json as json  # 7.8
    import math as math  # 0.5
    import re as re  # 6.2
    import select as select  # 0.5
    import shlex as shlex  # 7.3
    import shutil as shutil  # 9.1
    import sqlite3 as sqlite3  # 6.0
    import struct as struct  # 0.6
    import subprocess as subprocess  # 12
    import tempfile as tempfile  # 12
    import traceback as traceback  # 9.9
    import webbrowser as webbrowser  # 15
else:

    def __getattr__(name: str) -> object:
        module = globals()[name] = __import__(name)
        return module
