"""`dptrain learn STRUCTURE`: what is chosen, the input that it writes, runs from a structure to a potential, and what is told of wrong
structures and references."""

import re
import signal
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from real_script import BINDINGS, ROOT, RealScript

pytest.importorskip("ase")
pytest.importorskip("matplotlib")
pytestmark = pytest.mark.usefixtures("compiled_module")

from ase.build import bulk, fcc111, molecule  # noqa: E402
from ase.io import read, write  # noqa: E402

from dptrain import learn  # noqa: E402
from dptrain.check_subject import read_structure  # noqa: E402

SW = ("pair_style sw", "pair_coeff * * Si.sw Si")
MODULE = """
from ase.calculators.emt import EMT
class NoStress(EMT):
    implemented_properties = ["energy", "energies", "free_energy", "forces"]
class CopperOnly(EMT):
    def calculate(self, atoms, *args):
        if set(atoms.symbols) != {"Cu"}:
            raise KeyError("no parameters for " + atoms.symbols[0])
        super().calculate(atoms, *args)
class NotFinite(EMT):
    def calculate(self, *args):
        super().calculate(*args)
        self.results["forces"] = self.results["forces"] * float("nan")
class DiesLater(EMT):
    calls = 0
    def calculate(self, *args):
        DiesLater.calls += 1
        if DiesLater.calls > 3:
            import os
            print("the calculator is no more", flush=True)
            os._exit(3)
        super().calculate(*args)
"""


@pytest.fixture(autouse=True)
def potentials_of_lammps(compiled_module, monkeypatch):
    """LAMMPS finds Si.sw."""
    from dptrain.start import defaults

    for name, value in defaults().items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def script(tmp_path):
    """`python -m dptrain`, with its compiled module, in a folder which has calculators of the tests."""
    (tmp_path / "learn_calculators.py").write_text(MODULE)
    site = tmp_path / "site" / "dptrain"
    site.mkdir(parents=True)
    for entry in (*(ROOT / "python" / "dptrain").iterdir(), *BINDINGS.glob("_dptrain*.so")):
        (site / entry.name).symlink_to(entry)
    made = RealScript(tmp_path)
    made.variables["PYTHONPATH"] = f"{site.parent}:{tmp_path}"
    return made


def plan_of(structure, path, *words, reference=SW):
    write(path, structure)
    return learn.make_plan(learn.parser().parse_args([str(path), "--reference", *reference, *words]))[0]


def test_what_is_chosen_for_a_crystal(tmp_path):
    plan = plan_of(bulk("Si"), tmp_path / "si.xyz", "--temperature", "300", "900", "--time", "2")
    assert plan.temperatures == (300, 900) and plan.timestep == 1.0 and plan.steps == 2000 and plan.explores
    from dptrain.learn_input import heights

    assert heights(plan.atoms.cell).min() > 10.0 and len(plan.atoms) < 300
    density = len(plan.atoms) / plan.atoms.get_volume()
    assert density == pytest.approx(2 / bulk("Si").get_volume())


def test_what_is_chosen_for_others(tmp_path):
    water = plan_of(molecule("H2O"), tmp_path / "h2o.xyz", reference=["emt"])
    assert water.timestep == 0.5 and len(water.atoms) == 3 and water.explores
    slab = plan_of(fcc111("Cu", (1, 1, 3), vacuum=8.0), tmp_path / "slab.xyz", reference=["emt"])
    assert len(slab.atoms) > 3 * 9 and not slab.explores  # repeated in the plane alone
    from dptrain.learn_input import input_of

    assert "boundary        p p m" in input_of(slab)
    hot = plan_of(bulk("Cu", cubic=True), tmp_path / "cu.xyz", "--pressure", "1000", "--size", "7", reference=["emt"])
    assert "npt temp 300 300 0.1 iso 1000 1000 1" in input_of(hot) and len(hot.atoms) == 32
    hexagonal = plan_of(bulk("Mg"), tmp_path / "mg.xyz", "--pressure", "0", reference=["emt"])
    assert " tri 0 0 1" in input_of(hexagonal)


def test_several_calculators_and_a_folder_of_requests(tmp_path):
    from dptrain.learn_input import input_of

    options = ["--jobs", "3"]
    plan = plan_of(bulk("Cu", cubic=True), tmp_path / "cu.xyz", *options, reference=["emt"])
    plan.words = learn.make_reference(learn.parser().parse_args(["cu.xyz", "--reference", "emt", *options]), ["Cu"]).words
    assert "asynchronous 3" in input_of(plan) and "address index unix:learn" in input_of(plan)
    spool = learn.make_reference(learn.parser().parse_args(["cu.xyz", "--reference", f"spool:{tmp_path}/box"]), ["Cu"])
    assert spool.words == f'reference spool "{tmp_path}/box" end' and not spool.can_label


def expect_done(status, out, err, folder):
    assert status == 0, out + err
    text = " ".join(out.split())
    assert re.search(r"was asked \d+ times, for \d+ labels", text) and "Next: dptrain check" in text
    assert {"in.learn", "model.dp", "model.dp.frames", "learn.png", "log.learn"} <= {path.name for path in folder.iterdir()}
    return text


def expect_calls(text, folder):
    """The calls that are told are all of the log, those to explore once."""
    runs = re.findall(r"(\d+) reference calls \([^)]*\)(?: and (\d+) to explore)?, (\d+) frames", (folder / "log.learn").read_text())
    (calls, explored, frames), = runs
    assert re.search(r"was asked (\d+) times, for (\d+) labels", text).groups() == (str(int(calls) + int(explored or 0)), frames)


def test_silicon_from_a_pair_style(script, tmp_path):
    """From the file to the picture; the input can be run again as it is."""
    write(tmp_path / "POSCAR", bulk("Si", cubic=True))
    status, out, err = script("learn", "POSCAR", "--reference", *SW, "--temperature", "600", "--time", "0.4", "--size", "5", "-o", "si")
    text = expect_done(status, out, err, tmp_path / "si")
    expect_calls(text, tmp_path / "si")
    error = float(re.search(r"force error is (\S+) %", text)[1])
    assert error < 10.0  # 0.3 with the default time
    labels = read(tmp_path / "si" / "test.labels.xyz", ":")
    assert len(labels) == learn.TEST_FRAMES and all("stress" in frame.calc.results for frame in labels)
    expected = np.sqrt(np.mean([np.mean(frame.get_forces()**2) for frame in labels]))
    assert f"of {expected:.3g} eV/A" in text
    status, _, err = script("learn", "POSCAR", "--reference", *SW, "-o", "si")
    assert status == 1 and "si has files: name a new folder" in err
    expect_labels_that_are_data(script, tmp_path, int(re.search(r"for (\d+) labels", text)[1]))


def expect_labels_that_are_data(script, folder, count):
    """FILE.frames is read as it is, and converted: to files that others read, and back."""
    for words in (["test", "-m", "si/model.dp", "-s", "si/model.dp.frames"], ["stat", "-s", "si/model.dp.frames", "-r", "5"],
                  ["convert", "si/model.dp.frames", "labels.xyz"], ["convert", "labels.xyz", "again.frames"],
                  ["convert", "again.frames", "systems"], ["convert", "si/model.dp.frames", "again.frames", "twice.xyz", "--every", "2"],
                  ["test", "-m", "si/model.dp", "-s", "systems"]):
        status, out, err = script(*words)
        assert status == 0, out + err
    labels, twice = read(folder / "labels.xyz", ":"), read(folder / "twice.xyz", ":")
    assert len(labels) == count and len(twice) == count
    from dptrain.check_reference import PairStyle, read_pair_style

    frame = labels[-1].copy()
    frame.calc = PairStyle(read_pair_style(list(SW), ["Si"]))
    assert labels[-1].get_potential_energy() == pytest.approx(frame.get_potential_energy(), abs=1e-6)
    np.testing.assert_allclose(labels[-1].get_forces(), frame.get_forces(), atol=1e-6)
    np.testing.assert_allclose(labels[-1].get_stress(), frame.get_stress(), atol=1e-8)
    status, _, err = script("convert", "labels.xyz", "again.frames")
    assert status == 1 and "is there already" in err


def test_copper_from_a_calculator_with_pressure(script, tmp_path):
    write(tmp_path / "cu.cif", bulk("Cu", cubic=True))
    status, out, err = script("learn", "cu.cif", "--reference", "emt", "--temperature", "300", "400", "--pressure", "0", "--time", "0.3", "--size",
                              "6", "-np", "2", "-o", "cu")
    text = expect_done(status, out, err, tmp_path / "cu")
    assert "on 2 ranks" in text
    left = subprocess.run(["pgrep", "-f", "dptrain.* client .* cu/learn.init.xyz"], capture_output=True, text=True).stdout.split()
    assert not [pid for pid in left if Path(f"/proc/{pid}/cwd").resolve() == tmp_path]  # no client is left


def test_ctrl_c_and_resume(script, tmp_path):
    write(tmp_path / "POSCAR", bulk("Si", cubic=True))
    words = ["learn", "POSCAR", "--reference", *SW, "--temperature", "600", "--time", "0.6", "--size", "5", "-o", "si"]
    process = script.start(*words)
    restart = [tmp_path / "si" / f"learn_restart_{name}" for name in "ab"]
    while not all(path.exists() for path in restart):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130 and "go on with the same command and --resume" in err, out + err
    before = (tmp_path / "si" / "in.learn").read_text()
    cut = max(restart, key=lambda path: path.stat().st_mtime)  # as where the signal comes while it is written
    cut.write_bytes(cut.read_bytes()[:1000])
    status, _, err = script(*[word if word != "600" else "700" for word in words], "--resume")
    assert status == 1 and "was begun with the temperature [600.0], and this is [700.0]" in err
    status, out, err = script(*words, "--resume")
    expect_done(status, out, err, tmp_path / "si")
    log = (tmp_path / "si" / "log.learn").read_text()
    assert "resumed " in log and "read_restart" in log and (tmp_path / "si" / "in.learn").read_text() == before
    steps = [int(step) for step in re.findall(r"^ +(\d+) +\d", log, re.MULTILINE)]
    assert steps[0] > 0 and steps[-1] == 600
    other = next(path for path in restart if path != cut)
    assert f"read_restart {other.name}" in log


@pytest.mark.parametrize("text, message", [
    (None, "there is no such file"),
    ("nonsense", "ASE cannot read it"),
    ("1\nLattice=\"0 0 0 0 0 0 0 0 0\" pbc=\"F F F\"\nSi 0 0 0\n", "there is one atom"),
    ("2\nLattice=\"9 0 0 0 9 0 0 0 9\"\nSi 0 0 0\nSi 0 0 8.7\n", "atoms 1 (Si) and 2 (Si) are 0.30 Angstrom apart"),
    ("2\nLattice=\"9 0 0 0 9 0 0 0 9\"\nSi 0 0 0\nX 0 0 2.3\n", "atom 2 is no element"),
])
def test_structures_that_cannot_be_learned(text, message, tmp_path, capsys):
    path = tmp_path / "structure.xyz"
    if text is not None:
        path.write_text(text)
    assert learn.main([str(path), "--reference", *SW, "-o", str(tmp_path / "out")]) == 1
    error = capsys.readouterr().err
    assert message in error and error.count("error") == 1 and not (tmp_path / "out").exists()


def test_sites_that_are_occupied_in_part(tmp_path, capsys):
    path = tmp_path / "alloy.cif"
    path.write_text("data_a\n_cell_length_a 3.6\n_cell_length_b 3.6\n_cell_length_c 3.6\n_cell_angle_alpha 90\n_cell_angle_beta 90\n"
                    "_cell_angle_gamma 90\n_symmetry_space_group_name_H-M 'P 1'\nloop_\n_atom_site_label\n_atom_site_type_symbol\n"
                    "_atom_site_fract_x\n_atom_site_fract_y\n_atom_site_fract_z\n_atom_site_occupancy\n"
                    "Cu1 Cu 0 0 0 0.7\nAu1 Au 0 0 0 0.3\n")
    assert learn.main([str(path), "--reference", "emt", "-o", str(tmp_path / "out")]) == 1
    assert "occupied in part (0.7 Cu, 0.3 Au): write an ordered structure" in capsys.readouterr().err


@pytest.mark.parametrize("percent, missed", [(5.5, False), (8.0, True)])
def test_accuracy_that_was_missed_is_told(percent, missed, tmp_path):
    plan = plan_of(bulk("Si"), tmp_path / "si.xyz")
    (tmp_path / learn.LOG).write_text("  accuracy: wanted 0.0142 (5 % of the forces), reached 0.0126 (4.4 % of the forces) on 10 held-out configurations\n")
    learning = SimpleNamespace(folder=tmp_path, plan=plan, options=SimpleNamespace(np=1, structure="si.xyz"), start=time.monotonic())
    told = " ".join(learn.sentences(learning, (percent / 100, 1.0, 1e-3)))
    assert f"its force error is {percent:.2g} %" in told and "where 5 % was wanted" in told
    assert ("This is more than was wanted" in told) == missed


def test_a_cif_that_was_cut(tmp_path, capsys):
    path = tmp_path / "salt.cif"
    write(path, bulk("NaCl", "rocksalt", 5.64, cubic=True))
    lines = path.read_text().splitlines()
    read_structure(path, None)
    path.write_text("\n".join(line for line in lines if not line.strip().startswith("Cl")) + "\n")
    assert learn.main([str(path), "--reference", "emt", "-o", str(tmp_path / "out")]) == 1
    error = capsys.readouterr().err
    assert "it states the formula Na4Cl4, and its atoms are Na4: see whether it was cut" in error


@pytest.mark.parametrize("words, message", [
    (["--reference", "nosuch"], "there is no calculator 'nosuch'"),
    (["--reference", "learn_calculators.CopperOnly"], "KeyError: 'no parameters for Al'"),
    (["--reference", "learn_calculators.NotFinite"], "not finite"),
    (["--reference", "learn_calculators.NoStress", "--pressure", "0"], "has no stress: leave --pressure out"),
    (["--reference", "emt", "--temperature", "300", "400", "500"], "give one, or that of the start and that of the end"),
    (["--reference", "emt", "lj"], "give one calculator, or commands of LAMMPS"),
    (["--reference", "emt", "--python", "nosuch"], "--python"),
    (["--reference", "units real", "pair_style sw", "pair_coeff * * Si.sw Al"], "units real are not possible here"),
    (["--reference", "spool:"], "names no folder"),
    (["--reference", "emt", "--resume"], "has no in.learn"),
    (["--reference", "emt", "--accuracy", "5"], "give 5%"),
    (["--reference", "sevnn:7net-0"], "there is no calculator 'sevnn': use sevenn, if that is what you mean"),
])
def test_references_and_options_that_are_wrong(words, message, script, tmp_path):
    write(tmp_path / "al.xyz", bulk("Al", cubic=True))
    status, _, err = script("learn", "al.xyz", *words, "-o", "out")
    assert status == 1 and message in err and "Traceback" not in err
    assert not (tmp_path / "out").exists()  # the corrected command can use it


def test_a_calculator_that_dies(script, tmp_path):
    write(tmp_path / "cu.xyz", bulk("Cu", cubic=True))
    status, _, err = script("learn", "cu.xyz", "--reference", "learn_calculators.DiesLater", "--size", "6", "-o", "out")
    assert status == 1 and "the reference has ended: the calculator is no more" in err and "client1.log" in err


def test_no_stress_without_pressure(script, tmp_path):
    """Labels have energies and forces, and that is enough in a fixed box."""
    write(tmp_path / "cu.xyz", bulk("Cu", cubic=True))
    status, out, err = script("learn", "cu.xyz", "--reference", "learn_calculators.NoStress", "--size", "6", "--time", "0.2", "-o", "out")
    expect_done(status, out, err, tmp_path / "out")
    assert "virial no" in (tmp_path / "out" / "in.learn").read_text()
