"""Runs a tutorial of the manual as its reader does: all code blocks of a page, in order, in one folder and one shell.

What a code block is for is seen by its language and its caption, by readers as well:

* a block with ``:caption: NAME`` is the file NAME: LAMMPS inputs, JSON, Python, job scripts (bash)
* a block of language ``bash`` without a caption is typed into the shell
* a block of language ``text`` is an input of a program that is not here, with its name as the caption; FOREIGN in test_tutorials.py
  lists all of them with the reason
* output of programs stands in literal blocks (``::``), which nobody runs

Anything else is an error. Job scripts run with the stand-ins for a batch system in the folder stand_ins.
"""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lammps"))

from lammps_runner import BIN, lammps_variables  # noqa: E402

MANUAL = HERE.parents[1] / "doc" / "src"
FILES = ("LAMMPS", "json", "python", "bash", "text")  # languages of blocks that are files
SECONDS = 900  # after which a page hangs; pages are made to take less than 120 s on two cores that also do other work


class Block(NamedTuple):
    """A code block of a page: number of its first line, language, caption (a file name) or an empty text, and its text."""

    line: int
    language: str
    caption: str
    text: str


class PageError(Exception):
    """A block of which nobody knows what to do with it; the text names page and line."""


def blocks(text):
    """The code blocks of a page."""
    lines, found, k = text.splitlines(), [], 0
    while k < len(lines):
        start = re.match(r"((?:\s|[-*] )*)\.\. (?:code-block|code|sourcecode|literalinclude)::\s*(\S*)\s*$", lines[k])
        k += 1
        if not start:
            continue
        first, indent, body = k, len(start[1]), []
        while k < len(lines) and (not lines[k].strip() or len(lines[k]) - len(lines[k].lstrip()) > indent):
            body.append(lines[k])
            k += 1
        options = []
        while body and re.match(r"\s*:\w+:", body[0]):
            options.append(body.pop(0).strip())
        caption = [option.partition(":caption:")[2].strip() for option in options if option.startswith(":caption:")]
        margin = min((len(line) - len(line.lstrip()) for line in body if line.strip()), default=0)
        code = "\n".join(line[margin:] for line in body).strip("\n") + "\n"
        found.append(Block(first, start[2], "".join(caption), code))
    return found


def check(page, page_blocks, foreign):
    """Raises PageError where a block follows none of the rules above. foreign: names of the inputs of programs that are not here."""
    names = set()
    for block in page_blocks:
        where = f"{page}:{block.line}: "
        if block.language not in FILES:
            raise PageError(f"{where}a block of language '{block.language}': use one of {', '.join(FILES)}, or :: for output")
        if not block.caption:
            if block.language != "bash":
                raise PageError(f"{where}a block of language {block.language} needs the name of its file as :caption:")
            continue
        if block.language == "text" and block.caption not in foreign:
            raise PageError(f"{where}{block.caption} is not run: list it in FOREIGN of test_tutorials.py with the reason, or run it")
        if block.caption in names or "/" in block.caption:
            raise PageError(f"{where}{block.caption}: each file has a name of its own, without folder")
        names.add(block.caption)


class Tutorial:
    """A page that is run in a folder; `output` is what its commands have written, `seconds` their time."""

    def __init__(self, page, folder, foreign=()):
        self.page, self.folder, self.output, self.seconds = page, folder, "", 0.0
        self.blocks = blocks((MANUAL / page).read_text())
        check(page, self.blocks, foreign)

    def write_files(self):
        """All files of the page; the shell commands follow as one script, which stops at the first command that fails."""
        script = ["set -euo pipefail"]
        for block in self.blocks:
            if block.caption:
                (self.folder / block.caption).write_text(block.text)
            else:
                script += [f"echo '== {self.page}, line {block.line}'", block.text, "wait"]
        return "\n".join(script)

    def run(self, **variables):
        """Runs the page, and returns it. Fails the test where a command fails; whatever still runs then is ended."""
        script, start = self.write_files(), time.monotonic()
        environment = lammps_variables(MPLBACKEND="Agg", **variables)
        environment["PATH"] = os.pathsep.join([str(HERE / "stand_ins"), str(BIN), environment["PATH"]])
        log = self.folder / "tutorial.log"
        with open(log, "w") as out:
            process = subprocess.Popen(["bash", "-c", script], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=subprocess.STDOUT, start_new_session=True)
            try:
                status = process.wait(SECONDS)
            except subprocess.TimeoutExpired:
                status = f"not ended after {SECONDS} s"
            finally:
                end_group(process)
        self.seconds, self.output = time.monotonic() - start, log.read_text(errors="replace")
        assert status == 0, f"{status}\n{self.output[-4000:]}"
        return self

    def numbers(self, pattern):
        """The numbers that the commands have written where the pattern, with one group, fits."""
        found = re.findall(pattern, self.output, re.MULTILINE)
        assert found, f"no {pattern} in\n{self.output[-4000:]}"
        return [float(number) for number in found]

    def number(self, pattern, which=-1):
        """The last one of them, or number `which`."""
        return self.numbers(pattern)[which]


def end_group(process):
    """Ends a shell and all that it has started, jobs of the stand-ins too."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
