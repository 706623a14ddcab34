"""The sides of the part `labels` that are other programs: DeePMD-kit, torchnep (NEP) and ace-jax (ACE)."""

import json
import math

import numpy as np

from . import labels_ase
from .errors import BenchError
from .labels_data import most_neighbors, rmse, write_npy
from .labels_sides import BATCH_ATOMS, LammpsSide, Side, run_cpu
from .process import run
from .reference_data import write_extxyz

ONE_THREAD = {"OMP_NUM_THREADS": 1, "MKL_NUM_THREADS": 1, "OPENBLAS_NUM_THREADS": 1, "JAX_PLATFORMS": "cpu",
              "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"}
SPARE = 1.1  # slots for neighbors over the most of the training frames
SMALL = {"neuron": [25, 25, 25], "axis_neuron": 8}
STANDARD = {"neuron": [25, 50, 100], "axis_neuron": 16}
REPFORMER = {"nlayers": 3, "g1_dim": 128, "g2_dim": 32, "attn2_hidden": 32, "attn2_nhead": 4, "attn1_hidden": 128,
             "attn1_nhead": 4, "axis_neuron": 4, "update_h2": False, "update_g1_has_conv": True, "update_g1_has_grrg": True,
             "update_g1_has_drrd": True, "update_g1_has_attn": False, "update_g2_has_g1g1": False, "update_g2_has_attn": False,
             "update_style": "res_residual", "update_residual": 0.01, "update_residual_init": "norm", "attn2_has_gate": True,
             "use_sqrt_nnei": True, "g1_out_conv": True, "g1_out_mlp": True}
# name: (backend, fitting net, start rate, optimizer); the settings of the two attention models are those of DeePMD-kit's examples
DEEPMD = {"se_e2_a, TensorFlow": ("tensorflow", [50, 50, 50], 5e-3, None),
          "se_e2_a, PyTorch": ("pytorch", [50, 50, 50], 3e-3, "HybridMuon"),
          "DPA-1, PyTorch": ("pytorch", [240, 240, 240], 1e-3, None),
          "DPA-2 small, PyTorch": ("pytorch", [240, 240, 240], 1e-3, None)}


def through_ase(side, what, folder, words, variables=ONE_THREAD):
    """Output of labels_ase.py in the Python of a side's environment."""
    command = [side.environment.bin / "python", labels_ase.__file__, *words]
    return run(side.recorder, f"{what}, {side.name}", command, folder, variables, f"ase-{what}.log")[0]


def ase_errors(side, dataset, folder, kind, model, variables=ONE_THREAD):
    write_extxyz(folder / "test.xyz", [frame[:5] for frame in dataset.test])
    through_ase(side, "test", folder, ["predict", kind, model, "test.xyz", "test.npz"], variables)
    found = np.load(folder / "test.npz")
    ends = np.cumsum([len(frame[0]) for frame in dataset.test])[:-1]
    return rmse(dataset.test, found["energies"], np.split(found["forces"], ends))


class AseSide(Side):
    """A side whose model is used through ASE, in the Python of its own environment."""

    kind = model_file = ""

    def __init__(self, name, environment, recorder):
        super().__init__(name, recorder)
        self.environment = environment

    def errors(self, dataset, folder):
        return ase_errors(self, dataset, folder, self.kind, self.model_file)

    def md_sides(self, dataset, folder):
        def measure(frame, seconds, place):
            symbols, x, cell = frame
            write_extxyz(folder / "md.xyz", [(symbols, x, cell, 0.0, np.zeros_like(x))])
            text = through_ase(self, "md", folder, ["md", self.kind, self.model_file, "md.xyz", str(seconds)])
            return float(next(line for line in text.splitlines() if line.startswith("MD ")).split()[1])
        return {f"{self.name} (ASE)": measure}


class Nep(AseSide):
    """torchnep: NEP4 with torchnep's own default size and rates; the rate falls by steps over the run."""

    kind, model_file, marked = "torchnep", "out/nep_best.txt", True
    first_steps, first_frames = (6, 60), 12

    def train(self, dataset, frames, steps, seed, folder, seconds):
        write_extxyz(folder / "train.xyz", [frame[:5] for frame in frames])
        atoms = np.mean([len(frame[0]) for frame in frames])
        batch = max(1, round(BATCH_ATOMS / atoms))
        epochs = max(1, round(steps * batch / len(frames)))
        elements = dataset.elements
        (folder / "nep.in").write_text(
            f"version 4\ntype {len(elements)} {' '.join(elements)}\ncutoff {dataset.rcut} {dataset.rcut - 0.5}\n"
            f"batch {batch}\nepoch {epochs}\nlr_scheduler step\nscheduler_patience {max(1, round(epochs / 12))}\n")
        (folder / "train.py").write_text(
            "import torch\nfrom torchnep import train_nep\ntorch.set_num_threads(1)\n"
            f"train_nep('nep.in', 'train.xyz', output_dir='out', device='cpu', run_seed={seed}, restart=False, "
            "prediction_interval=0)\n")
        return run_cpu(self.recorder, "training, torchnep", [self.environment.bin / "python", "train.py"], folder, ONE_THREAD,
                       seconds=seconds, marks=("Training: epochs", "Running final prediction"))[1]


class Ace(AseSide):
    """ace-jax: linear ACE, whose coefficients and error levels are found by Bayesian regression."""

    kind, model_file, direct = "ace", "fit/model.npz", True
    counts = ()  # JAX compiles for a minute in each run
    degrees = {1: 12, 2: 8}  # for one and for two elements

    def train(self, dataset, frames, steps, seed, folder, seconds):
        for name, some in (("train", frames), ("one", frames[:1])):
            write_extxyz(folder / f"{name}.xyz", [frame[:5] for frame in some])
        degree = self.degrees[min(2, len(dataset.elements))]
        words = ["fit", "--order", "3", "--max-degree", str(degree), "--rcut", str(dataset.rcut), "--e0", "lsq", "--train",
                 "train.xyz", "--test", "one.xyz", "--out", "fit"]
        variables = {**ONE_THREAD, "ACEJAX_COUPLING_CACHE": folder.parent / "coupling"}
        return run_cpu(self.recorder, "training, ACE", [self.environment.bin / "aj", *words], folder, variables,
                       seconds=seconds)[1]

    def errors(self, dataset, folder):
        """By its own `aj eval`: through ASE it would compile for every number of atoms."""
        from ase.io import read

        write_extxyz(folder / "test.xyz", [frame[:5] for frame in dataset.test])
        run_cpu(self.recorder, "test, ACE", [self.environment.bin / "aj", "eval", "--model", self.model_file, "--data", "test.xyz",
                                             "--out", "predicted.xyz"], folder, ONE_THREAD, "test.log")
        found = read(folder / "predicted.xyz", ":")
        return rmse(dataset.test, [a.info["ace_energy"] for a in found], [a.arrays["ace_forces"] for a in found])


class Deepmd(LammpsSide):
    """DeePMD-kit with one of its models; trained, frozen and, where it can, compressed by its own `dp`. Its first step compiles
    and counts as start-up."""

    marked = True

    def __init__(self, kind, peers, recorder):
        self.backend, self.fitting, self.rate, self.optimizer = DEEPMD[kind]
        super().__init__(f"DeePMD-kit, {kind}", peers[self.backend], recorder)
        self.kind = kind
        self.first_steps = (0, {"se_e2_a, TensorFlow": 400, "se_e2_a, PyTorch": 100}.get(kind, 20))  # the first ones are slow

    def descriptor(self, dataset):
        sel = [4 * math.ceil(SPARE * n / 4) for n in most_neighbors(dataset.train, dataset.elements, dataset.rcut)]
        radii = {"rcut": dataset.rcut, "rcut_smth": 0.5}
        if self.kind.startswith("se_e2_a"):
            return {"type": "se_e2_a", "sel": sel, **radii, **SMALL, "type_one_side": True, "precision": "float32"}
        if self.kind.startswith("DPA-1"):
            return {"type": "se_atten", "sel": sum(sel), **radii, **STANDARD, "attn_layer": 0, "tebd_input_mode": "strip",
                    "smooth_type_embedding": True, "precision": "float32"}
        near = sum(most_neighbors(dataset.train, dataset.elements, 4.0))
        near = {"rcut": 4.0, "rcut_smth": 3.5, "nsel": 4 * math.ceil(SPARE * near / 4)}
        return {"type": "dpa2", "precision": "float32", "add_tebd_to_repinit_out": False,
                "repinit": {"tebd_dim": 8, **radii, "nsel": sum(sel), "neuron": [25, 50, 100], "axis_neuron": 12,
                            "activation_function": "tanh", "use_three_body": True,
                            **{f"three_body_{k.replace('nsel', 'sel')}": v for k, v in near.items()}},
                "repformer": {**near, **REPFORMER}}

    def input(self, dataset, systems, steps, seed):
        tree = {"model": {"type_map": dataset.elements, "descriptor": self.descriptor(dataset),
                          "fitting_net": {"neuron": self.fitting, "resnet_dt": True, "precision": "float32", "seed": seed}},
                "learning_rate": {"type": "cosine", "start_lr": self.rate, "stop_lr": 1e-6},
                "loss": {"type": "ener", "start_pref_e": 0.02, "limit_pref_e": 1, "start_pref_f": 1000, "limit_pref_f": 1,
                         "start_pref_v": 0, "limit_pref_v": 0},
                "training": {"training_data": {"systems": [str(s) for s in systems], "batch_size": f"auto:{BATCH_ATOMS}"},
                             "numb_steps": steps, "seed": seed, "disp_freq": max(1, steps // 4), "save_freq": 10 * steps}}
        if self.optimizer:
            tree["optimizer"] = {"type": self.optimizer}
        return tree

    def dp(self, what, folder, words, seconds=60.0, marks=()):
        env = self.environment
        return run_cpu(self.recorder, f"{what}, {self.kind}", [env.bin / "dp", env.flag, *words], folder, env.threads(1, 1),
                       f"{what}.log", seconds, marks)[1]

    def train(self, dataset, frames, steps, seed, folder, seconds):
        systems = write_npy(folder / "data", frames, dataset.elements)
        (folder / "input.json").write_text(json.dumps(self.input(dataset, systems, steps, seed), indent=1))
        return self.dp("training", folder, ["train", "input.json"], seconds, ("DEEPMD INFO    Batch ", "average training time"))

    def frozen(self, folder):
        path = folder / ("model.pb" if self.backend == "tensorflow" else "model.pth")
        if not path.exists():
            self.dp("freeze", folder, ["freeze", "-o", path.name])
        return path

    def model(self, folder):
        """The compressed model where that is possible, else the frozen one; compressed when first asked for."""
        plain = self.frozen(folder)
        small = plain.with_stem("model-c")
        if not small.exists() and not self.kind.startswith("DPA-2"):
            try:
                self.dp("compress", folder, ["compress", "-i", plain.name, "-o", small.name, "-t", "input.json"])
            except BenchError as error:
                print(f"bench: {self.name}: not compressed: {str(error).splitlines()[0]}", flush=True)
        return small if small.exists() else plain

    def styles(self, dataset, folder):
        return {self.name: (f"deepmd {self.model(folder)}", " ".join(dataset.elements))}

    def errors(self, dataset, folder):
        """Through ASE, which reads the model once for all frames."""
        return ase_errors(self, dataset, folder, "deepmd", self.frozen(folder).name, self.environment.threads(1, 1))

    def lammps(self, what, folder, text):
        return self.environment.run_lammps(what, folder, text, 1)


def peer_sides(peers, recorder):
    """Sides of the programs that could be installed; DeePMD-kit's models apart, of which the best one counts."""
    sides = [kind(name, peers[name], recorder) for kind, name in ((Nep, "torchnep"), (Ace, "ACE")) if name in peers]
    return sides, [Deepmd(kind, peers, recorder) for kind, (backend, *_) in DEEPMD.items() if backend in peers]
