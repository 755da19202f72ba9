"""Modules of Python that cost a hook milliseconds: `stdlib.re` imports re when it is first used."""

# ruff: noqa: PLC0414
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # each with the milliseconds that a hook does not pay
    import argparse as argparse  # 31
    import binascii as binascii  # 0.2
    import bisect as bisect  # 0.6
    import calendar as calendar  # 19
    import contextlib as contextlib  # 8
    import ctypes as ctypes  # 5
    import datetime as datetime  # 10
    import difflib as difflib  # 29
    import fnmatch as fnmatch  # 15
    import hashlib as hashlib  # 23
    import json as json  # 13
    import math as math  # 0.3
    import re as re  # 27
    import select as select  # 4
    import shlex as shlex  # 26
    import shutil as shutil  # 50
    import sqlite3 as sqlite3  # 17
    import struct as struct  # 0.3
    import subprocess as subprocess  # 45
    import tempfile as tempfile  # 50
    import traceback as traceback  # 21
    import webbrowser as webbrowser  # 16
else:

    def __getattr__(name: str) -> object:
        module = globals()[name] = __import__(name)
        return module
