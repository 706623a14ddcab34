#!/usr/bin/env python3
"""Makes the small inference cases in unittest/reference with DeePMD-kit (PyTorch backend, CPU).

Each case is a folder with model.dp, LAMMPS data files and expected.json (energy, atomic energies, forces, virial and
atomic virials of each frame by deepmd.infer.DeepPot). Models are not trained: parameters are random numbers of a fixed
seed, statistics have usual sizes, the output layer is scaled so that forces are a few eV/A.

usage: python tools/make_reference_cases.py [case ...]
"""
import shutil
import sys
import tempfile

from make_reference_common import *  # noqa: F403
from make_reference_common import REFERENCE, UNITS, model_section, native_tree, np, pathlib, provenance, random_coordinates, random_model, torch, write_data, write_dp, write_json

from deepmd.infer import DeepPot
from deepmd.pt.utils.serialization import deserialize_to_file

OH = ["O", "H"]
ACN = ["Al", "Cu", "Ni"]


def frame(name, coord, types, box, pbc=True, elements=None, shuffle=None):
    return dict(name=name, coord=np.asarray(coord, float), types=list(types), box=np.asarray(box, float).reshape(3, 3), pbc=pbc, elements=elements, shuffle=shuffle)


def liquid(name, seed, n=16, length=(5.4, 5.7, 6.1), ratio=0.35, pbc=True, d_min=0.85, elements=None, shuffle=False):
    """Random O/H atoms at the density of water: each atom sees several images when pbc."""
    rng = np.random.default_rng(seed)
    box = np.diag(length)
    x = random_coordinates(rng, box, n, d_min, pbc)
    types = [0 if k < round(ratio * n) else 1 for k in range(n)]
    types = [int(t) for t in rng.permutation(types)]
    return frame(name, x, types, box, pbc, elements, list(rng.permutation(n)) if shuffle else None)


def triclinic(name, seed, types, cell, tilt, elements=None):
    """Random atoms in a triclinic cell far below 2*rcut; lines of the data file shuffled."""
    rng = np.random.default_rng(seed)
    box = np.array([[cell[0], 0, 0], [tilt[0], cell[1], 0], [tilt[1], tilt[2], cell[2]]])
    x = random_coordinates(rng, box, len(types), 1.1)
    return frame(name, x, types, box, True, elements, list(rng.permutation(len(types))))


def basic_frames(seed):
    return [liquid("liquid", seed), liquid("cluster", seed + 1, n=9, length=(6.0, 6.5, 7.0), pbc=False)]


def triclinic_frames(seed):
    return [
        triclinic("no_type1", seed, [0, 2, 2, 0], (3.6, 4.1, 4.4), (-0.26, -0.32, -0.12)),
        triclinic("no_type2", seed + 1, [1, 0, 1, 0, 0], (4.4, 3.5, 3.9), (0.9, -1.1, 0.4), ["Ni", "Al", "Cu"]),
        triclinic("all3", seed + 2, [2, 0, 1, 1, 0, 2, 2, 1, 0], (8.4, 3.8, 3.6), (0.6, -0.33, 0.11)),
        triclinic("single_atom_cell", seed + 3, [1], (2.5, 2.4, 2.6), (0.4, 0.7, -0.5)),
    ]


def isolated_frames():
    box = np.diag([20.0, 21.0, 22.0])
    c = np.array([10.0, 10.5, 11.0])
    near = np.array([0.41, -0.33, 0.47])  # 0.70 A: inside rcut_smth = 1
    mix = [c, c + near, [2.0, 2.0, 2.5], c + [0, 4.0001, 0], [18.0, 3.0, 19.0], [3.0, 18.0, 20.0]]
    frames = []
    for pbc in (True, False):
        s = "pbc" if pbc else "nopbc"
        frames += [
            frame(f"one_O_{s}", [c], [0], box, pbc),
            frame(f"one_H_{s}", [c], [1], box, pbc),
            frame(f"dimer_OH_{s}", [c, c + near], [0, 1], box, pbc),
            frame(f"mix_{s}", mix, [0, 1, 1, 0, 0, 1], box, pbc),
        ]
    frames.append(frame("dimer_across_pbc", [[0.2, 10.0, 10.0], [19.5, 10.3, 9.8]], [1, 1], box, True))
    return frames


def cases():
    """name -> (section, frames, options of random_model / write_dp, tolerance)"""
    out = {}

    def add(name, section, frames, tolerance=1e-10, **options):
        out[name] = (section, frames, options, tolerance)

    s2 = [20, 40]
    add("one_side", model_section(OH, s2), basic_frames(100), out_bias=[-93.57, -187.15], min_nbor_dist=1.4)  # closer pairs occur in the frames
    add("two_side", model_section(OH, s2, dict(type_one_side=False)),
        basic_frames(110) + [liquid("types_HO", 113, n=12, length=(5.1, 5.0, 5.3), elements=["H", "O"], shuffle=True)], min_nbor_dist=0.8)
    add("exclude_one_side", model_section(OH, s2, dict(exclude_types=[[0, 0]])), basic_frames(120))
    add("exclude_two_side", model_section(OH, s2, dict(exclude_types=[[0, 1]], type_one_side=False)), basic_frames(130))
    add("pair_exclude", model_section(OH, s2, pair_exclude_types=[[0, 0]]), basic_frames(140))
    add("pair_exclude_two_side", model_section(OH, s2, dict(type_one_side=False), pair_exclude_types=[[0, 1], [1, 1]]), basic_frames(145))
    add("exclude_both_overflow", model_section(OH, [7, 13], dict(exclude_types=[[0, 1]]), pair_exclude_types=[[1, 1]]), basic_frames(150))
    add("atom_exclude", model_section(OH, s2, atom_exclude_types=[1]), basic_frames(160))
    add("gelu", model_section(OH, s2, dict(activation_function="gelu", resnet_dt=True, axis_neuron=8), dict(activation_function="gelu", neuron=[12, 10, 10])), basic_frames(170))
    add("sigmoid_softplus", model_section(OH, s2, dict(activation_function="sigmoid", resnet_dt=True), dict(activation_function="softplus")), basic_frames(180))
    add("softplus_sigmoid", model_section(OH, s2, dict(activation_function="softplus"), dict(activation_function="sigmoid")), basic_frames(185))
    add("silu_silut", model_section(OH, s2, dict(activation_function="silu", neuron=[7, 9, 18], axis_neuron=5), dict(activation_function="silut:0.5", neuron=[8, 16, 16])), basic_frames(190))
    add("silut_silu", model_section(OH, s2, dict(activation_function="silut:3.0", neuron=[4, 4, 8], resnet_dt=True), dict(activation_function="silu", resnet_dt=False)), basic_frames(195))
    add("relu_relu6", model_section(OH, s2, dict(activation_function="relu"), dict(activation_function="relu6", neuron=[8, 16, 16], resnet_dt=False)), basic_frames(200))
    add("relu6_relu", model_section(OH, s2, dict(activation_function="relu6", type_one_side=False, resnet_dt=True), dict(activation_function="relu")), basic_frames(205))
    add("linear_gelu_tf", model_section(OH, s2, dict(activation_function="linear", neuron=[5, 10]), dict(activation_function="gelu_tf")), basic_frames(207))
    add("env_protection", model_section(OH, s2, dict(env_protection=0.05)), basic_frames(210))
    add("embedding_resnet_dt", model_section(OH, s2, dict(type_one_side=False, resnet_dt=True, neuron=[4, 4, 8], axis_neuron=8)), basic_frames(220), bias_atom_e=[0.3, -0.7])
    add("set_davg_zero", model_section(OH, s2, dict(set_davg_zero=True)), basic_frames(230))
    f32 = dict(precision="float32")
    add("float32", model_section(OH, s2, f32, f32), basic_frames(240), 1e-5, out_bias=[-93.57, -187.15])
    add("float32_fitting", model_section(OH, s2, dict(type_one_side=False), f32), basic_frames(245), 1e-5)
    add("sel_overflow", model_section(OH, [5, 9]), basic_frames(250))
    add("sel_overflow_davg_zero", model_section(OH, [5, 9], dict(set_davg_zero=True, type_one_side=False)), basic_frames(255))
    add("sel_overflow_one_type", model_section(OH, [5, 60]), basic_frames(260))
    add("triclinic_3type", model_section(ACN, [40, 40, 40]), triclinic_frames(300))
    add("triclinic_3type_two_side", model_section(ACN, [40, 40, 40], dict(type_one_side=False)), triclinic_frames(310))
    add("isolated", model_section(OH, s2, dict(rcut_smth=1.0)), isolated_frames())
    add("atom_ener", model_section(OH, s2, dict(set_davg_zero=True), dict(atom_ener=[-3.1, None])), basic_frames(320) + isolated_frames()[2:4])
    return out


def evaluate_frozen(model, section, r_min, frames, tmp):
    """Results of DeepPot on the converted model."""
    pth = tmp / "model.pth"
    deserialize_to_file(str(pth), native_tree(model, section, r_min))
    pot, out = DeepPot(str(pth)), []
    for f in frames:
        box = f["box"].reshape(1, 9) if f["pbc"] else None
        out.append(pot.eval(f["coord"].reshape(1, -1), box, f["types"], atomic=True))
    return out


def evaluate_eager(model, frames):
    """The same numbers from the model object itself."""
    model.eval()
    out = []
    for f in frames:
        x = torch.tensor(f["coord"][None], requires_grad=True)
        box = torch.tensor(f["box"].reshape(1, 9)) if f["pbc"] else None
        r = model(x, torch.tensor([f["types"]]), box=box, do_atomic_virial=True)
        out.append([r[k].detach().numpy() for k in ("energy", "force", "virial", "atom_energy", "atom_virial")])
    return out


def evaluate(model, section, r_min, frames, tmp):
    # DeePMD-kit 3.2.0 cannot evaluate a frozen model with atom_ener (in-place operation on a view in TorchScript)
    eager = "atom_ener" in section["fitting_net"]
    results = evaluate_eager(model, frames) if eager else evaluate_frozen(model, section, r_min, frames, tmp)
    return [dict(energy=float(e.ravel()[0]), atom_energy=ae.ravel().tolist(), force=f.reshape(-1, 3).tolist(), virial=v.ravel().tolist(), atom_virial=av.reshape(-1, 9).tolist())
            for e, f, v, ae, av in results]


def make(name, section, frames, options, tolerance, seed, tmp):
    options = dict(options)
    r_min = options.pop("min_nbor_dist", None)
    scale = 1.0
    for _ in range(2):  # second pass: the output layer scaled to forces of about 3 eV/A
        model = random_model(section, seed, scale, **options)
        results = evaluate(model, section, r_min, frames, tmp)
        top = max(np.abs(r["force"]).max() for r in results)
        if scale == 1.0:
            scale = float(f"{4.0 / top:.2g}")
    folder = REFERENCE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_dp(folder / "model.dp", model, section, r_min)
    entries = []
    for f, r in zip(frames, results):
        elements = f["elements"] or section["type_map"]
        write_data(folder / f"{f['name']}.data", f"{name} {f['name']}", f["coord"], f["types"], f["box"], elements, section["type_map"], f["shuffle"])
        entries.append(dict(name=f["name"], data=f"{f['name']}.data", pbc=f["pbc"], natoms=len(f["types"]), lammps_elements=elements,
                            box=f["box"].ravel().tolist(), types=f["types"], coord=f["coord"].tolist(), python=r))
    write_json(folder / "expected.json", dict(case=name, **provenance(), type_map=section["type_map"], rcut=section["descriptor"]["rcut"],
                                              tolerance=tolerance, units=UNITS, model=section, frames=entries))
    size = sum(p.stat().st_size for p in folder.iterdir())
    e = [r["energy"] for r in results]
    print(f"{name:28s} scale {scale:<8g} max|F| {[round(float(np.abs(r['force']).max()), 3) for r in results]} E {np.round(e, 3).tolist()} {size // 1024} kB", flush=True)


def main():
    wanted = sys.argv[1:]
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as tmp:
        for k, (name, (section, frames, options, tolerance)) in enumerate(cases().items()):
            if not wanted or name in wanted:
                make(name, section, frames, options, tolerance, 1000 + k, pathlib.Path(tmp))


if __name__ == "__main__":
    main()
