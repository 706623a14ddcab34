"""Runs of LAMMPS with an input in a folder, for the commands that make several of them and say how far they are."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import tempfile

from dptrain.launcher import LaunchError, Screen, command_line, end_program, find_lammps, shared_cores
from dptrain.logs import read_text

POLL = 0.3  # seconds between two looks at the log


def message_of(path, said):
    """What LAMMPS says in its log, or else in its output, about why it stopped."""
    texts = [read_text(path) if path.exists() else "", said]
    for text in texts:
        screen = Screen(io.StringIO())
        screen.feed(text)
        screen.end()
        if screen.message():
            return screen.message()
    return "\n".join("\n".join(texts).strip().splitlines()[-10:]) or "no error message"


def follow(process, look):
    """Calls look() from time to time, until the process ends; whatever interrupts this ends the process."""
    try:
        while process.poll() is None:
            look()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=POLL)
    except BaseException:
        end_program(process)
        raise


def run_lammps(folder, ranks, log, options, look):
    """Runs LAMMPS in a folder to its end. log: name of its log there; options: words of its command line; look: called from time to
    time. Returns why LAMMPS stopped, or ""."""
    lmp, needed = find_lammps()
    words = [*command_line(lmp, ranks, log), "-screen", "none", *options]
    variables = {"OMP_NUM_THREADS": "1", **os.environ, **needed, **shared_cores(ranks)}
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=variables,
                                       start_new_session=True)
        except OSError as error:
            raise LaunchError(f"cannot start {words[0]}: {error.strerror}; run dptrain doctor, which looks at the installation") from None
        follow(process, look)
        output.seek(0)
        return "" if process.returncode == 0 else message_of(folder / log, output.read().decode("utf-8", "replace"))


@contextlib.contextmanager
def interrupted_by_signals():
    """Within this block the signals TERM and HUP do what Ctrl-C does, so that what is under way is ended."""

    def interrupt(number, frame):
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
