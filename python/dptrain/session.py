"""Learning on the fly in a Python program: the session that drives LAMMPS' ``fix dptrain``, for any engine.

A session looks at each step of a run. It asks the reference where the model does not know enough, trains the model with the
answer, and tells with which energy, forces and virial the run goes on. Units are eV and Angstrom. The work is done by the
calling process alone, on OMP_NUM_THREADS threads.
"""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np

from dptrain.potential import Error, _dptrain, complete_cell

#: options of Session and their kinds; those of LAMMPS' fix dptrain with the same names
OPTIONS = {"every": int, "fmax": float, "threshold": float, "limit": float, "audit": int, "holdout": int, "duplicate": float,
           "input": os.fspath, "train": int, "warmup": int, "target": float, "train_seconds": float, "batch": int, "seed": int,
           "buffer": int, "optimizer": str, "ema": float, "stat": os.fspath, "save": os.fspath, "save_every": int,
           "resume": os.fspath, "dataset": os.fspath, "disp": os.fspath, "disp_every": int}


class Step(NamedTuple):
    """With what a run goes on from a step."""

    energy: float  #: eV
    forces: np.ndarray  #: [natoms][3] eV/Angstrom
    virial: np.ndarray  #: [3][3] eV, sum of F (x) r
    moved_by: str  #: "model" or "reference"


class Session:
    """Trains a potential while a run goes on.

    model: an input file of DeePMD-kit (input.json) for a new model, or a model file or checkpoint to go on with.
    reference: a function (positions [natoms][3], elements [natoms], cell [3][3] or None) that returns energy, forces
    [natoms][3] and virial [3][3] or None, in eV and Angstrom; an exception means that there is no label for this configuration.
    mode: "active" (the model runs, the reference is asked where the expected error is above the threshold) or "passive" (labels
    every so many steps; the reference runs until the first training has ended). follow: who moves the atoms at a step with a
    label, "model" or "reference". failed: "skip" goes on without a label, "stop" raises Error. log: called with each line of text;
    None: nothing is said. The other options have the names and the meanings of LAMMPS' fix dptrain: every (default 100), train,
    warmup, threshold, limit, audit, holdout, duplicate, target, train_seconds, batch, seed, buffer, optimizer, ema, fmax, input,
    stat, save and save_every, resume, dataset, disp and disp_every.

    Raises Error for options that do not exist or make no sense, and where a step cannot be done.
    """

    def __init__(self, model, reference, *, mode="active", follow="model", failed="skip", precision="double", log=print, **options):
        for name, value, allowed in (("mode", mode, ("active", "passive")), ("follow", follow, ("model", "reference")),
                                     ("failed", failed, ("skip", "stop"))):
            if value not in allowed:
                raise Error(f"{name}={value!r} is not possible: use {' or '.join(map(repr, allowed))}")
        if not callable(reference):
            raise Error("reference must be a function (positions, elements, cell) -> (energy, forces, virial)")
        given = {"active": mode == "active", "follow_reference": follow == "reference", "failure_stops": failed == "stop",
                 "frames": "dptrain.frames"}
        for name, value in options.items():
            if name not in OPTIONS:
                raise Error(f"a session has no option {name}: there are mode, follow, failed, precision, log, {', '.join(OPTIONS)}")
            given[name] = OPTIONS[name](value)
        self._reference = reference
        self._log = log or (lambda text: None)
        self._session = _dptrain.Session(os.fspath(model), precision, given)
        self._index = {name: k for k, name in enumerate(self.type_map)}

    @property
    def type_map(self):
        """The elements that the model knows."""
        return self._session.type_map

    def _label(self, positions, types, cell):
        elements = [self.type_map[t] for t in types]
        energy, forces, virial = self._reference(positions, elements, cell)
        forces = np.asarray(forces, dtype=float)
        if forces.shape != positions.shape:
            raise ValueError(f"the reference gave forces of the shape {forces.shape} for {len(positions)} atoms")
        if virial is not None:
            virial = np.asarray(virial, dtype=float)
            if virial.shape != (3, 3):
                raise ValueError(f"the reference gave a virial of the shape {virial.shape}; it must be (3, 3), or None")
            virial = virial.ravel().tolist()
        return float(energy), forces.ravel().tolist(), virial

    def step(self, positions, elements, cell=None, pbc=None):
        """One step of the run: a Step. positions: [natoms][3]; elements: [natoms] names; cell and pbc as in Potential.evaluate."""
        positions = np.ascontiguousarray(positions, dtype=float)
        unknown = sorted(set(elements) - set(self._index))
        if unknown:
            raise Error(f"{', '.join(unknown)}: not in the model, which knows {' '.join(self.type_map)}")
        types = np.array([self._index[name] for name in elements], dtype=np.int32)
        if len(types) != len(positions):
            raise Error(f"{len(positions)} positions but {len(types)} elements")
        cell = complete_cell(positions, cell, pbc, self._session.cutoff)
        *values, by_model = self._session.step(positions, types, None if cell is None else cell.ravel(), self._label, self._log)
        return Step(*values, "model" if by_model else "reference")

    def report(self):
        """What the session has done so far, as a dictionary: frames, reference_calls, steps (of the optimizer), rmse_f,
        expected_error, threshold, held_out_error, ... in eV and Angstrom; empty before the first step."""
        return self._session.report()

    def end(self):
        """Ends the run: learns what is left, prints a summary, and writes model and checkpoint where ``save`` names them. A further
        step() begins a new run."""
        self._session.end("dptrain session", self._log)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.end()
