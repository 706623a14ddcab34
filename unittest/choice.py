"""Which stories and soaks a commit does: chosen by its hash, so that it has the same ones on each day and on each machine.

DPTRAIN_PICK=TEXT does again what the commit TEXT (a whole hash) does; DPTRAIN_PICK=all does all. Without git it is "none", always.

    python unittest/choice.py            what it is here
    python unittest/choice.py KIND N     a number from 0 to N - 1 for this kind, or all
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def pick():
    """Hash of the commit that is checked out here, or what DPTRAIN_PICK says."""
    given = os.environ.get("DPTRAIN_PICK")
    if given:
        return given
    try:
        found = subprocess.run(["git", "rev-parse", "--verify", "HEAD"], cwd=ROOT, capture_output=True, text=True,
                               env={**os.environ, "GIT_CEILING_DIRECTORIES": str(ROOT.parent)})  # not that of a folder above
    except OSError:
        return "none"
    return found.stdout.strip() if found.returncode == 0 else "none"


def number(kind, count, of=None):
    """A number from 0 to count - 1 that is the same for each commit and kind. of: in place of pick()."""
    return int.from_bytes(hashlib.sha256(f"{of or pick()} {kind}".encode()).digest()[:8], "big") % count


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print("all" if pick() == "all" else number(sys.argv[1], int(sys.argv[2])))
    else:
        print(pick())
