"""Charges that act at all distances (`terms` of the input, kind charges), as sums over k of the library or as a kspace style of LAMMPS."""

import json
import re
import subprocess
import sys
from pathlib import Path

import dptrain
import numpy as np
import pytest

from committee import deviations
from labels import NATIVE, NKTV2P, assert_same, native_values
from lammps_runner import console_variables, run_lammps
from salt import BLOCK, CHARGE, MESH, PRISM, SIGMA, atoms, make_models, pair, with_charge


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("salt")
    make_models(folder)
    return folder


of_both_kinds = pytest.mark.parametrize("file", ["salt.dp", "net.dp"])


@pytest.mark.parametrize("region", [BLOCK, PRISM])
@pytest.mark.parametrize("words, tolerance", [("kspace no", 1e-10), (MESH, 1e-10)])
@of_both_kinds
def test_ranks_have_the_same(folder, region, words, tolerance, file):
    """Sums in another order. The ids of the atoms are those of one rank."""
    run_lammps(folder, atoms(region) + "write_data salt.data\n").check()
    text = "units metal\natom_modify map yes\nread_data salt.data\n" + pair(file, words) + NATIVE
    one, *others = (native_values(run_lammps(folder, text, ranks)) for ranks in (1, 2, 4))
    for other in others:
        assert_same(other, one, tolerance)


@pytest.mark.parametrize("region", [BLOCK, PRISM])
def test_energy_is_that_of_kspace_of_lammps(folder, region):
    """Of its ewald with the splitting parameter of the width, which has the same waves and some more, up to its accuracy."""
    charged = run_lammps(folder, atoms(region) + pair() + NATIVE).check().thermo()["PotEng"][-1]
    plain = run_lammps(folder, atoms(region) + pair("zero.dp") + NATIVE).check().thermo()["PotEng"][-1]
    lammps = f"""set type 1 charge {CHARGE}
set type 2 charge {-CHARGE}
pair_style coul/long 7.0
pair_coeff * *
kspace_style ewald 1e-8
kspace_modify gewald {1 / (np.sqrt(2) * SIGMA):.15g}
thermo_style custom step elong
thermo_modify format float %.17g norm no
run 0
"""
    of_waves = run_lammps(folder, atoms(region, "charge") + lammps).check().thermo()["E_long"][-1]
    # what is left out beyond 4.5 / sigma is 1e-5 of the energy
    assert charged - plain == pytest.approx(of_waves, rel=1e-4)
    assert abs(of_waves) > 10.0


@pytest.mark.parametrize("region", [BLOCK, PRISM])
@pytest.mark.parametrize("words", ["kspace ewald 1e-6", MESH])
@of_both_kinds
def test_sums_and_kspace_agree(folder, region, words, file):
    """In all that LAMMPS has of atoms, too, but for the waves that the sums leave out: 1e-4 of the forces, 0.03 meV of the energy and 0.3 meV of the virial of an atom."""
    by_atom = "compute e all pe/atom\ncompute s all stress/atom NULL virial\ncompute c all centroid/stress/atom NULL virial\n" \
        "dump atoms all custom 1 atoms.dump id c_e c_s[*] c_c[*]\ndump_modify atoms sort id format float %.17g\n"
    found = []
    for way in ("kspace no", words):
        run = run_lammps(folder, atoms(region) + pair(file, way) + by_atom + NATIVE)
        found.append([*native_values(run), run.dump("atoms.dump")[:, 1:2], run.dump("atoms.dump")[:, 2:]])
    for mine, other in zip(*found):
        assert np.abs(np.asarray(mine) - other).max() < 1e-3 * np.abs(mine).max()


def test_a_charged_cell_is_the_same_in_both(folder):
    """Energies differ by much less than what a background has."""
    with_charge(folder / "salt.dp", folder / "total.dp", CHARGE, 4.0)
    sums, mesh = (native_values(run_lammps(folder, atoms(PRISM) + pair("total.dp", words) + NATIVE)) for words in ("kspace no", "kspace pppm 1e-7"))
    assert abs(sums[0] - mesh[0]) < 0.005
    assert_same(sums, mesh, 1e-3)


def test_a_mesh_follows_the_box(folder):
    """In runs after the first one, of other boxes and other numbers of atoms."""
    change = "replicate 1 2 1\nchange_box all triclinic\nchange_box all xy delta 1.0 remap units box\n"
    first = "thermo_style custom step pe pe pe pe pe pe pe vol\nrun 0\n"  # as many columns
    later = native_values(run_lammps(folder, atoms() + pair(words=MESH) + first + change + NATIVE))
    assert_same(later, native_values(run_lammps(folder, atoms() + change + pair(words=MESH) + NATIVE)), 1e-10)


@pytest.mark.parametrize("words", ["kspace no", "kspace ewald 1e-7", "kspace pppm 1e-7"])
@of_both_kinds
def test_forces_are_those_of_differences(folder, words, file):
    """Central differences with steps of 1e-4 Angstrom. Forces of a mesh are derivatives of its energy to its accuracy alone."""
    text = atoms(PRISM) + pair(file, words) + "fix numeric all numdiff 1 0.0001\n" \
        "dump d all custom 1 d.dump id fx fy fz f_numeric[*]\ndump_modify d sort id format float %.17g\nrun 0\n"
    force, numeric = np.split(run_lammps(folder, text).dump("d.dump")[:, 1:], 2, axis=1)
    assert np.abs(force - numeric).max() < (1e-5 if "pppm" in words else 1e-6) * np.abs(force).max()


@pytest.mark.parametrize("words", ["kspace no", "kspace ewald 1e-7", "kspace pppm 1e-7"])
@of_both_kinds
def test_pressure_is_that_of_differences(folder, words, file):
    """Of the energy in boxes that are longer and shorter by 1e-4 along z, whose mesh and waves are the same."""
    energies, pressure = [], 0.0
    for factor in (1.0, 1.0001, 0.9999):
        change = f"change_box all z scale {factor} remap units box\n"
        thermo = run_lammps(folder, atoms(PRISM) + change + pair(file, words) + NATIVE).check().thermo()
        energies.append(thermo["PotEng"][-1])
        if factor == 1.0:
            pressure = thermo["c_p[3]"][-1] * thermo["Volume"][-1] / NKTV2P
    assert -(energies[1] - energies[2]) / 2e-4 == pytest.approx(pressure, rel=1e-5)


@pytest.mark.parametrize("words", ["kspace no", "kspace pppm 1e-5"])
@of_both_kinds
def test_energy_is_conserved(folder, words, file):
    text = atoms() + pair(file, words) + "fix n all nve\nthermo 20\nthermo_style custom step etotal\nthermo_modify format float %.17g\nrun 200\n"
    energy = run_lammps(folder, text).check().thermo()["TotEng"]
    assert np.ptp(energy) < 2e-5 * 96  # eV, of 96 atoms


FORCES = "dump f all custom 1 f.dump id fx fy fz\ndump_modify f sort id format float %.17g\n"


@pytest.mark.parametrize("region, change, words", [
    ("block 0 4 0 3 0 3", "", "kspace no"), ("block 0 4 0 3 0 3", "change_box all z delta -50 50 units box\n", "kspace no"),
    ("block 0 2 0 2 0 2", "change_box all z delta -30 30 boundary p p f units box\n", "kspace ewald 1e-6")], ids=["bulk", "film", "slab"])
def test_the_mesh_is_as_accurate_as_it_says(folder, region, change, words):
    """Bulk, and with vacuum. Accuracy 1e-4 of the force between two charges at 1 Angstrom, 14.4 eV/Angstrom, is far above the differences,
    2e-4 eV/Angstrom, root mean square; the mesh that pppm chooses by itself for the slab has 8e-3."""
    text = atoms(region) + change + "{}" + FORCES + "run 0\n"
    mesh, sums = (run_lammps(folder, text.format(pair(words=way))).check().dump("f.dump")[:, 1:] for way in ("kspace pppm 1e-4", words))
    assert 0 < np.sqrt(np.mean((mesh - sums)**2)) < 6e-4


def test_a_mesh_grows_with_the_box(folder):
    """In a run whose box becomes twice as long: errors as those of a run that begins with it."""
    text = atoms() + "{}fix long all deform 1 z scale 2.0 remap x\nfix n all nve\n" + FORCES.replace("all custom 1", "all custom 20") + "run 20\n"
    output, forces = [], []
    for words in ("kspace pppm 1e-4", "kspace no"):
        run = run_lammps(folder, text.format(pair(words=words))).check()
        output.append(run.output)
        forces.append(run.dump("f.dump")[:, 1:])
    assert output[0].count("grid = ") > 1
    assert 0 < np.sqrt(np.mean((forces[0] - forces[1])**2)) < 6e-4


def test_charges_of_the_atoms_stay(folder):
    text = atoms(style="charge").replace("velocity", "set type 1 charge 0.25\nvelocity") + pair(words=MESH) + NATIVE \
        + "write_dump all custom q.dump id type q modify sort id\n"
    run = run_lammps(folder, text)
    assert_same(native_values(run), native_values(run_lammps(folder, atoms() + pair(words=MESH) + NATIVE)), 1e-12)
    types, charges = run.dump("q.dump")[:, 1:].T
    assert np.all(charges == np.where(types == 1, 0.25, 0.0))


def test_charges_of_the_model_are_shown(folder):
    """Neutral, whatever the numbers of atoms are."""
    text = atoms().replace("mass 1", "group one id 1\ndelete_atoms group one compress no\nmass 1") + pair() \
        + "compute q all dptrain/charge/atom\ndump d all custom 1 q.dump id type c_q\ndump_modify d sort id format float %.17g\nrun 0\n"
    for ranks in (1, 2):
        types, charges = run_lammps(folder, text, ranks).dump("q.dump")[:, 1:].T
        assert len(types) == 95 and charges.sum() == pytest.approx(0.0, abs=1e-12)
        np.testing.assert_allclose(charges, np.where(types == 1, CHARGE, -CHARGE) + CHARGE / 95, rtol=1e-12)


def test_charges_follow_the_surroundings(folder):
    """By sums and by a mesh, and neutral."""
    text = pair("net.dp", "{}") + "compute q all dptrain/charge/atom\ndump d all custom 1 q.dump id type c_q\ndump_modify d sort id format float %.17g\nrun 0\n"
    found = []
    for words in ("kspace no", MESH):
        types, charges = run_lammps(folder, atoms() + text.format(words)).dump("q.dump")[:, 1:].T
        assert charges.sum() == pytest.approx(0.0, abs=1e-10)
        assert all(np.std(charges[types == kind]) > 1e-3 for kind in (1, 2))
        found.append(charges)
    np.testing.assert_allclose(found[0], found[1], atol=1e-10)  # of the net alone
    assert dptrain.load(folder / "net.dp").info["terms"] == [f"charges Cl {-CHARGE} Na {CHARGE} and by surroundings, net 16, sigma {SIGMA} Angstrom"]


@pytest.mark.parametrize("ranks", [1, 2])
def test_members_of_a_committee_have_their_own(folder, ranks):
    """The deviation of the forces that each potential has alone."""
    with_charge(folder / "net.dp", folder / "less.dp", 0.8)
    run_lammps(folder, atoms() + "write_data salt.data\n").check()
    text = "units metal\natom_modify map yes\nread_data salt.data\n"
    forces = [native_values(run_lammps(folder, text + pair(name) + NATIVE))[1] for name in ("salt.dp", "net.dp", "less.dp")]
    _, expected = deviations(forces, np.zeros((3, 9)))
    committee = text + pair("salt.dp", "committee net.dp less.dp end") + "compute d all dptrain/uncertainty/atom committee\n"
    found = run_lammps(folder, committee + NATIVE.replace("fx fy fz", "c_d"), ranks).check().dump("native.dump")
    assert expected.max() > 0.01
    np.testing.assert_allclose(found[np.argsort(found[:, 1], kind="stable"), 2], expected, rtol=1e-9)


@of_both_kinds
@pytest.mark.parametrize("words", ["kspace no", "kspace pppm 1e-7"])
def test_units_may_be_other_ones(folder, file, words):
    """A mesh has the accuracy of 1e-7 of another force, that of two charges at one unit of length, which is smaller in the other units."""
    kcal = 23.060549
    energy, force, _ = native_values(run_lammps(folder, atoms() + pair(file, words) + NATIVE))
    text = atoms().replace("units metal", "units real").replace("timestep 0.0005", "timestep 0.5") + pair(file, words) + NATIVE
    in_kcal = native_values(run_lammps(folder, text))
    assert in_kcal[0] == pytest.approx(kcal * energy, rel=1e-6)
    np.testing.assert_allclose(in_kcal[1], kcal * force, atol=1e-6 * kcal * np.abs(force).max())


def test_dynamic_groups_read_charges(folder):
    """Before the forces of a step: those of the step before."""
    text = atoms() + pair("net.dp") + "compute q all dptrain/charge/atom\nvariable positive atom c_q>0\ngroup na dynamic all var positive every 1\n" \
        "variable n equal count(na)\nthermo_style custom step v_n\nthermo 1\nfix n all nve\nrun 3\n"
    assert np.all(run_lammps(folder, text).check().thermo()["v_n"][1:] == 48)


def slab(boundary, height):
    return atoms().replace("atom_modify map yes", f"atom_modify map yes\nboundary {boundary}") \
        + f"change_box all z final -2.0 {height - 2.0} units box\ngroup na type 1\ndisplace_atoms na move 0 0 0.3 units box\n"


@of_both_kinds
def test_a_slab_has_no_images(folder, file):
    """Of a box that is not periodic along z: what a periodic one with vacuum has, without the field of the images of its dipole P,
    2 pi P^2/V in units of Coulomb's constant (Yeh and Berkowitz, J. Chem. Phys. 111, 3155 (1999))."""
    words, coulomb = "kspace pppm 1e-6", 14.399645478
    dump = "compute q all dptrain/charge/atom\ndump d all custom 1 d.dump id c_q z fx fy fz\ndump_modify d sort id format float %.17g\n" + NATIVE
    energies, found = [], []
    for box in (("p p p", 75.0), ("p p f", 25.0)):
        run = run_lammps(folder, slab(*box) + pair(file, words) + dump)
        energies.append(run.check().thermo()["PotEng"][-1])
        found.append(run.dump("d.dump")[:, 1:].T)
    (q, z, _, _, force), (_, _, _, _, of_slab) = found
    dipole, volume = (q * z).sum(), (2 * 5.64) ** 2 * 75.0
    assert energies[1] - energies[0] == pytest.approx(2 * np.pi * coulomb * dipole**2 / volume, abs=1e-3)
    assert energies[1] - energies[0] > 1.0
    if file == "salt.dp":  # whose charges do not change with the positions
        np.testing.assert_allclose(of_slab - force, q * -4 * np.pi * coulomb * dipole / volume, atol=1e-3)
    text = slab("p p f", 25.0) + pair(file, "kspace ewald 1e-7") + "fix numeric all numdiff 1 0.0001\n" \
        "dump d all custom 1 d.dump id fx fy fz f_numeric[*]\ndump_modify d sort id format float %.17g\nrun 0\n"
    force, numeric = np.split(run_lammps(folder, text).dump("d.dump")[:, 1:], 2, axis=1)
    assert np.abs(force - numeric).max() < 1e-5 * np.abs(force).max()


@of_both_kinds
@pytest.mark.parametrize("axis", ["x", "z"])
def test_pressure_of_a_slab_is_that_of_differences(folder, file, axis):
    energies, pressure = [], 0.0
    for factor in (1.0, 1.0001, 0.9999):
        change = f"change_box all {axis} scale {factor} remap units box\n"
        thermo = run_lammps(folder, slab("p p f", 25.0) + change + pair(file, "kspace ewald 1e-7") + NATIVE).check().thermo()
        energies.append(thermo["PotEng"][-1])
        if factor == 1.0:
            pressure = thermo[f"c_p[{'xyz'.index(axis) + 1}]"][-1] * thermo["Volume"][-1] / NKTV2P
    assert -(energies[1] - energies[2]) / 2e-4 == pytest.approx(pressure, rel=1e-5, abs=1e-4)


@of_both_kinds
def test_a_rank_may_be_empty(folder, file):
    """Here the upper half of the box, with energies and virials of atoms, which take sums of their own."""
    by_atom = "compute e all pe/atom\ncompute s all reduce sum c_e\ncompute v all stress/atom NULL virial\ncompute w all reduce sum c_v[1]\n"
    run_lammps(folder, slab("p p f", 60.0) + "write_data upper.data\n").check()
    text = "units metal\nprocessors 1 1 *\nboundary p p f\natom_modify map yes\nread_data upper.data\n" + pair(file, "kspace pppm 1e-6") + by_atom \
        + "thermo_style custom step pe c_s c_w\nthermo_modify format float %.15g\nfix n all nve\n" \
        + "displace_atoms all move 0 0 20 units box\nrun 1\ndisplace_atoms all move 0 0 -20 units box\nrun 2\n"  # both have had atoms
    one, two = (run_lammps(folder, text, ranks).check().thermo() for ranks in (1, 2))
    for name in ("PotEng", "c_s", "c_w"):
        np.testing.assert_allclose(two[name], one[name], rtol=1e-9)


def test_born_charges_are_derivatives_of_the_dipole(folder):
    """Of a cluster in a long cell, and the same in a small cell of a crystal and in its multiples."""
    cluster = np.random.default_rng(3).uniform(0, 4, (6, 3)) + 2.0 * np.eye(6)[:, :3] + [[0, 0, 3.0 * k] for k in (0, 0, 0, 1, 1, 1)]
    types, cell, step = ["Na", "Cl"] * 3, np.diag([13.0, 13.0, 300.0]), 1e-3
    born = dptrain.load(folder / "salt.dp").born_charges(cluster, types, cell, epsilon=4.0)
    np.testing.assert_allclose(born, 2 * CHARGE * np.array([1, -1] * 3)[:, None, None] * np.eye(3), atol=1e-12)
    potential = dptrain.load(folder / "net.dp")
    born = potential.born_charges(cluster, types, cell)
    expected = np.zeros((6, 3))
    for i, b in np.ndindex(6, 3):
        moved = np.zeros((6, 3))
        moved[i, b] = step
        dipoles = [potential.evaluate(cluster + sign * moved, types, cell).charges @ (cluster + sign * moved)[:, 2] for sign in (1, -1)]
        expected[i, b] = (dipoles[0] - dipoles[1]) / (2 * step)
    np.testing.assert_allclose(born[:, 2], expected, atol=0.01 * np.abs(expected).max())
    assert np.abs(expected - potential.evaluate(cluster, types, cell).charges[:, None] * [0, 0, 1]).max() > 0.05
    sites = 2.82 * np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]])
    sites = sites + np.random.default_rng(5).normal(0, 0.1, sites.shape)
    kinds, edge = ["Na"] * 4 + ["Cl"] * 4, 5.64
    born = potential.born_charges(sites, kinds, np.eye(3) * edge)
    multiple = [sites + edge * np.array(shift) for shift in np.ndindex(1, 2, 3)]
    more = potential.born_charges(np.concatenate(multiple), kinds * 6, np.diag([1.0, 2.0, 3.0]) * edge)
    np.testing.assert_allclose(more, np.concatenate([born] * 6), atol=2e-3)  # of the changes that all atoms share, 0.1 of the whole
    assert np.abs(born - potential.evaluate(sites, kinds, np.eye(3) * edge).charges[:, None, None] * np.eye(3)).max() > 0.05
    with pytest.raises(dptrain.Error, match="epsilon -1 and step 0.01 are not possible"):
        potential.born_charges(cluster, types, cell, epsilon=-1)
    with pytest.raises(dptrain.Error, match="has no charges: its input needs a term of type charges"):
        dptrain.load(Path(__file__).parents[2] / "potentials" / "Si.mlearn.dp").born_charges([[0, 0, 0]], ["Si"], np.eye(3) * 5)


def test_python_has_the_same(folder):
    run = run_lammps(folder, atoms(PRISM) + pair() + NATIVE + "write_dump all custom x.dump id type x y z modify sort id format float %.17g\n").check()
    table = run.dump("x.dump")
    cell = 5.64 * np.array([[2, 0, 0], [0.3, 2, 0], [-0.2, 0.4, 3]])
    potential = dptrain.load(folder / "salt.dp")
    types = [("Na", "Cl")[int(kind) - 1] for kind in table[:, 1]]
    found = potential.evaluate(table[:, 2:], types, cell)
    np.testing.assert_allclose(found.charges, np.where(table[:, 1] == 1, CHARGE, -CHARGE), rtol=1e-12)
    with pytest.raises(dptrain.Error, match="salt.dp has charges, which act through all cells: give a cell that is periodic"):
        potential.evaluate(table[:, 2:], types, cell, pbc=[True, True, False])
    assert found.energy == pytest.approx(run.thermo()["PotEng"][-1], rel=1e-10)
    assert potential.info["charges"] == {"Na": CHARGE, "Cl": -CHARGE}
    assert potential.info["terms"] == [f"charges Cl {-CHARGE} Na {CHARGE}, sigma {SIGMA} Angstrom"]


def test_bad_input(folder):
    def refused(text, *parts):
        output = run_lammps(folder, text).output
        assert all(part in output for part in parts), output

    refused(atoms() + pair(words="kspace msm 1e-4"), "kspace msm is not possible: give auto, no, ewald ACCURACY or pppm ACCURACY")
    refused(atoms() + pair(words="kspace pppm"), "Illegal pair_style dptrain kspace command: missing argument")
    refused(atoms() + pair(words="kspace pppm -1"), "kspace -1 is not possible: give a positive number")
    refused(atoms() + pair(words="kspace pppm 2"), "kspace pppm 2 is not possible: give an accuracy below 1, such as 1e-4")
    refused(atoms().replace("atom_modify map yes", "atom_modify map yes\nboundary p p f") + pair(words="kspace no") + "run 0\n",
            "the charges of salt.dp act through all periodic cells: use a box that is periodic in all directions")
    learn = 'fix t all dptrain reference pair lj/cut 6.0 coeff "* * 0.05 2.4" end mode passive every 5 warmup 1 train 5 save 1000 slab.dp\n'
    refused(atoms() + pair("input.json") + learn + "run 5\nchange_box all z delta -9 9 boundary p p f units box\nrun 5\n",
            "input.json has charges, which are learned in boxes that are periodic in all directions alone")
    refused(atoms().replace("atom_modify map yes", "atom_modify map yes\nboundary p p s") + pair() + "run 0\n", "act through all periodic cells")
    learn = 'fix t all dptrain reference pair lj/cut 6.0 coeff "* * 0.05 2.4" end mode passive save 1000 slab.dp\nrun 0\n'
    refused(slab("p p f", 25.0) + pair("input.json") + learn, "input.json has charges, which are learned in boxes that are periodic in all directions alone")
    refused(atoms() + pair() + "compute q all dptrain/charge/atom\nrun 0\ndelete_atoms overlap 3 all all\nwrite_dump all custom q.dump id c_q\n",
            "charges are those of the forces: ask for them after 'run 0'")
    refused(atoms() + pair() + "compute q all dptrain/charge/atom all\n", "Compute dptrain/charge/atom: found all, use no keyword")
    refused(atoms() + "pair_style lj/cut 6.0\npair_coeff * * 0.05 2.4\ncompute q all dptrain/charge/atom\nrun 0\n",
            "the pair style is lj/cut: use pair_style dptrain")
    cutout = 'fix t all dptrain reference pair lj/cut 6.0 coeff "* * 0.05 2.4" end mode active cutout 6.0 save 1000 cut.dp\nrun 0\n'
    refused(atoms() + pair("input.json") + cutout, "the energy of the charges of input.json is one of the whole box: remove cutout")
    searched = json.loads((folder / "input.json").read_text())
    searched["model"]["terms"] = [{"type": "charges"}]
    (folder / "search.json").write_text(json.dumps(searched))
    learn = 'fix t all dptrain reference pair lj/cut 6.0 coeff "* * 0.05 2.4" end mode passive every 1 save 1000 found.dp {}\nfix n all nve\nrun 4\n'
    for words, message in (("charges no", "charges no: search.json has charges that are searched (terms): remove one of the two"),
                           ("train 0", "train 0: charges of search.json are searched by training (terms)"),
                           ("warmup 3", "warmup 3: charges of kind search need four labels with forces"),
                           ("charges environment", "charges: the model of search.json has charges that are searched"),
                           ("charges yes", "charges yes is not possible: use auto, no, environment, or the charge of each element, such as Na 1 Cl -1")):
        refused(atoms() + pair("search.json") + learn.format(words), message)
    for words, message in (("charges Na 1 Cl", "charges Na 1 Cl is not possible: use auto, no, environment, or the charge of each element"),
                           ("charges Na 1 Na 1", "charges Na 1 Na 1 is not possible"),
                           ("charges Na 1e10 Cl -1e10", "charges: terms/0/values: expected an object of charges by element, 20 e at most"),
                           ("charges Na 1", "charges Na: the elements of the model are Na Cl: give each of them a charge"),
                           ("charges environment warmpu 4", "unknown keyword warmpu (did you mean warmup?)"),
                           ("charges Mg 2 Cl -1", "charges Cl Mg: the elements of the model are Na Cl")):
        refused(atoms() + pair("new") + learn.format(words), message)
    plain = json.loads((folder / "input.json").read_text())
    del plain["model"]["terms"]
    (folder / "plain.json").write_text(json.dumps(plain))
    learn = 'fix t all dptrain reference pair lj/cut 6.0 coeff "* * 0.05 2.4" end mode passive every 5 warmup 1 train 5 save 1000 plain.dp\n'
    run_lammps(folder, atoms() + pair("plain.json") + learn + "fix n all nve\nrun 5\n").check()
    refused(atoms() + pair("plain.dp") + "compute q all dptrain/charge/atom\nrun 0\n", "plain.dp has no charges: remove the compute")


def test_charges_are_given(folder):
    """With the fix, in the place of an input.json: the model file, and what a run that is resumed and a training say of them."""
    learn = 'fix t all dptrain reference pair lj/cut 6.0 coeff "* * 0.05 2.4" end mode passive every 1 warmup 2 train 1 charges {} save 1000 {} seed 3\nfix n all nve\nrun {}\n'
    run_lammps(folder, atoms() + pair("new") + learn.format("Na 0.8 Cl -0.8", "given.dp", 3)).check()
    assert dptrain.load(folder / "given.dp").info["charges"] == {"Na": 0.8, "Cl": -0.8}
    plain = json.loads((folder / "input.json").read_text())
    plain["model"].pop("terms")
    (folder / "no_terms.json").write_text(json.dumps(plain))  # which says nothing of charges
    output = run_lammps(folder, atoms() + pair("no_terms.json") + learn.format("Na 1 Cl -2", "odd.dp", 3)).check().output
    assert re.search(r"do not add up to the total charge: what is missing is divided among all atoms, which gives Na 1.5 Cl -1.5", output), output
    assert dptrain.load(folder / "odd.dp").info["charges"] == {"Na": 1, "Cl": -2}
    with pytest.raises(dptrain.Error, match="charge 1: .*Si.mlearn.dp has no charges: leave it out"):
        dptrain.load(Path(__file__).parents[2] / "potentials" / "Si.mlearn.dp").evaluate([[0, 0, 0]], ["Si"], [5, 5, 5], charge=1)
    text = atoms() + pair("new") + learn.format("Na 0.8 Cl -0.8", "given.dp resume given.dp", 4)
    assert "resumed from given.dp.ckpt" in run_lammps(folder, text).check().output
    output = run_lammps(folder, text.replace("Na 0.8 Cl -0.8", "Na 0.7 Cl -0.7")).output
    assert "given.dp.ckpt is a checkpoint of another model than new" in output, output
    run_lammps(folder, atoms() + pair("new") + learn.format("environment", "given.dp", 3)).check()
    info = dptrain.load(folder / "given.dp").info
    assert "charges" not in info and "by surroundings" in info["terms"][0]


def test_each_frame_has_its_total(folder):
    """In data, Python, dptrain test and LAMMPS: the energy of a frame of total charge Q is that of the model whose total is this number."""
    rng = np.random.default_rng(5)
    cell, types = np.diag([11.28, 11.28, 16.92]), ["Na", "Cl"] * 8
    positions = np.array([[2.82 * x, 2.82 * y, 2.82 * z] for x in range(2) for y in range(2) for z in range(4)]) + rng.normal(0, 0.1, (16, 3))
    energies, charges = {}, {}
    for total in (0.0, 2.0):
        with_charge(folder / "net.dp", folder / "one.dp", CHARGE, total)
        found = dptrain.load(folder / "one.dp").evaluate(positions, types, cell)
        energies[total], charges[total] = found.energy, found.charges
        assert found.charges.sum() == pytest.approx(total, abs=1e-12)
    assert abs(energies[2.0] - energies[0.0]) > 0.1
    with_charge(folder / "net.dp", folder / "data.dp", CHARGE, "data")
    potential = dptrain.load(folder / "data.dp")
    assert "total of each frame" in potential.info["terms"][0]
    for charge, total in ((None, 0.0), (0.0, 0.0), (2.0, 2.0)):
        assert potential.evaluate(positions, types, cell, charge=charge).energy == pytest.approx(energies[total], rel=1e-12)
    with pytest.raises(dptrain.Error, match="a frame has the total charge 2, and the charges of the model have 0"):
        dptrain.load(folder / "net.dp").evaluate(positions, types, cell, charge=2.0)
    ase = pytest.importorskip("ase")
    from dptrain.ase import Calculator

    of_ase = ase.Atoms(types, positions, cell=cell, pbc=True, calculator=Calculator(potential))
    for info, total in (({}, 0.0), ({"total_charge": 2}, 2.0), ({"charge": 0}, 0.0), ({"charge": 2.0}, 2.0), ({"charge": "high"}, 0.0)):
        of_ase.info = info
        assert of_ase.get_potential_energy() == pytest.approx(energies[total], rel=1e-12), info
    frames = ""
    for total, key in ((0.0, ""), (2.0, " total_charge=2"), (2.0, " charge=2.0")):
        frames += f'16\nLattice="{" ".join(map(str, cell.ravel()))}" Properties=species:S:1:pos:R:3 energy={energies[total]:.17g}{key}\n'
        frames += "".join(f"{name} {x:.17g} {y:.17g} {z:.17g}\n" for name, (x, y, z) in zip(types, positions))
    (folder / "frames.xyz").write_text(frames)
    for ranks in (1, 2):  # frames apart, and one frame on both
        done = subprocess.run([sys.executable, "-m", "dptrain", "test", "-m", "data.dp", "-s", "frames.xyz", "-d", "detail", "-np", str(ranks)], cwd=folder,
                              capture_output=True, text=True, timeout=300, env=console_variables())
        assert done.returncode == 0, done.stdout + done.stderr
        label, result = np.loadtxt(folder / "detail.e.out").T
        np.testing.assert_allclose(result, label, rtol=1e-12)
        np.testing.assert_allclose(np.loadtxt(folder / "detail.q.out"), np.concatenate([charges[0.0], charges[2.0], charges[2.0]]), atol=1e-10)
    done = subprocess.run([sys.executable, "-m", "dptrain", "test", "-m", "net.dp", "-s", "frames.xyz"], cwd=folder, capture_output=True, text=True,
                          timeout=300, env=console_variables())
    assert done.returncode != 0 and "frames.xyz: frame 1: a frame has the total charge 2" in done.stdout + done.stderr, done.stdout
    status, output = train(folder, {"model": {"type_map": ["Na", "Cl"], "descriptor": {"type": "power_spectrum", "rcut": 5.0},
                                              "terms": [{"type": "charges", "kind": "environment", "total": "data"}]},
                                    "training": {"training_data": {"systems": ["frames.xyz"]}, "numb_steps": 3}})
    assert status == 0, output
    status, output = train(folder, {"model": {"type_map": ["Na", "Cl"], "descriptor": {"type": "power_spectrum", "rcut": 5.0},
                                              "terms": [{"type": "charges", "kind": "environment"}]},
                                    "training": {"training_data": {"systems": ["frames.xyz"]}, "numb_steps": 3}}, "-np", 2)
    assert status != 0 and re.search(r"frames.xyz, frame [12]: a frame has the total charge 2", output), output
    (folder / "open.xyz").write_text(frames.replace("Properties", 'pbc="F F F" Properties', 1))
    for term, data, message in (({}, "open.xyz", "open.xyz, frame 0: charges need a cell that is periodic in all directions"),
                                ({"sigma": 3.0}, "frames.xyz", "sigma 3 Angstrom is more than half the cutoff, 5 Angstrom")):
        status, output = train(folder, {"model": {"type_map": ["Na", "Cl"], "descriptor": {"type": "power_spectrum", "rcut": 5.0},
                                                  "terms": [{"type": "charges", "kind": "environment", "total": "data", **term}]},
                                        "training": {"training_data": {"systems": [data]}, "numb_steps": 3}})
        assert status != 0 and message in output, output
    # the box of a run, which labels get as well
    def run(file, total):
        return run_lammps(folder, atoms() + pair(file, f"kspace no total {total}") + NATIVE)

    for words in ("2", "0"):
        with_charge(folder / "net.dp", folder / "one.dp", CHARGE, float(words))
        one, data = (native_values(run(name, words)) for name in ("one.dp", "data.dp"))
        assert_same(data, one, 1e-12)
    learn = 'fix t all dptrain reference pair lj/cut 6.0 coeff "* * 0.05 2.4" end mode passive every 1 warmup 1 train 1 save 1000 learned.dp {}\nfix n all nve\nrun 2\n'
    run_lammps(folder, atoms() + pair("new", "total 2") + learn.format("charges environment")).check()
    assert "total 2" in dptrain.load(folder / "learned.dp").info["terms"][0]
    for words in ([], ["--every", "2"]):  # by the library, and by Python
        assert "total_charge=2" in converted(folder, "learned.dp.frames", *words)
    for source, target in (("learned.dp.frames", "folder"), ("folder", "back.extxyz")):  # as a data set, and back
        done = subprocess.run([sys.executable, "-m", "dptrain", "convert", source, target], cwd=folder, capture_output=True, text=True, timeout=300,
                              env=console_variables())
        assert done.returncode == 0, done.stdout + done.stderr
    assert "total_charge=2" in (folder / "back.extxyz").read_text()
    assert "data.dp: charges whose total is that of each frame of the data are learned by dptrain train" \
        in run_lammps(folder, atoms() + pair("data.dp", "total 2") + learn.format("")).output
    assert "total 1: the charges of net.dp have the total 0: remove the keyword" in run("net.dp", "1").output
    assert "total 1: new has no charges: remove the keyword, or give a new model some" in \
        run_lammps(folder, atoms() + pair("new", "total 1") + learn.format("charges no")).output
    assert "total x is not possible: give a number" in run("net.dp", "x").output


def converted(folder, frames, *words):
    """The frames in extended XYZ."""
    (folder / "frames.extxyz").unlink(missing_ok=True)
    done = subprocess.run([sys.executable, "-m", "dptrain", "convert", frames, "frames.extxyz", *words], cwd=folder, capture_output=True, text=True, timeout=300,
                          env=console_variables())
    assert done.returncode == 0, done.stdout + done.stderr
    return (folder / "frames.extxyz").read_text()


@pytest.mark.parametrize("ranks", [1, 2])
def test_charges_are_found(lammps, tmp_path, ranks):
    """Of lithium fluoride, whose reference has charges of 1, from eight labels of its crystal; of the same without charges none."""
    crystal = """units metal
atom_style charge
atom_modify map yes
lattice custom 4.03 a1 1 0 0 a2 0 1 0 a3 0 0 1 basis 0 0 0 basis 0.5 0.5 0 basis 0.5 0 0.5 basis 0 0.5 0.5 &
    basis 0.5 0 0 basis 0 0.5 0 basis 0 0 0.5 basis 0.5 0.5 0.5
region box block 0 2 0 2 0 2
create_box 2 box
create_atoms 2 box basis 1 1 basis 2 1 basis 3 1 basis 4 1
mass 1 6.94
mass 2 18.998
set type 1 charge 1
set type 2 charge -1
velocity all create 600 3 loop geom
timestep 0.002
pair_style dptrain precision single
pair_coeff * * new Li F
"""
    born = 'coeff "1 1 0.4220 0.299 1.632 0.0456 0.0187" coeff "1 2 0.2901 0.299 1.995 0.4993 0.3745" coeff "2 2 0.1582 0.299 2.358 9.05 10.61"'
    learn = "fix t all dptrain reference pair born{0} {1} end mode passive every 20 train 100 save 10000 lif.dp\nfix n all nve\nrun 160\n"
    run = lammps(crystal + learn.format("/coul/long 8.0", born + ' kspace "pppm 1e-5"'), ranks).check()
    charges = re.search(r"charges F (\S+) Li (\S+): after", run.output)
    # the parabola of eight labels of a crystal is that of the reference to a tenth
    assert float(charges[2]) == pytest.approx(1.0, abs=0.15) and float(charges[1]) == -float(charges[2])
    # charges that were found are no other model
    text = crystal + learn.format("/coul/long 8.0", born + ' kspace "pppm 1e-5"').replace("save 10000 lif.dp", "save 10000 lif.dp resume lif.dp")
    assert "resumed from lif.dp.ckpt" in lammps(text.replace("run 160", "run 5"), ranks).check().output
    # the labels of the run as a data set, and multiples of charges that are given
    settings = {"model": {"type_map": ["Li", "F"], "descriptor": {"type": "power_spectrum", "rcut": 5.0},
                          "terms": [{"type": "charges", "values": {"Li": 0.8, "F": -1.6}}]},
                "training": {"training_data": {"systems": ["lif.dp.frames"]}, "numb_steps": 20}}
    status, output = train(tmp_path, settings, "-np", ranks)
    assert status == 0 and "of training the errors of forces" in output, output
    found = dptrain.load(tmp_path / "model.ckpt.dp").info["charges"]
    assert found["Li"] == pytest.approx(1.0, abs=0.15) and found["F"] == pytest.approx(-found["Li"])
    settings["training"]["numb_steps"] = 30
    status, output = train(tmp_path, settings, "--restart", "model.ckpt.dp", "-np", ranks)
    assert status == 0 and "goes on after step 20" in output and "of training" not in output, output
    assert dptrain.load(tmp_path / "model.ckpt.dp").info["charges"] == found
    settings["model"]["terms"][0]["sigma"] = 1.5
    status, output = train(tmp_path, settings, "--restart", "model.ckpt.dp", "-np", ranks)
    assert status != 0 and "holds another model than search.json asks for: terms is charges" in output, output
    without = lammps(crystal + learn.format(" 8.0", born), ranks).check()
    assert "no charges: after" in without.output


def train(folder, settings, *words):
    (folder / "search.json").write_text(json.dumps(settings))
    done = subprocess.run([sys.executable, "-m", "dptrain", "train", "search.json", *map(str, words)], cwd=folder, capture_output=True, text=True,
                          timeout=300, env=console_variables())
    return done.returncode, done.stdout + done.stderr
