"""Makes dpa1.pth, an untrained DPA-1 potential for silicon, with the Python of DeePMD-kit 3.2 (PyTorch).

    python make_model.py [dpa1.pth]

Who has a pretrained model takes that in its place: this one only shows the way from a file of DeePMD-kit.
"""

import json
import sys

import torch
from deepmd.pt.model.model import get_model

MODEL = {
    "type_map": ["Si"],
    "descriptor": {
        "type": "dpa1", "sel": 40, "rcut": 4.5, "rcut_smth": 1.0, "neuron": [8, 16, 16], "axis_neuron": 6,
        "attn": 16, "attn_layer": 1, "attn_dotr": True, "tebd_dim": 4, "seed": 1, "precision": "float64",
    },
    "fitting_net": {"neuron": [40, 40], "resnet_dt": True, "seed": 1, "precision": "float64"},
}
DSTD = 0.06  # of the environment matrix, about what DeePMD-kit finds in silicon


def main(path="dpa1.pth"):
    torch.manual_seed(1)
    model = get_model(json.loads(json.dumps(MODEL)))
    for name, values in model.named_buffers():
        if name.endswith("stddev") and values.dim() == 3:
            values[:] = DSTD
    model.eval()
    model.model_def_script = json.dumps(MODEL)  # as dp freeze leaves it
    torch.jit.save(torch.jit.script(model), path, {})


if __name__ == "__main__":
    main(*sys.argv[1:])
