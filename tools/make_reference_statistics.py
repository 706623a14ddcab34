#!/usr/bin/env python3
"""Makes unittest/reference/statistics: a tiny deepmd npy data set and what DeePMD-kit's own code makes of it.

expected.json: `neighbor_stat` (dp neighbor-stat, full precision) and, per variant of the model section, `training_stat` =
davg, dstd [ntypes][4] and out_bias in the checkpoint that a one-step `dp train` over all frames leaves behind. A brute
force in numpy repeats all of it; the largest differences are stored too.

usage: python tools/make_reference_statistics.py
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from make_reference_common import REFERENCE, model_section, np, provenance, random_coordinates, torch, write_json

from deepmd.entrypoints.neighbor_stat import neighbor_stat

ACN = ["Al", "Cu", "Ni"]
FOLDER = REFERENCE / "statistics"
RCUT = 4.0


def systems():
    """name -> (types, cells or None for no periodicity, minimum distance)"""
    rng = np.random.default_rng(5)
    cells = [np.array([[8.1, 0, 0], [0.6, 3.8, 0], [-0.3, 0.1, 3.7]]) + np.tril(0.3 * rng.normal(size=(3, 3))) for _ in range(2)]
    small = [np.array([[3.9, 0, 0], [-0.9, 4.1, 0], [0.8, 1.2, 4.0]]) + np.tril(0.2 * rng.normal(size=(3, 3))) for _ in range(3)]
    return {
        "all_types": ([2, 0, 1, 1, 0, 2, 2, 1], cells, 1.3),
        "no_type1": ([0, 2, 2, 0], small, 1.4),
        "cluster": ([1, 0, 0, 1, 1], None, 1.5),
    }


def write_systems():
    rng, out = np.random.default_rng(6), []
    for name, (types, cells, d_min) in systems().items():
        folder = FOLDER / name
        (folder / "set.000").mkdir(parents=True)
        (folder / "type.raw").write_text("".join(f"{t}\n" for t in types))
        (folder / "type_map.raw").write_text("".join(f"{t}\n" for t in ACN))
        boxes = cells or [np.diag([7.0, 7.0, 7.0])]
        x = np.array([random_coordinates(rng, b, len(types), d_min, cells is not None) for b in boxes])
        if cells is None:
            (folder / "nopbc").write_text("")
        e = np.array([sum((-3.0, -2.0, -4.5)[t] for t in types)] * len(boxes)) + 0.3 * rng.normal(size=len(boxes))
        for key, a in dict(coord=x, box=np.array(boxes), energy=e, force=rng.normal(size=x.shape)).items():
            np.save(folder / "set.000" / f"{key}.npy", a.reshape(len(boxes), -1) if key != "energy" else a)
        out.append((types, x, boxes if cells else [None], e))
    return out


def variants():
    big = [60, 50, 60]
    return {
        "plain": model_section(ACN, big),
        "davg_zero": model_section(ACN, big, dict(set_davg_zero=True, type_one_side=False)),
        "exclude_protection": model_section(ACN, big, dict(exclude_types=[[0, 1]], env_protection=0.05, rcut_smth=1.5)),
        "overflow": model_section(ACN, [6, 5, 7]),
        "atom_exclude": model_section(ACN, big, atom_exclude_types=[1]),
        "pair_exclude": model_section(ACN, big, pair_exclude_types=[[0, 2]]),
        "atom_ener": model_section(ACN, big, dict(set_davg_zero=True), dict(atom_ener=[-2.9, None, None])),
    }


def dp_train(section, tmp):
    """davg, dstd, out_bias of a real `dp train`."""
    tmp.mkdir()
    names = [str(FOLDER / n) for n in systems()]
    section = dict(section, data_stat_nbatch=100)
    inp = dict(model=section, learning_rate=dict(type="exp", start_lr=1e-8, stop_lr=1e-9, decay_steps=1), loss=dict(type="ener", start_pref_e=1, limit_pref_e=1, start_pref_f=1, limit_pref_f=1),
               training=dict(training_data=dict(systems=names, batch_size=1), numb_steps=1, disp_freq=1, save_freq=1, seed=1))
    (tmp / "input.json").write_text(json.dumps(inp))
    dp = pathlib.Path(sys.executable).parent / "dp"
    subprocess.run([str(dp), "--pt", "train", "input.json", "--skip-neighbor-stat"], cwd=tmp, check=True, capture_output=True)
    state = torch.load(tmp / "model.ckpt.pt", map_location="cpu", weights_only=True)["model"]
    pick = lambda end: next(v for k, v in state.items() if k.endswith(end)).numpy()
    davg, dstd = pick("descriptor.sea.mean"), pick("descriptor.sea.stddev")
    if np.ptp(davg, axis=1).max() or np.ptp(dstd, axis=1).max():
        raise RuntimeError("statistics depend on the slot")
    return dict(davg=davg[:, 0].tolist(), dstd=dstd[:, 0].tolist(), out_bias=pick("atomic_model.out_bias").ravel().tolist())


def neighbors(x, box, i):
    """(distances, vectors, atoms) within the cutoff, sorted by distance"""
    k = range(-4, 5) if box is not None else [0]
    shift = np.array([[a, b, c] for a in k for b in k for c in k]) @ (box if box is not None else np.eye(3))
    d = x[:, None] + shift[None] - x[i]
    r = np.linalg.norm(d, axis=-1)
    a, s = np.nonzero((r <= RCUT) & (r > 1e-9))
    o = np.argsort(r[a, s], kind="stable")
    return r[a, s][o], d[a, s][o], a[o]


def brute_force(data, section):
    d, nt = section["descriptor"], len(ACN)
    sel, nnei = d["sel"], sum(d["sel"])
    sums, count = np.zeros((nt, 4)), np.zeros(nt)
    gone = lambda key, where: {(a, b) for p in where.get(key, []) for a, b in (p, p[::-1])}
    excluded = gone("exclude_types", d) | gone("pair_exclude_types", section)
    p, rs = d.get("env_protection", 0.0), d["rcut_smth"]
    for types, frames, boxes, _ in data:
        types = np.array(types)
        for x, box in zip(frames, boxes):
            for i, ti in enumerate(types):
                r, v, a = (y[:nnei] for y in neighbors(x, box, i))
                count[ti] += nnei
                for tj in range(nt):
                    m = np.nonzero(types[a] == tj)[0][:sel[tj]]
                    if (ti, tj) in excluded:
                        continue
                    u = np.clip((r[m] - rs) / (RCUT - rs), 0, 1)
                    w = u**3 * (-6 * u * u + 15 * u - 10) + 1
                    row, angular = w / (r[m] + p), v[m] * (w / (r[m] + p) ** 2)[:, None]
                    sums[ti] += row.sum(), (row**2).sum(), angular.sum(), (angular**2).sum()
    mean = sums[:, 0] / count
    floor = lambda q: np.maximum(np.sqrt(np.maximum(q, 0)), 1e-2)
    sr, sa = floor(sums[:, 1] / count - mean**2), floor(sums[:, 3] / (3 * count) - (sums[:, 2] / (3 * count)) ** 2)
    davg = np.zeros((nt, 4))
    if not d.get("set_davg_zero"):
        davg[:, 0] = mean
    return davg, np.column_stack([sr, sa, sa, sa])


def bias(data, section):
    counts = np.array([np.bincount(t, minlength=3) for t, x, _, _ in data for _ in x], float)
    e = np.concatenate([e for *_, e in data])
    counts[:, section.get("atom_exclude_types", [])] = 0
    return np.linalg.lstsq(counts, e, rcond=None)[0]


def neighbor_check(data):
    dmin, most = np.inf, np.zeros(3, int)
    for types, frames, boxes, _ in data:
        for x, box in zip(frames, boxes):
            for i in range(len(types)):
                r, _, a = neighbors(x, box, i)
                dmin = min([dmin, *r[:1]])
                most = np.maximum(most, np.bincount(np.array(types)[a], minlength=3))
    return float(dmin), most.tolist()


def main():
    torch.set_num_threads(1)
    shutil.rmtree(FOLDER, ignore_errors=True)
    data = write_systems()
    dmin, most = neighbor_stat(system=str(FOLDER), rcut=RCUT, type_map=ACN, backend="pytorch")
    check_dmin, check_most = neighbor_check(data)
    stat = dict(min_nbor_dist=float(dmin), max_nbor_size=[int(x) for x in most], numpy_min_nbor_dist=check_dmin, numpy_max_nbor_size=check_most)
    print(stat)
    out = {}
    with tempfile.TemporaryDirectory() as tmp:
        for name, section in variants().items():
            got = dp_train(section, pathlib.Path(tmp) / name)
            davg, dstd = brute_force(data, section)
            diff = dict(davg=float(np.abs(davg - got["davg"]).max()), dstd=float(np.abs(dstd - got["dstd"]).max()), out_bias=float(np.abs(bias(data, section) - got["out_bias"]).max()))
            print(name, diff, got["out_bias"], flush=True)
            out[name] = dict(model=section, training_stat=got, numpy_vs_deepmd=diff)
    write_json(FOLDER / "expected.json", dict(case="statistics", **provenance(), type_map=ACN, rcut=RCUT, systems=list(systems()), neighbor_stat=stat, variants=out))


if __name__ == "__main__":
    main()
