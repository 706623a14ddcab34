"""`reference spool`: labels from files in a folder, which `dptrain label` or a person writes; both sides may die.

The Lennard-Jones potential of LAMMPS and that of ASE are the same in double precision: labels agree up to rounding.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from active import stored_frames
from labels import CLUSTER, CLUSTER_LENNARD_JONES, CLUSTER_PAIR, LENNARD_JONES, system_of
from lammps_runner import console_variables, finish, lammps_variables, wait_for
from silicon import ATOMS, COLUMNS, write_input

ase_io = pytest.importorskip("ase.io", reason="the calculators are those of ASE")

LJ = "pair_style lj/cut 6.0\npair_coeff * * 0.05 2.1\npair_modify shift yes"
OPTIONS = "sigma=2.1,epsilon=0.05,rc=6.0"
PAIR = 'pair lj/cut 6.0 coeff "* * 0.05 2.1" modify "shift yes"'
TILT = "change_box all triclinic\nchange_box all xy final 1.5 xz final -0.7 yz final 2.0 remap\n"
TOLERANCE = 1e-11  # of sums over the neighbors of an atom, in another order


def learn(options="", fix="warmup 100 dataset labels every 5", run="run 10", atoms=ATOMS, pair=LJ, elements="Si",
          reference="spool spool"):
    """Input whose run is driven by `pair`, and labeled by whoever looks at the spool."""
    model = "" if "dptrain" in pair else f"model input.json {elements} "
    if not model and "mode " not in fix:
        fix = "mode passive " + fix
    return (f"{atoms}{pair}\nfix t all dptrain {model}reference {reference} {options} end {fix}\nfix n all nve\n{COLUMNS}"
            f"thermo 5\n{run}\n")


def requests(folder):
    return sorted(path.parent for path in (folder / "spool").glob("*/request.xyz"))


def expect_same(found, expected, tolerance=TOLERANCE, names=("box", "coord", "energy", "force", "virial")):
    for name in names:
        size = max(np.abs(expected[name]).max(), 1e-3)
        assert np.abs(found[name] - expected[name]).max() < tolerance * size, name


@pytest.mark.parametrize("ranks, box", [(1, ""), (2, TILT)])
def test_labels_are_those_of_reference_pair(ranks, box, labeler, start_lammps, lammps, tmp_path):
    """Positions, a triclinic box that atoms have left, the order of atoms, and signs are right."""
    write_input(tmp_path)
    atoms = ATOMS + box + "change_box all x delta -3 3 boundary p p p units box\nreset_atoms id sort no\n"
    labeler()
    result = finish(start_lammps(learn(atoms=atoms), ranks), tmp_path).check()
    lammps(learn(atoms=atoms, reference=PAIR, fix="warmup 100 dataset expected every 5"), ranks).check()
    found, expected = system_of(tmp_path / "labels"), system_of(tmp_path / "expected")
    expect_same(found, expected)
    assert len(found["energy"]) == 3 and len(requests(tmp_path)) == 3
    assert f"labels are asked for in the folder {tmp_path}/spool" in result.output and "answer" not in result.output
    for folder, coord in zip(requests(tmp_path), expected["coord"]):
        request = ase_io.read(folder / "request.xyz")
        assert request.get_chemical_formula() == "Si64" and all(request.pbc)
        assert np.allclose(request.positions.ravel(), coord, atol=1e-9)


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_model_learned_from_a_spool_moves_the_same(ranks, labeler, start_lammps, lammps, tmp_path):
    """From nothing: the reference drives, then the model, and both runs have the same frames and forces. The first label is that
    of a crystal, whose forces are nothing but rounding, and the optimizer follows them: 1e-4 of the forces after 70 steps."""
    write_input(tmp_path)
    labeler()
    pair = "pair_style dptrain\npair_coeff * * input.json Si"
    end = "run 12\nwrite_dump all custom {} id fx fy fz modify format float %.17g\n"
    fix = "warmup 4 every 2 train 10 dataset {}"
    found = finish(start_lammps(learn(fix=fix.format("labels"), pair=pair, run=end.format("found")), ranks), tmp_path).check()
    expected = lammps(learn(fix=fix.format("expected"), pair=pair, run=end.format("pair"), reference=PAIR), ranks).check()
    assert found.thermo()["f_t[7]"][-1] == expected.thermo()["f_t[7]"][-1] == 70
    expect_same(system_of(tmp_path / "labels"), system_of(tmp_path / "expected"), 1e-5)
    forces = found.dump("found")[:, 1:]
    assert np.abs(forces - expected.dump("pair")[:, 1:]).max() < 1e-3 * np.abs(forces).max()


def test_cluster_in_other_units(labeler, start_lammps, lammps, tmp_path):
    """Units real, no periodic dimension, two elements, ids with gaps; the virial is that of the forces."""
    write_input(tmp_path, types=["Si", "Ge"])
    labeler(CLUSTER_LENNARD_JONES)
    finish(start_lammps(learn(atoms=CLUSTER, pair=CLUSTER_PAIR, elements="Si Ge"), 2), tmp_path).check()
    lammps(learn(atoms=CLUSTER, pair=CLUSTER_PAIR, elements="Si Ge", fix="warmup 100 dataset expected every 5",
                 reference='pair lj/cut 6.0 coeff "* * 1.2 2.4" modify "shift yes"'), 2).check()
    expect_same(system_of(tmp_path / "labels"), system_of(tmp_path / "expected"), names=("coord", "energy", "force", "virial"))
    request = ase_io.read(requests(tmp_path)[0] / "request.xyz")
    assert set(request.get_chemical_symbols()) == {"Si", "Ge"} and not any(request.pbc) and not request.cell.any()


def test_waiting_ranks_sleep(labeler, start_lammps, tmp_path):
    """While labels take 3 of about 4 seconds, LAMMPS uses next to nothing of its two cores."""
    write_input(tmp_path)
    labeler(f"calculators.Slow:{OPTIONS},seconds=1.0")
    result = finish(start_lammps(learn(), 2), tmp_path).check()
    percent = float(re.search(r"^([0-9.]+)% CPU use with 2 MPI tasks", result.output, re.MULTILINE).group(1))
    assert percent < 25  # a busy wait shows as 100


@pytest.mark.parametrize("failed", ["skip", "stop"])
def test_failures(failed, labeler, start_lammps, tmp_path):
    write_input(tmp_path)
    labeler(f"calculators.Moody:{OPTIONS}")
    result = finish(start_lammps(learn(f"failed {failed}"), 2), tmp_path)
    reason = f"RuntimeError: no self-consistency after 100 cycles (see {requests(tmp_path)[1]}/failed.txt; 'dptrain label {tmp_path}/spool --again' computes again what has failed)"
    if failed == "stop":
        assert result.status != 0
        assert any("no label at step 5" in line and reason in line for line in result.errors()), result.output[-2000:]
    else:
        assert f"label of step 5 is discarded: {reason}" in result.check().output
        assert result.thermo()["f_t[1]"][-1] == 2 and result.thermo()["f_t[11]"][-1] == 1


def test_time_out(lammps, tmp_path):
    write_input(tmp_path)
    result = lammps(learn("timeout 0.5", run="run 5"), 2).check()
    assert len(re.findall(r"label of step [05] is discarded: no answer to 00000000[05]-\w+ within 0.5 s", result.output)) == 2


BY_HAND = """
from ase.calculators.lj import LennardJones
from ase.io import read, write

atoms = read("request.xyz")
atoms.calc = LennardJones(sigma=2.1, epsilon=0.05, rc=6.0)
atoms.get_forces(), atoms.get_stress()
write("answer.xyz", atoms)
"""


def test_by_hand(start_lammps, lammps, tmp_path):
    """A person writes a wrong answer, which is put aside, and then right ones: ASE's eight digits."""
    write_input(tmp_path)
    run = start_lammps(learn(run="run 5"), 2)
    wait_for(lambda: requests(tmp_path), "request")
    (first,) = requests(tmp_path)
    (first / "answer.xyz").write_text("soon\n")
    wait_for((first / "answer.xyz.bad1").exists, "warning")
    subprocess.run([sys.executable, "-c", BY_HAND], cwd=first, check=True)
    wait_for(lambda: len(requests(tmp_path)) == 2, "second request")
    subprocess.run([sys.executable, "-c", BY_HAND], cwd=requests(tmp_path)[1], check=True)
    result = finish(run, tmp_path).check()
    (warning,) = [line for line in result.warnings("Fix dptrain") if "answer" in line]
    assert f"{first}/answer.xyz: line 1: found 'soon'" in warning and "it is now answer.xyz.bad1, and the request stays open" in warning
    lammps(learn(reference=PAIR, fix="warmup 100 dataset expected every 5", run="run 5"), 2).check()
    expect_same(system_of(tmp_path / "labels"), system_of(tmp_path / "expected"), 1e-7)


def test_without_virial(labeler, start_lammps, tmp_path):
    write_input(tmp_path)
    labeler(LENNARD_JONES, "--no-stress")
    finish(start_lammps(learn("virial no", fix="warmup 2 every 5 train 5 dataset labels")), tmp_path).check()
    labels = system_of(tmp_path / "labels")
    assert labels["force"].shape == (3, 192) and "virial" not in labels
    barostat = learn("virial no").replace("fix n all nve", "fix n all nph iso 0 0 1")
    assert "does not know of the reference" in finish(start_lammps(barostat), tmp_path).check().output
    shutil.rmtree(tmp_path / "labels")
    start_lammps(learn(run="run 0"), log="other")  # the answer is there, but without what this run needs
    wait_for(lambda: "has no stress or virial: compute it, or choose 'virial no'" in (tmp_path / "other").read_text(), "warning")


def test_difference_to_a_baseline(labeler, start_lammps, tmp_path):
    """The labels less those of the same potential are zero."""
    write_input(tmp_path)
    labeler()
    text = learn(fix=f"baseline {PAIR} end warmup 100 dataset labels every 5", run="run 5")
    finish(start_lammps(text, 2), tmp_path).check()
    for frame in stored_frames(tmp_path / "dptrain.t.frames"):
        assert np.abs(frame["force"]).max() < 1e-9 and np.abs(frame["virial"]).max() < 1e-8 and abs(frame["energy"]) < 1e-8


def computed(folder):
    """Names of the requests that all labelers have computed."""
    lines = [line for log in folder.glob("*.log") for line in log.read_text().splitlines()]
    return sorted(line.split()[2] for line in lines if " eV, " in line)


def test_kill_lammps_amid_a_request(labeler, start_lammps, tmp_path):
    """Kill -9 while a label is computed, which goes on. The same run, started again, finds the answers: nothing is computed
    twice. So does one that goes on from the checkpoint."""
    write_input(tmp_path)
    fix = "warmup 2 every 5 train 3 save 3 model.dp dataset labels"
    labeler(f"calculators.Held:{OPTIONS},hold=4")
    run = start_lammps(learn(fix=fix, run="run 30"), 2)
    wait_for((tmp_path / "begun").exists, "fourth calculation")
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    (tmp_path / "release").touch()
    wait_for(lambda: (requests(tmp_path)[3] / "answer.xyz").exists(), "answer to a run that is dead")
    shutil.rmtree(tmp_path / "labels")
    result = finish(start_lammps(learn(fix=fix, run="run 30"), 2, log="again"), tmp_path, "again").check()
    assert "is in the folder already" in result.output and result.thermo()["f_t[1]"][-1] == 7
    assert computed(tmp_path) == [f"{folder.name}:" for folder in requests(tmp_path)] and len(requests(tmp_path)) == 7
    resumed = finish(start_lammps(learn(fix=fix + " resume model.dp", run="run 30"), 2, log="third"), tmp_path, "third").check()
    assert "is in the folder already" in resumed.output and len(computed(tmp_path)) == 7


def test_kill_dptrain_label_amid_a_request(labeler, start_lammps, tmp_path):
    write_input(tmp_path)
    run = start_lammps(learn(), 2)
    first = labeler(f"calculators.Held:{OPTIONS},hold=1")
    wait_for((tmp_path / "begun").exists, "calculation")
    first.kill()
    first.wait()
    assert (requests(tmp_path)[0] / "claim").exists()
    second = labeler(log="second.log")
    result = finish(run, tmp_path).check()
    assert result.thermo()["f_t[1]"][-1] == 3 and result.thermo()["f_t[11]"][-1] == 0
    second.terminate()
    assert second.wait(300) == 143 and "3 labels, 0 failed" in (tmp_path / "second.log").read_text()


def test_two_runs_share_a_spool(labeler, start_lammps, tmp_path):
    """With the same steps, of other atoms; several labelers."""
    write_input(tmp_path)
    for k in range(2):
        labeler(f"calculators.Slow:{OPTIONS},seconds=0.1", log=f"label{k}.log")
    runs = [start_lammps(learn(fix=f"warmup 100 dataset labels{seed} every 5", atoms=ATOMS.replace("87287", seed)), log=seed)
            for seed in ("87287", "4711")]
    for process, seed in zip(runs, ("87287", "4711")):
        assert finish(process, tmp_path, seed).check().thermo()["f_t[1]"][-1] == 3
    # the first frame is the same, the others are not: velocities differ
    assert len(requests(tmp_path)) == 5 == len(computed(tmp_path))
    first, second = (system_of(tmp_path / f"labels{seed}") for seed in ("87287", "4711"))
    assert np.array_equal(first["force"][0], second["force"][0]) and not np.allclose(first["force"][1:], second["force"][1:])


@pytest.mark.parametrize("words, texts", [
    ("spool", ["Illegal fix dptrain reference spool FOLDER [timeout SECONDS] [failed skip|stop] [virial yes|no] end"]),
    ("spool spool every 5", ["unknown option of 'reference spool ... end' every: allowed are timeout failed virial end"]),
    ("spool spool timeout -1 end", ["timeout SECONDS, 0 for no limit"]),
    ("spool spool failed maybe end", ["skip|stop"]), ("spool spool virial maybe end", ["yes|no"]),
    ("spool input.json end", ["input.json"]), ("spool other end", ["is no spool, but not empty either (it has 'file')"]),
    ("spool newer end", ["has format version 7, this program knows 1"])])
def test_wrong_input(words, texts, message, tmp_path):
    write_input(tmp_path)
    for name, file, text in (("other", "file", ""), ("newer", "spool.json", '{"format": "dptrain spool", "version": 7}')):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text(text)
    result = message(f"{ATOMS}{LJ}\nfix t all dptrain model input.json Si reference {words}\nrun 0\n", 2)
    assert result.status != 0
    errors = [line for line in result.errors() if "MPI_ABORT" not in line.upper()]
    assert len(errors) == 1 and all(text in errors[0] for text in texts), result.output[-2000:]


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_folder_that_is_gone(ranks, start_lammps, tmp_path):
    """An error of all ranks at the next request; the frames so far are there."""
    write_input(tmp_path)
    text = learn(fix="warmup 100 save 1 model.dp every 5", run="run 0\nshell mv spool away\nrun 5")
    run = start_lammps(text, ranks)
    wait_for(lambda: requests(tmp_path), "request")
    subprocess.run([sys.executable, "-c", BY_HAND], cwd=requests(tmp_path)[0], check=True)
    result = finish(run, tmp_path)
    assert result.status != 0
    errors = [line for line in result.errors() if "MPI_ABORT" not in line.upper()]
    assert len(errors) == 1 and "check that the spool is there" in errors[0], result.output[-2000:]
    assert (tmp_path / "model.dp.frames").stat().st_size > 64 * 48


def test_example(tmp_path):
    """The example, shortened: from the scripts that users run."""
    pytest.importorskip("tblite.ase", reason="pip install tblite")
    example = Path(__file__).resolve().parents[2] / "examples" / "spool"
    for path in example.iterdir():
        if not path.name.startswith("log."):
            shutil.copy(path, tmp_path)
    script = (tmp_path / "run.sh").read_text().replace("../common", str(example.parent / "common"))
    (tmp_path / "run.sh").write_text(script)
    variables = lammps_variables(**console_variables())
    variables["PATH"] = f"{Path(sys.executable).parent}:{variables['PATH']}"
    words = ["bash", "run.sh", "2", "-var", "steps", "20", "-var", "train", "5", "-var", "warmup", "3"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=300, env=variables)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^learned: 5 frames, 25 optimizer steps", done.stdout, re.MULTILINE)
