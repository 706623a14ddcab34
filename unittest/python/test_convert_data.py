"""`dptrain convert` with data sets: formats and names of labels, units and signs, what is left out, what is written, what is refused.

Truths: a potential of ASE whose numbers are put into files as other programs write them; the work of its forces."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from labeled_frames import BOHR, HARTREE, KILOBAR, ase_io, command, crystal, labeled, run, same, without_stress  # noqa: F401
from real_script import RealScript

from ase import Atoms
from ase.build import bulk, molecule
from ase.calculators.singlepoint import SinglePointCalculator
from ase.constraints import FixAtoms


# ---------------------------------------------------------------- data sets

@pytest.mark.parametrize("name", ["data.db", "data.json", "data.traj"])
def test_databases_and_trajectories_of_ase(run, name):
    """All frames, forces of fixed atoms too, free_energy before energy."""
    frames = crystal(5)
    for atoms in frames:
        atoms.set_constraint(FixAtoms([0, 1]))
        results = dict(atoms.calc.results)
        atoms.calc = SinglePointCalculator(atoms, **{**results, "energy": results["energy"] + 0.4, "free_energy": results["energy"]})
    ase_io.write(name, frames)
    for atoms in frames:
        atoms.calc.results["energy"] = atoms.calc.results["free_energy"]
    status, said, found = run(name, "out.xyz")
    assert status == 0, said
    same(found, frames)
    assert np.abs(found[0].get_forces(apply_constraint=False)[0]).max() > 1e-3


def n2p2(frames, length=1 / BOHR, energy=1 / HARTREE):
    text = ""
    for atoms in frames:
        text += "begin\ncomment a frame\n"
        if atoms.pbc.all():
            text += "".join("lattice " + " ".join(repr(float(x * length)) for x in row) + "\n" for row in atoms.cell.array)
        for name, position, force in zip(atoms.symbols, atoms.positions * length, atoms.calc.results["forces"] * energy / length):
            text += f"atom {' '.join(map(repr, map(float, position)))} {name} 0.0 0.0 {' '.join(map(repr, map(float, force)))}\n"
        text += f"energy {float(atoms.get_potential_energy() * energy)!r}\ncharge 0.0\nend\n"
    return text


def test_n2p2_and_its_units(run):
    """Hartree and Bohr unless --units metal; distances tell a wrong choice, which no work of forces can."""
    frames = without_stress([*crystal(6), labeled(molecule("H2O"), 0.9)])
    Path("input.data").write_text(n2p2(frames))
    status, said, found = run("input.data", "out.xyz")
    assert status == 0 and "read as Hartree and Bohr" in said and "covalent radii" not in said
    same(found, frames)
    status, said, _ = run("input.data", "wrong.xyz", "--units", "metal")
    assert "lengths may be in Bohr" in said
    Path("metal.data").write_text(n2p2(frames, 1.0, 1.0))
    status, said, found = run("metal.data", "metal.xyz", "--units", "metal")
    same(found, frames)
    assert "read as Hartree" not in said and "covalent radii" not in said
    assert "were taken for Bohr" in run("metal.data", "wrong2.xyz")[1]
    Path("cut.data").write_text(n2p2(frames)[:-200])
    status, said, found = run("cut.data", "cut.xyz")
    assert status == 0 and len(found) == 6 and "cut off behind frame 6" in said


def mlip(frames, elements, direct=False):
    text = ""
    for atoms in frames:
        positions = atoms.get_scaled_positions(wrap=False) if direct else atoms.positions
        kind = "direct" if direct else "cartes"
        text += f"BEGIN_CFG\n Size\n    {len(atoms)}\n Supercell\n" + "".join("  " + " ".join(f"{x:.12f}" for x in row) + "\n" for row in atoms.cell.array)
        text += f" AtomData:  id type       {kind}_x      {kind}_y      {kind}_z           fx          fy          fz\n"
        for k, (name, position, force) in enumerate(zip(atoms.symbols, positions, atoms.calc.results["forces"])):
            text += f"  {k + 1} {elements.index(name)} " + " ".join(f"{x:.12f}" for x in [*position, *force]) + "\n"
        virial = -atoms.get_stress() * atoms.get_volume()
        text += f" Energy\n   {atoms.get_potential_energy():.12f}\n PlusStress:  xx          yy          zz          yz          xz          xy\n"
        text += "   " + " ".join(f"{x:.12f}" for x in virial) + "\n Feature   EFS_by       VASP\nEND_CFG\n\n"
    return text


def test_what_a_slope_tells():
    from dptrain.label_work import Finding

    assert Finding("virial", 0.9, 10, 0.05).verdict() == ""
    assert Finding("virial", -1.2, 100, 0.41).verdict() == " (expected: 1; its standard error is 0.41, too large to tell a fault): look at units and signs"
    assert Finding("forces", -1.0, 10, 0.01, "the forces have the opposite sign").verdict() == " (expected: 1): the forces have the opposite sign"


@pytest.mark.parametrize("direct", [False, True])
def test_mlip(run, direct):
    frames = crystal()
    Path("train.cfg").write_text(mlip(frames, ["Ni", "Cu"], direct))
    status, said, found = run("train.cfg", "out.xyz", "--elements", "Ni", "Cu")
    assert status == 0, said
    same(found, frames)
    assert "work of the virial: slope" in said and "expected" not in said
    status, said, _ = run("train.cfg", "no.xyz")
    assert status == 1 and "--elements Si O" in said
    status, said, _ = run("train.cfg", "no.xyz", "--elements", "Cu")
    assert status == 1 and "give an element for each type" in said


def test_pacemaker(run):
    pandas = pytest.importorskip("pandas", reason="the tables are those of pandas")
    frames = without_stress(crystal(4))
    bare = [Atoms(atoms.symbols, atoms.positions, cell=atoms.cell, pbc=True) for atoms in frames]
    table = pandas.DataFrame({"ase_atoms": bare, "energy": [1.0] * 4, "energy_corrected": [atoms.get_potential_energy() for atoms in frames],
                              "forces": [atoms.calc.results["forces"] for atoms in frames]})
    table.to_pickle("df.pckl.gzip", compression="gzip", protocol=4)
    status, said, found = run("df.pckl.gzip", "out.xyz")
    assert status == 0 and "the column energy_corrected" in said, said
    same(found, frames)
    assert run("df.pckl.gzip", "other.xyz", "--energy-key", "energy", "--forces-factor", "1")[2][0].get_potential_energy() == 1.0
    status, said, _ = run("df.pckl.gzip", "no.xyz", "--forces-key", "f")
    assert status == 1 and "no column f, but ase_atoms, energy" in said


def test_folder_and_back(run):
    """A system for each composition, with the names that runs of this package use; atoms in another order go into the first one."""
    pytest.importorskip("dpdata", reason="it reads the folder")
    frames = [*crystal(3), labeled(molecule("H2O"), 0.9), *crystal(6)[4:]]
    turned = frames[-1][[3, 1, 0, 2]]
    turned.calc = SinglePointCalculator(turned, **{**frames[-1].calc.results, "forces": frames[-1].calc.results["forces"][[3, 1, 0, 2]]})
    ase_io.write("in.xyz", [*frames[:-1], turned])
    status, said, _ = run("in.xyz", "set")
    assert status == 0, said
    assert sorted(path.name for path in Path("set").iterdir()) == ["Cu3Ni1", "H2O1_nopbc_novirial"]
    crystals = Path("set/Cu3Ni1")
    assert (crystals / "type_map.raw").read_text().split() == ["Cu", "H", "Ni", "O"]
    assert (crystals / "type.raw").read_text().split() == ["0", "2", "0", "0"] and (Path("set/H2O1_nopbc_novirial") / "nopbc").exists()
    assert np.load(crystals / "set.000/coord.npy").shape == (5, 12) and np.load(crystals / "set.000/energy.npy").shape == (5, 1)
    status, said, found = run("set", "out.xyz")
    assert status == 0, said
    expected = [*frames[:3], *frames[4:-1]]
    read = [atoms for atoms in found if len(atoms) == 4]
    same(read[:4], expected, 1e-7, 1e-7)
    assert sorted(np.round(read[4].get_forces()[[0, 2, 3], 0], 6)) == sorted(np.round(frames[-1].calc.results["forces"][[0, 2, 3], 0], 6))
    order = run("in.xyz", "ordered", "--elements", "O", "Ni", "Cu", "H")
    assert order[0] == 0 and (Path("ordered/Ni1Cu3/type.raw")).read_text().split() == ["2", "1", "2", "2"]


def test_dpdata_by_name(run):
    pytest.importorskip("dpdata")
    frames = without_stress(crystal(3))
    Path("some.data").write_text(n2p2(frames))
    found = run("some.data", "out.xyz", "--format", "dpdata:n2p2")[2]
    same(found, frames, 1e-5, 1e-5)
    status, said, _ = run("some.data", "no.xyz", "--format", "dpdata:nosuch")
    assert status == 1 and "Check the name of the format" in said


# ---------------------------------------------------------------- extended XYZ and its names

def spelled(atoms, energy="energy", forces="forces", virial="virial"):
    """A frame with these names."""
    text = f'{len(atoms)}\nLattice="{" ".join(map(repr, map(float, atoms.cell.array.ravel())))}" Properties=species:S:1:pos:R:3:{forces}:R:3 '
    matrix = atoms.get_stress(voigt=False) * (1.0 if "stress" in virial.lower() else -atoms.get_volume())
    text += f'{energy}={float(atoms.get_potential_energy())!r} {virial}="{" ".join(map(repr, map(float, matrix.ravel())))}" pbc="T T T"\n'
    for name, position, force in zip(atoms.symbols, atoms.positions, atoms.calc.results["forces"]):
        text += f"{name} " + " ".join(map(repr, map(float, [*position, *force]))) + "\n"
    return text


@pytest.mark.parametrize("names", [
    ("energy", "forces", "virial"), ("Energy", "force", "Virial"), ("REF_energy", "REF_forces", "REF_virial"), ("dft_energy", "dft_force", "dft_stress"),
    ("free_energy", "forces", "stress"), ("energy", "forces", "virials"), ("ENERGY", "FORCES", "STRESS"), ("ref_energy", "ref_forces", "ref_stress")])
def test_spellings(run, names, tmp_path):
    frames = crystal(6)
    Path("in.xyz").write_text("".join(spelled(atoms, *names) for atoms in frames))
    status, said, found = run("in.xyz", "out.xyz")
    assert status == 0, said
    same(found, frames)


@pytest.mark.parametrize("names, options", [
    (("E_tot", "my_forces", "w"), ["--energy-key", "E_tot", "--forces-key", "my_forces", "--virial-key", "w"]),
    (("mace_energy", "mace_forces", "mace_stress"), ["--energy-key", "mace_energy", "--forces-key", "mace_forces", "--stress-key", "mace_stress"])])
def test_other_names_are_told_and_can_be_given(run, names, options):
    frames = crystal(6)
    Path("in.xyz").write_text("".join(spelled(atoms, *names) for atoms in frames))
    status, said, _ = run("in.xyz", "no.xyz")
    assert status == 1 and f"there is '{names[1]}', which is read with --forces-key {names[1]}" in said
    status, said, found = run("in.xyz", "out.xyz", *options)
    assert status == 0, said
    same(found, frames)


def test_names_that_say_nothing(run):
    Path("in.xyz").write_text(spelled(crystal(1)[0], "E", "F", "V"))
    status, said, _ = run("in.xyz", "no.xyz")
    assert status == 1 and "1 of 1 frames have no energy" in said and "there are E, V, F: --energy-key names the right one" in said


def test_the_library_reads_what_is_written(run, tmp_path):
    """And the names that people use, itself."""
    script = RealScript(tmp_path)
    frames = crystal(6)
    Path("in.xyz").write_text("".join(spelled(atoms, "Energy", "force", "virials") for atoms in frames))
    assert run("in.xyz", "out.xyz")[0] == 0 and run("in.xyz", "folder")[0] == 0
    bias = set()
    for name in ("in.xyz", "out.xyz", "folder"):
        status, out, err = script("stat", "-s", name, "-r", "4")
        assert status == 0 and "6 frames" in out, err
        bias.add(re.search(r"^Ni .*", out, re.MULTILINE)[0].split()[-1])
    assert len(bias) == 1


def test_all_digits_are_kept(run):
    frames = crystal(2)
    Path("in.xyz").write_text("".join(spelled(atoms) for atoms in frames))
    found = run("in.xyz", "out.xyz")[2]
    for atoms, other in zip(found, frames):
        assert (atoms.positions == other.positions).all() and (atoms.get_forces() == other.calc.results["forces"]).all()
        assert atoms.get_potential_energy() == other.get_potential_energy()


# ---------------------------------------------------------------- units and signs by the work

def changed(frames, energy=1.0, forces=1.0, virial=1.0):
    for atoms in frames:
        results = atoms.calc.results
        atoms.calc = SinglePointCalculator(atoms, energy=results["energy"] * energy, forces=results["forces"] * forces, stress=results["stress"] * virial)
    return frames


GIGAPASCAL = 6.241509074e-3


@pytest.mark.parametrize("wrong, fault, remedy", [
    ({"virial": -1.0}, "the virials have the opposite sign", "--virial-factor"),
    ({"virial": 1 / GIGAPASCAL}, "the stress is in GPa", "--virial-factor"),
    ({"virial": -1 / KILOBAR}, "the stress is in kbar with the opposite sign", "--virial-factor"),
    ({"forces": BOHR / HARTREE}, "the forces are in Hartree/Bohr", "--forces-factor"),
    ({"forces": -1.0}, "the forces have the opposite sign", "--forces-factor"),
    ({"forces": 23.0605}, "the forces are in kcal/mol/Angstrom", "--forces-factor"),
])
def test_wrong_units_and_signs_are_found_and_mended(run, wrong, fault, remedy):
    frames = crystal()
    ase_io.write("in.xyz", changed(crystal(), **wrong))
    status, said, _ = run("in.xyz", "out.xyz")
    assert status == 1 and fault in said and remedy in said and not Path("out.xyz").exists(), said
    option = re.search(rf"give .*?({remedy}=\S+?),", said)[1]
    status, said, found = run("in.xyz", "out.xyz", option)
    assert status == 0 and "expected" not in said, said
    same(found, frames, 1e-6, 1e-5, 1e-3)
    assert run("in.xyz", "kept.xyz", remedy.partition("=")[0] + "=1")[0] == 0  # the user's word


def test_energies_in_hartree(run):
    """Both slopes tell it."""
    ase_io.write("in.xyz", changed(crystal(strain=0.0), energy=1 / HARTREE))
    status, said, _ = run("in.xyz", "out.xyz")
    assert status == 1 and "the energies are in Hartree" in said and "--energy-factor=27.21139" in said
    assert run("in.xyz", "out.xyz", "--energy-factor", "27.21139")[0] == 0


def test_energy_of_a_volume_curve(run):
    """No force does work: the virial alone tells."""
    frames = []
    for scale in np.linspace(0.96, 1.03, 9):
        atoms = bulk("Cu", cubic=True)
        atoms.set_cell(atoms.cell * scale, scale_atoms=True)
        frames.append(labeled(atoms))
    ase_io.write("in.xyz", frames)
    status, said, _ = run("in.xyz", "out.xyz")
    assert status == 0 and re.search(r"work of the virial: slope (0\.9\d*|1|1\.0\d*) over", said), said
    ase_io.write("minus.xyz", changed(frames, virial=-1.0))
    status, said, _ = run("minus.xyz", "no.xyz")
    assert status == 1 and "the virials have the opposite sign" in said


def test_labels_that_have_nothing_to_do_with_each_other(run):
    frames = crystal()
    rng = np.random.default_rng(0)
    for atoms in frames:
        atoms.calc.results["energy"] = float(rng.normal())
    ase_io.write("in.xyz", frames)
    status, said, _ = run("in.xyz", "out.xyz")
    assert status == 0 and "energies do not change with the work" in said


def test_an_energy_beside_the_forces_of_vasp_in_ase(run):
    frames = crystal(3)
    for atoms in frames:
        atoms.calc.name = "vasp"
    ase_io.write("a.traj", frames)
    assert "extrapolated to no smearing" in run("a.traj", "out.xyz")[1]


# ---------------------------------------------------------------- what is left out, what is refused

def test_what_is_left_out_is_counted(run):
    frames = crystal(8)
    del frames[1].calc.results["forces"]
    del frames[2].calc.results["energy"]
    frames[3].calc.results["forces"][0, 0] = np.nan
    same_again = frames[5].copy()
    same_again.calc = SinglePointCalculator(same_again, **{**frames[5].calc.results, "energy": frames[5].calc.results["energy"] + 1.0})
    ase_io.write("in.traj", [*frames, same_again])
    status, said, found = run("in.traj", "out.xyz")
    assert status == 0 and len(found) == 6, said
    assert "1 of 9 frames have no forces: left out" in said and "1 of 9 frames have no energy: left out" in said
    assert "1 of 9 frames have numbers that are not finite: left out" in said
    assert "1 of 9 frames have the configuration of an earlier one, 1 of them with another energy: kept" in said
    status, said, found = run("in.traj", "all.xyz", "--partial")
    assert status == 0 and len(found) == 8 and "with energy (7 of them), forces (7 of them), virial" in said


def test_every(run):
    frames = crystal(10)
    ase_io.write("in.traj", frames)
    same(run("in.traj", "out.xyz", "--every", "3")[2], frames[::3])


def test_several_files(run):
    first, second = crystal(3), [labeled(molecule("CO2"), 0.8)]
    ase_io.write("a.traj", first)
    ase_io.write("b.traj", second)
    assert command.main(["a.traj", "b.traj", "out.xyz"]) == 0
    same(ase_io.read("out.xyz", ":"), [*first, *second])
    assert ase_io.read("out.xyz", 3).pbc.tolist() == [False] * 3


def test_slabs(run):
    """Periodic in two directions: extended XYZ has them, DeePMD-kit's folders do not."""
    atoms = crystal(1)[0]
    slab = atoms.copy()
    slab.pbc = (True, True, False)
    slab.calc = SinglePointCalculator(slab, energy=1.0, forces=np.zeros((4, 3)))
    ase_io.write("in.traj", slab)
    assert run("in.traj", "out.xyz")[2][0].pbc.tolist() == [True, True, False]
    status, said, _ = run("in.traj", "folder")
    assert status == 1 and "write extended XYZ" in said and not list(Path().glob(".folder*"))


def test_damaged_extended_xyz(run):
    frames = crystal(4)
    text = "".join(spelled(atoms) for atoms in frames)
    Path("cut.xyz").write_text(text[:-100])
    status, said, found = run("cut.xyz", "out.xyz")
    assert status == 0 and len(found) == 3 and "cut off behind frame 3" in said
    Path("bad.xyz").write_text("x" + text)
    status, said, _ = run("bad.xyz", "no.xyz")
    assert status == 1 and "line 1: expected the number of atoms" in said and "has no frames" in said


@pytest.mark.parametrize("words, message", [
    (["nothere", "out.xyz"], "there is no nothere: check the name"),
    (["in.xyz", "there.xyz"], "there.xyz exists, and nothing is overwritten"),
    (["in.xyz", "in.xyz"], "in.xyz exists"),
    (["in.xyz", "full"], "full exists"),
    (["in.xyz", "no/out.xyz"], "there is no folder no: make it"),
    (["in.xyz", "out.lmdb"], "the end of the name tells the format of a data set: give TO.xyz"),
    (["in.xyz", "out.xyz", "--format", "gaussian"], "there is no format gaussian: use one of outcar"),
    (["in.xyz", "out.xyz", "--elements", "Si"], "frame 1 has Cu Ni, which --elements does not name"),
    (["empty", "out.xyz"], "empty"),
    (["folder", "out.xyz"], "folder is a folder without type.raw"),
    (["in.xyz", "model.dp"], "in.xyz is not a model"),
    (["model.pth", "other.dp", "--every", "2"], "leave the options for data out"),
    (["a.pth", "b.pth", "c.dp"], "2 files are given for it: give one"),
])
def test_refusals(run, words, message):
    ase_io.write("in.xyz", crystal(2))
    for name in ("there.xyz", "empty", "model.pth", "a.pth", "b.pth"):
        Path(name).touch()
    for name in ("full/a", "folder"):
        Path(name).mkdir(parents=True)
    before = sorted(Path().rglob("*"))
    status, said, _ = run(*words)
    assert status == 1 and message in said and sorted(Path().rglob("*")) == before, said


@pytest.mark.parametrize("package, words", [("ase", ["in.traj", "out.xyz"]), ("dpdata", ["in.traj", "out.xyz", "--format", "dpdata:xyz"])])
def test_a_package_that_is_missing_is_named(run, monkeypatch, package, words):
    ase_io.write("in.traj", crystal(1))
    monkeypatch.setitem(sys.modules, package, None)
    status, said, _ = run(*words)
    assert status == 1 and f"pip install {package}" in said
