"""Learning on the fly in a Python program: the session that drives LAMMPS' ``fix dptrain``, for any engine.

A session looks at each step of a run. It asks the reference where the model does not know enough, trains the model with the
answer, and tells with which energy, forces and virial the run goes on. Units are eV and Angstrom. The work is done by the
calling process alone, on OMP_NUM_THREADS threads.
"""

from __future__ import annotations

import gc
import os
import weakref
from typing import NamedTuple

import numpy as np

from dptrain.potential import Error, _dptrain, complete_cell


#: optimizer steps between two checkpoints
SAVE_EVERY = 1000
#: full path of a file -> the session that writes it
writers = weakref.WeakValueDictionary()


class Step(NamedTuple):
    """With what a run goes on from a step."""

    energy: float  #: eV
    forces: np.ndarray  #: [natoms][3] eV/Angstrom
    virial: np.ndarray | None  #: [3][3] eV, sum of F (x) r; None: the reference has none, and there is no model yet
    moved_by: str  #: "model" or "reference"


class Session:
    """Trains a potential while a run goes on.

    model: an input file of DeePMD-kit (input.json) for a new model, or a model file or checkpoint to go on with.
    reference: a function (positions [natoms][3], elements [natoms], cell [3][3] or None) that returns energy, forces
    [natoms][3] and virial [3][3] or None, in eV and Angstrom; an exception means that there is no label for this configuration.
    mode: "active" (the model runs, the reference is asked where an error bar is above ten times the accuracy that is wanted) or "passive" (labels
    every so many steps; the reference runs until the first training has ended). follow: who moves the atoms at a step with a
    label, "model" or "reference". failed: "skip" goes on without a label, "stop" raises Error. log: called with each line of text;
    None: nothing is said. The other options have the names and the meanings of LAMMPS' fix dptrain (of those with several values
    each has one: save and save_every, limit and at_limit, cutout and cutout_core ...); None is as if one was not given. Model
    and checkpoint are written every `save_every` optimizer steps (default 1000), by end(), and where an exception ends a `with`
    statement or Ctrl-C a training.

    Raises Error for options that do not exist or make no sense, and where a step cannot be done.
    """

    def __init__(self, model, reference, *, mode="active", follow="model", failed="skip", precision="double", log=print, **options):
        if failed not in ("skip", "stop"):
            raise Error(f"failed={failed!r} is not possible: use 'skip' or 'stop'")
        if not callable(reference):
            raise Error("reference must be a function (positions, elements, cell) -> (energy, forces, virial)")
        if log is not None and not callable(log):
            raise Error(f"log={log!r} is not possible: use a function of a line of text, or None")
        files = _dptrain.session_options()
        given = {}
        for name, value in {"mode": "active" if mode is None else mode, "follow": follow, **options}.items():
            if value is None:
                continue
            if isinstance(value, (float, np.floating)) and value.is_integer():
                value = int(value)  # 1e3 steps
            try:
                given[name] = os.fsdecode(value) if files.get(name) else str(value)
            except TypeError:
                raise Error(f"{name}={value!r} is not possible: use the name of a file") from None
        if "save" in given:
            given.setdefault("save_every", str(SAVE_EVERY))
        self._explores = given.get("explore", "0") != "0"
        self._reference = reference
        self._failure = None
        self._log = log or (lambda text: None)
        self._session = _dptrain.Session(os.fspath(model), precision, given, failed == "stop", self._log)
        self._index = {name: k for k, name in enumerate(self.type_map)}

    @property
    def type_map(self):
        """The elements that the model knows."""
        return self._session.type_map

    def _label(self, positions, types, cell):
        try:
            return self._checked_label(positions, self._reference(positions, [self.type_map[t] for t in types], cell))
        except Exception as error:
            self._failure = error
            raise

    @staticmethod
    def _checked_label(positions, answer):
        if not isinstance(answer, (tuple, list)) or len(answer) != 3:
            raise ValueError("the reference must return (energy, forces, virial), with None for a virial that it does not have")
        energy, forces, virial = answer
        forces = np.asarray(forces, dtype=float)
        if forces.shape != positions.shape:
            raise ValueError(f"the reference gave forces of the shape {forces.shape} for {len(positions)} atoms: {positions.shape} is needed")
        if virial is not None:
            virial = np.asarray(virial, dtype=float)
            if virial.shape != (3, 3):
                raise ValueError(f"the reference gave a virial of the shape {virial.shape}; it must be (3, 3), or None")
            virial = virial.ravel().tolist()
        return float(energy), forces.ravel().tolist(), virial

    def step(self, positions, elements, cell=None, pbc=None):
        """One step of the run: a Step. positions: [natoms][3]; elements: [natoms] names; cell and pbc as in Potential.evaluate."""
        positions = np.ascontiguousarray(positions, dtype=float)
        if not all(isinstance(name, str) for name in elements):
            raise Error("elements must be names, as ['Cu', 'Au']")
        unknown = sorted(set(elements) - set(self._index))
        if unknown:
            raise Error(f"{', '.join(unknown)}: not in the model: use one of {' '.join(self.type_map)}")
        types = np.array([self._index[name] for name in elements], dtype=np.int32)
        if len(types) != len(positions):
            raise Error(f"{len(positions)} positions but {len(types)} elements: give one for each atom")
        if self._explores and pbc is not None and len(set(np.broadcast_to(np.asarray(pbc, dtype=bool), 3).tolist())) == 2:
            raise Error("explore needs a cell that is periodic in all directions, or none: remove explore")
        cell = complete_cell(positions, cell, pbc, self._session.cutoff)
        self._claim_files()
        self._failure = None
        try:
            *values, by_model = self._session.step(positions, types, None if cell is None else cell.ravel(), self._label, self._log)
        except BaseException as error:
            self._leave_files()
            if isinstance(error, Error):
                raise error from self._failure
            raise
        return Step(*values, "model" if by_model else "reference")

    def report(self):
        """What the session has done so far, as a dictionary: frames, reference_calls, steps (of the optimizer), rmse_f,
        expected_error, threshold, held_out_error, ... in eV and Angstrom; empty before the first step."""
        return self._session.report()

    def end(self):
        """Ends the run: learns what is left, prints a summary in mode "active", and writes model and checkpoint where ``save`` names
        them. A further step() begins a new run."""
        self._session.end("dptrain session", self._label, self._log)
        self._leave_files()

    def save(self):
        """Writes model and checkpoint as they are, if there is something new to write and ``save`` names them."""
        self._session.save(self._log)

    def _claim_files(self):
        """Two sessions that write the same files would leave a model of the one with the frames of the other."""
        for path in self._session.outputs:
            if path in writers and writers[path] is not self:
                gc.collect()  # one that nobody holds any more
            if writers.setdefault(path, self) is not self:
                raise Error(f"another session of this program writes {path}: call its end() before, or choose other names for save and disp")

    def _leave_files(self):
        for path in [path for path, session in writers.items() if session is self]:
            del writers[path]

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.end()
        else:
            self.save()
            self._leave_files()
