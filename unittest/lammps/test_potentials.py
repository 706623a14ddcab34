"""The models in potentials/ keep what they say: errors on test frames, error bars, stable dynamics; and the script that makes
them works. Data sets that are not in the repository are looked for in the folder of DPTRAIN_SHARED."""

import functools
import importlib.util
import json
import os
import re
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

import numpy as np
import pytest
from lammps_runner import POTENTIALS, console_variables, run_lammps

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "potentials"
MODELS = sorted(path.stem for path in FOLDER.glob("*.dp"))
ERROR_TOLERANCE = 1.3  # of the errors that a file states: another machine, another precision of the arithmetic


def load_script():
    loader = SourceFileLoader("make_potentials", str(ROOT / "tools" / "make_potentials"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


script = load_script()
from dpbench.pair_scan import VOLUMES, scan, squeeze  # noqa: E402  of bench, which the script puts on the path
from dpbench.reference_data import write_extxyz  # noqa: E402  of bench, which the script puts on the path


def dptrain(folder, *words):
    done = subprocess.run([sys.executable, "-m", "dptrain", *map(str, words)], cwd=folder, capture_output=True, text=True, timeout=300,
                          env=console_variables())
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def info_of(path):
    """The section `info` in a model file, read without this package."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(path) as file:
        return json.loads(file.attrs["json"])["model_def_script"]["info"]


def test_there_are_five_small_models():
    assert set(MODELS) >= {"Si.mlearn", "Ge.mlearn", "H2O.pbe0ts", "NiAl.jea", "NaCl.tf"} and set(MODELS) == set(script.POTENTIALS)
    assert all((FOLDER / f"{name}.dp").stat().st_size < 500_000 for name in MODELS)


@pytest.mark.parametrize("name", MODELS)
def test_it_says_what_it_is(name):
    """Source, license, range, errors: in the file, by `dptrain show`, and in the table of the README."""
    info = info_of(FOLDER / f"{name}.dp")
    assert {"data", "license", "reference", "holds", "frames", "steps", "test_errors", "made_by", "date"} <= set(info)
    shown = dptrain(FOLDER, "show", f"{name}.dp")
    for text in (info["license"], info["holds"], info["reference"], str(info["test_errors"]["force_rmse_eV_per_Angstrom"])):
        assert text in shown
    row = next(line for line in (FOLDER / "README.md").read_text().splitlines() if line.startswith(f"| `{name}.dp`"))
    assert f"{info['test_errors']['force_rmse_eV_per_Angstrom']:.3f}" in row and info["holds"] in row


@pytest.mark.parametrize("name", MODELS)
def test_atoms_do_not_fall_into_each_other(name):
    """Two atoms have more energy at each distance below 0.9 of the smallest learned one, and what the file says at 0.5 Angstrom."""
    load = pytest.importorskip("dptrain").load
    stated = info_of(FOLDER / f"{name}.dp")["pairs"]
    found = scan(load(FOLDER / f"{name}.dp"))
    assert set(found) == set(stated)
    for pair, (begin, energy, rises) in found.items():
        assert rises and energy > 20, pair
        assert begin == pytest.approx(stated[pair]["smallest_learned_Angstrom"], abs=1e-3)
        assert energy == pytest.approx(stated[pair]["eV_at_0.5_Angstrom"], abs=0.1)  # as it is rounded there


@pytest.mark.parametrize("name", MODELS)
def test_a_cell_that_is_squeezed(name):
    """To a third of its volume: from six tenths on, where atoms come to their smallest learned distances, all energies are above those
    before."""
    dptrain = pytest.importorskip("dptrain")
    elements, x, cell = test_frames(name)[0][:3]
    potential = dptrain.load(FOLDER / f"{name}.dp")
    energies = squeeze(potential, elements, x, cell)
    squeezed = VOLUMES < 0.6
    assert energies[squeezed].min() > energies[~squeezed].max() and energies[-1] > 1.0, energies  # eV per atom


@functools.cache
def test_frames(name):
    """Test frames of a model; the test is skipped where they are not there."""
    try:
        return script.POTENTIALS[name][1]("test")
    except SystemExit as missing:
        pytest.skip(str(missing))


test_frames.__test__ = False

DYNAMICS = """
units metal
atom_modify map yes
box tilt large
read_data start.data
{masses}
pair_style dptrain
pair_coeff * * {name}.dp {elements}
compute error all dptrain/uncertainty/atom
compute worst all reduce max c_error
velocity all create 300.0 11
timestep 0.0005
fix nve all nve
thermo_style custom step temp pe etotal c_worst
thermo_modify format float %.10g
thermo 100
run 400
"""


@pytest.mark.parametrize("name", MODELS)
def test_it_keeps_its_word(name, tmp_path):
    """In LAMMPS: errors on the test frames, then constant-energy dynamics from one of them, found by name."""
    data = pytest.importorskip("ase.data")
    from ase import Atoms
    from ase.io import write

    frames, stated = test_frames(name), info_of(FOLDER / f"{name}.dp")["test_errors"]
    write_extxyz(tmp_path / "test.xyz", frames)
    output = dptrain(tmp_path, "test", "-m", FOLDER / f"{name}.dp", "-s", "test.xyz")
    force = float(re.findall(r"Force  RMSE        : (\S+)", output)[-1])
    assert 0.0 < force < ERROR_TOLERANCE * stated["force_rmse_eV_per_Angstrom"]

    elements = script.POTENTIALS[name][0]
    symbols, x, cell, label = max(frames, key=lambda frame: len(frame[0]))[:4]
    write(tmp_path / "start.data", Atoms(symbols, x, cell=cell, pbc=True), format="lammps-data", specorder=elements)
    masses = "\n".join(f"mass {k + 1} {data.atomic_masses[data.atomic_numbers[e]]}" for k, e in enumerate(elements))
    text = DYNAMICS.format(name=name, elements=" ".join(elements), masses=masses)
    folders = os.pathsep.join([str(POTENTIALS), str(FOLDER)])
    result = run_lammps(tmp_path, text, 2, LAMMPS_POTENTIALS=folders).check()
    assert "never compared with a reference" not in result.output
    thermo = result.thermo()
    assert abs(thermo["PotEng"][0] - label) / len(symbols) < 4e-3 * stated["energy_rmse_meV_per_atom"]
    assert np.ptp(thermo["TotEng"]) / len(symbols) < 1e-3  # eV/atom
    assert thermo["Temp"].max() < 2000 if name in script.OWN_TRAJECTORIES else thermo["Temp"].max() < 1500
    assert 0.0 < thermo["c_worst"].min() and thermo["c_worst"].max() < 20 * stated["force_rmse_eV_per_Angstrom"]


def test_the_installed_package_finds_them(tmp_path):
    if "LAMMPS_PLUGIN_PATH" in os.environ:
        pytest.skip("the plugin of a build folder has no models beside it")
    text = """
units metal
lattice diamond 5.46
region box block 0 2 0 2 0 2
create_box 1 box
create_atoms 1 box
mass 1 28.0855
pair_style dptrain
pair_coeff * * Si.mlearn.dp Si
run 0
"""
    result = run_lammps(tmp_path, text, 1, LAMMPS_POTENTIALS=str(POTENTIALS)).check()
    assert -5.6 < result.thermo()["TotEng"][0] / 64 < -5.2  # eV/atom: the energy of the crystal in the data


def test_script_makes_a_model(tmp_path, monkeypatch):
    """Training, error bars, errors and notes, with data that takes no time."""
    pytest.importorskip("ase")
    pytest.importorskip("h5py")
    from ase.build import bulk
    from ase.calculators.emt import EMT

    def frames(part):
        random = np.random.default_rng({"train": 1, "test": 2}[part])
        result = []
        for _ in range(30 if part == "train" else 5):
            atoms = bulk("Cu", cubic=True).repeat(2)
            atoms.positions += random.normal(0.0, 0.1, atoms.positions.shape)
            atoms.calc = EMT()
            result.append((atoms.get_chemical_symbols(), atoms.positions, atoms.cell.array, atoms.get_potential_energy(), atoms.get_forces()))
        return result

    monkeypatch.setitem(script.POTENTIALS, "Cu.emt", (["Cu"], frames, {"rcut": 5.0}, {"holds": "near the lattice", "reference": "EMT"}))
    script.make("Cu.emt", tmp_path, 200)
    path, test = tmp_path / "Cu.emt.dp", frames("test")
    info = info_of(path)
    assert info["frames"] == {"training": 27, "error_bars": 3, "test": 5} and info["reference"] == "EMT"
    assert info["steps"] == 200
    potential = script.errors(path, test)
    assert potential == info["test_errors"]
    rms = np.sqrt(np.mean([np.square(frame[4]).mean() for frame in test]))
    assert info["test_errors"]["force_rms_eV_per_Angstrom"] == pytest.approx(rms, abs=1e-4)
    assert info["test_errors"]["force_rmse_eV_per_Angstrom"] < 0.1 * rms
    assert 0.2 < info["test_errors"]["largest_error_over_largest_bar_rms"] < 2
    assert 70 < info["test_errors"]["force_errors_below_bars_percent"] <= 100  # of three frames
    (tmp_path / "README.md").write_text(f"before\n{script.TABLE_BEGIN}\nstale\n{script.TABLE_END}\nafter\n")
    script.write_table(tmp_path)
    text = (tmp_path / "README.md").read_text()
    assert "`Cu.emt.dp`" in text and "stale" not in text and text.startswith("before\n") and text.endswith("\nafter\n")
