"""Lets the tests import the package of this checkout, with the compiled module of its build folder."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import dptrain  # noqa: E402

BUILD = Path(os.environ.get("DPTRAIN_BUILD", ROOT / "build"))
dptrain.__path__.append(str(BUILD / "python" / "bindings"))
