"""Calculators of ASE (https://ase-lib.org) for the commands that compute labels, from the words of a command line."""

from __future__ import annotations

import ast
import difflib
import importlib
import os
import sys
from dataclasses import dataclass

import numpy as np


class CalculatorError(Exception):
    """There is no such calculator; the text says why and what to do."""


@dataclass(frozen=True)
class Package:
    """A calculator that is not in ASE."""

    install: str  # what pip installs
    path: str  # MODULE.CLASS, or MODULE.FUNCTION that makes one
    model: str = ""  # the argument that is MODEL of NAME:MODEL; empty: it has none
    models: str = ""  # some of its models, as the package spells them
    defaults: tuple = ()  # (argument, value), ... that are other than the package's


def chgnet(model="0.3.0", device=None, **options):
    from chgnet.model import CHGNet
    from chgnet.model.dynamics import CHGNetCalculator

    return CHGNetCalculator(CHGNet.load(model_name=model, use_device=device, verbose=False), use_device=device, **options)


def orb(model="orb_v3_conservative_inf_omat", device=None, precision="float32-high", **options):
    from orb_models.forcefield import pretrained
    from orb_models.forcefield.calculator import ORBCalculator

    load = getattr(pretrained, model.replace("-", "_"))
    return ORBCalculator(load(device=device, precision=precision), device=device, **options)


NAMED = {
    "chgnet": Package("chgnet", "dptrain.calculators.chgnet", "model", "0.3.0, 0.2.0, r2scan; in the package"),
    "dptrain": Package("user-dptrain", "dptrain.ase.Calculator", "model", "a file"),
    "fairchem": Package("fairchem-core", "fairchem.core.FAIRChemCalculator.from_model_checkpoint", "name_or_path",
                        "uma-s-1p1 (with task_name=omat, omol, ...)"),
    "grace": Package("tensorpotential", "tensorpotential.calculator.grace_fm", "model", "GRACE-1L-OAM, GRACE-2L-OMAT"),
    "mace": Package("mace-torch", "mace.calculators.mace_mp", "model", "medium-mpa-0, small, mace-matpes-r2scan-0, a file"),
    "mace_off": Package("mace-torch", "mace.calculators.mace_off", "model", "small, medium, large"),
    "mattersim": Package("mattersim", "mattersim.forcefield.MatterSimCalculator", "load_path", "MatterSim-v1.0.0-1M.pth, MatterSim-v1.0.0-5M.pth"),
    "metatomic": Package("metatomic-ase", "metatomic_ase.MetatomicCalculator", "model", "a file"),
    "orb": Package("orb-models", "dptrain.calculators.orb", "model", "orb_v3_conservative_inf_omat, orb_v3_conservative_omol"),
    "sevenn": Package("sevenn", "sevenn.calculator.SevenNetCalculator", "model", "7net-0 (in the package), 7net-l3i5, 7net-mf-ompa (with modal=...)"),
    "tblite": Package("tblite", "tblite.ase.TBLite", "method", "GFN2-xTB, GFN1-xTB", (("verbosity", 0),)),
    "upet": Package("upet", "upet.calculator.UPETCalculator", "model", "pet-mad-s, pet-omat-s"),
    "xtb": Package("xtb", "xtb.ase.calculator.XTB", "method", "GFN2-xTB, GFN1-xTB"),
}


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


# arguments that say where a calculator runs and where it writes, and not what it computes
PLACES = ("command", "device", "directory", "label", "num_threads", "profile", "threads")


def parse_calculator(text):
    """NAME[:MODEL][,key=value,...] or NAME[:key=value,...] -> (NAME, {key: value})."""
    name, _, rest = text.partition(":")
    options = {}
    for k, word in enumerate(split_options(rest) if rest else []):
        key, equals, value = word.partition("=")
        if not equals and k == 0 and name in NAMED and NAMED[name].model and word.strip():
            key, equals, value = NAMED[name].model, "=", repr(word.strip())
        if not equals and k == 0 and name not in NAMED and "." not in name:
            find_class(name)  # a name that is wrong is the first mistake
        if not equals or not key.strip().isidentifier():
            raise CalculatorError(f"--calculator {text}: found '{word}' where key=value must stand, as in tblite:method=GFN1-xTB")
        options[key.strip()] = read_value(value.strip())
    return name, options


def identity(text):
    """The same text for calculators that compute the same, whatever they are called, wherever they run and write."""
    name, options = parse_calculator(text)
    return name + ":" + ",".join(f"{key}={options[key]}" for key in sorted(options) if key not in PLACES)


def find(path):
    """What `path`, MODULE.NAME or MODULE.CLASS.FUNCTION, names."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name != module or "." not in module:
            raise
    return getattr(find(module), name)


def find_class(name):
    """The calculator class (or function) of this name: of NAMED, with modules before it, or of ASE."""
    package = NAMED.get(name)
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # modules of the user
    try:
        if package or "." in name:
            return find(package.path if package else name)
        from ase.calculators.calculator import get_calculator_class

        return get_calculator_class(name)
    except (ImportError, AttributeError, KeyError, ValueError) as error:
        near = difflib.get_close_matches(name, NAMED, 1)
        if near and not package:
            raise CalculatorError(f"there is no calculator '{name}': use {near[0]}, if that is what you mean") from error
        advice = (f"install it with {sys.executable} -m pip install {package.install}, or name the Python that has it: --python" if package else
                  f"install the package, or use a name that ASE knows, one of {', '.join(NAMED)}, or MODULE.CLASS")
        raise CalculatorError(f"there is no calculator '{name}' here ({error}): {advice}") from error


def make_calculator(text):
    """The calculator that `text`, NAME[:key=value,...], describes."""
    name, options = parse_calculator(text)
    package = NAMED.get(name)
    try:
        return find_class(name)(**{**dict(package.defaults if package else ()), **options})
    except CalculatorError:
        raise
    except ModuleNotFoundError as error:  # of a function that imports what it needs
        advice = f"install it with {sys.executable} -m pip install {package.install}" if package else "install it"
        raise CalculatorError(f"the calculator {text} cannot be made: {error}. {advice}, or name the Python that has it: --python") from error
    except Exception as error:  # whatever a calculator does not like
        known = f"; its models are, among others: {package.models}" if package and package.models else ""
        raise CalculatorError(f"the calculator {text} cannot be made: {type(error).__name__}: {error}. Check its name and options{known}; weights "
                              "that are not in the package are loaded from the network when they are used for the first time") from error


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
    forces = np.asarray(atoms.get_forces(), float)  # some models have half precision
    energy = float(energy_of(atoms))
    virial = -atoms.get_volume() * atoms.get_stress(voigt=False) if use_stress else np.zeros((3, 3))
    return energy, forces, virial
