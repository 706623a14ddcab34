#!/usr/bin/env python3
"""Makes unittest/reference/nep/gradients.json: gradients of a loss by all parameters of some of the potentials of make_reference_nep.py, by the autograd of
torchnep (PyTorch, float64).

    python -m venv FOLDER; FOLDER/bin/pip install "torchnep[torch]==1.0.7"
    FOLDER/bin/python tools/make_reference_nep_gradients.py

The loss is that of fix dptrain with the prefactors 2 (energy), 30 (forces) and 0.5 (virial) for the frame of reference.json with labels that are 0:
2 E^2 / N + 30 sum F^2 / (3 N) + 0.5 sum W^2 / (9 N). Names and shapes are torchnep's: w0 [numbers][neurons], b0 and w1 of each element's net, and coefficients
[center][neighbor][channel][function].
"""

import json
from pathlib import Path

import numpy as np
import torch
from torchnep.model import NEPModel
from torchnep.neighbor import build_neighbor_list

FOLDER = Path(__file__).resolve().parents[1] / "unittest" / "reference" / "nep"
KINDS = ("nep4_two", "nep4_five", "nep4_all")


def model_of(path):
    """The file as a model with parameters."""
    lines = [line.split() for line in path.read_text().split("\n")[:6]]
    words = {line[0]: line[1:] for line in lines}
    types = lines[0][2:]
    radial, angular = map(float, words["cutoff"][:2])
    config = {"num_types": len(types), "type_names": types, "cutoff_radial": radial, "cutoff_angular": angular,
              "n_max_radial": int(words["n_max"][0]), "n_max_angular": int(words["n_max"][1]), "basis_size_radial": int(words["basis_size"][0]),
              "basis_size_angular": int(words["basis_size"][1]), "l_max": [int(word) for word in words["l_max"]], "neuron": int(words["ANN"][0])}
    model = NEPModel(config).double()
    model.load_weights_from_nep_txt(str(path))
    return model.double()


def gradient(kind, frame):
    model = model_of(FOLDER / f"{kind}.txt")
    model.train()
    positions, cell = np.array(frame["positions"]), np.array(frame["cell"])
    types = torch.tensor([model.type_names.index(name) for name in frame["symbols"]])
    i, j, rij = build_neighbor_list(positions, cell, max(model.rc_radial, model.rc_angular), dtype=torch.float64)
    near = torch.linalg.norm(rij, dim=-1) < model.rc_angular
    number = len(positions)
    found = model.compute_properties(rij, rij[near], i, j, i[near], j[near], types, number, torch.zeros(number, dtype=torch.long), 1, need_virial=True)
    energy, forces, virial = found["Etot"][0], found["forces"], found["virial"].sum(0).reshape(3, 3)
    for value, expected in ((energy, np.sum(frame["energies"])), (forces, frame["forces"]), (virial, frame["virial"])):
        assert np.abs(value.detach().numpy() - expected).max() < 1e-8 * np.abs(expected).max(), kind
    loss = 2 * energy**2 / number + 30 * (forces**2).sum() / (3 * number) + 0.5 * (virial**2).sum() / (9 * number)
    names, parameters = zip(*model.named_parameters())
    gradients = torch.autograd.grad(loss, parameters)
    return {"loss": float(loss), "gradient": {name: value.tolist() for name, value in zip(names, gradients)}}


if __name__ == "__main__":
    reference = json.loads((FOLDER / "reference.json").read_text())
    (FOLDER / "gradients.json").write_text(json.dumps({kind: gradient(kind, reference[kind]) for kind in KINDS}, separators=(",", ":")) + "\n")
