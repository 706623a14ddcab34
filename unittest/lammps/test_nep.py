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


@pytest.mark.parametrize("kind", REFERENCE)
def test_a_file_is_written_as_it_was(kind, tmp_path):
    """Header and numbers to the digits of float32, except the numbers of neighbors, a zero of GPUMD's spelling and NEP3, which becomes NEP4."""
    potential = dptrain.load(FOLDER / f"{kind}.txt")
    potential.save(tmp_path / "a.nep.txt")
    first, second = ((folder).read_text().split("\n") for folder in (FOLDER / f"{kind}.txt", tmp_path / "a.nep.txt"))
    frame = REFERENCE[kind]
    again = dptrain.load(tmp_path / "a.nep.txt").evaluate(frame["positions"], frame["symbols"], frame["cell"])
    before = potential.evaluate(frame["positions"], frame["symbols"], frame["cell"])
    np.testing.assert_allclose(again.forces, before.forces, rtol=0, atol=1e-12 * np.abs(before.forces).max())
    assert again.energy == pytest.approx(before.energy, rel=1e-12)
    if not kind.startswith("nep3"):
        assert [line.split() for line in first if line[:1] in "nzlA"] == [line.split() for line in second if line[:1] in "nzlA"]
        assert [float(line) for line in first[8:] if line] == [float(line) for line in second[8:] if line] or "zbl" in kind
    (tmp_path / "model.dp").unlink(missing_ok=True)
    potential.save(tmp_path / "model.dp")
    assert dptrain.load(tmp_path / "model.dp").evaluate(frame["positions"], frame["symbols"], frame["cell"]).energy == before.energy


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
