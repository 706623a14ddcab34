"""Models and data of the kit, and what a processor computes from them."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

from gpucheck import agreement

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from dpbench.models import Kind, training_input  # noqa: E402

TRAINED = 200  # steps, until the weights are no longer what was drawn
# name: net of se_e2_a of the benchmark, whether one embedding net serves all centers, the optimizer's start
EMBEDDINGS = {"standard": ("standard", True, 1e-3), "small": ("small", True, 5e-3), "two_side": ("small", False, 5e-3)}
SPECTRUM = "spectrum"  # power_spectrum with all its defaults, SOAP among them
NETS = [*EMBEDDINGS, SPECTRUM]


class KitError(Exception):
    """The kit cannot be made; the message says why."""


def call(command, folder, environment):
    """Output of a program; KitError with the end of it where it fails."""
    done = subprocess.run([str(w) for w in command], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise KitError(f"gpu-kit: {Path(command[0]).name} has failed:\n" + (done.stdout + done.stderr)[-2000:])
    return done.stdout


def input_of(name):
    """input.json of a case: the net in float64, all terms of the loss."""
    net, one_side, rate = EMBEDDINGS.get(name, ("standard", True, 1e-3))
    data = SimpleNamespace(train_systems=["water"])
    tree = training_input(Kind(net), data, 1000, start_lr=rate)
    if name == SPECTRUM:
        tree["model"].update({"descriptor": {"type": "power_spectrum", "seed": 1}, "fitting_net": {"seed": 1}})
    else:
        tree["model"]["descriptor"]["type_one_side"] = one_side
    tree["loss"].update(start_pref_v=0.02, limit_pref_v=1)
    return tree


def make_cases(data, programs, environment):
    """Fills the folder `data`: water/, water.data, nets/NAME with input.json, model.dp and expected.jsonl.

    `programs` is the folder with bench_train and agreement of a build for processors.
    """
    from . import water  # here, because --help needs no NumPy

    coord, types = water.write_system(data / "water")
    water.write_lammps_data(data / "water.data", coord, types)
    for name in NETS:
        folder = data / "nets" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "input.json").write_text(json.dumps(input_of(name), indent=1) + "\n")
        log = folder / "training.jsonl"
        call([programs / "bench_train", "input.json", log, "--train", data / "water", "--steps", TRAINED, "--save", "model.dp"],
             folder, environment)
        log.unlink()
        expected = call(agreement.command(programs / "agreement", folder, data / "water"), folder, environment)
        (folder / "expected.jsonl").write_text(expected)
