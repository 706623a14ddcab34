"""TorchScript potentials (.pth): MD time and memory beside `pair_style deepmd` with the same file.

Two models of one element, made by DeePMD-kit's Python: se_atten_v2 (DPA-1 without attention) with the standard net, whose
energies are local, and se_e2_a, which this package runs as a native model and, asked to, as TorchScript.
"""

import json

from .errors import BenchError
from .logs import lammps_loop
from .pairing import ratios, summary, take_turns
from .process import memory_bound, run_bounded

FITTING = {"neuron": [240, 240, 240], "resnet_dt": True, "seed": 1}
DESCRIPTORS = {
    "se_atten_v2": {"type": "se_atten_v2", "sel": 120, "rcut": 6.0, "rcut_smth": 0.5, "neuron": [25, 50, 100], "axis_neuron": 16,
                    "attn_layer": 0, "tebd_dim": 8, "seed": 1, "precision": "float64"},
    "se_e2_a": {"type": "se_e2_a", "sel": [120], "rcut": 6.0, "rcut_smth": 0.5, "neuron": [25, 50, 100], "axis_neuron": 16,
                "resnet_dt": False, "type_one_side": True, "seed": 1, "precision": "float64"},
}
MAKE = """
import json, sys, torch
from deepmd.pt.model.model import get_model
section = json.loads(sys.argv[1])
torch.manual_seed(1)
model = get_model(json.loads(sys.argv[1]))
for name, values in model.named_buffers():
    if name.endswith("stddev") and values.dim() == 3:
        values[..., 0], values[..., 1:] = 0.04, 0.08
model.eval()
model.model_def_script = json.dumps(section)
torch.jit.save(torch.jit.script(model), sys.argv[2], {})
"""
INPUT = """units metal
lattice fcc 3.615
region box block 0 {cells} 0 {cells} 0 {cells}
create_box 1 box
create_atoms 1 box
mass 1 63.546
displace_atoms all random 0.05 0.05 0.05 4
velocity all create 300 87287
pair_style {style}
pair_coeff * * {coeff}
neighbor 1.0 bin
timestep 0.001
fix nve all nve
run 1
run {steps}
"""
OURS, OURS_SCRIPT, PEER = "dptrain", "dptrain native no", "deepmd"
TIMED_CELLS, STEPS = 6, 3  # 864 atoms
MEMORY_CELLS = (6, 12, 18, 30)  # 864, 6912, 23328, 108000 atoms
ATOMS_OF_A_CELL = 4


def make_models(settings, peer, folder):
    """{descriptor: file}"""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "make.py").write_text(MAKE)
    files = {}
    for name, descriptor in DESCRIPTORS.items():
        section = {"type_map": ["Cu"], "descriptor": descriptor, "fitting_net": FITTING}
        files[name] = folder / f"{name}.pth"
        found = run_bounded(peer.recorder, "models", [peer.bin / "python", "make.py", json.dumps(section), files[name]], folder,
                            peer.threads(1, 1), memory_bound())
        if found["end"]:
            raise BenchError(f"bench: torchscript: {found['text'][-800:]}")
    return files


def styles(descriptor, file):
    """{side: (pair_style, pair_coeff after * *)}"""
    sides = {OURS: ("dptrain", f"{file} Cu")}
    if descriptor == "se_e2_a":
        sides[OURS_SCRIPT] = ("dptrain native no", f"{file} Cu")
    return {**sides, PEER: (f"deepmd {file}", "Cu")}


def time_sides(settings, environments, descriptor, file, folder):
    """us per atom and step of all sides in turn, on as many ranks as there are cores."""
    sides = styles(descriptor, file)
    atoms = ATOMS_OF_A_CELL * TIMED_CELLS**3

    def one(name):
        style, coeff = sides[name]
        text = INPUT.format(cells=TIMED_CELLS, style=style, coeff=coeff, steps=STEPS)
        return lammps_loop(environments[name].run_lammps(f"TorchScript, {name}", folder, text, settings.cores))[0]

    values = take_turns(list(sides), one, 1 if settings.quick else settings.repeats,
                        lambda name, value: print(f"  {descriptor} {atoms} atoms  {name:18s} {value:9.1f} us/atom/step", flush=True))
    return {"descriptor": descriptor, "atoms": atoms, "us_per_atom": {n: summary(v) for n, v in values.items()},
            "ratio": ratios(values, (OURS,))}  # others / ours


def memory_of_sides(settings, environments, descriptor, file, folder, bound):
    """Largest memory of one evaluation on one rank, for growing systems; a side that has failed is not asked again."""
    rows, ended = [], set()
    for cells in MEMORY_CELLS[:2] if settings.quick else MEMORY_CELLS:
        row = {"descriptor": descriptor, "atoms": ATOMS_OF_A_CELL * cells**3}
        for name, (style, coeff) in styles(descriptor, file).items():
            if name in ended:
                continue
            text = INPUT.format(cells=cells, style=style, coeff=coeff, steps=0).replace("run 1\n", "")
            (folder / "in.memory").write_text(text)
            program, variables = environments[name].lammps()
            found = run_bounded(environments[name].recorder, f"memory, {name}", [program, "-in", "in.memory", "-log", "none"], folder,
                                {**variables, "OMP_NUM_THREADS": 1}, bound)
            row[name] = {"peak": found["peak"], "end": found["end"], "seconds": found["seconds"]}
            if found["end"]:
                ended.add(name)
            print(f"  {descriptor} {row['atoms']} atoms  {name:18s} {found['peak'] / 2**20:8.0f} MiB {found['end']}", flush=True)
        rows.append(row)
    return rows


def measure(settings, ours, peers):
    print("bench: torchscript", flush=True)
    folder, bound = settings.work / "torchscript", memory_bound()
    files = make_models(settings, peers["pytorch"], folder)
    environments = {OURS: ours, OURS_SCRIPT: ours, PEER: peers["pytorch"]}
    return {"bound": bound,
            "times": [time_sides(settings, environments, name, file, folder) for name, file in files.items()],
            "memory": [row for name, file in files.items()
                       for row in memory_of_sides(settings, environments, name, file, folder, bound)]}
