"""se_e2_a and power_spectrum with energy fitting in plain numpy, read from a .dp file: energies, and derivatives by differences.

Written from the definition of the model (see doc of the library) as an independent oracle for tests: no table, no
chunks, no neighbor lists of anybody else. Units: Angstrom, eV.
"""
import json

import h5py
import numpy as np


def read_tree(path):
    """The tree of a .dp file with all arrays in place."""
    with h5py.File(path, "r") as file:

        def fill(node, inside):
            if isinstance(node, dict):
                return {key: fill(value, inside or key == "@variables") for key, value in node.items()}
            if isinstance(node, list):
                return [fill(value, inside) for value in node]
            return file[node][()] if inside and isinstance(node, str) else node

        return fill(json.loads(file.attrs["json"]), False)


def _sigmoid(x):
    return 0.5 * (1 + np.tanh(0.5 * x))


def _silut(threshold):
    value = threshold * _sigmoid(threshold)
    slope = _sigmoid(threshold) * (1 + threshold * (1 - _sigmoid(threshold)))
    return lambda x: np.where(x < threshold, x * _sigmoid(x), value + np.tanh(slope * (x - threshold)))


def activation(name):
    """Function of an activation's name in DeePMD-kit."""
    name = name.lower()
    if name.startswith(("silut", "custom_silu")):
        return _silut(float(name.partition(":")[2] or 3.0))
    gelu = lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return {
        "none": lambda x: x,
        "linear": lambda x: x,
        "tanh": np.tanh,
        "relu": lambda x: x * (x > 0),
        "relu6": lambda x: np.clip(x, 0, 6),
        "gelu": gelu,
        "gelu_tf": gelu,
        "sigmoid": _sigmoid,
        "softplus": lambda x: np.logaddexp(x, 0),
        "silu": lambda x: x * _sigmoid(x),
    }[name]


def evaluate_net(net, x):
    """Rows x through all layers, in float64."""
    for layer in net["layers"]:
        var = {k: None if v is None else np.asarray(v, float) for k, v in layer["@variables"].items()}
        y = x @ var["w"]
        if var["b"] is not None:
            y = y + var["b"]
        y = activation(layer["activation_function"])(y)
        if var["idt"] is not None:
            y = y * var["idt"]
        ratio = y.shape[-1] / x.shape[-1]
        if layer["resnet"] and ratio in (1, 2):
            y = y + np.tile(x, int(ratio))
        x = y
    return x


def _symmetric(pairs):
    return {(int(a), int(b)) for p in pairs or [] for a, b in (p, p[::-1])}


class NumpyModel:
    def __init__(self, path):
        model = read_tree(path)["model"]
        self.type_map = model["type_map"]
        self.descriptor, self.fitting = model["descriptor"], model["fitting"]
        self.sel = self.descriptor.get("sel") or [10**6] * len(self.type_map)
        self.zeroed = _symmetric(self.descriptor["exclude_types"])
        self.removed = _symmetric(model["pair_exclude_types"])
        self.silent = set(model["atom_exclude_types"])
        bias = np.asarray(model["@variables"]["out_bias"]).ravel() + np.asarray(self.fitting["@variables"]["bias_atom_e"]).ravel()
        entries = self.fitting["atom_ener"] or []
        if any(e is not None for e in entries):  # the net's value without neighbors is subtracted (types beyond the list too)
            zero = np.zeros((1, self.fitting["dim_descrpt"]))
            for t, net in enumerate(self.fitting["nets"]["networks"]):
                if t >= len(entries) or entries[t] is not None:
                    bias[t] -= evaluate_net(net, zero)[0, 0]
        self.bias = bias

    def neighbors(self, coord, box, types, i):
        """Per type the vectors to the kept neighbors: nearest sum(sel) of all types, then nearest sel[t] of type t."""
        rcut = self.descriptor["rcut"]
        images = np.zeros((1, 3))
        if box is not None:
            reach = np.ceil(rcut * np.linalg.norm(np.linalg.inv(box), axis=0)).astype(int) + 1
            images = np.stack(np.meshgrid(*(np.arange(-n, n + 1) for n in reach), indexing="ij"), -1).reshape(-1, 3) @ box
        vector = (coord[None] - coord[i] + images[:, None]).reshape(-1, 3)
        kind = np.tile(types, len(images))
        distance = np.sqrt((vector**2).sum(1))
        near = np.flatnonzero((distance <= rcut) & (distance > 0))
        near = near[np.argsort(distance[near], kind="stable")][: sum(self.sel)]
        return [vector[near[kind[near] == t]][: self.sel[t]] for t in range(len(self.sel))]

    def environment(self, vector):
        """Rows of the environment matrix before normalization."""
        d = self.descriptor
        r = np.sqrt((vector**2).sum(1))
        x = np.clip((r - d["rcut_smth"]) / (d["rcut"] - d["rcut_smth"]), 0, 1)
        p = r + d["env_protection"]
        s = (1 - x**3 * (10 - 15 * x + 6 * x**2)) / p
        return np.column_stack([s, vector * (s / p)[:, None]])

    def power_spectrum(self, coord, box, types, i):
        """The formulas of the manual (dptrain_input), sums over pairs of neighbors."""
        d = self.descriptor
        c = np.asarray(d["@variables"][f"c{types[i]}"], float).reshape(d["n_max"], len(self.type_map), d["n_basis"])
        k = np.arange(d["n_basis"])
        amplitude = 1 / (1 + (2.0 * k / d["rcut"])**2)
        amplitude *= float(d["constants"]["@variables"]["scale"][0]) * np.sqrt(2 / d["rcut"] / np.mean(amplitude**2))
        vectors = self.neighbors(coord, box, types, i)
        kind, vector = np.repeat(np.arange(len(vectors)), list(map(len, vectors))), np.concatenate(vectors)
        r = np.sqrt((vector**2).sum(1))[:, None]
        x = np.clip((r - d["rcut_smth"]) / (d["rcut"] - d["rcut_smth"]), 0, 1)
        basis = (1 - x**3 * (10 - 15 * x + 6 * x**2)) * amplitude * np.sin((k + 1) * np.pi * r / d["rcut"]) / r
        g = np.einsum("njk,jk->nj", c[:, kind], basis)
        cosine = (vector / r) @ (vector / r).T
        products = [g[:d["axis_neuron"]] @ np.polynomial.legendre.legval(cosine, np.eye(d["l_max"] + 1)[l]) @ g.T for l in range(d["l_max"] + 1)]
        # q is the slow index of a product, n the fast one
        return np.concatenate([g.sum(1), *(p.ravel() for p in products)])

    def descriptor_of(self, coord, box, types, i):
        if self.descriptor["type"] == "power_spectrum":
            return self.power_spectrum(coord, box, types, i)
        d, ti = self.descriptor, types[i]
        mean, std = (np.asarray(d["@variables"][k], float)[ti, 0] for k in ("davg", "dstd"))
        total = 0.0
        for tj, vector in enumerate(self.neighbors(coord, box, types, i)):
            rows = np.zeros((self.sel[tj], 4))
            if (ti, tj) not in self.removed:
                rows[: len(vector)] = self.environment(vector)
            rows = (rows - mean) / std
            if (ti, tj) in self.zeroed:  # filled slots only; empty ones keep -mean/std
                rows[: 0 if (ti, tj) in self.removed else len(vector)] = 0
            index = tj if d["type_one_side"] else ti + tj * len(self.sel)
            total = total + evaluate_net(d["embeddings"]["networks"][index], rows[:, :1]).T @ rows
        total = total / sum(self.sel)
        return (total @ total[: d["axis_neuron"]].T).ravel()

    def atom_energies(self, coord, types, box=None):
        """eV per atom. coord [n][3], types [n] model types, box 3x3 (rows a, b, c) or None."""
        coord, types = np.asarray(coord, float), np.asarray(types, int)
        energies = np.zeros(len(types))
        for i, t in enumerate(types):
            if t not in self.silent:
                x = self.descriptor_of(coord, box, types, i)[None]
                energies[i] = evaluate_net(self.fitting["nets"]["networks"][t], x)[0, 0] + self.bias[t]
        return energies

    def energy(self, coord, types, box=None):
        return float(self.atom_energies(coord, types, box).sum())

    def force(self, coord, types, box, i, k):
        """-dE/dx_ik."""
        def at(shift):
            x = np.array(coord, float)
            x[i, k] += shift
            return x, types, box
        return -self.derivative(at)

    def virial(self, coord, types, box, a, b):
        """-dE/d(strain ab), with the sign of LAMMPS."""
        def at(shift):
            strain = np.eye(3)
            strain[a, b] += shift
            return coord @ strain, types, box @ strain
        return -self.derivative(at)

    def derivative(self, at, step=1e-3):
        """dE/ds at s = 0 by central differences of sixth order, at(s) being the arguments of energy()."""
        def energies(s):
            return self.atom_energies(*at(s))
        odd = [(energies(n * step) - energies(-n * step)).sum() for n in (1, 2, 3)]
        return (45 * odd[0] - 9 * odd[1] + odd[2]) / (60 * step)
