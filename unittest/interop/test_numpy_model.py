"""The numpy oracle against DeePMD-kit's numbers in unittest/reference: only then it may judge files written here."""
import json
import pathlib

import numpy as np
import pytest

from numpy_model import NumpyModel

REFERENCE = pathlib.Path(__file__).resolve().parent.parent / "reference"
CASES = sorted(p.parent.name for p in REFERENCE.glob("*/expected.json") if "frames" in json.loads(p.read_text()))


@pytest.mark.parametrize("case", CASES)
def test_energies(case):
    expected = json.loads((REFERENCE / case / "expected.json").read_text())
    model = NumpyModel(REFERENCE / case / "model.dp")
    assert model.type_map == expected["type_map"]
    # float64: rounding only. float32: DeePMD-kit computes in float32, the oracle in float64 with the same weights.
    tolerance = 1e-12 if expected["tolerance"] < 1e-6 else expected["tolerance"]
    for frame in expected["frames"]:
        box = np.reshape(frame["box"], (3, 3)) if frame["pbc"] else None
        energies = model.atom_energies(frame["coord"], frame["types"], box)
        reference = np.array(frame["python"]["atom_energy"])
        assert np.abs(energies - reference).max() <= tolerance * max(1.0, np.abs(reference).max()), frame["name"]
