"""Programs with a time limit: each in a session of its own, which is ended as a whole."""

import os
import signal
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

RUNNING = set()  # leaders of the sessions that are there now
CHANGES = threading.Lock()  # held while a program begins, and while its end is noted
LARGEST_OUTPUT = 4 << 20  # bytes that are read of what a program prints, from its end


@dataclass
class Outcome:
    """How a program ended; status None: it was ended, by its own limit (`timed_out`) or because there was no time left."""

    name: str
    status: Optional[int]
    seconds: float
    output: str
    timed_out: bool = False

    @property
    def ok(self):
        return self.status == 0


@dataclass
class Job:
    """A program to run: a name for the report, words of the command, seconds it may take."""

    name: str
    command: list
    limit: float = 60.0
    environment: Optional[dict] = None


def members(leader):
    """Processes of a session that still run."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z" and int(fields[3]) == leader:
                yield int(entry.name)


def end_session(leader):
    """Kills all processes of a session, also those in process groups of their own (the ranks of mpiexec), until none is left."""
    for _ in range(100):
        left = list(members(leader))
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if not left:
            return
        time.sleep(0.02)


def end_all():
    """Kills everything that was started here, before the whole program ends: nothing begins after it, and who waits for a program
    here waits forever, so that nobody reports it as failed."""
    CHANGES.acquire()
    for leader in list(RUNNING):
        end_session(leader)


def read_end(file):
    """Text of a file, of a very long one the end."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - LARGEST_OUTPUT))
    return file.read().decode(errors="replace")


def run(job, folder, environment, limit=None):
    """Runs a job in `folder`; `limit` replaces the job's own."""
    begin = time.monotonic()
    seconds = lambda: time.monotonic() - begin  # noqa: E731
    with tempfile.TemporaryFile() as log:
        try:
            with CHANGES:
                process = subprocess.Popen([str(w) for w in job.command], cwd=folder, env=job.environment or environment,
                                           stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
                RUNNING.add(process.pid)
        except OSError as error:
            return Outcome(job.name, 127, seconds(), f"{job.command[0]}: {error.strerror}")  # the shell's number for it
        timed_out = False
        try:
            status = process.wait(job.limit if limit is None else limit)
        except subprocess.TimeoutExpired:
            status, timed_out = None, True
        finally:
            end_session(process.pid)  # also what a program that has ended left behind
            process.wait()
            with CHANGES:
                RUNNING.discard(process.pid)
        return Outcome(job.name, status, seconds(), read_end(log), timed_out)


def run_within(job, folder, environment, clock):
    """Runs a job while `clock` has time: None where there is none left; one that the clock has ended has not `timed_out`."""
    left = clock.left()
    if left < 1.0:
        return None
    outcome = run(job, folder, environment, min(job.limit, left))
    outcome.timed_out &= job.limit <= left
    return outcome


def run_all(jobs, workers, folder, environment, clock, done):
    """Runs jobs, `workers` at once; done(job, outcome) for each in the order of their ends, outcomes as of run_within."""
    with ThreadPoolExecutor(max_workers=max(1, workers)) as pool:
        futures = [pool.submit(lambda job=job: done(job, run_within(job, folder, environment, clock))) for job in jobs]
        for future in futures:
            future.result()


class Clock:
    """A time limit."""

    def __init__(self, seconds, now=time.monotonic):
        self._now = now
        self.end = now() + seconds

    def left(self):
        return self.end - self._now()

    def part(self, seconds):
        """A limit of so many seconds within this one."""
        return Clock(max(0.0, min(seconds, self.left())), self._now)
