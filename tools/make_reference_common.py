"""Shared parts of the make_reference_*.py scripts: random DeePMD-kit models, random frames, files of a reference case.

The scripts need DeePMD-kit with its PyTorch backend (pip install 'deepmd-kit[torch]==3.2.0'); the tests need only the
committed results.
"""
import copy
import datetime
import json
import os
import pathlib
import platform
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("DP_INTRA_OP_PARALLELISM_THREADS", "1")
os.environ.setdefault("DP_INTER_OP_PARALLELISM_THREADS", "1")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np  # noqa: E402
import torch  # noqa: E402
import deepmd  # noqa: E402
from deepmd.dpmodel.utils.serialization import save_dp_model  # noqa: E402
from deepmd.pt.model.model import get_model  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "unittest" / "reference"
MASS = {"O": 15.999, "H": 1.008, "Al": 26.982, "Cu": 63.546, "Ni": 58.693}
UNITS = (
    "A, eV, eV/A; virial eV = sum_i F_i (x) x_i, row-major [force component][coordinate component], sign of the LAMMPS virial"
)


def provenance():
    """Where the numbers come from; stored in each expected.json."""
    return {
        "deepmd_version": deepmd.__version__,
        "torch_version": torch.__version__,
        "python": platform.python_version(),
        "date": datetime.date.today().isoformat(),
        "command": "python tools/" + pathlib.Path(sys.argv[0]).name,
    }


# ---------------------------------------------------------------------------------------------------- models


def model_section(type_map, sel, descriptor=None, fitting=None, **model):
    """The `model` section of an input.json: small nets unless overridden."""
    d = dict(type="se_e2_a", sel=list(sel), rcut=4.0, rcut_smth=0.5, neuron=[4, 8], axis_neuron=4, resnet_dt=False, type_one_side=True)
    f = dict(type="ener", neuron=[10, 10], resnet_dt=True)
    d.update(descriptor or {})
    f.update(fitting or {})
    return dict(type_map=list(type_map), descriptor=d, fitting_net=f, **model)


def random_model(section, seed, force_scale=1.0, davg_r=None, dstd_r=None, dstd_a=None, out_bias=None, bias_atom_e=None):
    """A model with parameters drawn by numpy (independent of torch's generator) and statistics of usual size.

    Weights N(0, 1/sqrt(in+out)), biases N(0, 0.6), idt around 0.3; `force_scale` multiplies the last fitting layer.
    """
    rng = np.random.default_rng(seed)
    model = get_model(copy.deepcopy(section)).to("cpu")
    nt = len(section["type_map"])
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.numel() == 0:
                continue
            shape = tuple(p.shape)
            if name.endswith("matrix"):
                a = rng.normal(0, 1 / np.sqrt(sum(shape)), shape)
                if ".fitting_net." in name and shape[1] == 1:
                    a *= force_scale
                if ".fitting_net." in name and ".layers.0." in name:
                    a *= 8.0
            elif name.endswith("bias"):
                a = rng.normal(0, 0.6, shape)
            elif name.endswith("idt"):
                a = rng.normal(0.3, 0.1, shape)
            else:
                raise RuntimeError(f"unexpected parameter {name}")
            p.copy_(torch.from_numpy(a).to(p.dtype))
        sea = model.atomic_model.descriptor.sea
        for t in range(nt):
            r0 = 0.05 + 0.006 * t if davg_r is None else davg_r[t]
            if section["descriptor"].get("set_davg_zero"):
                r0 = 0.0
            s = (0.14 - 0.012 * t if dstd_r is None else dstd_r[t], 0.085 - 0.006 * t if dstd_a is None else dstd_a[t])
            sea.mean[t] = torch.tensor([r0, 0.0, 0.0, 0.0], dtype=sea.mean.dtype)
            sea.stddev[t] = torch.tensor([s[0], s[1], s[1], s[1]], dtype=sea.stddev.dtype)
        bias = [-1.3 + 2.1 * t for t in range(nt)] if out_bias is None else out_bias
        model.atomic_model.out_bias[0, :, 0] = torch.tensor(bias, dtype=torch.float64)
        if bias_atom_e is not None:
            model.atomic_model.fitting_net.bias_atom_e[:, 0] = torch.tensor(bias_atom_e, dtype=torch.float64)
    return model


def native_tree(model, section, min_nbor_dist=None):
    """The tree of a .dp file (as `dp convert-backend model.pth model.dp` makes it)."""
    tree = {
        "backend": "PyTorch",
        "pt_version": str(torch.__version__),
        "model": model.serialize(),
        "model_def_script": section,
        "@variables": {},
    }
    if min_nbor_dist is not None:
        tree["@variables"]["min_nbor_dist"] = np.float64(min_nbor_dist)
    return tree


def write_dp(path, model, section, min_nbor_dist=None):
    save_dp_model(str(path), native_tree(model, section, min_nbor_dist))


# ---------------------------------------------------------------------------------------------------- frames


def random_coordinates(rng, box, n, d_min, pbc=True, margin=0.0):
    """n points in the cell (rows of box), no two (with images) closer than d_min."""
    shifts = np.array([[a, b, c] for a in (-1, 0, 1) for b in (-1, 0, 1) for c in (-1, 0, 1)]) @ box if pbc else np.zeros((1, 3))
    points = []
    for _ in range(100000):
        x = (margin + (1 - 2 * margin) * rng.random(3)) @ box
        if all(np.linalg.norm(p + shifts - x, axis=1).min() > d_min for p in points):
            points.append(x)
            if len(points) == n:
                return np.array(points)
    raise RuntimeError("cell too full")


def write_data(path, title, coord, types, box, elements, type_map, order=None):
    """LAMMPS data file. LAMMPS type k+1 is elements[k]; `order` shuffles the lines, ids stay."""
    box = np.asarray(box).reshape(3, 3)
    lmp_type = {type_map.index(e): k + 1 for k, e in enumerate(elements)}
    lines = [title, "", f"{len(types)} atoms", f"{len(elements)} atom types", ""]
    for k, ax in enumerate("xyz"):
        lines.append(f"0.0 {box[k, k]:.17g} {ax}lo {ax}hi")
    if box[1, 0] or box[2, 0] or box[2, 1]:
        lines.append(f"{box[1, 0]:.17g} {box[2, 0]:.17g} {box[2, 1]:.17g} xy xz yz")
    lines += ["", "Masses", ""] + [f"{k + 1} {MASS[e]}" for k, e in enumerate(elements)] + ["", "Atoms # atomic", ""]
    for i in range(len(types)) if order is None else order:
        x = coord[i]
        lines.append(f"{i + 1} {lmp_type[types[i]]} {x[0]:.17g} {x[1]:.17g} {x[2]:.17g}")
    pathlib.Path(path).write_text("\n".join(lines) + "\n")


def write_json(path, tree):
    """JSON with one line per innermost array or per frame entry: readable and small."""

    def text(o, depth):
        pad = " " * depth
        if isinstance(o, dict):
            return "{\n" + ",\n".join(f"{pad} {json.dumps(k)}: {text(v, depth + 1)}" for k, v in o.items()) + "\n" + pad + "}"
        if isinstance(o, list) and o and isinstance(o[0], (dict, list)):
            return "[\n" + ",\n".join(f"{pad} {text(v, depth + 1)}" for v in o) + "\n" + pad + "]"
        return json.dumps(o, separators=(",", ":"))

    pathlib.Path(path).write_text(text(tree, 0) + "\n")
