"""Input files, read by this program and by DeePMD-kit: the same settings, defaults and other names of keys.

Needs DeePMD-kit (environment variable DPTRAIN_DEEPMD = its `dp` executable, or `dp` on the PATH) and the program print_input of a
build with tests (environment variable DPTRAIN_BUILD, or build/).
"""

import copy
import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
PRINT_INPUT = Path(os.environ.get("DPTRAIN_BUILD", HERE.parents[1] / "build")) / "unittest" / "tools" / "print_input"
DEEPMD = os.environ.get("DPTRAIN_DEEPMD") or shutil.which("dp")
pytestmark = [
    pytest.mark.story("interop"),
    pytest.mark.skipif(not DEEPMD, reason="needs DeePMD-kit: set DPTRAIN_DEEPMD to its `dp` executable"),
    pytest.mark.skipif(not PRINT_INPUT.exists(), reason="needs a build with tests: set DPTRAIN_BUILD"),
]
COUNT = 400

# keys of DeePMD-kit that have no meaning here, so that the resolved input has its defaults
WITHOUT_MEANING = {
    "model": {"data_stat_protect", "data_bias_nsample", "srtab_add_bias", "model_branch_alias", "info", "bridging_r_inner", "bridging_r_outer"},
    "learning_rate": {"scale_by_worker"},
    "training": {"tensorboard", "tensorboard_log_dir", "tensorboard_freq", "profiling", "profiling_file", "enable_profiler", "enable_compile", "enable_tf32",
                 "zero_stage", "neighbor_graph_method", "mixed_precision", "ema_ckpt_keep", "stat_file", "stat_file_mode"},
    "validating": {"compiled_infer", "tf32_infer", "amp_infer"},
}

# per section: key and other names of it, values; a choice is made of some of the keys
CHOICES = {
    "descriptor": [
        (["sel"], [[46, 92], [0, 4], "auto", "auto:1.3"]), (["rcut"], [6, 5.5]), (["rcut_smth"], [0.5, 1, 0]), (["neuron"], [[25, 50, 100], [8]]),
        (["axis_neuron", "n_axis_neuron"], [4, 8]), (["activation_function"], ["tanh", "gelu", "silut:3.0"]), (["resnet_dt"], [True, False]),
        (["type_one_side"], [True, False]), (["precision"], ["default", "float32", "float64", "single", "double"]), (["trainable"], [True, False]), (["seed"], [1, None]),
        (["exclude_types"], [[], [[0, 1]]]), (["env_protection"], [0.0, 0.1]), (["set_davg_zero"], [True, False]), (["_comment"], ["x"]),
    ],
    "fitting_net": [
        (["type"], ["ener"]), (["neuron", "n_neuron"], [[240, 240], [5]]), (["activation_function"], ["tanh", "relu"]), (["resnet_dt"], [True, False]),
        (["precision"], ["default", "float64"]), (["trainable"], [True, False]), (["rcond"], [None]), (["seed"], [2, None]), (["numb_fparam", "numb_aparam"], [0]),
        (["atom_ener"], [[], [-1.5, None]]), (["use_aparam_as_mask"], [False]), (["dim_case_embd"], [0]),
    ],
    "model": [
        (["type"], ["standard"]), (["data_stat_nbatch"], [10, 3]), (["data_stat_protect"], [0.01, 0.1]), (["data_bias_nsample"], [10, 20]),
        (["pair_exclude_types"], [[], [[0, 0]]]), (["atom_exclude_types"], [[], [1]]), (["srtab_add_bias"], [True]), (["bridging_method"], ["None"]), (["info"], [{"a": 1}]),
    ],
    "learning_rate": [
        (["stop_lr", "stop_lr_ratio"], [1e-8, 1e-3]), (["warmup_steps"], [0, 10]), (["warmup_start_factor"], [0.0, 0.2]), (["scale_by_worker"], ["linear", "none"]),
    ],
    "exp": [(["decay_steps"], [500, 5000]), (["decay_rate"], [0.95, 1]), (["smooth"], [True, False])],
    "cosine": [],
    "wsd": [(["decay_phase_ratio"], [0.2, 1]), (["decay_type"], ["cosine", "linear", "inverse_linear"])],
    "loss": [
        *(([f"{end}_pref_{term}"], [0, 0.5, 10]) for end in ("start", "limit") for term in ("e", "f", "v", "ae", "pf", "gf")), (["start_pref_h", "limit_pref_h"], [0]),
        (["type"], ["ener", "ener_hess"]), (["numb_generalized_coord"], [1, 2]), (["enable_atom_ener_coeff"], [True, False]), (["use_default_pf"], [True, False]),
        (["intensive_ener_virial"], [True, False]), (["huber_delta"], [0.02, [0.1, 0.2, 0.3]]), (["relative_f"], [0.5, None]),
    ],
    "optimizer": [(["type"], ["Adam", "AdamW"]), (["adam_beta1"], [0.8]), (["adam_beta2"], [0.99]), (["weight_decay"], [0.0, 0.01])],
    "training": [
        (["seed"], [1, None]), (["disp_file"], ["l.out"]), (["disp_freq"], [10]), (["save_freq"], [100]), (["save_dir"], ["out", None]), (["save_ckpt"], ["m"]),
        (["max_ckpt_keep"], [3]), (["ckpt_keep_ratio"], [0.5, None]), (["enable_ema"], [True, False]), (["ema_decay"], [0.9]), (["ema_ckpt_keep"], [2]),
        (["change_bias_after_training"], [True, False]), (["disp_training"], [True, False]), (["time_training"], [True, False]), (["disp_avg"], [True, False]),
        (["tensorboard"], [True, False]), (["tensorboard_freq"], [5]), (["profiling"], [True, False]), (["gradient_max_norm"], [5.0, 0]), (["acc_freq"], [2]),
        (["zero_stage"], [0, 1]), (["stat_file"], ["s.hdf5"]), (["stat_file_mode"], ["update"]), (["numb_test"], [3]), (["mixed_precision"], [{"compute_prec": "float16"}]),
    ],
    "data": [
        (["systems"], ["a", ["a", "b"]]), (["batch_size"], [1, [1, 2], "auto", "auto:64", "max:10", "filter:10", "mixed:4"]), (["rglob_patterns"], [["x*"], None]),
        (["auto_prob", "auto_prob_style"], ["prob_uniform", "prob_sys_size", "prob_sys_size;0:1:0.5;1:2:0.5"]), (["sys_probs", "sys_weights"], [[0.5, 0.5]]),
    ],
}


def choose(rng, section):
    chosen = {}
    for names, values in CHOICES[section]:
        if rng.random() < 0.5:
            chosen[rng.choice(names)] = copy.deepcopy(rng.choice(values))
    return chosen


def random_input(rng):
    """An input that DeePMD-kit accepts, in the layout of version 1, 3.1 or 3.2."""
    model = {"type_map": ["O", "H"], **choose(rng, "model"), "fitting_net": choose(rng, "fitting_net")}
    model["descriptor"] = {"type": rng.choice(["se_e2_a", "se_a"]), **choose(rng, "descriptor")}
    schedule = rng.choice(["exp", "cosine", "wsd"])
    learning_rate = {"type": schedule, "start_lr": 0.001, **choose(rng, "learning_rate"), **choose(rng, schedule)}
    loss = choose(rng, "loss")
    if "start_pref_gf" in loss:
        loss.setdefault("numb_generalized_coord", 1)
    form = rng.choice(["mse", "mae", "huber"])
    if form != "mse":
        loss["f_use_norm"] = rng.random() < 0.5
    if form == "mae":
        loss["loss_func"] = "mae"
    if form == "huber":
        loss["use_huber"] = True
        for key in ("relative_f", "start_pref_pf", "start_pref_gf"):
            loss.pop(key, None)
    training = {**choose(rng, "training"), "training_data": {"systems": "a", **choose(rng, "data")}}
    training[rng.choice(["numb_steps", "num_steps", "stop_batch", "num_step"])] = 1000
    if rng.random() < 0.3:
        training["training_data"]["min_pair_dist"] = 0.6
    if rng.random() < 0.5:
        training["validation_data"] = {"systems": ["v"], **choose(rng, "data"), rng.choice(["numb_btch", "numb_batch"]): 2}
    data = {"model": model, "learning_rate": learning_rate, "loss": loss, "training": training}
    optimizer = choose(rng, "optimizer")
    layout = rng.choice(["1", "3.1", "3.2"])
    if layout == "1":
        for key in ("numb_steps", "num_steps", "num_step"):
            if key in training:
                training["stop_batch"] = training.pop(key)
        old = training.pop("training_data")
        training.update({key: value for key, value in old.items() if key in ("systems", "batch_size", "auto_prob")})
        if schedule == "exp":
            learning_rate["decay_steps"] = 100
            learning_rate.pop("stop_lr_ratio", None)
        else:
            learning_rate.pop("decay_rate", None)
    if layout == "3.1":
        training.update({"opt_type" if key == "type" else key: value for key, value in optimizer.items()})
        training.update({key: learning_rate.pop(key) for key in ("warmup_steps", "warmup_start_factor") if key in learning_rate})
    else:
        data["optimizer"] = optimizer
    if "num_steps" in training and rng.random() < 0.3:
        del training["num_steps"]
        training[rng.choice(["numb_epoch", "num_epochs", "num_epoch"])] = rng.choice([3, 2.5])
    return data


def without_none(value):
    return {key: without_none(item) for key, item in value.items() if item is not None} if isinstance(value, dict) else value


def canonical(data):
    """The same settings in one way of writing, without what has no meaning here."""
    data = without_none(copy.deepcopy(data))
    for section, keys in WITHOUT_MEANING.items():
        for key in keys:
            data.get(section, {}).pop(key, None)
    for part in (data["model"]["descriptor"], data["model"]["fitting_net"]):
        part["precision"] = {"default": "float64", "double": "float64", "single": "float32"}.get(part["precision"], part["precision"])
    descriptor, loss, training = data["model"]["descriptor"], data["loss"], data["training"]
    descriptor["type"] = "se_e2_a"
    descriptor["sel"] = "auto:1.1" if descriptor["sel"] == "auto" else descriptor["sel"]
    if not isinstance(loss["huber_delta"], list):
        loss["huber_delta"] = [loss["huber_delta"]] * 3
    loss["type"] = "ener"
    for key in ("training_data", "validation_data"):
        part = training.get(key)
        if part:
            part["systems"] = [part["systems"]] if isinstance(part["systems"], str) else part["systems"]
            part["batch_size"] = "auto:32" if part["batch_size"] == "auto" else part["batch_size"]
    training.setdefault("gradient_max_norm", 0)
    training.setdefault("seed", 1)
    if not training["enable_ema"]:
        training.pop("ema_decay", None)
    return data


def differences(a, b, path=""):
    if isinstance(a, dict) and isinstance(b, dict):
        return [line for key in sorted(set(a) | set(b)) for line in differences(a.get(key), b.get(key), f"{path}/{key}")]
    numbers = all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in (a, b))
    # the end of the learning rate of version 1 is computed; all else is copied
    same = abs(a - b) <= 1e-14 * abs(b) if numbers else a == b
    return [] if same else [f"{path}: {a} and {b}"]


def print_inputs(folder, inputs):
    paths = []
    for k, data in enumerate(inputs):
        paths.append(folder / f"{k}.json")
        paths[-1].write_text(json.dumps(data, indent=2))
    text = subprocess.run([PRINT_INPUT, *paths], check=True, capture_output=True, text=True).stdout.strip()
    results, decoder = [], json.JSONDecoder()
    while text:
        value, end = decoder.raw_decode(text)
        results.append(value)
        text = text[end:].strip()
    return results


def normalize(folder, inputs):
    (folder / "inputs.json").write_text(json.dumps(inputs))
    python = Path(shutil.which(DEEPMD)).resolve().parent / "python"
    subprocess.run([python, HERE / "normalize_with_deepmd.py", "inputs.json", "results.json"], cwd=folder, check=True)
    return json.loads((folder / "results.json").read_text())


def test_random_inputs_have_deepmds_settings(tmp_path):
    rng = random.Random(20)
    inputs = [random_input(rng) for _ in range(COUNT)]
    ours = print_inputs(tmp_path, inputs)
    assert len(ours) == COUNT
    # DeePMD-kit reads our resolved text too, and finds in it what it finds in the input
    theirs = normalize(tmp_path, inputs + ours)
    for data, resolved, original, again in zip(inputs, ours, theirs[:COUNT], theirs[COUNT:]):
        assert "error" not in resolved, (resolved, data)
        assert "error" not in original, (original, data)
        assert "error" not in again, (again, resolved)
        assert differences(canonical(again), canonical(original)) == [], data


REFUSED = [
    ("/model/descriptor/rcut", "6"), ("/model/descriptor/neuron", 3), ("/model/descriptor/rcutt", 6.0), ("/model/descriptor/type", "se_x"), ("/model/atom_exclude", [1]),
    ("/learning_rate/type", "step"), ("/learning_rate/decay_steps", 0), ("/learning_rate/decay_rate", 1.5), ("/learning_rate/decay_type", "cosine"),
    ("/learning_rate", {"start_lr": 1e-3, "stop_lr": 1e-8, "stop_lr_ratio": 1e-3}), ("/learning_rate", {"start_lr": 1e-3, "warmup_steps": 1, "warmup_ratio": 0.1}),
    ("/learning_rate", {"type": "wsd", "start_lr": 1e-3, "decay_phase_ratio": 0}), ("/learning_rate", {"type": "wsd", "start_lr": 1e-3, "stop_lr": 0.0}),
    ("/learning_rate", {"type": "wsd", "start_lr": 1e-3, "decay_type": "exp"}), ("/loss/start_pref", 1), ("/loss/use_huber", 1), ("/loss/relative_f", "x"),
    ("/optimizer/type", "SGD"), ("/optimizer/adam_beta3", 0.9), ("/training/numb_epoch", 3), ("/training/ema_decay", 1.0),
    ("/training/ckpt_keep_ratio", 1.0), ("/training/training_data/numb_btch", 1), ("/training/validation_data", {"systems": "a", "min_pair_dist": 0.1}),
    ("/training/systems", ["a"]), ("/training/training_data/batch_sizes", 1),
]


def test_what_deepmd_refuses_is_refused(tmp_path):
    base = {"model": {"type_map": ["O", "H"], "descriptor": {"type": "se_e2_a", "sel": [46, 92]}, "fitting_net": {}}, "learning_rate": {"start_lr": 0.001},
            "loss": {}, "optimizer": {}, "training": {"numb_steps": 10, "training_data": {"systems": "a"}}}
    inputs = [base]
    for place, value in REFUSED:
        inputs.append(copy.deepcopy(base))
        *sections, key = place.strip("/").split("/")
        part = inputs[-1]
        for section in sections:
            part = part[section]
        part[key] = value
    ours, theirs = print_inputs(tmp_path, inputs), normalize(tmp_path, inputs)
    assert "error" not in ours[0] and "error" not in theirs[0]
    for (place, value), mine, other in zip(REFUSED, ours[1:], theirs[1:]):
        assert "error" in other, f"{place} {value} is good for DeePMD-kit"
        assert "error" in mine, f"{place} {value} is refused by DeePMD-kit: {other}"
        assert place in mine["error"].replace(": ", "/") or "/learning_rate" in place, mine
