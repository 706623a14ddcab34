#!/usr/bin/env python3
"""Makes the small training references unittest/reference/train_* with DeePMD-kit (PyTorch backend, CPU, float64).

Loss (f = frames, N = atoms per frame, hats = labels; DeePMD's `ener` with fixed prefactors and 1/N in float64):
  L = pref_e mean_f (E-E^)^2 / N + pref_f mean_{f,i,k} (F-F^)^2 + pref_v mean_{f,9} (V-V^)^2 / N
The gradient is torch autograd through DeePMD-kit's eager model in train mode; it is checked by central differences.
Then 20 steps of torch.optim.Adam(lr=1e-3, betas=(0.9, 0.999), eps=1e-8) on the same batch.

Files per case: model.dp (start), input section and numbers in expected.json, system/ (deepmd npy), frameK.data (LAMMPS),
params_index.json (layout of the flat arrays), params_{0,1,20}.npy, grad.npy, grad_{e,f,v}.npy, force_initial.npy.

usage: python tools/make_reference_gradients.py [case ...]
"""
import json
import re
import shutil
import sys

from make_reference_common import REFERENCE, UNITS, model_section, np, provenance, random_coordinates, random_model, torch, write_data, write_dp, write_json

LR, STEPS = 1e-3, 20


def cases():
    """name -> (model section, types, cells, prefactors, minimum distance)"""
    rng = np.random.default_rng(7)
    oh, acn = ["O", "H"], ["Al", "Cu", "Ni"]
    water = [0, 1, 1, 1, 0, 1, 1, 0, 1, 0, 1, 1, 1, 0, 1, 1]
    ortho = [np.diag([5.4, 5.7, 6.1]), np.diag([5.9, 5.2, 5.6])]
    tri = [np.array([[8.1, 0, 0], [0.6, 3.8, 0], [-0.3, 0.1, 3.7]]) + np.tril(0.2 * rng.normal(size=(3, 3))) for _ in range(3)]
    small = dict(neuron=[8, 8])
    return {
        "train_two_side": (model_section(oh, [20, 40], dict(type_one_side=False, resnet_dt=True, neuron=[3, 3, 6]), small),
                           water, ortho, (2.0, 100.0, 1.0), 0.85),
        "train_triclinic": (model_section(acn, [30, 30, 30], dict(type_one_side=False, resnet_dt=True, exclude_types=[[0, 1]], activation_function="gelu", set_davg_zero=True, neuron=[3, 6]),
                                          dict(neuron=[6, 4, 4], activation_function="softplus")),
                            [2, 0, 1, 1, 0, 2, 2, 1], tri, (2.0, 100.0, 1.0), 1.2),
        "train_relu6_overflow": (model_section(oh, [5, 9], dict(activation_function="relu6", resnet_dt=True), dict(neuron=[8, 8], activation_function="silut:0.5"), pair_exclude_types=[[0, 0]]),
                                 water, ortho, (1.0, 30.0, 0.5), 0.85),
        "train_atom_ener": (model_section(oh, [20, 40], dict(set_davg_zero=True, activation_function="silu"), dict(neuron=[8, 8], atom_ener=[-3.1, -1.2]), atom_exclude_types=[1]),
                            water, ortho[:1], (1.0, 30.0, 0.5), 0.85),
    }


def parameter_paths(model):
    """[(torch name, path in the .dp tree)] in the order of the file: nets in order, per layer w, b, idt."""
    names = {n: p for n, p in model.named_parameters() if p.numel()}
    rule = [(r"atomic_model\.descriptor\.sea\.filter_layers", "/model/descriptor/embeddings"), (r"atomic_model\.fitting_net\.filter_layers", "/model/fitting/nets")]
    rank = {"w": 0, "b": 1, "idt": 2}
    found = []
    for n in names:
        m = re.fullmatch(r"(.*)\.networks\.(\d+)\.layers\.(\d+)\.(matrix|bias|idt)", n)
        where = next(k for k, (r, _) in enumerate(rule) if re.fullmatch(r, m[1]))
        leaf = {"matrix": "w", "bias": "b", "idt": "idt"}[m[4]]
        found.append(((where, int(m[2]), int(m[3]), rank[leaf]), n, f"{rule[where][1]}/networks/{m[2]}/layers/{m[3]}/@variables/{leaf}"))
    return [(n, path) for _, n, path in sorted(found)]


def restore(problem, flat):
    """Puts a flat array into the model's parameters."""
    at = 0
    with torch.no_grad():
        for n, _ in problem.order:
            p = problem.params[n]
            p.copy_(torch.from_numpy(flat[at:at + p.numel()]).reshape(p.shape))
            at += p.numel()


class Problem:
    """Loss of one batch as a function of the model's parameters."""

    def __init__(self, model, coord, types, box, prefactors):
        self.model, self.prefactors, self.label = model, prefactors, None
        nf = len(coord)
        self.coord = torch.tensor(np.array(coord), dtype=torch.float64).reshape(nf, -1, 3)
        self.box = torch.tensor(np.array(box), dtype=torch.float64).reshape(nf, 9)
        self.atype = torch.tensor([types] * nf, dtype=torch.int64)
        self.params = dict(model.named_parameters())
        self.order = parameter_paths(model)

    def predict(self):
        self.model.train()
        out = self.model(self.coord.clone(), self.atype, box=self.box)
        return out["energy"].reshape(-1), out["force"], out["virial"].reshape(-1, 9)

    def terms(self):
        n = self.coord.shape[1]
        (e, f, v), (le, lf, lv), (pe, pf, pv) = self.predict(), self.label, self.prefactors
        return pe * ((e - le) ** 2).mean() / n, pf * ((f - lf) ** 2).mean(), pv * ((v - lv) ** 2).mean() / n

    def loss(self):
        return sum(self.terms())

    def flat(self, grad=False):
        pick = (lambda p: torch.zeros_like(p) if p.grad is None else p.grad) if grad else (lambda p: p)
        return np.concatenate([pick(self.params[n]).detach().numpy().ravel() for n, _ in self.order])

    def gradient(self, value):
        self.model.zero_grad()
        value.backward()
        return self.flat(True)

    def shifted_loss(self, start, direction, step):
        restore(self, start + step * direction)
        return float(self.loss())

    def check(self, grad, rng, directions=6):
        """Largest relative error of directional derivatives (relative to the norm of the gradient) by Richardson-extrapolated central differences of the loss."""
        start, worst = self.flat(), 0.0
        for _ in range(directions):
            d = rng.normal(size=len(start))
            d /= np.linalg.norm(d)
            h = 2e-4
            d1, d2 = ((self.shifted_loss(start, d, k) - self.shifted_loss(start, d, -k)) / (2 * k) for k in (h, h / 2))
            worst = max(worst, abs((4 * d2 - d1) / 3 - grad @ d) / np.linalg.norm(grad))
        restore(self, start)
        return worst


def make_labels(problem, rng):
    """Predictions plus noise: 0.05 eV/atom, 0.5 eV/A, 0.1 eV/atom (symmetric virial)."""
    e, f, v = (x.detach() for x in problem.predict())
    n = problem.coord.shape[1]
    noise = rng.normal(size=(len(e), 3, 3))
    sym = torch.from_numpy(0.5 * (noise + noise.transpose(0, 2, 1))).reshape(-1, 9)
    problem.label = (e + 0.05 * n * torch.from_numpy(rng.normal(size=len(e))), f + 0.5 * torch.from_numpy(rng.normal(size=tuple(f.shape))), v + 0.1 * n * sym)


def write_system(folder, problem, types, type_map):
    """deepmd npy data set of the batch."""
    s = folder / "system" / "set.000"
    s.mkdir(parents=True)
    nf = len(problem.coord)
    (folder / "system" / "type.raw").write_text("".join(f"{t}\n" for t in types))
    (folder / "system" / "type_map.raw").write_text("".join(f"{t}\n" for t in type_map))
    np.save(s / "coord.npy", problem.coord.numpy().reshape(nf, -1))
    np.save(s / "box.npy", problem.box.numpy())
    np.save(s / "energy.npy", problem.label[0].numpy())
    np.save(s / "force.npy", problem.label[1].numpy().reshape(nf, -1))
    np.save(s / "virial.npy", problem.label[2].numpy())


def write_index(folder, problem):
    """params_index.json; the data set names are read back from model.dp."""
    import h5py

    with h5py.File(folder / "model.dp") as f:
        tree = json.loads(f.attrs["json"])
    index, offset = [], 0
    for name, path in problem.order:
        node = tree
        for key in path.strip("/").split("/"):
            node = node[int(key)] if isinstance(node, list) else node[key]
        p = problem.params[name]
        index.append(dict(dp_variable=node, path=path, torch_name=name, shape=list(p.shape), offset=offset, size=p.numel()))
        offset += p.numel()
    (folder / "params_index.json").write_text("[\n" + ",\n".join(" " + json.dumps(x) for x in index) + "\n]\n")


def run_adam(problem, folder):
    """Losses after 0..STEPS steps; parameters after 1 and STEPS steps go to files."""
    adam = torch.optim.Adam([problem.params[n] for n, _ in problem.order], lr=LR, betas=(0.9, 0.999), eps=1e-8)
    losses = []
    for k in range(STEPS):
        adam.zero_grad()
        value = problem.loss()
        losses.append(float(value))
        value.backward()
        adam.step()
        if k + 1 in (1, STEPS):
            np.save(folder / f"params_{k + 1}.npy", problem.flat())
    return losses + [float(problem.loss())]


def make(name, section, types, cells, prefactors, d_min, seed):
    rng = np.random.default_rng(seed)
    coord = [random_coordinates(rng, c, len(types), d_min) for c in cells]
    scale = 1.0
    for _ in range(2):
        model = random_model(section, seed, scale)
        problem = Problem(model, coord, types, cells, prefactors)
        scale *= float(f"{3.0 / float(problem.predict()[1].detach().abs().max()):.2g}")
    make_labels(problem, rng)
    folder = REFERENCE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_dp(folder / "model.dp", model, section)
    write_index(folder, problem)
    write_system(folder, problem, types, section["type_map"])
    for k, c in enumerate(cells):
        write_data(folder / f"frame{k}.data", f"{name} frame{k}", coord[k], types, c, section["type_map"], section["type_map"])
    e, f, v = (x.detach().numpy() for x in problem.predict())
    np.save(folder / "force_initial.npy", f)
    np.save(folder / "params_0.npy", problem.flat())
    grad = problem.gradient(problem.loss())
    np.save(folder / "grad.npy", grad)
    terms, initial = [float(t) for t in problem.terms()], dict(loss=float(problem.loss()), energy=e.tolist(), virial=v.tolist())
    initial["terms_e_f_v"] = terms
    initial["grad_norm"] = float(np.linalg.norm(grad))
    for k, key in enumerate("efv"):
        g = problem.gradient(problem.terms()[k])
        np.save(folder / f"grad_{key}.npy", g)
        initial[f"loss_{key}"], initial[f"grad_norm_{key}"] = terms[k], float(np.linalg.norm(g))
    initial["grad_fd_check_max_rel"] = problem.check(grad, rng)
    losses = run_adam(problem, folder)
    write_json(folder / "expected.json", dict(
        case=name, **provenance(), pref_e=prefactors[0], pref_f=prefactors[1], pref_v=prefactors[2], lr=LR, nframes=len(cells), natoms=len(types),
        nparams=len(grad), type_map=section["type_map"], units=UNITS, model=section,
        optimizer="torch.optim.Adam(lr=1e-3 fixed, betas=(0.9,0.999), eps=1e-8, weight_decay=0), same batch each step, no clipping",
        formula="L = pref_e*mean_f((E-E^)^2)/N + pref_f*mean_{f,i,k}((F-F^)^2) + pref_v*mean_{f,9}((V-V^)^2)/N, N = atoms per frame",
        initial=initial, adam=dict(loss=losses, note="loss[k] is evaluated with the parameters after k Adam steps, k=0..20")))
    size = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())
    print(f"{name:24s} params {len(grad)} loss {losses[0]:.6f} -> {losses[-1]:.6f} terms {initial['terms_e_f_v']} fd {initial['grad_fd_check_max_rel']:.1e} {size // 1024} kB", flush=True)


def main():
    torch.set_num_threads(1)
    for k, (name, args) in enumerate(cases().items()):
        if not sys.argv[1:] or name in sys.argv[1:]:
            make(name, *args, seed=2000 + k)


if __name__ == "__main__":
    main()
