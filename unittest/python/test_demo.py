"""`dptrain demo`: its line of progress, its three sentences and its picture, what it says where LAMMPS stops; the notebook runs."""

import io
import os
import re
import shutil
import signal
import time
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pytest
from real_script import ROOT, RealScript

from dptrain import demo, launcher
from dptrain.dumps import compare, read_dump
from dptrain.logs import FileError, read_profile
from dptrain.progress import Progress, StatusLine, read_progress

SILICON = ROOT / "examples" / "silicon"
LOG = SILICON / "log.28Nov26.silicon.g++.2"
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def script(tmp_path):
    """`python -m dptrain` with the environment's LAMMPS, and the inputs of the example in a folder of their own."""
    for path in SILICON.glob("in.*"):
        shutil.copy(path, tmp_path)
    return RealScript(tmp_path)


def cut_after(path, pattern, number):
    """The lines of LOG up to the number-th that the pattern fits, written to a file; that line."""
    lines = LOG.read_text().splitlines(keepends=True)
    k = [k for k, line in enumerate(lines) if re.match(pattern, line)][number]
    path.write_text("".join(lines[:k + 1]))
    return lines[k].split()


@pytest.mark.parametrize("pattern, number, text", [
    (r"dptrain +\d+ ", 20, "heating  step {1}/20000  {8} labels  largest error bar 0.*"),  # step and labels of the latest answer
    (r" +14\d00 ", 0, "cooling  step {0}/20000*"), (" +0 ", 0, "heating  step 0/20000  1 labels")])  # thermo output; no model yet
def test_progress(tmp_path, pattern, number, text):
    words = cut_after(tmp_path / "log", pattern, number)
    assert fnmatch(str(read_progress(tmp_path / "log")), text.format(*words))


def test_progress_before_anything_is_known(tmp_path):
    assert str(read_progress(tmp_path / "log")) == "starting"
    (tmp_path / "log").write_text("LAMMPS\n")
    assert read_progress(tmp_path / "log") == read_progress(tmp_path / "none")


@pytest.mark.parametrize("terminal, expected", [
    (False, "heating  step 1/9\nmelting  step 3/9\n"),  # one line for each stage, not one for each look at the log
    (True, "\rheating  st\033[K\rheating  st\033[K\rmelting  st\033[K\r\033[K")])  # no line feed, not longer than the terminal is wide
def test_line_of_progress(terminal, expected, monkeypatch):
    monkeypatch.setenv("COLUMNS", "12")
    out = io.StringIO()
    out.isatty = lambda: terminal
    line = StatusLine(out)
    for stage, step in (("heating", 1), ("heating", 2), ("melting", 3)):
        line.show(str(Progress(stage, 9, step)))
    line.clear()
    assert out.getvalue() == expected


def test_profile(tmp_path):
    """The latest block counts; one that was cut off is refused."""
    path = tmp_path / "rdf.dat"
    path.write_text("# Time-averaged data\n100 2\n1 0.5 1.5 0\n2 1.0 2.5 0\n200 2\n1 0.5 3.5 0\n2 1.0 4.5 0\n")
    assert read_profile(path)[:2].tolist() == [[0.5, 1.0], [3.5, 4.5]]
    for text in (path.read_text()[:-11], "a b c\n", ""):
        path.write_text(text)
        with pytest.raises(FileError, match="rdf.dat: this is no file of fix ave/time"):
            read_profile(path)


def numbers(text, pattern):
    found = re.search(pattern, " ".join(text.split()))
    assert found, text
    return [float(number) for number in found.groups()]


def test_a_short_demo(script):
    """Picture and sentences; their numbers are those of the files."""
    status, out, err = script("demo", ".", "-np", 1, "--scale", 0.06)
    assert (status, err) == (0, "") and "\r" not in out
    assert {line.split()[0] for line in out.splitlines()} >= {"heating", "cooling", "testing", "running"}
    assert (script.folder / "demo.png").read_bytes().startswith(PNG)
    log = (script.folder / "log.learn").read_text()
    answers = [line.split() for line in log.splitlines() if re.match(r"dptrain +\d", line)]
    steps, calls, share, labels = numbers(out, r"run of (\d+) steps .* asked (\d+) times, in (\S+) % of the steps, for (\d+) labels\.")
    assert (steps, calls, labels) == (1200, int(answers[-1][9]), int(answers[-1][8]))
    assert share == pytest.approx(100 * calls / steps, abs=0.005)
    dumps = [[script.folder / f"{kind}.{part}.dump" for kind in ("reference", "predicted")] for part in ("crystal", "melt")]
    tests = [compare(*paths) for paths in dumps]
    percent = numbers(out, r"force error is (\S+) % in the crystal and (\S+) % in the melt")
    assert percent == pytest.approx([100 * test.force_rmse / test.force_rms for test in tests], abs=0.051)
    ratios = [np.linalg.norm(p.force - r.force, axis=1).max() / p.expected.max()
              for paths in dumps for r, p in zip(*map(read_dump, paths))]
    assert numbers(out, r"a frame (\S+) times the one it expects") == pytest.approx([np.sqrt(np.mean(np.square(ratios)))], abs=0.051)


def test_lammps_stops(script):
    """Its message is shown, and where its log is; nothing is drawn."""
    path = script.folder / "in.learn"
    path.write_text(path.read_text().replace("pair_style      dptrain", "pair_style      no/such"))
    (script.folder / "demo.png").write_text("of an earlier run")
    status, out, err = script("demo", ".", "-np", 1)
    assert status == 1 and "no/such" in err and "in.learn" in err and "log.learn" in err
    assert "Traceback" not in err and not (script.folder / "demo.png").exists()


def test_inputs_are_copied(tmp_path, monkeypatch):
    """From the package, unless they are there: what the user has edited stays. Results of before go."""
    monkeypatch.setattr(demo, "plugin_folder", lambda: str(tmp_path))
    folder = tmp_path / "new"
    with pytest.raises(demo.DemoError, match="in.compare is not there"):
        demo.prepare(folder)
    shutil.copytree(SILICON, tmp_path / "silicon")
    (folder / "in.run").write_text("mine")
    (folder / "silicon.dp.ckpt").write_text("old")
    demo.prepare(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["in.compare", "in.learn", "in.reference", "in.run"]
    assert (folder / "in.run").read_text() == "mine"
    assert (folder / "in.learn").read_text() == (SILICON / "in.learn").read_text()


def test_wrong_words(script):
    for words in (["-np", "0"], ["--scale", "-1"], ["--scale", "nan"]):
        assert script("demo", *words)[0] == 2


def test_ctrl_c_ends_all(script):
    """The ranks, too."""
    process = script.start("demo", ".", "-np", 2)
    log = script.folder / "log.learn"
    end = time.monotonic() + 300
    while not (log.exists() and "stage: heating" in log.read_text()):
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.05)
    ranks = launcher.last_children(process.pid)
    assert len(ranks) == 2 and all(Path(f"/proc/{pid}").exists() for pid in ranks)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130 and err == ""
    while any(Path(f"/proc/{pid}").exists() for pid in ranks):
        assert time.monotonic() < end
        time.sleep(0.05)


# the kernel's package is this checkout's, with what is compiled in the build folder
OF_CHECKOUT = "import real_script; real_script.dptrain.plugin_folder = lambda: str(real_script.PLUGINS)"


@pytest.mark.story("notebook")
def test_notebook(tmp_path, script, compiled_module):
    """All cells run, three figures are drawn, and the errors that it prints are small."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebook = nbformat.read(ROOT / "examples" / "notebook" / "first_run.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)  # they are not in the repository
    notebook.cells.insert(0, nbformat.v4.new_code_cell(OF_CHECKOUT))
    variables = {**script.variables, "PYTHONPATH": str(Path(__file__).parent)}
    client = nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}})
    client.execute(env=variables)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    text = "".join(output.get("text", "") for output in outputs)
    for part in ("crystal", "melt"):
        assert 0.0 < numbers(text, rf"{part}: force error (\S+) %")[0] < 5.0
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 3
