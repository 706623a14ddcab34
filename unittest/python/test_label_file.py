"""`dptrain label FILE -o OUT.xyz`: a calculator labels the frames of a file."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
ase_io = pytest.importorskip("ase.io", reason="the calculators are those of ASE")
from ase.build import bulk, molecule  # noqa: E402
from ase.calculators.lj import LennardJones  # noqa: E402
from ase.constraints import FixAtoms  # noqa: E402
from dptrain import label as label_module  # noqa: E402
from dptrain import label_file  # noqa: E402

LENNARD_JONES = "ase.calculators.lj.LennardJones:sigma=2.1,epsilon=0.05,rc=6.0"
MODULE = """
import time
import numpy as np
from ase.calculators.lj import LennardJones
class NoStress(LennardJones):
    implemented_properties = ["energy", "forces"]
class Half(LennardJones):
    def calculate(self, *args, **kwargs):
        super().calculate(*args, **kwargs)
        self.results = {key: np.asarray(value, np.float16) for key, value in self.results.items()}
class CopperOnly(LennardJones):
    def calculate(self, atoms, *args):
        if set(atoms.symbols) != {"Cu"}:
            raise KeyError("H")
        super().calculate(atoms, *args)
class NotFinite(LennardJones):
    def calculate(self, *args, **kwargs):
        super().calculate(*args, **kwargs)
        self.results["stress"] = self.results["stress"] * np.nan
class Slow(LennardJones):
    def calculate(self, *args, **kwargs):
        super().calculate(*args, **kwargs)
        if Slow.calls:
            time.sleep(100)
        Slow.calls += 1
    calls = 0
"""


def copper(count=3):
    frames = []
    for seed in range(count):
        atoms = bulk("Cu", cubic=True)
        atoms.rattle(0.1, seed=seed)
        atoms.set_constraint(FixAtoms([0]))
        frames.append(atoms)
    return frames


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Writes frames, labels them, and returns (exit status, what was said, labels)."""
    (tmp_path / "file_calculators.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    handlers = {number: signal.getsignal(number) for number in label_module.SIGNALS}

    def command(calculator, *words, frames=None):
        if frames is not None:
            ase_io.write("frames.xyz", frames)
        status = label_module.main(["frames.xyz", "--calculator", calculator, "-o", "labels.xyz", *words])
        captured = capsys.readouterr()
        there = Path("labels.xyz").exists()
        return status, captured.out + captured.err, ase_io.read("labels.xyz", ":") if there else []

    yield command
    sys.modules.pop("file_calculators", None)
    for number, handler in handlers.items():
        signal.signal(number, handler)


def test_labels_are_the_calculators(run):
    """To the eight digits of the file; forces of atoms that the file holds fixed are not zero."""
    status, said, labels = run(LENNARD_JONES, frames=[*copper(), molecule("H2O")])
    assert status == 0 and "4 labels in labels.xyz, 0 failed" in said
    for frame in labels:
        expected = frame.copy()
        expected.calc = LennardJones(sigma=2.1, epsilon=0.05, rc=6.0)
        assert frame.get_potential_energy() == pytest.approx(expected.get_potential_energy(), rel=1e-7)
        np.testing.assert_allclose(frame.get_forces(), expected.get_forces(), atol=1e-6)  # positions and forces have eight decimals
        if frame.pbc.any():
            np.testing.assert_allclose(frame.get_stress(), expected.get_stress(), atol=1e-8)
    assert "stress" not in labels[-1].calc.results
    assert np.abs(labels[0].get_forces()[0]).max() > 1e-3


def test_the_stress_has_the_form_that_old_versions_of_ase_write():
    """ASE 3.22 writes six numbers, and fails with nine."""
    atoms = copper(1)[0]
    calculator = LennardJones(sigma=2.1, epsilon=0.05, rc=6.0)
    stress = label_file.labeled(atoms, calculator, True).calc.results["stress"]
    atoms.calc = calculator
    assert stress.shape == (6,) and np.abs(stress[3:]).max() > 1e-5
    np.testing.assert_allclose(stress, atoms.get_stress(), rtol=1e-9, atol=1e-15)


def test_a_frame_that_fails_is_named_and_the_rest_has_labels(run):
    status, said, labels = run("file_calculators.CopperOnly", frames=[*copper(1), molecule("H2O"), *copper(2)[1:]])
    assert status == 1 and len(labels) == 2 and "frame 2 of 3: failed: KeyError: 'H'" in said


def test_the_same_command_goes_on(run):
    assert len(run(LENNARD_JONES, frames=copper(2))[2]) == 2
    status, said, labels = run(LENNARD_JONES, frames=copper(3))
    assert status == 0 and len(labels) == 3 and "2 of 3 frames have labels in labels.xyz already" in said
    assert said.count(" eV, ") == 1


def test_positions_with_all_digits_are_known_again(run):
    """Those of the file have eight decimals."""
    frames = []
    for seed in range(6):
        atoms = bulk("Cu", cubic=True).repeat(2)
        atoms.rattle(0.1, seed=seed)
        atoms.set_cell(atoms.cell * (1 + 1e-3 / (seed + 3)), scale_atoms=True)
        frames.append(atoms)
    ase_io.write("frames.traj", frames)
    for _ in range(2):
        assert label_module.main(["frames.traj", "--calculator", LENNARD_JONES, "-o", "labels.xyz"]) == 0
    assert len(ase_io.read("labels.xyz", ":")) == 6


def test_labels_of_two_references_are_not_mixed(run):
    run(LENNARD_JONES, frames=copper(1))
    status, said, labels = run("emt", frames=copper(2))
    assert status == 1 and f"labels.xyz has labels of {LENNARD_JONES}, and those of emt do not belong to them" in said and len(labels) == 1


def test_a_calculator_without_stress(run):
    status, said, labels = run("file_calculators.NoStress", frames=copper(1))
    assert status == 0 and "no stress is computed" in said and "stress" not in labels[0].calc.results


def test_half_precision_is_a_label(run):
    """Numbers of float16 are numbers."""
    status, _, labels = run("file_calculators.Half", frames=copper(1))
    assert status == 0 and labels[0].get_forces().dtype == float


def test_numbers_that_are_not_finite_are_none(run):
    status, said, labels = run("file_calculators.NotFinite", frames=copper(1))
    assert status == 1 and not labels and "not finite" in said
    assert run("file_calculators.NotFinite", "--no-stress")[0] == 0


@pytest.mark.parametrize("text, words, message", [
    ("", [], "frames.xyz cannot be read: UnknownFileTypeError: Empty file"),
    ("nonsense\n", [], "frames.xyz cannot be read"),
    ("2\n\nCu 0 0 0\n", [], "frames.xyz cannot be read"),
    (None, ["-o", "frames.xyz"], "frames.xyz is the file of the frames itself"),
    (None, ["--jobs", "2"], "leave --watch, --again, --jobs and --retake out"),
    (None, ["--format", "nosuch"], "cannot be read"),
])
def test_files_that_cannot_be_used(text, words, message, run):
    ase_io.write("frames.xyz", copper(1))
    if text is not None:
        Path("frames.xyz").write_text(text)
    status, said, labels = run(LENNARD_JONES, *words)
    assert status == 1 and message in said and not labels


def test_labels_go_to_no_file_of_other_frames(run):
    ase_io.write("labels.xyz", molecule("H2O"))
    status, said, _ = run(LENNARD_JONES, frames=copper(1))
    assert status == 1 and "labels.xyz has frames without forces" in said


def test_no_output(run, capsys):
    ase_io.write("frames.xyz", copper(1))
    assert label_module.main(["frames.xyz", "--calculator", "emt"]) == 1
    assert "give the file for its labels, -o labels.xyz" in capsys.readouterr().err


def test_a_signal_keeps_the_labels(tmp_path):
    (tmp_path / "file_calculators.py").write_text(MODULE)
    ase_io.write(tmp_path / "frames.xyz", copper(2))
    process = subprocess.Popen([sys.executable, "-c", f"import sys; sys.path[:0] = ['.', {str(ROOT / 'python')!r}]; from dptrain import label; "
                                "sys.exit(label.main(['frames.xyz', '--calculator', 'file_calculators.Slow', '-o', 'labels.xyz']))"],
                               cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    while "frame 1 of 2" not in process.stdout.readline():
        assert process.poll() is None
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130 and "the same command goes on" in out
    assert len(ase_io.read(tmp_path / "labels.xyz", ":")) == 1
