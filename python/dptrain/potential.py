"""Models in Python scripts: energy, forces and virial of single frames, by the library that LAMMPS runs with.

Units are eV and Angstrom. The work is done by the calling process alone, on OMP_NUM_THREADS threads (where that is not set,
on all cores that the process may use).
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import warnings
from typing import NamedTuple

import numpy as np

from dptrain.data_frames import charge_of


def load_module():
    """The compiled module. LibTorch in it keeps its own matrix products: a LAMMPS in this process has slow ones of the same
    names. PyPI's MPICH is loaded first, in the plain way: loaded like the module, UCX in it would not find `environ` of a Python
    that is no position-independent program, such as Debian's."""
    mpi = os.path.join(sys.prefix, "lib", "libmpi.so.12")
    if os.path.exists(mpi):
        ctypes.CDLL(mpi)
    flags = sys.getdlopenflags()
    sys.setdlopenflags(os.RTLD_NOW | os.RTLD_LOCAL | getattr(os, "RTLD_DEEPBIND", 0))
    try:
        from dptrain import _dptrain
    except ImportError as error:
        raise ImportError(f"the compiled module of dptrain cannot be loaded ({error}). It is built with the package where nanobind "
                          "is installed: pip install nanobind, then install dptrain again") from error
    finally:
        sys.setdlopenflags(flags)
    return _dptrain


_dptrain = load_module()
Error = _dptrain.Error
BASELINE_REACH = 40.0  # Angstrom; force fields of LAMMPS have cutoffs below that

from dptrain.baseline import Baseline  # noqa: E402  (after the module that it needs)


class Evaluation(NamedTuple):
    """What a model says about a frame."""

    energy: float  #: eV
    forces: np.ndarray  #: [natoms][3] eV/Angstrom
    virial: np.ndarray  #: [3][3] eV, sum of F (x) r: minus the derivative of the energy by the strain
    energies: np.ndarray  #: [natoms] eV, their sum is the energy
    error_bars: np.ndarray | None = None  #: [natoms] eV/Angstrom, see the key error_bars of Potential.info; None: there are none
    charges: np.ndarray | None = None  #: [natoms] e, of the potential; None: it has none

    def __repr__(self):
        return f"Evaluation(energy {self.energy:.10g} eV, {len(self.forces)} atoms; energy, forces, virial, energies, error_bars, charges)"


def find_model(name):
    """The file that is meant: in the current folder, in those of LAMMPS_POTENTIALS, among the models that come with the package."""
    folders = [folder for folder in os.environ.get("LAMMPS_POTENTIALS", "").split(os.pathsep) if folder]
    for folder in ("", *folders, os.path.join(os.path.dirname(os.path.realpath(__file__)), "potentials")):
        path = os.path.join(folder, name)
        if os.path.exists(path) or (not folder and os.path.exists(path + ".dp")):
            return path
    return name


class Potential:
    """A trained potential from a model file (.dp, .pth of DeePMD-kit, or nep.txt of GPUMD) or from a checkpoint. A name is looked for as
    LAMMPS' pair_coeff does, see find_model.

    precision: ``double``, ``single`` (float32) or ``mixed``, as in LAMMPS' ``pair_style dptrain``; results are float64.

    Raises Error if the file is missing or is no such model. Warns of what is doubtful in it.
    """

    def __init__(self, path, precision="double"):
        self.path = find_model(os.fspath(path))
        self.precision = precision
        self._model = _dptrain.Potential(self.path, precision)
        for text in self._model.warnings:
            warnings.warn(f"{self.path}: {text}", stacklevel=3)  # of who calls load
        self._index = {name: k for k, name in enumerate(self.type_map)}
        self._baseline = None  # made with the first frame
        self._has_charges = self._model.has_charges

    def __repr__(self):
        return f"Potential({self.path!r}, {'/'.join(self.type_map)}, rcut {self.rcut} A, {self.num_parameters} parameters)"

    @property
    def type_map(self):
        """Names of the atom types, elements as a rule, in the order of the type numbers."""
        return self._model.type_map

    @property
    def rcut(self):
        """Cutoff radius in Angstrom."""
        return self._model.cutoff

    @property
    def num_parameters(self):
        """Number of parameters of the nets."""
        return sum(size for _, (size, _) in self._model.parameter_blocks())

    @property
    def num_trainable(self):
        """Number of parameters that a training changes."""
        return sum(size for _, (size, trainable) in self._model.parameter_blocks() if trainable)

    @property
    def parameter_sizes(self):
        """{name of an array in the model file: how many parameters it has}"""
        return {name: size for name, (size, _) in self._model.parameter_blocks()}

    @property
    def info(self):
        """kind (native or torchscript), settings of the model by their names in the input (rcut, n_max, sel, neuron, ...; of a
        TorchScript model rcut and model_def_script), in_deepmd (of a native model: whether DeePMD-kit can read it),
        energy_bias per type in eV, separate_atoms, the energy of an atom alone by element in eV (None where it is fitted),
        min_distance, the shortest distance in its training data in Angstrom (None where the file does not tell), walls, baseline, terms
        (where it has one, in words), error_bars (coverage, source, number of frames, and, by element, of atoms, and eV/Angstrom at distance 1
        from what was learned; None where there are none), and info, what its maker says of it: the key `info` in the section `model` of the input."""
        return self._model.info()

    @property
    def overflow_count(self):
        """How many atoms so far had more neighbors of a type than ``sel`` keeps; the farthest were left out."""
        return self._model.overflow_count

    def save(self, path):
        """Writes the model as a .pth or .dp file, as the name says: of a checkpoint, without the state of its training.

        TorchScript models are written as .pth, models that do not come from a .pth as .dp."""
        self._model.save(os.fspath(path))

    def types_of(self, types):
        """Type numbers [natoms] from type numbers or from names such as ``["O", "H", "H"]``. Raises Error for unknown ones."""
        types = np.asarray(types)
        if types.ndim != 1:
            raise Error(f"types have the shape {types.shape}: give one number or name for each atom")
        if types.dtype.kind in "iu":
            wrong = sorted({int(t) for t in types if not 0 <= t < len(self._index)})
            if wrong:
                raise Error(f"type {wrong[0]} is not in the model: {self.path} has the types 0 to {len(self._index) - 1} "
                            f"({' '.join(self.type_map)}): use one of them")
            return types.astype(np.int32)
        unknown = sorted({str(name) for name in types} - set(self._index))
        if unknown:
            raise Error(f"{', '.join(unknown)}: not in the model {self.path}: use one of {' '.join(self.type_map)}")
        return np.array([self._index[str(name)] for name in types], dtype=np.int32)

    def evaluate(self, positions, types=None, cell=None, pbc=None, charge=None):
        """Energy, forces, virial and atomic energies of one frame, as an Evaluation.

        positions: [natoms][3] Angstrom, atoms anywhere (periodic images count), or an ``ase.Atoms``, which has all of the
        rest. types: type numbers or names, one per atom. cell: three vectors as rows, or the three edges of a box, of any
        size, smaller than the cutoff too; None: no cell. pbc: one or three booleans; by default a cell is periodic.
        charge: of all atoms, e, for models that have charges; None: that of the model, or 0 where
        its data tell it. Of an ``ase.Atoms`` it is in `info`, as
        "total_charge" or "charge".
        Raises Error for unknown types, wrong shapes, numbers that are not finite, and atoms on top of each other.
        """
        given_charge = bool(charge)  # what an ase.Atoms tells is not meant for models without
        positions, types, cell, pbc, charge = frame_of(positions, types, cell, pbc, charge)
        positions = np.ascontiguousarray(positions, dtype=float)
        if positions.ndim != 2 or positions.shape[1] != 3:
            raise Error(f"positions have the shape {positions.shape}: [natoms][3] is needed")
        if types is None:
            raise Error("the types of the atoms are missing: give one number or name for each atom")
        if charge is not None and not isinstance(charge, (int, float, np.number)):
            raise Error(f"charge {charge!r} is not possible: give the charge of all atoms, a number in e")
        if given_charge and not self._has_charges:
            raise Error(f"charge {charge:g}: {self.path} has no charges: leave it out")
        types = self.types_of(types)
        if len(types) != len(positions):
            raise Error(f"{len(positions)} positions but {len(types)} types: give one for each atom")
        if self._has_charges and (cell is None or not np.all(True if pbc is None else pbc)):
            raise Error(f"{self.path} has charges, which act through all cells: give a cell that is periodic in all directions, with vacuum "
                        "around what is not")
        given, cell = cell, complete_cell(positions, cell, pbc, self.rcut)
        net = self._model.evaluate(positions, types, None if cell is None else cell.ravel(), charge)
        if not self._model.baseline:
            return Evaluation(*net)
        if self._baseline is None:
            self._baseline = Baseline(json.loads(self._model.baseline))
        cell = complete_cell(positions, given, pbc, max(self.rcut, BASELINE_REACH))
        baseline = self._baseline.evaluate(positions, [self.type_map[t] for t in types], cell)
        return Evaluation(*(a + b for a, b in zip(net, baseline)), error_bars=net[4], charges=net[5])

    def born_charges(self, positions, types=None, cell=None, pbc=None, epsilon=1.0, step=0.01, charge=None):
        """Born effective charges [natoms][3][3] in e of a model with charges: [i][a][b] is how the dipole moment of the cell along a
        changes where atom i moves along b.

        The arguments of a frame are those of evaluate(). epsilon: dielectric constant of the electrons alone (of high frequency): charges that
        act in a medium are smaller by its square root than those of the atoms (Zhong et al., arXiv 2504.05169). step: Angstrom,
        of central differences, which take 6 evaluations for each atom.
        Charges that a move changes at other atoms count with their distance from the moved one, in a cell that is repeated until only one
        image of each is within the reach of the net: what comes out is the same for a cell and its multiples.
        """
        if not (0.0 < epsilon < np.inf and 0.0 < step < 1.0):
            raise Error(f"epsilon {epsilon} and step {step} are not possible: use a positive number, and a step above 0 and below 1 Angstrom")
        positions, types, cell, pbc, charge = frame_of(positions, types, cell, pbc, charge)
        charges = self.evaluate(positions, types, cell, pbc, charge).charges
        if charges is None:
            raise Error(f"{self.path} has no charges: its input needs a term of type charges")
        positions = np.array(positions, dtype=float)
        born = charges[:, None, None] * np.eye(3)
        if any("/terms/" in name for name in self.parameter_sizes):  # a net adds to them
            cell = complete_cell(positions, cell, pbc, self.rcut)
            copies = np.ceil(2.001 * self.rcut * np.linalg.norm(np.linalg.inv(cell), axis=0)).astype(int)
            places = np.concatenate([positions + np.array(shift) @ cell for shift in np.ndindex(*copies)])
            cell, number = cell * copies[:, None], int(np.prod(copies))
            types, charge = list(types) * number, None if charge is None else charge * number
            for i, place in enumerate(positions):
                parts = (places - place) @ np.linalg.inv(cell)
                distances = (parts - np.round(parts)) @ cell
                waves = np.sin(2.0 * np.pi * parts) @ cell / (2.0 * np.pi)
                near = np.linalg.norm(distances, axis=1) <= self.rcut
                for b in range(3):
                    moved = np.zeros_like(places)
                    moved[i, b] = step
                    ahead, behind = (self.evaluate(places + sign * moved, types, cell, charge=charge).charges for sign in (1, -1))
                    change = (ahead - behind) / (2.0 * step)
                    shared = 0.0 if near.all() else change[~near].mean()  # by all atoms alike, which keeps the total
                    born[i, :, b] += (change - shared)[near] @ distances[near] + shared * waves.sum(axis=0)
        return np.sqrt(epsilon) * born


def frame_of(positions, types, cell, pbc, charge):
    """These five, or those of an ``ase.Atoms`` in the place of the positions."""
    if not hasattr(positions, "get_positions"):
        return positions, types, cell, pbc, charge
    atoms = positions
    return atoms.get_positions(), atoms.get_chemical_symbols(), atoms.cell.array, atoms.pbc, charge_of(atoms) if charge is None else charge


def complete_cell(positions, cell, pbc, cutoff):
    """A cell that is periodic in all directions, or None: directions without periodicity become so long that no image comes
    within the cutoff of an atom."""
    pbc = np.broadcast_to(np.asarray(cell is not None if pbc is None else pbc, dtype=bool), 3)
    if not pbc.any():
        return None
    if cell is None:
        raise Error("periodic directions need a cell")
    cell = np.array(cell, dtype=float)
    if cell.shape == (3,):
        cell = np.diag(cell)
    cell = cell.reshape(3, 3) if cell.size == 9 else cell
    if cell.shape != (3, 3):
        raise Error(f"the cell has the shape {cell.shape}: three vectors, or three edges of a box, are needed")
    if pbc.all():
        # finite, as the library itself tells of other numbers; the same measure of a volume as there
        if np.isfinite(cell).all() and abs(np.linalg.det(cell)) <= 1e-12 * np.prod(np.linalg.norm(cell, axis=1)):
            raise Error("the cell has no volume: its three vectors are zero or lie in a plane. Give cell=None for atoms without a cell")
        return cell
    # directions perpendicular to the periodic vectors, one for each that is missing
    if np.linalg.matrix_rank(cell[pbc]) < pbc.sum():
        raise Error("the periodic vectors of the cell are zero or lie in one line: give vectors that span it, or change pbc")
    free = np.linalg.svd(cell[pbc])[2][pbc.sum():]
    extent = np.ptp(positions @ free.T, axis=0) + 2.0 * cutoff
    cell[~pbc] = free * extent[:, None]
    return cell


def load(path, precision="double"):
    """The Potential in a model file (.dp, .pth, nep.txt) or checkpoint; see Potential."""
    return Potential(path, precision)


def save(checkpoint, path):
    """Writes the model of a checkpoint (or of another model file) as a .dp or .pth file."""
    Potential(checkpoint).save(path)


def is_checkpoint(path):
    """True if the file is a checkpoint, which holds the state of a training beside its model."""
    return _dptrain.is_checkpoint(os.fspath(path))
