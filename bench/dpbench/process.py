"""Runs commands, keeps a record of them for the result file, and their output for reading."""

import os
import subprocess
import time

from .errors import BenchError

# variables that the benchmark sets itself: values of the caller must not change what is measured
OWN_VARIABLES = ("OMP_NUM_THREADS", "DP_INTRA_OP_PARALLELISM_THREADS", "DP_INTER_OP_PARALLELISM_THREADS",
                 "TF_INTRA_OP_PARALLELISM_THREADS", "TF_INTER_OP_PARALLELISM_THREADS", "LAMMPS_PLUGIN_PATH",
                 "LD_PRELOAD", "PYTHONPATH")


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


def run(recorder, what, command, cwd, variables, log=None, timeout=3600):
    """Standard output and error of a command, and its wall time in seconds. Raises BenchError if it fails.

    `what` names the kind of command in the record; `log` is a file in `cwd` that gets the output.
    """
    recorder.note(what, command, variables)
    environment = {k: v for k, v in os.environ.items() if k not in OWN_VARIABLES}
    environment.update({k: str(v) for k, v in variables.items()})
    start = time.monotonic()
    try:
        done = subprocess.run([str(w) for w in command], cwd=cwd, env=environment, timeout=timeout,
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
