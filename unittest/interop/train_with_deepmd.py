"""Loss gradient and Adam steps of a frozen model with PyTorch alone, in an environment with DeePMD-kit.

    python train_with_deepmd.py MODEL.pth SYSTEM STEPS OUT.json

The loss is DeePMD-kit's for start_pref_e = limit_pref_e = 1, f 10, v 0.5, its gradient that of PyTorch's autograd through the
archive's own forward(), all frames of the npy system in one batch; Adam is torch.optim.Adam with learning rate 1e-3.
"""

import json
import sys
import warnings

warnings.filterwarnings("ignore")

import numpy as np  # noqa: E402
import torch  # noqa: E402

PREF_E, PREF_F, PREF_V = 1.0, 10.0, 0.5


def frames(system):
    """Coordinates, types, cells and labels as tensors."""
    def tensor(name, shape):
        return torch.tensor(np.load(f"{system}/set.000/{name}.npy").reshape(shape))

    types = torch.tensor(np.loadtxt(f"{system}/type.raw", dtype=int))
    n = len(types)
    return [{"coord": c, "type": types, "box": b, "energy": e, "force": f, "virial": v}
            for c, b, e, f, v in zip(tensor("coord", (-1, n, 3)), tensor("box", (-1, 9)), tensor("energy", (-1,)),
                                     tensor("force", (-1, n, 3)), tensor("virial", (-1, 9)))]


def loss_of(model, batch):
    """Mean of the frames' losses."""
    total = 0.0
    for frame in batch:
        n = len(frame["type"])
        found = model(frame["coord"][None], frame["type"][None], frame["box"][None])
        total = total + PREF_E * (found["energy"][0, 0] - frame["energy"]) ** 2 / n
        total = total + PREF_F * ((found["force"][0] - frame["force"]) ** 2).mean()
        total = total + PREF_V * ((found["virial"][0] - frame["virial"]) ** 2).mean() / n
    return total / len(batch)


def main(path, system, steps, out):
    torch.set_num_threads(1)
    import deepmd.pt.cxx_op  # noqa: F401  operators of the archive
    model = torch.jit.load(path)
    model.train()
    batch = frames(system)
    named = {name: p for name, p in model.named_parameters() if p.numel() > 0 and "compress" not in name}
    optimizer = torch.optim.Adam(named.values(), lr=1e-3)
    loss = loss_of(model, batch)
    gradients = torch.autograd.grad([loss], list(named.values()), allow_unused=True)
    gradient = {name: (torch.zeros_like(p) if g is None else g).double().flatten().tolist()
                for (name, p), g in zip(named.items(), gradients)}
    for _ in range(int(steps)):
        optimizer.zero_grad()
        loss_of(model, batch).backward()
        optimizer.step()
    parameters = {name: p.detach().double().flatten().tolist() for name, p in named.items()}
    with open(out, "w") as file:
        json.dump({"loss": float(loss), "gradient": gradient, "parameters": parameters}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
