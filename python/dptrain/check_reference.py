"""The reference of ``dptrain check``: a calculator of ASE, or a pair style of LAMMPS, from the words of the command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ase.calculators.calculator import Calculator, all_changes
from ase.stress import full_3x3_to_voigt_6_stress

from dptrain.calculators import CalculatorError, make_calculator
from dptrain.check_part import CheckError
from dptrain.launcher import quote_for_lammps
from dptrain.potential import BASELINE_REACH, Error, complete_cell

from dptrain.baseline import BaselineStyle  # noqa: E402  (after the module that it needs)

SINGLE = ("units", "pair_style", "kspace_style")  # commands that come once
COMMANDS = (*SINGLE, "pair_coeff", "pair_modify", "kspace_modify")


@dataclass(frozen=True)
class PairStyleWords:
    """Commands of LAMMPS, and the elements of its atom types in their order."""

    lines: tuple
    elements: tuple

    @property
    def units(self):
        return next((line.split()[1] for line in self.lines if line.split()[0] == "units"), "metal")

    def for_baseline(self):
        """As dptrain.baseline has them."""
        words = {"units": self.units, "elements": list(self.elements)}
        for line in self.lines:
            command, _, rest = line.partition(" ")
            if command in SINGLE:
                words[command] = rest
            else:
                words.setdefault(command, []).append(rest)
        return words


class PairStyle(Calculator):
    """A pair style of LAMMPS as a calculator of ASE, eV and Angstrom."""

    implemented_properties = ["energy", "free_energy", "forces", "stress"]

    def __init__(self, words):
        super().__init__()
        self.style = BaselineStyle(words.for_baseline())

    def calculate(self, atoms=None, properties=("energy",), system_changes=all_changes):
        super().calculate(atoms, properties, system_changes)
        cell = complete_cell(self.atoms.positions, self.atoms.cell.array, self.atoms.pbc, BASELINE_REACH)
        try:
            energy, forces, virial, _ = self.style.evaluate(self.atoms.positions, self.atoms.get_chemical_symbols(), cell)
        except Error as error:
            message = str(error).removeprefix("baseline ")
            raise CheckError(f"pair_style {message}") from error
        self.results = {"energy": energy, "free_energy": energy, "forces": forces}
        if self.atoms.cell.rank == 3:
            self.results["stress"] = full_3x3_to_voigt_6_stress(-virial / self.atoms.get_volume())


def read_line(line):
    """A command of LAMMPS with names of files that do not depend on the folder."""
    words = line.split()
    if words[:1] == ["pair_coeff"]:
        words = [quote_for_lammps(str(Path(word).resolve())) if Path(word).is_file() else word for word in words]
    return " ".join(words)


def read_pair_style(words, elements):
    """PairStyleWords of the commands in `words`."""
    lines = [read_line(word) for word in words]
    for line in lines:
        command, _, rest = line.partition(" ")
        if command not in COMMANDS or not rest:
            raise CheckError(f"--reference: '{line}' is no command of a pair style: use {', '.join(COMMANDS)}, each with its arguments in one "
                             "pair of quotes")
    for command in ("pair_style", "pair_coeff"):
        if not any(line.startswith(command + " ") for line in lines):
            raise CheckError(f"--reference: there is no {command}: add it, as in --reference 'pair_style sw' 'pair_coeff * * Si.sw Si'")
    return PairStyleWords(tuple(lines), tuple(elements))


def read_reference(words, elements):
    """(calculator, its PairStyleWords or None) of the words of --reference. elements: of the atom types."""
    if words[0].split(" ")[0] in COMMANDS:
        style = read_pair_style(words, elements)
        return PairStyle(style), style
    if len(words) > 1:
        raise CheckError(f"--reference: found '{' '.join(words)}': give one calculator, NAME[:key=value,...], or commands of LAMMPS, each in quotes")
    try:
        return make_calculator(words[0]), None
    except CalculatorError as error:
        raise CheckError(str(error).replace("--calculator", "--reference")) from error
