"""Small potentials of many kinds as DeePMD-kit 3.2 freezes them, with random parameters, for test_archives.py.

    python make_script_models.py FOLDER [NAME ...]

Writes FOLDER/NAME.pth for all or some of the models below, and FOLDER/zbl.txt, the pair table of the ZBL-bridged model. Needs
DeePMD-kit with PyTorch.
"""

import json
import sys
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")

import numpy as np  # noqa: E402
import torch  # noqa: E402

TYPES = ["O", "H"]
FITTING = {"neuron": [16, 16], "resnet_dt": True, "seed": 1, "precision": "float64"}
SE_A = {"type": "se_e2_a", "sel": [20, 40], "rcut": 4.0, "rcut_smth": 0.5, "neuron": [6, 12], "axis_neuron": 3,
        "resnet_dt": False, "type_one_side": True, "seed": 1, "precision": "float64"}
SE_R = {"type": "se_e2_r", "sel": [16, 30], "rcut": 3.5, "rcut_smth": 0.5, "neuron": [4, 8], "seed": 1, "precision": "float64"}
SE_T = {"type": "se_e3", "sel": [8, 12], "rcut": 3.0, "rcut_smth": 0.5, "neuron": [4, 8], "seed": 1, "precision": "float64"}
DPA1 = {"type": "dpa1", "sel": 40, "rcut": 4.0, "rcut_smth": 0.5, "neuron": [6, 12], "axis_neuron": 4, "attn": 8, "attn_layer": 2,
        "attn_dotr": True, "attn_mask": False, "tebd_dim": 4, "tebd_input_mode": "concat", "seed": 1, "precision": "float64"}
STRIP = {**DPA1, "tebd_input_mode": "strip", "attn_layer": 0}
SE_ATTEN_V2 = {key: value for key, value in {**STRIP, "type": "se_atten_v2"}.items() if key != "tebd_input_mode"}
DPA2 = {"type": "dpa2", "seed": 1, "precision": "float64", "add_tebd_to_repinit_out": False,
        "repinit": {"tebd_dim": 4, "rcut": 5.0, "rcut_smth": 0.5, "nsel": 50, "neuron": [4, 8, 16], "axis_neuron": 4,
                    "use_three_body": True, "three_body_rcut": 3.0, "three_body_rcut_smth": 0.5, "three_body_sel": 20},
        "repformer": {"rcut": 3.5, "rcut_smth": 0.5, "nsel": 30, "nlayers": 3, "g1_dim": 8, "g2_dim": 5, "attn2_hidden": 3,
                      "attn2_nhead": 1, "attn1_hidden": 5, "attn1_nhead": 1, "axis_neuron": 4, "update_g1_has_attn": False,
                      "update_g2_has_attn": True, "use_sqrt_nnei": True, "g1_out_conv": True, "g1_out_mlp": True,
                      "update_style": "res_residual", "update_residual": 0.01, "update_residual_init": "norm"}}
DPA3 = {"type": "dpa3", "activation_function": "silut:10.0", "use_tebd_bias": False, "precision": "float64",
        "concat_output_tebd": False, "seed": 1,
        "repflow": {"n_dim": 8, "e_dim": 6, "a_dim": 4, "nlayers": 3, "e_rcut": 4.0, "e_rcut_smth": 3.0, "e_sel": 50, "a_rcut": 3.0,
                    "a_rcut_smth": 2.0, "a_sel": 20, "axis_neuron": 4, "a_compress_rate": 1, "a_compress_e_rate": 2,
                    "a_compress_use_split": True, "update_angle": True, "smooth_edge_update": True}}


def model(descriptor, **more):
    return {"type_map": TYPES, "descriptor": descriptor, "fitting_net": FITTING, **more}


def fitting(descriptor, **more):
    return {"type_map": TYPES, "descriptor": descriptor, "fitting_net": {**FITTING, **more}}


def models(folder):
    """{name: `model` section}"""
    return {
        "se_e2_a": model(SE_A), "se_e3": model(SE_T), "se_atten_v2": model(SE_ATTEN_V2),
        "dpa1": model(DPA1), "dpa1_strip": model(STRIP), "dpa2": model(DPA2), "dpa3": model(DPA3),
        "hybrid": model({"type": "hybrid", "list": [SE_A, SE_R]}),
        "hybrid_messages": model({"type": "hybrid", "list": [{**DPA1, "rcut": 3.5}, DPA2]}),
        "zbl": model(DPA1, use_srtab=str(folder / "zbl.txt"), smin_alpha=0.1, sw_rmin=0.6, sw_rmax=1.2),
        "excluded_pairs": model(DPA1, pair_exclude_types=[[1, 1]]), "no_hydrogen": model(DPA1, atom_exclude_types=[1]),
        "small_sel": model({**DPA1, "sel": 9}), "float32": model({**DPA1, "precision": "float32"}),
        "default_fparam": fitting(DPA1, numb_fparam=2, default_fparam=[0.3, -0.2]), "fparam": fitting(DPA1, numb_fparam=2),
        "aparam": fitting(SE_A, numb_aparam=1), "dipole": fitting(SE_A, type="dipole"),
        "spin": model(SE_A, spin={"use_spin": [True, False], "virtual_scale": [0.3]}),
    }


def write_table(path):
    """Distance and ZBL energies of the pairs O-O, O-H, H-H."""
    r = np.arange(0.01, 4.5, 0.01)

    def energy(a, b):
        x = r * (a**0.23 + b**0.23) / 0.46850
        terms = [(0.18175, 3.1998), (0.50986, 0.94229), (0.28022, 0.4029), (0.028171, 0.20162)]
        return 14.399645 * a * b / r * sum(c * np.exp(-d * x) for c, d in terms)

    np.savetxt(path, np.stack([r, energy(8, 8), energy(8, 1), energy(1, 1)], 1))


def freeze(section, path):
    """A model with random parameters and statistics, as `dp freeze` writes it."""
    from deepmd.pt.model.model import get_model

    torch.manual_seed(3)
    made = get_model(json.loads(json.dumps(section)))
    random = torch.Generator().manual_seed(5)
    for name, values in made.named_buffers():
        if name.endswith("mean") and values.dim() == 3:
            values[..., 0] = 0.02 + 0.03 * torch.rand(values.shape[0], 1, generator=random, dtype=torch.float64)
        if name.endswith("stddev") and values.dim() == 3:
            values[:] = 0.1 + 0.05 * torch.rand(values.shape[0], 1, 1, generator=random, dtype=torch.float64)
        if name.endswith("out_bias"):
            values[:] = torch.randn(values.shape, generator=random, dtype=torch.float64)
    made.min_nbor_dist = torch.tensor(0.8, dtype=torch.float64)
    made.eval()
    made.model_def_script = json.dumps(section)
    torch.jit.save(torch.jit.script(made), str(path), {})


def main(folder, *names):
    folder = Path(folder)
    write_table(folder / "zbl.txt")
    known = models(folder)
    for name in names or known:
        freeze(known[name], folder / f"{name}.pth")


if __name__ == "__main__":
    main(*sys.argv[1:])
