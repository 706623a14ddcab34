"""Runs inside DeePMD-kit's own environment: reads inputs as `dp train` does.

usage: python normalize_with_deepmd.py inputs.json results.json
inputs.json: list of inputs; results.json: for each the input with all defaults, or {"error": text}
"""
import functools
import json
import sys
import warnings

warnings.simplefilter("ignore")

from deepmd.utils import argcheck  # noqa: E402
from deepmd.utils.compat import update_deepmd_input  # noqa: E402

# the description of all keys, which takes most of the time, is made once
argcheck.gen_args = functools.lru_cache(argcheck.gen_args)


def read(data):
    try:
        return argcheck.normalize(update_deepmd_input(data, warning=False))
    except Exception as error:  # of whatever kind: what counts is that it is refused
        return {"error": f"{type(error).__name__}: {error}"}


def main():
    json.dump([read(data) for data in json.load(open(sys.argv[1]))], open(sys.argv[2], "w"))


if __name__ == "__main__":
    main()
