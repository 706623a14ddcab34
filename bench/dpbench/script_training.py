"""Training of TorchScript potentials (.pth): seconds per step beside `dp --pt train`, the same model, data and batch (one
frame of water) on all sides. This package starts from the model that the peer has frozen.
"""

import json

from .logs import dp_average_step, progress_step
from .models import Kind, training_input, write_input
from .pairing import best, ratios, summary, take_turns
from .process import run
from .settings import OURS, RANKS
from .torchscript import DESCRIPTORS as MD_DESCRIPTORS
from .torchscript import FITTING

PEER = "PyTorch"
EMBEDDING = {"neuron": [25, 50, 100], "axis_neuron": 16, "tebd_dim": 8}
DESCRIPTORS = {
    "se_atten_v2": MD_DESCRIPTORS["se_atten_v2"],
    "dpa1": {"type": "dpa1", "sel": 60, "rcut": 4.5, "rcut_smth": 0.5, "attn": 64, "attn_layer": 2, "attn_dotr": True, "attn_mask": False,
             "tebd_input_mode": "concat", "seed": 1, **EMBEDDING},
    "dpa2": {"type": "dpa2", "seed": 1, "repinit": {"rcut": 6.0, "rcut_smth": 0.5, "nsel": 120, **EMBEDDING},
             "repformer": {"rcut": 4.0, "rcut_smth": 3.5, "nsel": 40, "nlayers": 3, "g1_dim": 32, "g2_dim": 16, "attn2_hidden": 16,
                           "attn2_nhead": 2, "attn1_hidden": 32, "attn1_nhead": 2, "update_g1_has_attn": False,
                           "update_g2_has_attn": True}},
}
STEPS, BLOCK = 40, 10  # the first block is warm-up, as in the average of `dp train`


def make_input(descriptor, settings, steps, folder):
    tree = training_input(Kind(), settings, steps, start_lr=1e-3, disp_freq=BLOCK)
    tree["model"] = {"type_map": ["O", "H"], "descriptor": descriptor, "fitting_net": FITTING}
    write_input(folder, tree)


def make_model(settings, peer, descriptor, folder):
    """model.pth, after two steps of the peer's training."""
    make_input(descriptor, settings, 2, folder)
    peer.dp("model: train", folder, [peer.flag, "train", "input.json", "--skip-neighbor-stat"], settings.cores)
    peer.dp("model: freeze", folder, [peer.flag, "freeze", "-o", "model.pth"], settings.cores)
    return folder / "model.pth"


def time_ours(name, settings, ours, model, folder):
    ranks, threads = (settings.cores, 1) if name == RANKS else (1, settings.cores)
    words, variables = ours.script()
    output = run(ours.recorder, f"training step of a .pth, {name}", [*words, "train", "input.json", "--init-model", model, "-np", ranks],
                 folder, {**variables, "OMP_NUM_THREADS": threads}, "train.log")[0]
    return progress_step(output)


def time_peer(settings, peer, folder):
    return dp_average_step(peer.dp("training step of the same model, PyTorch", folder,
                                   [peer.flag, "train", "input.json", "--skip-neighbor-stat"], settings.cores))


def measure(settings, ours, peers):
    """One row per descriptor."""
    rows = []
    for descriptor, section in DESCRIPTORS.items():
        print(f"bench: training step of a .pth, {descriptor}", flush=True)
        base = settings.work / "torchscript_training" / descriptor
        model = make_model(settings, peers["pytorch"], section, base / "model")

        def one(name, base=base, model=model, section=section):
            folder = base / name.replace(", ", "-")
            make_input(section, settings, 2 * BLOCK if settings.quick else STEPS, folder)
            return time_peer(settings, peers["pytorch"], folder) if name == PEER else time_ours(name, settings, ours, model, folder)

        values = take_turns([*OURS, PEER], one, 1 if settings.quick else settings.repeats,
                            lambda name, value: print(f"  {name:16s} {value:.4f} s/step", flush=True))
        rows.append({"descriptor": descriptor, "section": json.dumps(section), "atoms": 192,
                     "seconds": {n: summary(v) for n, v in values.items()}, "ratio": ratios(values, OURS), "ours_best": best(values, OURS)})
    return rows
