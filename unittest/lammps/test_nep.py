"""Neuroevolution potentials of GPUMD: files of all kinds, beside what calorine computes with them (unittest/reference/nep)."""

import json
import shutil
from pathlib import Path

import dptrain
import numpy as np
import pytest

from labels import NATIVE, assert_same, native_values
from lammps_runner import run_lammps

FOLDER = Path(__file__).resolve().parents[1] / "reference" / "nep"
REFERENCE = json.loads((FOLDER / "reference.json").read_text())
# calorine has constants of 15 decimals: C_80 to 6e-12
RELATIVE = 1e-10


@pytest.mark.parametrize("kind", REFERENCE)
def test_it_is_what_calorine_computes(kind):
    frame = REFERENCE[kind]
    found = dptrain.load(FOLDER / f"{kind}.txt").evaluate(frame["positions"], frame["symbols"], frame["cell"])
    energies, forces, virial = (np.array(frame[name]) for name in ("energies", "forces", "virial"))
    np.testing.assert_allclose(found.energy, energies.sum(), rtol=RELATIVE)
    np.testing.assert_allclose(found.energies, energies, rtol=0, atol=RELATIVE * np.abs(energies).max())
    np.testing.assert_allclose(found.forces, forces, rtol=0, atol=RELATIVE * np.abs(forces).max())
    np.testing.assert_allclose(found.virial, virial, rtol=0, atol=RELATIVE * np.abs(virial).max())


def words_of(file):
    """Header lines, without the numbers of neighbors, and the numbers behind."""
    lines = [line.split() for line in file.read_text().split("\n") if line]
    first = next(k for k, line in enumerate(lines) if line[0] == "ANN") + 1
    header = [line[:-2] if line[0] == "cutoff" else line for line in lines[:first]]
    values = [[line[0], *map(float, line[1:])] if k > 0 else line for k, line in enumerate(header)]
    return values, [float(word) for line in lines[first:] for word in line]


@pytest.mark.parametrize("kind", REFERENCE)
def test_a_file_is_written_as_it_was(kind, tmp_path):
    """Digit by digit, but for NEP3 and NEP5, which become NEP4: this one with a neuron more, which is constant."""
    potential, frame = dptrain.load(FOLDER / f"{kind}.txt"), REFERENCE[kind]
    before = potential.evaluate(frame["positions"], frame["symbols"], frame["cell"])
    files = FOLDER / f"{kind}.txt", tmp_path / "a.nep.txt", tmp_path / "b.nep.txt", tmp_path / "c.dp"
    potential.save(files[1])
    dptrain.load(files[1]).save(files[2])
    potential.save(files[3])
    assert files[1].read_text() == files[2].read_text()
    for file in files[1:]:
        again = dptrain.load(file).evaluate(frame["positions"], frame["symbols"], frame["cell"])
        np.testing.assert_allclose(again.forces, before.forces, rtol=0, atol=1e-12 * np.abs(before.forces).max())
        assert again.energy == pytest.approx(before.energy, rel=1e-12)
    (of_first, numbers), (of_second, others) = (words_of(file) for file in files[:2])
    if "nep4" in kind:
        assert numbers == others
        # flags that are 0 at the end may be left out; GPUMD writes 2 where 222 is set, and reads all that is not 0
        assert [line for line in of_first if line[0] != "l_max"] == [line for line in of_second if line[0] != "l_max"]
    elif "nep5" in kind:
        assert of_second[0][0] == of_first[0][0].replace("5", "4") and int(of_second[-1][1]) == int(of_first[-1][1]) + 1


def box(kind, folder):
    """Commands for the atoms of a frame, whose cell is turned as LAMMPS needs it."""
    ase = pytest.importorskip("ase")
    from ase.io import write

    frame = REFERENCE[kind]
    elements = sorted(set(frame["symbols"]))
    atoms = ase.Atoms(frame["symbols"], frame["positions"], cell=frame["cell"], pbc=True)
    write(folder / "start.data", atoms, format="lammps-data", specorder=elements, masses=True)
    return f"units metal\natom_modify map yes\nbox tilt large\nread_data start.data\n", elements


@pytest.mark.parametrize("kind", ["nep4_cutoffs", "nep5_zbl", "nep4_all"])
def test_ranks_have_the_same(kind, tmp_path):
    shutil.copy(FOLDER / f"{kind}.txt", tmp_path / "nep.txt")
    text, elements = box(kind, tmp_path)
    text += f"pair_style dptrain\npair_coeff * * nep.txt {' '.join(elements)}\n" + NATIVE
    one, *others = (native_values(run_lammps(tmp_path, text, ranks).check()) for ranks in (1, 2, 4))
    for other in others:
        assert_same(other, one, 1e-10)


def test_fewer_elements(tmp_path):
    """A file of five elements, in a run of two of them in another order: what the whole potential says of such atoms."""
    frame = REFERENCE["nep4_five"]
    keep = [k for k, name in enumerate(frame["symbols"]) if name in ("O", "Cu")]
    positions, symbols = np.array(frame["positions"])[keep], [frame["symbols"][k] for k in keep]
    whole = dptrain.load(FOLDER / "nep4_five.txt").evaluate(positions, symbols, frame["cell"])
    ase = pytest.importorskip("ase")
    from ase.io import write

    write(tmp_path / "start.data", ase.Atoms(symbols, positions, cell=frame["cell"], pbc=True), format="lammps-data", specorder=["O", "Cu"], masses=True)
    shutil.copy(FOLDER / "nep4_five.txt", tmp_path / "nep.txt")
    text = "units metal\natom_modify map yes\nbox tilt large\nread_data start.data\npair_style dptrain\npair_coeff * * nep.txt O Cu\n" + NATIVE
    assert run_lammps(tmp_path, text).check().thermo()["PotEng"][-1] == pytest.approx(whole.energy, rel=1e-12)
