"""Committees of small models for the tests of model deviations, and the deviations themselves in NumPy."""

import json
import shutil

import numpy as np
import pytest

COLUMNS = ["step", "max_devi_v", "min_devi_v", "avg_devi_v", "max_devi_f", "min_devi_f", "avg_devi_f"]


def make_member(source, path, seed, rcut=None, type_map=None):
    """A model like `source` whose weights are 5 % off at random; another cutoff or other names of its types where given."""
    h5py = pytest.importorskip("h5py")
    shutil.copy(source, path)
    with h5py.File(path, "r+") as file:
        tree = json.loads(file.attrs["json"])
        random = np.random.default_rng(seed)
        for part in ("descriptor", "fitting"):
            nets = tree["model"][part]["embeddings" if part == "descriptor" else "nets"]["networks"]
            for name in sorted(n[1:] for net in nets for layer in net["layers"] for n in layer["@variables"].values() if n):
                file[name][...] *= 1 + 0.05 * random.standard_normal(file[name].shape)
        if rcut:
            tree["model"]["descriptor"]["rcut"] = tree["model"]["descriptor"]["env_mat"]["rcut"] = rcut
        if type_map:
            for part in (tree["model"], tree["model"]["descriptor"], tree["model"]["fitting"]):
                part["type_map"] = type_map
        file.attrs["json"] = json.dumps(tree)


def deviations(forces, virials, level=None, level_v=None):
    """(six numbers of a row, deviation of each atom) from forces [models][atoms][3] and virials [models][9] of all atoms."""
    forces, virials = np.array(forces), np.array(virials) / np.shape(forces)[1]
    mean = forces.mean(0)
    atoms = np.sqrt(((forces - mean) ** 2).sum(-1).mean(0))
    if level:
        atoms /= np.linalg.norm(mean, axis=-1) + level
    v = virials.std(0)
    if level_v:
        v /= np.abs(virials.mean(0)) + level_v
    return [v.max(), v.min(), np.sqrt((v**2).mean()), atoms.max(), atoms.min(), atoms.mean()], atoms
