"""The console script ``dptrain``.

``train``, ``test`` and ``stat`` are the work of the LAMMPS command ``dptrain``, which takes the same words: the script
chooses the ranks, starts LAMMPS and shows what it says. The others are modules of this package.
"""

from __future__ import annotations

import difflib
import importlib
import os
import sys

LAUNCH_HELP = """  -np N                 number of MPI ranks (default 1)
  --threads K           threads of each rank (default: OMP_NUM_THREADS, else the rank's share of the cores)"""

HELP = f"""usage: dptrain COMMAND [-np N] [--threads K] ARGUMENTS

Training, tests and statistics of deep potentials from data sets.

commands
  learn STRUCTURE       a potential for a structure, learned in a run from a foundation model, a quantum code, a pair style
  train INPUT.json      train a model from DeePMD-kit's input file
  test -m MODEL -s DIR  errors of a model on data sets
  stat -s DIR -r RCUT   statistics of data sets: neighbors, sel, environment matrix, energy bias
  convert FROM TO       a model file to another format; outputs of VASP, QE, CP2K, ... and other data sets to one of this package
  show FILE             what a model is: elements, settings, what its maker says of it
  check MODEL STRUCTURE whether a potential can be trusted: dimers, squeezed cells, elastic constants, phonons, dynamics
  plot KIND FILES       figures: learning curve, parity, errors, uncertainty
  client ID.init.xyz    labels for fix dptrain reference socket, by a calculator of ASE
  label DIR|FILE        labels for fix dptrain reference spool, or for the frames of a file, by a calculator of ASE
  demo [DIR]            a first run: silicon is learned, tested and drawn in about a minute
  doctor                whether all that is installed works together, how fast, and what to do if not
  COMMAND --help        all arguments of a command

of train, test and stat
{LAUNCH_HELP}

  --version             the version of this package

environment
  DPTRAIN_LMP           the lmp to run, instead of the one in this environment
  DPTRAIN_MPIEXEC       the mpiexec, with its arguments

Ctrl-C during a training saves a checkpoint and ends it; a second one ends it at once.
Exit status: 0 done, 1 error, 2 wrong command line, 130 ended by Ctrl-C, 143 by the signal TERM,
129 by HUP."""

# commands of DeePMD-kit that have no place here, or another one
ELSEWHERE = {
    "compress": "there is nothing to compress: the embedding net is read from a table in every run, in training and in MD, "
                "so each model is as fast as a compressed one. Use the model file as it is",
    "freeze": "a training writes model files (.dp, .pth) that can be used as they are. A checkpoint becomes one by: "
              "dptrain convert model.ckpt model.dp",
    "neighbor-stat": "its name here is stat: dptrain stat -s DIR -r RCUT",
    "convert-backend": "its name here is convert: dptrain convert FROM TO",
}
IN_LAMMPS = ("train", "test", "stat")
HERE = ("learn", "convert", "show", "check", "plot", "client", "label", "demo", "doctor")  # modules with a function main(words)
COMMANDS = (*IN_LAMMPS, *HERE)


class UsageError(Exception):
    """A wrong command line; exit status 2."""


def take_count(words, name):
    """Removes `name K` or `name=K` from the words. Returns K, a positive number, or None."""
    value = None
    for k, word in enumerate(words):
        if word == name:
            if k + 1 == len(words):
                raise UsageError(f"{name} needs a number")
            value = words[k + 1]
            del words[k:k + 2]
            break
        if word.startswith(name + "="):
            value = word.partition("=")[2]
            del words[k]
            break
    if value is None:
        return None
    if not value.isdecimal() or int(value) < 1:
        raise UsageError(f"{name} is '{value}': use a number of at least 1")
    if any(word == name or word.startswith(name + "=") for word in words):
        raise UsageError(f"{name} is given twice: give it once")
    return int(value)


def run_in_lammps(words):
    """`words` of the command on the ranks that they ask for. Returns the exit status."""
    from dptrain.launcher import LaunchError, Run

    ranks, threads = take_count(words, "-np"), take_count(words, "--threads")
    asked = {"-h", "--help"} & set(words)
    if asked:
        ranks = 1
    elif words[0] == "train" and sys.stdout.isatty():
        words.append("--terminal")
    try:
        status = Run(words, ranks or 1, threads).run()
    except LaunchError as error:
        print(f"dptrain: error: {error}", file=sys.stderr)
        return 1
    if asked and status == 0:
        print(f"of the shell program\n{LAUNCH_HELP}")
    return status


def unknown(command):
    """The message for a command that does not exist."""
    if command in ELSEWHERE:
        return ELSEWHERE[command]
    near = difflib.get_close_matches(command, COMMANDS, 1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return f"there is no command '{command}': use one of {', '.join(COMMANDS)}.{hint}"


def run(words):
    """Exit status of the command in `words`."""
    if not words:
        raise UsageError("which command? See dptrain --help")
    if words[0] in ("-h", "--help", "help"):
        print(HELP)
        return 0
    if words[0] == "--version":
        from dptrain import __version__

        print(f"dptrain {__version__}")
        return 0
    if words[0] in IN_LAMMPS:
        return run_in_lammps(words)
    if words[0] in HERE:
        return importlib.import_module(f"dptrain.{words[0]}").main(words[1:])
    raise UsageError(unknown(words[0]))


def main(arguments=None):
    """Entry point of the console script. Returns the exit status."""
    try:
        status = run(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
        return status
    except UsageError as error:
        print(f"dptrain: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # as of 'dptrain show MODEL | head'
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing is written when Python ends
        return 141


if __name__ == "__main__":
    sys.exit(main())
