"""What ``dptrain learn`` learns from: a calculator of ASE, a pair style of LAMMPS, or a folder of requests that somebody answers."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

from dptrain.calculators import parse_calculator
from dptrain.check_part import CheckError
from dptrain.check_reference import PairStyle, read_pair_style
from dptrain.launcher import end_program

WAIT = 600  # seconds that LAMMPS waits for the first client
TIMEOUT = 86400  # and for an answer
SPOOL = "spool:"


def quoted(words):
    return '"' + words + '"'


class FromPairStyle:
    """Commands of LAMMPS."""

    has_stress, can_label, commands = True, True, ()

    def __init__(self, words, elements):
        self.style = read_pair_style(words, elements)
        if self.style.units != "metal":
            raise CheckError(f"--reference: units {self.style.units} are not possible here: use a pair style in units metal")
        self.text = "  ".join(words)

    @property
    def words(self):
        parts = []
        for line in self.style.lines:
            command, _, rest = line.partition(" ")
            parts.append({"pair_style": f"pair {rest}", "pair_coeff": f"coeff {quoted(rest)}", "pair_modify": f"modify {quoted(rest)}",
                          "kspace_style": f"kspace {quoted(rest)}", "kspace_modify": f"kspace_modify {quoted(rest)}", "units": ""}[command])
        style = [part for part in parts if part.startswith("pair ")]
        return " ".join(["reference", *style, *(part for part in parts if part and not part.startswith("pair ")), "end"])

    def label(self, path, output, look):
        """Frames of a file with their labels. Returns what went wrong, or ""."""
        from dptrain.label_file import label_file

        said = []
        labels, failed = label_file(path, output, PairStyle(self.style), self.text, True, said.append)
        return "" if labels and not failed else said[-1]

    def start(self, folder, address):
        return []


class FromSpool:
    """A folder of requests that somebody answers: it is not asked before and after the run."""

    has_stress, can_label, commands = True, False, ()

    def __init__(self, text):
        self.folder = Path(text.removeprefix(SPOOL)).expanduser().absolute()
        if text == SPOOL:
            raise CheckError("--reference spool: names no folder: give spool:FOLDER, whose requests dptrain label FOLDER answers")
        self.text = f"the folder {self.folder}"

    @property
    def words(self):
        return f"reference spool {quoted(str(self.folder))} end"

    def start(self, folder, address):
        return []


class FromCalculator:
    """A calculator of ASE, in this Python or in another one."""

    can_label = True

    def __init__(self, text, options):
        parse_calculator(text)
        self.text, self.jobs, self.has_stress = text, options.jobs, True
        # packages warn their developers
        self.variables = {"PYTHONWARNINGS": "ignore", **os.environ}
        self.arguments = ["--calculator", text]
        if options.python:
            self.arguments += ["--python", str(Path(options.python).expanduser().absolute())]
        if options.threads:
            self.arguments += ["--threads", str(options.threads)]

    @property
    def words(self):
        together = f" asynchronous {self.jobs}" if self.jobs > 1 else ""
        return f"reference socket ${{address}} wait {WAIT} timeout {TIMEOUT}{'' if self.has_stress else ' virial no'} end{together}"

    @property
    def commands(self):
        """How a client is started by hand."""
        return [f"dptrain client {shlex.join(self.arguments)} --socket unix:learn learn.init.xyz &"]

    def label(self, path, output, look):
        words = [sys.executable, "-m", "dptrain", "label", str(path), "-o", str(output), *self.arguments]
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   start_new_session=True, env=self.variables)
        lines = []
        try:
            for line in process.stdout:
                lines.append(line)
                look()
            process.wait()
        except BaseException:
            end_program(process)
            raise
        said = [line.partition(": ")[2].strip() for line in lines if line.startswith("dptrain label: ")]
        self.has_stress = self.has_stress and not any(line.startswith("no stress") for line in said)
        failed = [line for line in said if line.startswith("error: ") or ": failed: " in line]
        return (failed or lines or ["it said nothing"])[-1].removeprefix("error: ").strip() if process.returncode or failed else ""

    def start(self, folder, address):
        """Clients, whose output goes to client1.log, ..."""
        clients = []
        for number in range(1, self.jobs + 1):
            words = [sys.executable, "-m", "dptrain", "client", *self.arguments, "--socket", address, str(folder / "learn.init.xyz")]
            if self.jobs > 1:  # codes that write files have a folder each
                words += ["--directory", str(folder / f"client{number}")]
            with open(folder / f"client{number}.log", "w") as log:
                clients.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
                                                env=self.variables))
        return clients
