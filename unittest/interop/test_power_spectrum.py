"""Energies of a power_spectrum model from the expansion coefficients of featomic (https://github.com/metatensor/featomic), whose
neighbor search, harmonics and sums are its own. Ours are c, the products and the fitting net, here in numpy."""

import numpy as np
import pytest
from ase import Atoms
from numpy_model import evaluate_net, read_tree

from dptrain.ase import Calculator
from dptrain.cli import main as dptrain

featomic = pytest.importorskip("featomic", reason="pip install featomic")
from featomic.basis import RadialBasis, TensorProduct  # noqa: E402
from featomic.splines import SoapSpliner  # noqa: E402

KEYS = {"type": "power_spectrum", "rcut": 4.5, "rcut_smth": 1.2, "n_max": 6, "axis_neuron": 3, "l_max": 4, "n_basis": 5, "seed": 3}
SPLINES = 1e-10  # of featomic's radial functions, of order one


class Bessel(RadialBasis):
    """b_k(r) as the manual defines them (dptrain_input), with the largest function k = 0 of size one."""

    def __init__(self):
        super().__init__(max_radial=KEYS["n_basis"] - 1, radius=KEYS["rcut"])

    def _get_orthonormalization_matrix(self):
        return np.eye(KEYS["n_basis"])

    def compute_primitive(self, positions, n, *, derivative):
        if derivative:
            return self.finite_differences_derivative(positions, n)
        r = np.maximum(positions, 1e-6)
        u = np.clip((r - KEYS["rcut_smth"]) / (KEYS["rcut"] - KEYS["rcut_smth"]), 0, 1)
        switch = 1 + u**3 * (-6 * u**2 + 15 * u - 10)
        return switch * np.sin((n + 1) * np.pi * r / KEYS["rcut"]) / r / (1 + (2.0 * n / KEYS["rcut"])**2)


def moments(atoms, symbols):
    """sum_j b_k Y_lm over the neighbors of each type: {l: [atoms][types][2 l + 1][k]} with sum_m Y_lm Y_lm = P_l."""
    cutoff = featomic.cutoff.Cutoff(radius=KEYS["rcut"], smoothing=None)
    basis = TensorProduct(max_angular=KEYS["l_max"], radial=Bessel(), spline_accuracy=SPLINES)
    spliner = SoapSpliner(cutoff=cutoff, density=featomic.density.DiracDelta(center_atom_weight=0), basis=basis, n_spline_points=4000)
    found = featomic.SphericalExpansion(**spliner.get_hypers()).compute(atoms)
    numbers = Atoms(symbols).numbers
    result = {l: np.zeros((len(atoms), len(symbols), 2 * l + 1, KEYS["n_basis"])) for l in range(KEYS["l_max"] + 1)}
    for key, block in found.items():
        l, neighbor = key["o3_lambda"], list(numbers).index(key["neighbor_type"])
        values = np.asarray(block.values) * np.sqrt(4 * np.pi / (2 * l + 1))
        result[l][np.asarray(block.samples["atom"]), neighbor] = values
    return result


def energies_by_featomic(path, atoms):
    """eV per atom."""
    model = read_tree(path)["model"]
    symbols, keys, fitting = model["type_map"], model["descriptor"], model["fitting"]
    bias = np.asarray(model["@variables"]["out_bias"]).ravel() + np.asarray(fitting["@variables"]["bias_atom_e"]).ravel()
    # the functions have the constant as the root of their mean square
    amplitudes = 1 / (1 + (2.0 * np.arange(keys["n_basis"]) / KEYS["rcut"])**2)
    scale = float(keys["constants"]["@variables"]["scale"][0]) * np.sqrt(2 / keys["rcut"] / np.mean(amplitudes**2))
    m = moments(atoms, symbols)
    energies = np.zeros(len(atoms))
    for i, symbol in enumerate(atoms.get_chemical_symbols()):
        t = symbols.index(symbol)
        c = np.asarray(keys["@variables"][f"c{t}"]).reshape(keys["n_max"], len(symbols), keys["n_basis"])
        a = {l: scale * np.einsum("ntk,tmk->nm", c, m[l][i]) for l in m}
        products = [np.einsum("qm,nm->qn", a[l][:keys["axis_neuron"]], a[l]) for l in sorted(m)]
        x = np.concatenate([a[0].ravel(), *(p.ravel() for p in products)])[None]
        energies[i] = evaluate_net(fitting["nets"]["networks"][t], x)[0, 0] + bias[t]
    return energies


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model of two types after three steps on random forces."""
    folder = tmp_path_factory.mktemp("model")
    random = np.random.default_rng(5)
    system = folder / "system"
    (system / "set.000").mkdir(parents=True)
    (system / "type.raw").write_text("0\n1\n" * 6)
    (system / "type_map.raw").write_text("Ni\nAl\n")
    cell = 6.4 * np.eye(3) + 0.2 * random.standard_normal((4, 3, 3))
    sites = np.stack(np.meshgrid([0.1, 0.6], [0.1, 0.6], [0.1, 0.4, 0.8], indexing="ij"), -1).reshape(-1, 3)
    x = (sites + 0.03 * random.standard_normal((4, 12, 3))) @ cell
    for name, values in {"box": cell, "coord": x, "energy": random.standard_normal((4, 1)), "force": random.standard_normal(x.shape)}.items():
        np.save(system / "set.000" / f"{name}.npy", values.reshape(4, -1))
    (folder / "input.json").write_text(
        '{"model": {"type_map": ["Ni", "Al"], "descriptor": ' + str(KEYS).replace("'", '"') + ', "fitting_net": {"neuron": [8, 8]}}, '
        '"training": {"numb_steps": 3, "save_ckpt": "SAVE", "disp_file": "CURVE", "training_data": {"systems": ["SYSTEM"]}}}'
        .replace("SAVE", str(folder / "model")).replace("CURVE", str(folder / "lcurve.out")).replace("SYSTEM", str(system)))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)  # the file `checkpoint` is written where one is
        assert dptrain(["train", str(folder / "input.json"), "-o", str(folder / "out.json")]) == 0
    return folder / "model.dp", [Atoms("NiAl" * 6, positions=p, cell=c, pbc=True) for p, c in zip(x, cell)]


def test_energies(model):
    """The tolerance is that of the splines of the radial functions, times sums over some hundred edges."""
    path, frames = model
    for atoms in frames:
        atoms.calc = Calculator(str(path))
        expected = energies_by_featomic(path, atoms)
        assert np.ptp(expected) > 1e-3
        assert atoms.get_potential_energies() == pytest.approx(expected, abs=1e-7)


def test_atoms_of_a_molecule(model):
    """Without a cell, and an atom that has no neighbors of one type."""
    path, _ = model
    atoms = Atoms("NiAlNi", positions=[[0, 0, 0], [2.2, 0.3, 0.1], [-2.6, 0.4, 0.3]], calculator=Calculator(str(path)))
    assert atoms.get_potential_energies() == pytest.approx(energies_by_featomic(path, atoms), abs=1e-7)
