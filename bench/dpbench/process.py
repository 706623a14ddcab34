"""Runs commands, keeps a record of them for the result file, and their output for reading."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

from .errors import BenchError

# variables that the benchmark sets itself: values of the caller must not change what is measured
OWN_VARIABLES = ("OMP_NUM_THREADS", "DP_INTRA_OP_PARALLELISM_THREADS", "DP_INTER_OP_PARALLELISM_THREADS",
                 "TF_INTRA_OP_PARALLELISM_THREADS", "TF_INTER_OP_PARALLELISM_THREADS", "LAMMPS_PLUGIN_PATH",
                 "LD_PRELOAD", "PYTHONPATH")
LIMIT = 900.0  # seconds that a bounded run may take
NO_MEMORY = "out of memory"  # how a bounded run ended
# what programs print that ask for more memory than there is
REFUSED = re.compile("bad_alloc|[Cc]an(?:'t|not) allocate|[Uu]nable to allocate|OOM when|MemoryError|[Oo]ut of memory")


class Recorder:
    """Commands that were run, each kind once; `names` = {folder: what stands for it in the record}. `forget` starts anew."""

    def __init__(self, names):
        # longer folders first: one may lie in another
        self.names = sorted(((str(k), v) for k, v in names.items()), key=lambda pair: -len(pair[0]))
        self.commands = []

    def forget(self):
        self.commands = []

    def shorten(self, text):
        for folder, name in self.names:
            text = text.replace(folder, name)
        return text

    def note(self, what, command, variables):
        words = [f"{key}={value}" for key, value in sorted(variables.items()) if key in OWN_VARIABLES] + list(command)
        line = self.shorten(" ".join(map(str, words)))
        if all(entry["what"] != what for entry in self.commands):
            self.commands.append({"what": what, "command": line})


def environment_of(variables):
    """The variables of a command: those of the caller without OWN_VARIABLES, and these."""
    kept = {k: v for k, v in os.environ.items() if k not in OWN_VARIABLES}
    return {**kept, **{k: str(v) for k, v in variables.items()}}


def run(recorder, what, command, cwd, variables, log=None, timeout=3600):
    """Standard output and error of a command, and its wall time in seconds. Raises BenchError if it fails.

    `what` names the kind of command in the record; `log` is a file in `cwd` that gets the output.
    """
    recorder.note(what, command, variables)
    start = time.monotonic()
    try:
        done = subprocess.run([str(w) for w in command], cwd=cwd, env=environment_of(variables), timeout=timeout,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    except subprocess.TimeoutExpired as late:
        raise BenchError(f"bench: {what} did not end within {timeout} s: {' '.join(map(str, command))} in {cwd}") from late
    seconds = time.monotonic() - start
    if log:
        (cwd / log).write_text(done.stdout)
    if done.returncode != 0:
        tail = "\n".join(done.stdout.splitlines()[-15:])
        raise BenchError(f"bench: {what} failed (exit status {done.returncode}) in {cwd}:\n"
                         f"  {' '.join(map(str, command))}\n{tail}")
    return done.stdout, seconds


def memory_bound():
    """Bytes that a bounded run may hold: enough for anything that runs, and the rest of the machine stays alive."""
    return int(0.75 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def resident(pid):
    """Bytes of memory that a process holds now; 0 where it has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def watch(pid, memory, limit):
    """Waits for a process, and kills its group after `limit` seconds or when it holds more than `memory` bytes; returns why.

    Its resident size counts: a limit of the address space or of data would also count what is reserved and never used.
    """
    start = time.monotonic()
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        late = time.monotonic() - start > limit
        if late or resident(pid) > memory:
            os.killpg(pid, signal.SIGKILL)
            return f"stopped after {limit:.0f} s" if late else NO_MEMORY
        time.sleep(0.01)
    return ""


def run_bounded(recorder, what, command, cwd, variables, memory, limit=LIMIT):
    """Runs a command at most `limit` seconds with `memory` bytes: {seconds, end, peak (resident bytes), text}.

    `end` is empty after success, otherwise it says why the run is not complete; its seconds and peak are then lower bounds.
    The output lies in `cwd`, in bounded.log.
    """
    recorder.note(what, command, variables)
    log = cwd / "bounded.log"
    start = time.monotonic()
    with open(log, "w") as out:
        process = subprocess.Popen([str(w) for w in command], cwd=cwd, env=environment_of(variables), stdout=out,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        end = watch(process.pid, memory, limit)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds, text = time.monotonic() - start, log.read_text(errors="replace")
    if not end and process.returncode != 0:
        end = NO_MEMORY if process.returncode == -signal.SIGKILL or REFUSED.search(text) else "failed"
    return {"seconds": seconds, "end": end, "peak": usage.ru_maxrss * 1024, "text": text}
