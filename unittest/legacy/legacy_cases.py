"""Trainings that were begun by an older version of the program, and go on with this one. Each case is two inputs of LAMMPS: the
first one has made the files in the folder of the case, the second one goes on from them. `write_legacy_files.py` has run both
with the older version; unittest/lammps/test_legacy_files.py runs the second one with this version and compares the numbers.
"""

import json
from dataclasses import dataclass

import h5py
import numpy as np

COLUMNS = "thermo_style custom step pe press f_t f_t[3] f_t[4] f_t[5] f_t[6] f_t[7]\nthermo_modify format float %.17g\nthermo 1\n"
SILICON = """units metal
atom_style atomic
atom_modify map yes
lattice diamond 5.431
region box block 0 1 0 1 0 1
create_box 1 box
create_atoms 1 box
mass 1 28.0855
velocity all create 2500 87287 loop geom
timestep 0.001
"""
SW = 'reference pair sw coeff "* * Si.sw Si" end'
TOY = """units metal
atom_style atomic
atom_modify map yes
read_data atoms.data
velocity all create 300 87287 loop geom
timestep 0.001
"""
LJ = 'reference pair lj/cut 4.0 coeff "* * 0.1 2.6" end'


@dataclass
class Case:
    name: str
    first: str         # input that makes the files
    then: str          # input that goes on from them
    kept: tuple        # names of the files and folders that `then` needs
    checkpoint: str    # file of `then` whose parameters are compared; empty: it writes none
    prepare: object = lambda folder: None  # makes what `first` needs
    curve: bool = False  # lcurve.out is compared, which has two digits


def input_json(**training):
    """A small model of silicon and its training."""
    return {
        "model": {"type_map": ["Si"],
                  "descriptor": {"type": "se_e2_a", "rcut": 4.5, "rcut_smth": 1.0, "neuron": [3, 6], "axis_neuron": 2,
                                 "type_one_side": True, "seed": 1, "sel": [40]},
                  "fitting_net": {"neuron": [6, 6], "resnet_dt": True, "seed": 2}},
        "learning_rate": {"type": "exp", "start_lr": 0.002, "stop_lr": 1e-5, "decay_steps": 3},
        "loss": {"type": "ener", "start_pref_e": 0.02, "limit_pref_e": 1, "start_pref_f": 1000, "limit_pref_f": 1,
                 "start_pref_v": 0.02, "limit_pref_v": 1},
        "training": {"numb_steps": 100, "seed": 5, "training_data": {"systems": [], "batch_size": 2}, **training},
    }


def write_json(folder, **training):
    (folder / "input.json").write_text(json.dumps(input_json(**training)))


def learn(options, run, atoms=SILICON, pair="pair_style dptrain\npair_coeff * * input.json Si", reference=SW):
    return f"{atoms}{pair}\nfix t all dptrain {reference} {options}\nfix n all nve\n{COLUMNS}run {run}\n"


def write_atoms(folder):
    """atoms.data: a small crystal of two elements with displaced atoms."""
    random = np.random.default_rng(4)
    basis = np.array([[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]]) + 0.1
    corners = np.stack(np.meshgrid(*3 * [np.arange(2)], indexing="ij"), -1).reshape(-1, 1, 3)
    x = 4.1 * (corners + basis).reshape(-1, 3) + random.uniform(-0.15, 0.15, (32, 3))
    box = "".join(f"0 8.2 {c}lo {c}hi\n" for c in "xyz")
    rows = "".join(f"{i + 1} {2 if i % 4 == 1 else 1} {a!r} {b!r} {c!r}\n" for i, (a, b, c) in enumerate(x.tolist()))
    (folder / "atoms.data").write_text(f"# toy\n\n32 atoms\n2 atom types\n{box}\nMasses\n\n1 30\n2 30\n\nAtoms\n\n{rows}")


def prepare_train(folder):
    """The data set of the training is made by fix dptrain in the same run."""
    document = input_json(numb_steps=7, save_freq=7, disp_freq=4, disp_avg=True, enable_ema=True, ema_decay=0.8, acc_freq=2,
                          training_data={"systems": ["data"], "batch_size": 2},
                          validation_data={"systems": ["data"], "batch_size": 1, "numb_btch": 2})
    write_json(folder)
    (folder / "train.json").write_text(json.dumps(document))
    document["training"]["numb_steps"] = 12
    document["training"]["save_freq"] = 12
    (folder / "then.json").write_text(json.dumps(document))


TOY_PAIR = "pair_style dptrain\npair_coeff * * local.pth A B"
PASSIVE = "every 2 warmup 2 batch 2 disp 1 lcurve.out "
ACTIVE = "mode active every 2 warmup 3 train 5 batch 2 optimizer adam threshold 0.5 holdout 2 audit 3 "
START_ACTIVE = learn(ACTIVE + "save 1000 si.dp", 12)
MODEL = SILICON + """pair_style dptrain
pair_coeff * * si.dp Si
compute u all dptrain/uncertainty/atom
compute most all reduce max c_u
fix n all nve
thermo_style custom step pe press c_most
thermo_modify format float %.17g
thermo 1
run 3
"""

CASES = [
    Case("passive_adam", learn(PASSIVE + "train 3 optimizer adam save 1000 si.dp", 8),
         learn(PASSIVE + "train 3 resume si.dp save 1000 next.dp", 6), ("input.json", "si.dp.ckpt", "si.dp.frames"),
         "next.dp.ckpt", write_json),
    # amid an average and a sum of three gradients
    Case("passive_soap", learn(PASSIVE + "train 2 optimizer soap ema 0.8 buffer 4 save 1000 si.dp", 8),
         learn(PASSIVE + "train 2 resume si.dp save 1000 next.dp buffer 4", 6), ("input.json", "si.dp.ckpt", "si.dp.frames"),
         "next.dp.ckpt", lambda folder: write_json(folder, acc_freq=3)),
    Case("active", START_ACTIVE, learn(ACTIVE + "resume si.dp save 1000 next.dp", 8),
         ("input.json", "si.dp.ckpt", "si.dp.frames"), "next.dp.ckpt", write_json),
    Case("model", START_ACTIVE, MODEL, ("si.dp",), "", write_json),
    Case("train", learn("every 1 warmup 100 dataset data", 5) + "clear\ndptrain train train.json\n",
         "dptrain train then.json --restart model.ckpt-7\n", ("data", "then.json", "model.ckpt-7.dp", "lcurve.out"),
         "model.ckpt-12.dp", prepare_train, curve=True),
    Case("script", learn(PASSIVE + "train 2 optimizer soap ema 0.8 save 1000 toy.pth", 6, TOY, TOY_PAIR, LJ),
         learn(PASSIVE + "train 2 resume toy.pth save 1000 next.pth", 4, TOY, TOY_PAIR, LJ),
         ("atoms.data", "local.pth", "toy.pth.ckpt", "toy.pth.frames"), "next.pth.ckpt", write_atoms),
]


def numbers_of(case, folder, result):
    """What a run of the second input has computed, as {name: list}."""
    numbers = {}
    if "thermo" in case.then:
        numbers = {name: values.tolist() for name, values in result.thermo().items()}
    if case.curve:
        numbers["lcurve"] = np.loadtxt(folder / "lcurve.out", ndmin=2).tolist()
    if not case.checkpoint:
        return numbers
    with h5py.File(folder / case.checkpoint) as file:
        numbers["parameters"] = file["dptrain/parameters"][()].tolist()
        if "average" in file["dptrain"]:
            numbers["average"] = file["dptrain/average"][()].tolist()
    return numbers
