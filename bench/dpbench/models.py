"""Inputs of the compared trainings, and model files that hold the same model for all sides."""

import json
import math
from dataclasses import dataclass

NETS = {
    # the net of DeePMD-kit's own water example, and a small one as it is used on the fly
    "standard": {"neuron": [25, 50, 100], "axis": 16, "fitting": [240, 240, 240]},
    "small": {"neuron": [25, 25, 25], "axis": 8, "fitting": [50, 50, 50]},
}
SEL = (46, 92)
RCUT = 6.0
DP_PRECISION = {"double": "float64", "single": "float32"}
# steps that the models of the inference benchmark are trained: enough for stable MD and for curved embedding nets
MODEL_STEPS = {"standard": 1200, "small": 1500}
QUICK_STEPS = 20


@dataclass(frozen=True)
class Kind:
    """A model: size of the net, precision, cutoff in Angstrom."""

    net: str = "standard"
    precision: str = "double"
    rcut: float = RCUT

    @property
    def name(self):
        return f"{self.net}-{self.precision}" + ("" if self.rcut == RCUT else f"-rcut{self.rcut:g}")

    @property
    def sel(self):
        """Slots for neighbors, scaled with the volume and rounded up to a multiple of 4 as DeePMD-kit does."""
        factor = (self.rcut / RCUT) ** 3
        return [4 * math.ceil(n * factor / 4 - 1e-9) if factor != 1.0 else n for n in SEL]


def model_section(kind, precision, seed=1):
    net = NETS[kind.net]
    return {
        "type_map": ["O", "H"],
        "descriptor": {"type": "se_e2_a", "sel": kind.sel, "rcut": kind.rcut, "rcut_smth": 0.5, "neuron": net["neuron"],
                       "axis_neuron": net["axis"], "resnet_dt": False, "type_one_side": True, "precision": precision,
                       "seed": seed},
        "fitting_net": {"neuron": net["fitting"], "resnet_dt": True, "precision": precision, "seed": seed},
    }


def training_input(kind, settings, steps, *, start_lr, optimizer=None, schedule="cosine", seed=1, valid=None,
                   disp_freq=50, valid_batch=8, valid_frames=80):
    """input.json of `dp train` and of bench_train: the same keys serve both.

    `valid` is a system that `dp` shall validate on every disp_freq steps, all of its frames.
    """
    rate = {"type": schedule, "start_lr": start_lr, "stop_lr": 1e-6 if schedule == "cosine" else 3.5e-8}
    if schedule == "exp":
        rate["decay_steps"] = max(1, steps // 200)
    training = {"training_data": {"systems": [str(s) for s in settings.train_systems], "batch_size": 1},
                "numb_steps": steps, "seed": seed, "disp_file": "lcurve.out", "disp_freq": disp_freq,
                "save_freq": 10 * steps}
    if valid:
        batch = math.gcd(valid_batch, valid_frames)
        training["validation_data"] = {"systems": [str(valid)], "batch_size": batch, "numb_btch": valid_frames // batch}
    result = {"model": model_section(kind, DP_PRECISION[kind.precision], seed), "learning_rate": rate,
              "loss": {"type": "ener", "start_pref_e": 0.02, "limit_pref_e": 1, "start_pref_f": 1000, "limit_pref_f": 1,
                       "start_pref_v": 0, "limit_pref_v": 0},
              "training": training}
    if optimizer:
        result["optimizer"] = dict(optimizer)
    return result


def our_input(kind, settings, steps, **keys):
    """The same input for bench_train, which validates by itself; the precision of its arithmetic is an argument."""
    result = training_input(kind, settings, steps, **keys)
    result["training"].pop("validation_data", None)
    return result


def write_input(folder, tree):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "input.json").write_text(json.dumps(tree, indent=1) + "\n")


def learning_rate(net):
    """Adam's start: what was best for either size in trials on the water set."""
    return 5e-3 if net == "small" else 1e-3


def make_models(kind, settings, peers):
    """One model in the files of all sides, trained a little by the peer's TensorFlow backend; made once, then reused.

    Returns {"model.dp", "model.pb", "model-c.pb", "model.pth", "model-c.pth": path}. Compression of a .pb needs what only
    a frozen training has, so TensorFlow trains and the others convert.
    """
    steps = QUICK_STEPS if settings.quick else MODEL_STEPS[kind.net]
    folder = settings.work / "models" / f"{kind.name}-{steps}"
    files = {name: folder / name for name in ("model.dp", "model.pb", "model-c.pb", "model.pth", "model-c.pth")}
    stamp = folder / "done"
    tree = training_input(kind, settings, steps, start_lr=learning_rate(kind.net), disp_freq=max(10, steps // 10))
    text = json.dumps(tree)
    if stamp.exists() and stamp.read_text() == text:
        return files
    print(f"bench: making the model {kind.name} ({steps} training steps of DeePMD-kit)", flush=True)
    write_input(folder, tree)
    tf, pt = peers["tensorflow"], peers["pytorch"]
    tf.dp("model: train", folder, ["--tf", "train", "input.json"], settings.cores)
    tf.dp("model: freeze", folder, ["--tf", "freeze", "-o", "model.pb"], settings.cores)
    tf.dp("model: compress, TensorFlow", folder,
          ["--tf", "compress", "-i", "model.pb", "-o", "model-c.pb", "-t", "input.json"], settings.cores)
    tf.dp("model: to .dp", folder, ["convert-backend", "model.pb", "model.dp"], settings.cores)
    pt.dp("model: to PyTorch", folder, ["convert-backend", "model.dp", "model.pth"], settings.cores)
    pt.dp("model: compress, PyTorch", folder,
          ["--pt", "compress", "-i", "model.pth", "-o", "model-c.pth", "-t", "input.json"], settings.cores)
    stamp.write_text(text)
    return files
