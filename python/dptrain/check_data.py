"""The part of ``dptrain check`` about data sets: errors of the model on them."""

from __future__ import annotations

import contextlib
import io

from dptrain.check_part import CheckError, Part
from dptrain.launcher import Run


def data(subject):
    """What `dptrain test` says of the model on the data sets of --data."""
    folders = subject.options.data
    part = Part("data", "Data sets", f"dptrain test on {' '.join(folders)}.")
    out, complaints = io.StringIO(), io.StringIO()
    with contextlib.redirect_stderr(complaints):
        status = Run(["test", "-m", subject.potential.path, "-s", *folders], subject.options.np, out=out).run()
    if status >= 128:  # ended by a signal, as by Ctrl-C
        raise KeyboardInterrupt
    if status:
        raise CheckError(complaints.getvalue().strip().removeprefix("dptrain: error: ") or f"dptrain test ended with the status {status}")
    part.listing = "\n".join(line.rstrip() for line in out.getvalue().splitlines() if not line.startswith("# ---"))
    return part
