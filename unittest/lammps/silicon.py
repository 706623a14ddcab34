"""A small silicon system for the tests of fix dptrain: 64 atoms, hot, with the Stillinger-Weber reference."""

import json

MODEL = {
    "type_map": ["Si"],
    "descriptor": {"type": "se_e2_a", "rcut": 4.5, "rcut_smth": 1.0, "neuron": [6, 12], "axis_neuron": 4,
                   "type_one_side": True, "seed": 1},
    "fitting_net": {"neuron": [16, 16], "resnet_dt": True, "seed": 2},
}
TRAINING = {
    "learning_rate": {"type": "exp", "start_lr": 0.005, "stop_lr": 1e-5, "decay_steps": 50},
    "loss": {"type": "ener", "start_pref_e": 0.02, "limit_pref_e": 1, "start_pref_f": 1000, "limit_pref_f": 1,
             "start_pref_v": 0.02, "limit_pref_v": 1},
    "training": {"numb_steps": 1000, "training_data": {"systems": [], "batch_size": 1}},
}
REFERENCE = 'reference pair sw coeff "* * Si.sw Si" end'
PAIR = "pair_style dptrain\npair_coeff * * input.json Si"
# the crystal's noise does not depend on the number of ranks: displacements come from atom ids
ATOMS = """units metal
atom_style atomic
atom_modify map yes
lattice diamond 5.431
region box block 0 2 0 2 0 2
create_box 1 box
create_atoms 1 box
mass 1 28.0855
velocity all create 2000 87287 loop geom
timestep 0.001
"""
COLUMNS = "thermo_style custom step pe press f_t f_t[*]\nthermo_modify format float %.17g\n"


def write_input(folder, model=None, types=("Si",), **sections):
    """input.json of a new model of these elements; entries of `model` replace those of the descriptor."""
    content = {"model": json.loads(json.dumps(MODEL)), **TRAINING, **sections}
    content["model"]["type_map"] = list(types)
    content["model"]["descriptor"].update(model or {})
    (folder / "input.json").write_text(json.dumps(content))


def learn(options, run="run 20", pair=PAIR, reference=REFERENCE, integrate="fix n all nve", thermo="thermo 10\n"):
    """Input that learns on the fly; `options` are further words of the fix. Labels come at regular steps unless they say otherwise."""
    if "mode " not in options:
        options = "mode passive " + options
    return f"{ATOMS}{pair}\nfix t all dptrain {reference} {options}\n{integrate}\n{COLUMNS}{thermo}{run}\n"


def learned_crystal(temperature):
    """Input that saves si.dp, a model with error bars that has learned 100 steps of the crystal."""
    return f"{ATOMS}{PAIR}\nfix t all dptrain {REFERENCE} mode active every 5 train 40 accuracy 0.05 save 100000 si.dp\n" \
        f"velocity all scale {temperature}\nfix n all nve\nrun 100\n"
