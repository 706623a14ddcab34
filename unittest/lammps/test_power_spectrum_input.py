"""Mistakes in inputs with the descriptor power_spectrum, and what its model files cannot be used for: one clear message."""

import json

import h5py
import pytest

from lammps_runner import run_lammps
from silicon import ATOMS, PAIR, learn
from test_bad_input import STYLE, stops_with


def write_power_spectrum(folder, **keys):
    descriptor = {"type": "power_spectrum", "rcut": 4.5, **keys}
    (folder / "input.json").write_text(json.dumps({"model": {"type_map": ["Si"], "descriptor": descriptor}}, indent=1))


@pytest.mark.parametrize("keys, texts", [
    ({"l_max": 7}, ["l_max", "6", "found 7"]),
    ({"l_max": -1}, ["l_max", "0", "found -1"]),
    ({"l_max": 2.5}, ["l_max", "expected an integer", "found 2.5"]),
    ({"n_max": 0}, ["n_max", "1", "found 0"]),
    ({"n_max": 257}, ["n_max", "256", "found 257"]),
    ({"n_basis": 0}, ["n_basis", "1", "found 0"]),
    ({"n_basis": 33}, ["n_basis", "32", "found 33"]),
    ({"axis_neuron": 17}, ["axis_neuron", "16", "found 17"]),
    ({"n_max": 6, "axis_neuron": 7}, ["axis_neuron", "6", "found 7"]),
    ({"rcut_smth": 4.5}, ["rcut_smth", "smaller than rcut", "rcut_smth = 4.5, rcut = 4.5"]),
    ({"rcut_smth": -0.5}, ["rcut_smth", "at least 0", "found -0.5"]),
    ({"rcut": 0}, ["rcut", "a positive length in Angstrom", "found 0"]),
    ({"lmax": 2}, ["unknown key", 'did you mean "l_max"']),
    ({"n_axis_neuron": 2}, ["unknown key", 'did you mean "axis_neuron"']),
    ({"type": "power_spectrm"}, ['"power_spectrm" is not in this version', '"power_spectrum"', '"se_e2_a"']),
    ({"exclude_types": [[0, 1]]}, ["exclude_types", "found type 1"])])
def test_settings_of_power_spectrum(keys, texts, message, tmp_path):
    """The place in the file, the key, what was found and what is allowed."""
    write_power_spectrum(tmp_path, **keys)
    key = list(keys)[-1]
    line = next(n for n, text in enumerate((tmp_path / "input.json").read_text().splitlines(), 1) if f'"{key}":' in text)
    stops_with(message(f"{ATOMS}{PAIR}\n", 2), f"input.json:{line}:", f"model/descriptor/{key}: ", *texts)


def test_few_radial_functions_need_no_axis_neuron(lammps, tmp_path):
    """The default of axis_neuron is no mistake of the user's."""
    write_power_spectrum(tmp_path, n_max=3)
    lammps(learn("every 1 warmup 1 train 1 save 1 si.dp", run="run 1")).check()
    with h5py.File(tmp_path / "si.dp") as file:
        assert json.loads(file.attrs["json"])["model"]["descriptor"]["axis_neuron"] == 3


def test_sel_of_power_spectrum_is_ignored(lammps, tmp_path):
    """It is said, and changes nothing, whatever it is."""
    energies = []
    for keys in ({}, {"sel": [2]}, {"sel": "auto:1.5"}):
        write_power_spectrum(tmp_path, seed=1, **keys)
        result = lammps(learn("every 1 warmup 2 train 2", run="run 3")).check()
        note = "keys of the input file that have no meaning here: model/descriptor/sel"
        assert (note in result.output) == bool(keys)
        energies.append(list(result.thermo()["PotEng"]))
    assert energies[0] == energies[1] == energies[2]


@pytest.fixture(scope="module")
def power_spectrum_model(tmp_path_factory):
    """A model file of silicon."""
    folder = tmp_path_factory.mktemp("model")
    run_lammps(folder, learn("every 1 warmup 2 train 1 save 1 si.dp", pair=f"{STYLE}pair_coeff * * new Si", run="run 2")).check()
    return folder / "si.dp"


def test_power_spectrum_with_another_element(power_spectrum_model, message):
    two = ATOMS.replace("create_box 1", "create_box 2").replace("mass 1", "mass *")
    for elements, texts in (("Si O", ["element O is not in the model", "use its elements, Si, or NULL"]), ("Si", ["2 types, found 1: Si"])):
        stops_with(message(f"{two}{STYLE}pair_coeff * * {power_spectrum_model} {elements}\n", 2), *texts)


def test_power_spectrum_for_deepmd_kit(power_spectrum_model, lammps, message, tmp_path):
    """DeePMD-kit's formats cannot hold it: the message says what can be done, and no file is written."""
    for target in ("si.pth", "new/si.pth"):
        stops_with(message(f"dptrain convert {power_spectrum_model} {target}\n", 2), "dptrain convert", target, "power_spectrum",
                   "DeePMD-kit does not have this descriptor", "pair_style dptrain")
    learned = message(learn("every 1 warmup 2 train 1 save 1 si.pth", pair=f"{STYLE}pair_coeff * * new Si", run="run 2"))
    stops_with(learned, "si.pth", ".dp")
    assert not list(tmp_path.glob("**/*.pth"))
    lammps(f"dptrain convert {power_spectrum_model} copy.dp\n").check()
    assert (tmp_path / "copy.dp").exists()
