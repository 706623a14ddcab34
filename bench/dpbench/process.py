"""Runs commands, keeps a record of them for the result file, and their output for reading."""

import os
import re
import resource
import subprocess
import time

from .errors import BenchError

# variables that the benchmark sets itself: values of the caller must not change what is measured
OWN_VARIABLES = ("OMP_NUM_THREADS", "DP_INTRA_OP_PARALLELISM_THREADS", "DP_INTER_OP_PARALLELISM_THREADS",
                 "TF_INTRA_OP_PARALLELISM_THREADS", "TF_INTER_OP_PARALLELISM_THREADS", "LAMMPS_PLUGIN_PATH",
                 "LD_PRELOAD", "PYTHONPATH")
LIMIT = 900.0  # seconds that a bounded run may take


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
    """Bytes that a bounded run may have: enough for anything that runs, and the rest of the machine stays alive."""
    return int(0.75 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def run_bounded(recorder, what, command, cwd, variables, memory, limit=LIMIT):
    """Runs a command at most `limit` seconds with `memory` bytes of data: {seconds, end, peak (bytes), text}.

    `end` is empty after success, otherwise it says why the run is not complete; its seconds and peak are then lower bounds.
    The output lies in `cwd`, in bounded.log.
    """
    recorder.note(what, command, variables)
    log = cwd / "bounded.log"
    start = time.monotonic()
    with open(log, "w") as out:
        process = subprocess.Popen([str(w) for w in command], cwd=cwd, env=environment_of(variables), stdout=out,
                                   stderr=subprocess.STDOUT, start_new_session=True,
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (memory, memory)))
        end = ""
        while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if time.monotonic() - start > limit:
                os.killpg(process.pid, 9)
                end = f"stopped after {limit:.0f} s"
                break
            time.sleep(0.01)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds, text = time.monotonic() - start, log.read_text(errors="replace")
    if not end and process.returncode != 0:
        end = "out of memory" if re.search("bad_alloc|allocate|OOM|[Mm]emory", text) or process.returncode == -9 else "failed"
    return {"seconds": seconds, "end": end, "peak": usage.ru_maxrss * 1024, "text": text}
