#!/usr/bin/env python3
"""Makes unittest/reference/loss_terms: loss, errors and parameter gradient of the forms of DeePMD-kit's loss `ener`, by
DeePMD-kit's own loss class (PyTorch backend, CPU, float64) on a small batch with all labels.

The frames have 16 atoms: the class computes 1/N in float32, which is exact for powers of two.

Files: model.dp, params_index.json, params_0.npy, system/ (deepmd npy with atom_ener, atom_pref, atom_ener_coeff and drdq), expected.json
with `variants` (settings as in the section `loss`, labels that are left out, value of the loss, errors as DeePMD-kit shows
them, lines of lcurve.out as its trainer writes them) and grad_VARIANT.npy.

usage: python tools/make_reference_loss.py
"""
import io
import shutil
import types

from make_reference_common import REFERENCE, UNITS, model_section, np, provenance, random_coordinates, random_model, torch, write_dp, write_json
from make_reference_gradients import Problem, make_labels, write_index, write_system
from deepmd.pt.loss.ener import EnergyStdLoss
from deepmd.pt.train.training import Trainer

CASE, SEED, COORDINATES, LR = "loss_terms", 3000, 3, 1e-3
ATOMS = [0, 1, 1, 1, 0, 1, 1, 0, 1, 0, 1, 1, 1, 0, 1, 1]
CELLS = [np.diag([5.4, 5.7, 6.1]), np.diag([5.9, 5.2, 5.6])]
PREFACTORS = dict(e=2.0, f=100.0, v=1.0, ae=5.0, pf=30.0, gf=7.0)


def settings(terms, **others):
    """The section `loss` with constant prefactors of the terms."""
    section = dict(type="ener", **others)
    for term in ("e", "f", "v", "ae", "pf", "gf"):
        value = PREFACTORS[term] if term in terms.split() else 0.0
        section[f"start_pref_{term}"] = section[f"limit_pref_{term}"] = value
    if "gf" in terms:
        section["numb_generalized_coord"] = COORDINATES
    return section


def variants():
    """name -> (section `loss`, labels left out)"""
    delta = [0.03, 0.3, 0.05]
    return {
        "mse_all": (settings("e f v ae pf gf"), []),
        "mae_all": (settings("e f v ae pf gf", loss_func="mae"), []),
        "mae_norm": (settings("e f v pf", loss_func="mae", f_use_norm=True), []),
        "huber": (settings("e f v ae", use_huber=True, huber_delta=delta), []),
        "huber_norm": (settings("e f v", use_huber=True, huber_delta=delta, f_use_norm=True), []),
        "huber_one_delta": (settings("e f v", use_huber=True, huber_delta=0.1), []),
        "intensive": (settings("e f v", intensive_ener_virial=True), []),
        "relative_f": (settings("e f v pf gf", relative_f=1.0), []),
        "relative_f_mae": (settings("e f", relative_f=0.5, loss_func="mae"), []),
        "atom_energies": (settings("ae"), []),
        "atom_pref": (settings("pf"), []),
        "generalized": (settings("gf"), []),
        "coefficients": (settings("e f", enable_atom_ener_coeff=True), []),
        "coefficients_all": (settings("e f v ae pf gf", enable_atom_ener_coeff=True), []),
        "no_coefficients": (settings("e f", enable_atom_ener_coeff=True), ["atom_ener_coeff"]),
        "default_pf": (settings("e pf", use_default_pf=True), ["atom_pref"]),
        "no_labels": (settings("e f v ae pf gf"), ["energy", "atom_ener", "atom_pref", "drdq"]),
        "no_force": (settings("e f v ae pf gf"), ["force"]),
    }


def make_problem(rng):
    """Model in which the energy of an isolated O atom is subtracted, frames, and labels = predictions + noise."""
    section = model_section(["O", "H"], [20, 40], fitting=dict(neuron=[8, 8], atom_ener=[-3.1, None]))
    coord = [random_coordinates(rng, cell, len(ATOMS), 0.85) for cell in CELLS]
    scale = 1.0
    for _ in range(2):
        problem = Problem(random_model(section, SEED, scale), coord, ATOMS, CELLS, (1.0, 1.0, 1.0))
        scale *= float(f"{3.0 / float(problem.predict()[1].detach().abs().max()):.2g}")
    make_labels(problem, rng)
    nf, n = len(CELLS), len(ATOMS)
    atom_energy = problem.model(problem.coord, problem.atype, box=problem.box)["atom_energy"].detach()
    extra = dict(
        atom_ener=atom_energy.reshape(nf, n).numpy() + 0.1 * rng.normal(size=(nf, n)),
        atom_pref=rng.uniform(0.0, 2.0, size=(nf, n)),
        atom_ener_coeff=rng.uniform(-1.0, 1.5, size=(nf, n)),
        drdq=0.3 * rng.normal(size=(nf, n * 3 * COORDINATES)),
    )
    return section, problem, extra


def label_dict(problem, extra, left_out):
    """The labels as DeePMD-kit's data loader gives them: zeros, or the default 1, where there are none."""
    nf, n = len(CELLS), len(ATOMS)
    energy, force, virial = problem.label
    arrays = dict(energy=energy.reshape(nf, 1), force=force.reshape(nf, n, 3), virial=virial.reshape(nf, 9))
    shapes = dict(atom_ener=(nf, n, 1), atom_ener_coeff=(nf, n, 1), drdq=(nf, n, 3 * COORDINATES))
    for name, shape in shapes.items():
        arrays[name] = torch.from_numpy(extra[name]).reshape(shape)
    arrays["atom_pref"] = torch.from_numpy(extra["atom_pref"]).reshape(nf, n, 1).repeat(1, 1, 3)
    label = {}
    for name, value in arrays.items():
        missing = name in left_out
        fill = torch.ones_like(value) if name in ("atom_pref", "atom_ener_coeff") else torch.zeros_like(value)
        label[name] = fill if missing else value
        label["find_" + name] = 0.0 if missing else 1.0
    return label


def curve(results):
    """Header and one row of lcurve.out as DeePMD-kit's trainer writes them, without and with validation data."""
    lines = {}
    for key, valid in (("lcurve", {}), ("lcurve_validation", results)):
        out, trainer = io.StringIO(), types.SimpleNamespace(multi_task=False)
        Trainer.print_header(trainer, out, results, valid)
        Trainer.print_on_training(trainer, out, 1, LR, results, valid)
        lines[key] = out.getvalue().split("\n")
    return lines


def make_variant(section, left_out, problem, extra):
    """Loss, errors, lines of lcurve.out; and the gradient."""
    arguments = {key: value for key, value in section.items() if key != "type"}
    loss = EnergyStdLoss(starter_learning_rate=LR, **arguments)
    problem.model.train()
    inputs = dict(coord=problem.coord.clone(), atype=problem.atype, box=problem.box)
    label = label_dict(problem, extra, left_out)
    _, value, more = loss(inputs, problem.model, label, len(ATOMS), LR)
    gradient = problem.gradient(value)
    results = {key: float(number) for key, number in sorted(more.items()) if "l2_" not in key}
    errors = {key: None if np.isnan(number) else number for key, number in results.items()}
    return dict(loss_section=section, left_out=left_out, loss=float(value.detach()), errors=errors, **curve(results)), gradient


def main():
    torch.set_num_threads(1)
    rng = np.random.default_rng(SEED)
    section, problem, extra = make_problem(rng)
    folder = REFERENCE / CASE
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_dp(folder / "model.dp", problem.model, section)
    write_index(folder, problem)
    write_system(folder, problem, ATOMS, section["type_map"])
    np.save(folder / "params_0.npy", problem.flat())
    for name, values in extra.items():
        np.save(folder / "system" / "set.000" / f"{name}.npy", values)
    found = {}
    for name, (loss, left_out) in variants().items():
        found[name], gradient = make_variant(loss, left_out, problem, extra)
        np.save(folder / f"grad_{name}.npy", gradient)
        print(f"{name:18s} loss {found[name]['loss']:.8f} gradient {np.linalg.norm(gradient):.6f}")
    write_json(folder / "expected.json", dict(case=CASE, **provenance(), natoms=len(ATOMS), nframes=len(CELLS), type_map=section["type_map"], units=UNITS,
                                              numb_generalized_coord=COORDINATES, lr=LR, model=section, variants=found))


if __name__ == "__main__":
    main()
