"""`dptrain convert` with outputs of codes: energies that belong to the forces, signs, steps that have not converged, files that are cut off.

Truths: a potential of ASE whose numbers are put into texts as the codes print them; numbers that stand in outputs of the codes
(unittest/reference/outputs, made for these tests by pw.x 6.7, ABINIT 9.6.2 and CP2K 2023.1); the work of the forces."""

import gzip
import re
from pathlib import Path

import numpy as np
import pytest
from labeled_frames import BOHR, HARTREE, KILOBAR, crystal, run, same  # noqa: F401
from real_script import ROOT

from ase.calculators.singlepoint import SinglePointCalculator

OUTPUTS = ROOT / "unittest" / "reference" / "outputs"


# ---------------------------------------------------------------- VASP

def outcar(frames, iterations=None, limit=60, changes="0.1E-05", extra="", ml_after=()):
    """A text as VASP prints it; sigma->0 is another energy than TOTEN. Step k has iterations[k] of the electronic loop."""
    elements = list(dict.fromkeys(frames[0].symbols))
    order = [k for element in elements for k, name in enumerate(frames[0].symbols) if name == element]
    count = [list(frames[0].symbols).count(element) for element in elements]
    lines = [" vasp.6.3.2 27Jun22", *(f" POTCAR:    PAW_PBE {element}_pv 06Sep2000" for element in elements)]
    lines += [f"   VRHFIN ={element} : d10 p1" for element in elements]
    lines += [f"   ions per type =           {'   '.join(map(str, count))}", f"   NELM   =    {limit};   NELMIN=  2; NELMDL= -5     # of ELM steps",
              "   EDIFF  = 0.1E-04   stopping-criterion for ELM"]
    for k, atoms in enumerate(frames):
        energy, forces = atoms.get_potential_energy(), atoms.calc.results["forces"]
        for n in range(1, (iterations or [5] * len(frames))[k] + 1):
            lines += [f"--------------------------------------- Iteration{k + 1:7d}({n:4d})  ---------------------------------------",
                      f" total energy-change (2. order) :-0.2E+00  (-{changes})" if n == 1 else f" total energy-change (2. order) :-{changes}  (-{changes})",
                      f"  free energy    TOTEN  =      {energy + 1.0:16.8f} eV"]
        lines.append("------------------------ aborting loop because EDIFF is reached ----------------------------------------")
        voigt = -atoms.get_stress() / KILOBAR if "stress" in atoms.calc.results else np.zeros(6)
        lines.append("  in kB  " + "".join(f"{voigt[i]:12.5f}" for i in (0, 1, 2, 5, 3, 4)))
        lines.append("      direct lattice vectors                 reciprocal lattice vectors")
        lines += ["    " + "".join(f"{x:13.9f}" for x in [*row, *row]) for row in atoms.cell.array]
        lines += [" POSITION                                       TOTAL-FORCE (eV/Angst)" + extra, " " + "-" * 83]
        lines += ["   " + "".join(f"{x:13.8f}" for x in [*atoms.positions[i], *forces[i], *([9.9] * 3 if extra else [])]) for i in order]
        lines += ["  FREE ENERGIE OF THE ION-ELECTRON SYSTEM (eV)", "  " + "-" * 51, f"  free  energy   TOTEN  =     {energy:16.8f} eV", "",
                  f"  energy  without entropy=    {energy + 0.3:16.8f}  energy(sigma->0) =    {energy + 0.15:16.8f}", ""]
        if k in ml_after:
            lines += [" POSITION                                       TOTAL-FORCE (eV/Angst) (ML)", " " + "-" * 83,
                      *["   " + "".join(f"{x:13.5f}" for x in [7.0] * 6) for _ in order], "  ML FREE ENERGIE OF THE ION-ELECTRON SYSTEM (eV)",
                      "  " + "-" * 51, "  free  energy ML TOTEN  =       -24.12738815 eV", ""]
    return "\n".join([*lines, " General timing and accounting informations for this job:", ""])


def by_element(frames):
    """As outcar() orders the atoms."""
    made = []
    for atoms in frames:
        order = [k for element in dict.fromkeys(atoms.symbols) for k, name in enumerate(atoms.symbols) if name == element]
        sorted_atoms = atoms[order]
        sorted_atoms.calc = SinglePointCalculator(sorted_atoms, **{**atoms.calc.results, "forces": atoms.calc.results["forces"][order]})
        made.append(sorted_atoms)
    return made


def test_outcar(run):
    """The energy is that of the forces, TOTEN, and not sigma->0; the stress has its sign; units are eV."""
    frames = crystal()
    Path("OUTCAR").write_text(outcar(frames))
    status, said, found = run("OUTCAR", "data.xyz")
    assert status == 0, said
    same(found, by_element(frames), 1e-7, 1e-7, 1e-4)
    assert [float(slope) for slope in re.findall(r"slope (\S+) over 11 pairs", said)] == pytest.approx([1.0, 1.0], abs=0.1)
    assert "not converged" not in said and "wrote data.xyz: 12 frames of 4 atoms, Cu Ni, with energy, forces, virial" in said


def test_outcar_with_columns_without_van_der_waals_and_steps_of_its_force_field(run):
    frames = crystal(4)
    Path("OUTCAR").write_text(outcar(frames, extra=",                  FORCE-w/o vdW (eV/Angst)", ml_after=(1, 3)))
    same(run("OUTCAR", "data.xyz")[2], by_element(frames), 1e-7, 1e-7, 1e-4)


def test_outcar_steps_that_nelm_has_ended(run):
    """VASP 5 says of these, too, that EDIFF is reached; a step whose last change is small enough has converged at NELM."""
    frames = crystal(5)
    Path("a.OUTCAR").write_text(outcar(frames, [5, 60, 7, 60, 5], 60, "0.5E-01"))
    status, said, found = run("a.OUTCAR", "data.xyz")
    assert "2 of 5 frames come from an electronic structure that has not converged: left out" in said and len(found) == 3
    assert len(run("a.OUTCAR", "all.xyz", "--unconverged")[2]) == 5
    Path("b.OUTCAR").write_text(outcar(frames, [5, 60, 7, 60, 5], 60, "0.5E-06"))
    assert len(run("b.OUTCAR", "converged.xyz")[2]) == 5


@pytest.mark.parametrize("mark, behind, count", [(" General timing", 0, 4), ("free  energy   TOTEN", 28, 3), ("TOTAL-FORCE", 200, 3), ("Iteration", 0, 3)])
def test_outcar_that_is_cut_off(run, mark, behind, count):
    """Also within a number of its last step."""
    frames = crystal(4)
    text = outcar(frames)
    Path("OUTCAR").write_text(text[:text.rindex(mark) + behind])
    status, said, found = run("OUTCAR", "data.xyz")
    assert status == 0 and ("ends before the run has ended" in said or "cut off" in said) and len(found) == count
    same(found, by_element(frames[:count]), 1e-7, 1e-7, 1e-4)


def test_outcar_packed(run):
    frames = crystal(3)
    with gzip.open("OUTCAR.gz", "wt") as file:
        file.write(outcar(frames))
    same(run("OUTCAR.gz", "data.xyz")[2], by_element(frames), 1e-7, 1e-7, 1e-4)


def vasprun(frames, iterations, changes=1e-2):
    def rows(name, values):
        return f'<varray name="{name}">' + "".join("<v>" + " ".join(f"{x:.8f}" for x in row) + "</v>" for row in values) + "</varray>"

    def structure(atoms, name=""):
        return (f"<structure {name}><crystal>{rows('basis', atoms.cell.array)}</crystal>"
                f"{rows('positions', atoms.get_scaled_positions(wrap=False))}</structure>")

    text = '<?xml version="1.0"?><modeling><incar></incar><kpoints></kpoints><parameters><i name="NELM">60</i><i name="EDIFF">0.0001</i></parameters>'
    text += "<atominfo><array name=\"atoms\"><set>" + "".join(f"<rc><c>{name}</c><c>1</c></rc>" for name in frames[0].symbols) + "</set></array></atominfo>"
    text += structure(frames[0], 'name="initialpos"')
    for atoms, count in zip(frames, iterations):
        energy = atoms.get_potential_energy()
        for k in range(count):
            value = energy + changes * (count - 1 - k)
            text += ("<calculation>" if k == 0 else "") + (f'<scstep><energy><i name="e_fr_energy">{value:.8f}</i><i name="e_0_energy">{value + 0.1:.8f}</i>'
                                                          "</energy></scstep>")
        text += structure(atoms) + rows("forces", atoms.calc.results["forces"]) + rows("stress", -atoms.get_stress(voigt=False) / KILOBAR)
        text += f'<energy><i name="e_fr_energy">{energy:.8f}</i><i name="e_0_energy">{energy:.8f}</i></energy></calculation>'
    return text + "</modeling>"


def test_vasprun(run):
    frames = crystal(6)
    Path("vasprun.xml").write_text(vasprun(frames, [4, 60, 5, 6, 7, 8]))
    status, said, found = run("vasprun.xml", "data.xyz")
    assert status == 0 and "1 of 6 frames come from an electronic structure that has not converged" in said
    same(found, [frames[0], *frames[2:]], 1e-7, 1e-6, 1e-4)
    Path("small.xml").write_text(vasprun(frames, [4, 60, 5, 6, 7, 8], 1e-6))
    assert len(run("small.xml", "small.xyz")[2]) == 6
    text = vasprun(frames, [4] * 6)
    Path("cut.xml").write_text(text[:int(0.6 * len(text))])
    status, said, found = run("cut.xml", "cut.xyz")
    assert status == 0 and "ends before the run has ended" in said and 2 <= len(found) <= 4
    same(found, frames[:len(found)], 1e-7, 1e-6, 1e-4)


# ---------------------------------------------------------------- outputs of other codes

RYDBERG = 13.605698  # eV, as pw.x has it


def printed(name, pattern, scale):
    return [scale * float(value) for value in re.findall(pattern, (OUTPUTS / name).read_text(), re.MULTILINE)]


def test_quantum_espresso(run):
    """Smeared occupations: energies are those of lines with !, F = E - TS, whose derivative the forces are: slopes of 1 tell."""
    status, said, found = run(OUTPUTS / "pw_vc-relax.out", "data.xyz")
    assert status == 0
    energies = printed("pw_vc-relax.out", r"^!    total energy\s+=\s+(\S+) Ry", RYDBERG)
    np.testing.assert_allclose([frame.get_potential_energy() for frame in found], energies, rtol=1e-6)
    force = printed("pw_vc-relax.out", r"atom    1 type  1   force =\s+(\S+)", RYDBERG / BOHR)
    np.testing.assert_allclose([frame.get_forces()[0, 0] for frame in found], force, rtol=1e-6, atol=1e-7)
    pressure = printed("pw_vc-relax.out", r"\(kbar\)\s+P=\s*(\S+)", KILOBAR)
    np.testing.assert_allclose([np.trace(frame.info["virial"]) / 3 / frame.get_volume() for frame in found], pressure, atol=1e-5)
    slopes = [float(slope) for slope in re.findall(r"slope (\S+) over", said)]
    assert slopes == pytest.approx([1.0, 1.0], abs=0.05)


def test_quantum_espresso_steps_that_have_not_converged(run):
    """With scf_must_converge = .false. pw.x says 'convergence has been achieved'."""
    text = (OUTPUTS / "pw_unconverged.out").read_text()
    assert "NOT achieved" not in text
    status, said, _ = run(OUTPUTS / "pw_unconverged.out", "data.xyz")
    assert status == 1 and "3 of 3 frames come from an electronic structure that has not converged" in said and not Path("data.xyz").exists()
    assert len(run(OUTPUTS / "pw_unconverged.out", "data.xyz", "--unconverged")[2]) == 3
    stopped = text[:text.index("!    total energy")] + "     total energy              =     -16.83354218 Ry\n     convergence NOT achieved after   4 iterations: stopping\n"
    Path("stopped.out").write_text(stopped)
    status, said, _ = run("stopped.out", "stopped.xyz")
    assert status == 1 and "1 of 1 frames come from" in said


def test_quantum_espresso_cut_off(run):
    text = (OUTPUTS / "pw_vc-relax.out").read_text()
    place = text.index("atom    2 type  2", text.index("atom    2 type  2") + 100)
    Path("pw.out").write_text(text[:place])
    status, said, found = run("pw.out", "data.xyz")
    assert status == 0 and len(found) == 1 and ("cut off" in said or "ends before" in said)


def test_abinit(run):
    """All digits of the blocks behind the documents; the scale of the cell; the sign of the stress."""
    status, said, found = run(OUTPUTS / "abinit_relax.abo", "data.xyz")
    assert status == 0 and len(found) == 5 and "ends before the run has ended" in said
    energies = printed("abinit_relax.abo", r"\(etotal\) \[Ha\]=\s*(\S+)", 27.21138386)
    np.testing.assert_allclose([frame.get_potential_energy() for frame in found], energies, rtol=1e-12)
    volumes = printed("abinit_relax.abo", r"\(ucvol\) \[Bohr\^3\]=\s*(\S+)", BOHR ** 3)
    np.testing.assert_allclose([frame.get_volume() for frame in found], volumes, rtol=1e-7)
    pressures = printed("abinit_relax.abo", r"pressure_GPa:\s*(\S+)", 10 * KILOBAR)
    np.testing.assert_allclose([np.trace(frame.info["virial"]) / 3 / frame.get_volume() for frame in found], pressures, rtol=1e-4)
    assert found[0].get_forces()[0] == pytest.approx(np.array([1.35344618863658e-2, -1.35349032744245e-2, 1.22870344981278e-3]) * HARTREE / BOHR, rel=1e-6)
    status, said, _ = run(OUTPUTS / "abinit_unconverged.abo", "bad.xyz")
    assert status == 1 and "1 of 1 frames come from" in said


def test_cp2k(run):
    """Positions, forces and cells of the files beside the output; stress and convergence of the output itself."""
    status, said, found = run(OUTPUTS / "cp2k_npt.out", "data.xyz")
    assert status == 0 and "2 of 8 frames come from an electronic structure that has not converged" in said and len(found) == 6
    energies = printed("hf-pos-1.xyz", r"E =\s+(\S+)", HARTREE)
    np.testing.assert_allclose([frame.get_potential_energy() for frame in found], energies[2:], rtol=1e-9)
    pressures = printed("cp2k_npt.out", r"STRESS\| 1/3 Trace\s+(\S+)", 10 * KILOBAR)
    np.testing.assert_allclose([np.trace(frame.info["virial"]) / 3 / frame.get_volume() for frame in found], pressures[2:], rtol=1e-9)
    slopes = [float(slope) for slope in re.findall(r"slope (\S+) over", said)]
    assert slopes == pytest.approx([1.0, 1.0], abs=0.1)


def test_cp2k_of_one_configuration_and_trajectory_alone(run):
    status, said, found = run(OUTPUTS / "cp2k_single.out", "one.xyz")
    assert status == 0 and found[0].get_potential_energy() == pytest.approx(-49.306362408570095 * HARTREE)
    assert found[0].get_forces()[3] == pytest.approx(np.array([0.13520328, 0.05190770, -0.00000011]) * HARTREE / BOHR)
    assert found[0].positions[3] == pytest.approx([2.3, 3.23, 2.25]) and list(found[0].symbols) == ["H", "F", "H", "F"]
    status, said, found = run(OUTPUTS / "hf-pos-1.xyz", "path.xyz")
    assert status == 0 and len(found) == 8 and "virial" not in found[0].info and "without the output of CP2K" in said
    Path("hf-pos-1.xyz").write_text((OUTPUTS / "hf-pos-1.xyz").read_text())
    status, said, _ = run("hf-pos-1.xyz", "no.xyz")
    assert status == 1 and "cells of the steps are missing" in said and "&CELL" in said


AIMS = """
          Invoking FHI-aims ...
          Version 221103
  | Number of atoms                   :        2
  | Number of spin channels           :        1
  The structure contains        2 atoms,  and a total of         22.000 electrons.
  Occupation type: Gaussian broadening, with width =   0.100000E-01 eV.
  | Number of Kohn-Sham states (occupied + empty):       12
  | Number of k-points             :         1
  Input geometry:
  | Unit cell:
  |        6.00000000        0.00000000        0.00000000
  |        0.00000000        6.00000000        0.00000000
  |        0.00000000        0.00000000        6.00000000
  | Atomic structure:
  |       Atom                x [A]            y [A]            z [A]
  |    1: Species Si            0.00000000        0.00000000        0.00000000
  |    2: Species O             1.60000000        0.00000000        0.00000000
"""
AIMS_STEP = """
          Begin self-consistency loop: {begin}
          Begin self-consistency iteration #    1

  Updating Hartree potential.
{converged}
  | Total energy uncorrected      :         {low:.15E} eV
  | Total energy corrected        :         {low:.15E} eV
  | Electronic free energy        :         {energy:.15E} eV

  Total atomic forces (unitary forces cleaned) [eV/Ang]:
  |    1         {force:.15E}          0.000000000000000E+00          0.000000000000000E+00
  |    2         {minus:.15E}          0.000000000000000E+00          0.000000000000000E+00

  Atomic structure (and velocities) as used in the preceding time step:
                         x [A]             y [A]             z [A]
  lattice_vector        6.00000000       0.00000000       0.00000000
  lattice_vector        0.00000000       6.00000000       0.00000000
  lattice_vector        0.00000000       0.00000000       6.00000000
            atom         {x:.8f}        0.00000000        0.00000000  Si
            atom         1.60000000        0.00000000        0.00000000  O
"""


def test_fhi_aims(run):
    """A spring of 10 eV/Angstrom^2 along x: energies and forces belong together; the energy is the free one."""
    text = AIMS
    for k in range(8):
        x = 0.05 * k
        text += AIMS_STEP.format(begin="Initialization" if k == 0 else "Re-initialization", low=-99.0, energy=-100.0 + 5.0 * x ** 2, force=-10.0 * x,
                                 minus=10.0 * x, x=x, converged="  Self-consistency cycle " + ("converged." if k != 3 else "not converged."))
    Path("aims.out").write_text(text + "          Have a nice day.\n")
    status, said, found = run("aims.out", "data.xyz")
    assert status == 0 and len(found) == 7 and "1 of 8 frames come from an electronic structure" in said
    assert found[2].get_potential_energy() == pytest.approx(-100.0 + 5.0 * 0.1 ** 2) and found[2].get_forces()[1, 0] == pytest.approx(1.0)
    assert "work of the forces: slope 1 over 6 pairs" in said
