"""What a model file is: its elements and settings, and what its maker says of it (`info` in the section `model` of the input)."""

from __future__ import annotations

import argparse
import sys

DESCRIPTION = """Shows what a model file or checkpoint is: elements, cutoff, settings, numbers of parameters, and what its maker says
of it: the key `info` in the section `model` of the training's input, any content. The models that come with this package say
there what they are from, where they hold, and how large their errors are."""
UNITS = {"rcut": "Angstrom", "rcut_smth": "Angstrom", "min_distance": "Angstrom", "energy_bias": "eV"}


def text_of(value):
    """One line for a value that has no parts."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (list, tuple)):
        return " ".join(map(text_of, value)) or "none"
    return "none" if value is None else str(value)


def lines_of(values, indent="  "):
    """`name  value` of a dictionary, its parts below it."""
    width = max((len(name) for name in values), default=0)
    for name, value in values.items():
        if isinstance(value, dict):
            yield f"{indent}{name}" + ("" if value else "  none")
            yield from lines_of(value, indent + "  ")
        else:
            yield f"{indent}{name:{width}}  {text_of(value)} {UNITS.get(name, '')}".rstrip()


def describe(potential):
    """Text of several lines about a Potential."""
    settings = dict(potential.info)
    settings.pop("model_def_script", None)  # of a TorchScript model: a long text
    info = settings.pop("info")
    if settings.get("walls"):  # they know all frames, the statistics only those before the first step
        settings.pop("min_distance", None)
    if "separate_atoms" in settings:
        settings["separate_atoms"] = {name: "fitted" if energy is None else f"{energy:.6g} eV"
                                      for name, energy in settings["separate_atoms"].items()}
    facts = {"elements": potential.type_map, "parameters": potential.num_parameters, **settings}
    return "\n".join([potential.path, *lines_of(facts), *lines_of({"info": info})])


def main(arguments=None):
    """Command line. Returns the exit status."""
    from dptrain.potential import Error, Potential

    parser = argparse.ArgumentParser(prog="dptrain show", description=DESCRIPTION,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", metavar="FILE", nargs="+", help="model file or checkpoint")
    for path in parser.parse_args(arguments).files:
        try:
            print(describe(Potential(path)))
        except Error as error:
            print(f"dptrain: error: {error}", file=sys.stderr)
            return 1
    return 0
