"""Files as VASP writes them, of configurations with a calculator of ASE: for the stand-in for VASP, and as data that a reader has."""

from ase.units import GPa

RULER, DOUBLE, STARS = "-" * 50, "=" * 50, "*" * 50


def rows(values):
    """The rows of an array, in VASP's XML."""
    return "".join(f"<v>{' '.join(f'{number:.16g}' for number in row)}</v>" for row in values)


def kbar(atoms):
    """The stress [3][3] as VASP has it: compression is positive."""
    return -10 / GPa * atoms.get_stress(voigt=False)


def structure(atoms, name=""):
    """Cell and positions."""
    return (f"<structure{name}><crystal><varray name=\"basis\">{rows(atoms.cell)}</varray></crystal>"
            f"<varray name=\"positions\">{rows(atoms.get_scaled_positions())}</varray></structure>")


def calculation(atoms):
    """One ionic step."""
    energy = "".join(f"<i name=\"{name}\">{atoms.get_potential_energy():.16g}</i>" for name in ("e_fr_energy", "e_wo_entrp", "e_0_energy"))
    return (f"<calculation><scstep><energy>{energy}</energy></scstep>{structure(atoms)}<varray name=\"forces\">{rows(atoms.get_forces())}"
            f"</varray><varray name=\"stress\">{rows(kbar(atoms))}</varray><energy>{energy}</energy></calculation>")


def vasprun(frames):
    """Text of vasprun.xml with one ionic step for each of the frames."""
    first = structure(frames[0], ' name="initialpos"')
    species = "".join(f"<rc><c>{name}</c><c>1</c></rc>" for name in frames[0].symbols)
    return ("<modeling><kpoints><varray name=\"kpointlist\"><v>0 0 0</v></varray><varray name=\"weights\"><v>1</v></varray></kpoints>"
            f"<parameters/><atominfo><array name=\"atoms\"><set>{species}</set></array></atominfo>"
            f"{first}{''.join(map(calculation, frames))}</modeling>\n")


def table(values):
    """The rows of an array, in ML_AB."""
    return "\n".join("  ".join(f"{number:.15E}" for number in row) for row in values)


def configuration(number, atoms):
    """One configuration of ML_AB; atoms of an element stand together."""
    names = list(dict.fromkeys(atoms.symbols))
    stress = kbar(atoms)
    sections = [("System name", "test"), ("The number of atom types", len(names)), ("The number of atoms", len(atoms)),
                ("Atom types and atom numbers", "\n".join(f"{name} {list(atoms.symbols).count(name)}" for name in names)),
                ("CTIFOR", "2.0E-002"), ("Primitive lattice vectors (ang.)", table(atoms.cell)),
                ("Atomic positions (ang.)", table(atoms.positions)), ("Total energy (eV)", f"{atoms.get_potential_energy():.15E}"),
                ("Forces (eV ang.^-1)", table(atoms.get_forces()))]
    text = "".join(f"{DOUBLE}\n     {title}\n{RULER}\n{value}\n" for title, value in sections)
    return (f"{STARS}\n     Configuration num. {number:6d}\n{text}{DOUBLE}\n     Stress (kbar)\n{RULER}\n     XX YY ZZ\n{RULER}\n"
            f"{table([stress.diagonal()])}\n{RULER}\n     XY YZ ZX\n{RULER}\n{table([[stress[0, 1], stress[1, 2], stress[2, 0]]])}\n")


def ml_ab(frames):
    """Text of ML_AB: a header, of which readers of labels need nothing, and the configurations."""
    header = f" 1.0 Version\n{STARS}\n     The number of configurations\n{RULER}\n{len(frames)}\n"
    return header + "".join(configuration(k + 1, atoms) for k, atoms in enumerate(frames)) + STARS + "\n"
