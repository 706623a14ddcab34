"""Energies, forces and virials of frozen models by DeePMD-kit's Python.

    python evaluate_archives.py FRAME.json OUT.json MODEL.pth...      FRAME: coord, box (9 numbers), types, fparam by model name
"""

import json
import sys
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")

import numpy as np  # noqa: E402


def main(frame, out, *paths):
    from deepmd.infer import DeepPot

    data = json.loads(Path(frame).read_text())
    found = {}
    for path in map(Path, paths):
        fparam = data["fparam"].get(path.stem)
        more = {} if fparam is None else {"fparam": np.array([fparam])}
        energy, force, virial, atom_energy, _ = DeepPot(str(path)).eval(
            np.reshape(data["coord"], (1, -1)), np.reshape(data["box"], (1, 9)), data["types"], atomic=True, **more)
        found[path.stem] = {"energy": float(energy[0, 0]), "force": force[0].tolist(), "virial": virial.reshape(3, 3).tolist(),
                            "atom_energy": atom_energy.reshape(-1).tolist()}
    Path(out).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
