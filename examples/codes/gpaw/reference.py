"""GPAW as a calculator of ASE: dptrain client --calculator reference.gpaw --socket unix:silicon learn.init.xyz"""

from gpaw import GPAW, PW, FermiDirac


def gpaw(kpts=(2, 2, 2), **more):
    """Plane waves, which have a stress; no symmetry; an error where the electrons have not converged within 100 iterations."""
    settings = {"mode": PW(200), "xc": "LDA", "kpts": kpts, "symmetry": "off", "occupations": FermiDirac(0.05), "maxiter": 100,
                "convergence": {"energy": 1e-6, "density": 1e-6, "forces": 1e-3}, "txt": "gpaw.txt"}
    return GPAW(**{**settings, **more})
