"""Calculators of ASE (https://ase-lib.org) for the commands that compute labels, from the words of a command line."""

from __future__ import annotations

import ast
import importlib

import numpy as np

NAMED = {  # calculators that are not in ASE
    "tblite": "tblite.ase.TBLite",
    "xtb": "xtb.ase.calculator.XTB",
    "dptrain": "dptrain.ase.Calculator",
}


class CalculatorError(Exception):
    """There is no such calculator; the text says why and what to do."""


def split_options(text):
    """[word, ...]: `text` at its commas, but not those inside brackets or quotes."""
    words, depth, quote, start = [], 0, None, 0
    for k, c in enumerate(text):
        if quote:
            quote = None if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c == "," and depth == 0:
            words.append(text[start:k])
            start = k + 1
    return [*words, text[start:]]


def read_value(text):
    """A Python literal, or else the text itself; true and false as well."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def parse_calculator(text):
    """NAME[:key=value,...] -> (NAME, {key: value})."""
    name, _, rest = text.partition(":")
    options = {}
    for word in split_options(rest) if rest else []:
        key, equals, value = word.partition("=")
        if not equals or not key.strip().isidentifier():
            raise CalculatorError(f"--calculator {text}: found '{word}' where key=value must stand, as in tblite:method=GFN1-xTB")
        options[key.strip()] = read_value(value.strip())
    return name, options


def find_class(name):
    """The calculator class (or function) of this name: of NAMED, with modules before it, or of ASE."""
    path = NAMED.get(name, name)
    try:
        if "." in path:
            module, _, attribute = path.rpartition(".")
            return getattr(importlib.import_module(module), attribute)
        from ase.calculators.calculator import get_calculator_class

        return get_calculator_class(path)
    except (ImportError, AttributeError, KeyError, ValueError) as error:
        raise CalculatorError(f"there is no calculator '{name}' here ({error}): install the package, or use a name that ASE knows, one "
                          f"of {', '.join(NAMED)}, or MODULE.CLASS") from error


def make_calculator(text):
    """The calculator that `text`, NAME[:key=value,...], describes."""
    name, options = parse_calculator(text)
    try:
        return find_class(name)(**options)
    except CalculatorError:
        raise
    except Exception as error:  # whatever a calculator does not like
        raise CalculatorError(f"the calculator {text} cannot be made: {error}. Check its name and options") from error


def energy_of(atoms):
    """The energy that the forces are derivatives of: the free energy where the calculator has one, since the energy is then
    that without smearing of the occupations, extrapolated."""
    from ase.calculators.calculator import PropertyNotImplementedError

    calculator = atoms.calc
    if "free_energy" in getattr(calculator, "implemented_properties", []):
        try:
            return atoms.get_potential_energy(force_consistent=True)
        except PropertyNotImplementedError:  # the class has it, this calculation has not
            pass
    energy = atoms.get_potential_energy()
    free = (getattr(calculator, "results", None) or {}).get("free_energy")  # calculators that do not list it
    return energy if free is None else free


def label(atoms, use_stress):
    """Energy (see energy_of), forces and virial."""
    forces = atoms.get_forces()
    energy = energy_of(atoms)
    virial = -atoms.get_volume() * atoms.get_stress(voigt=False) if use_stress else np.zeros((3, 3))
    return energy, forces, virial
