"""Runs inside DeePMD-kit's own environment: converts a model file and runs `dp test` several times in one process.

usage: python dp_test_with_deepmd.py tasks.json output.json
tasks.json: list of {"dp": file, "pth": file to make, "arguments": {of deepmd.entrypoints.test.test}}
output.json: for each task the lines that it has logged
"""
import json
import logging
import os
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = ""

import deepmd.entrypoints.test as entry  # noqa: E402
from deepmd.entrypoints.convert_backend import convert_backend  # noqa: E402


class Lines(logging.Handler):
    """Keeps the text of all messages."""

    def __init__(self):
        super().__init__(logging.INFO)
        self.text = []

    def emit(self, record):
        self.text.append(record.getMessage())


def main():
    # systems in a folder: there in the order of the file system, here by name
    find = entry.process_systems
    entry.process_systems = lambda systems, patterns=None: sorted(find(systems, patterns))
    output = []
    logger = logging.getLogger("deepmd")
    logger.setLevel(logging.INFO)
    for task in json.load(open(sys.argv[1])):
        if not os.path.exists(task["pth"]):
            convert_backend(INPUT=task["dp"], OUTPUT=task["pth"])
        lines = Lines()
        logger.addHandler(lines)
        defaults = dict(system=None, datafile=None, numb_test=0, rand_seed=None, shuffle_test=False, detail_file=None, atomic=False)
        entry.test(model=task["pth"], **{**defaults, **task["arguments"]})
        logger.removeHandler(lines)
        output.append(lines.text)
    with open(sys.argv[2], "w") as file:
        json.dump(output, file)


if __name__ == "__main__":
    main()
