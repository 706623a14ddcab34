"""The pages on quantum codes, doc/src/Reference_*.rst, and the modules in examples/codes: calculators can be made. None of the codes runs."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("ase", reason="the calculators are those of ASE")
profiles = pytest.importorskip("ase.calculators.genericfileio", reason="ASE 3.23 or newer")

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "doc" / "src").glob("Reference_*.rst"))
CODES = ROOT / "examples" / "codes"


def module_of(path):
    spec = importlib.util.spec_from_file_location("reference", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def python_blocks(text):
    found = re.findall(r"^\.\. code-block:: python\n   :caption: (\S+)\n\n((?:   .*\n|\n)+)", text, re.MULTILINE)
    return [(name, re.sub("^   ", "", body, flags=re.MULTILINE)) for name, body in found]


def test_each_code_has_a_row_and_a_page():
    overview = (ROOT / "doc" / "src" / "Reference_codes.rst").read_text(encoding="ascii")
    named = set(re.findall(r'^   ":doc:`[^<]*<(Reference_\w+)>`"', overview, re.MULTILINE))
    assert named == {page.stem for page in PAGES} - {"Reference_codes"}
    for name in named:
        row = re.search(rf"^   \":doc:`[^<]*<{name}>`.*", overview, re.MULTILINE).group(0)
        text = (ROOT / "doc" / "src" / f"{name}.rst").read_text(encoding="ascii")
        assert ("not run here" in row) == ("**Not run here" in text), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_functions_of_the_pages_make_calculators(page, tmp_path):
    for name, body in python_blocks(page.read_text(encoding="ascii")):
        (tmp_path / name).write_text(body)
        functions = re.findall(r"^def (\w+)\(", body, re.MULTILINE)
        made = [getattr(module_of(tmp_path / name), function)() for function in functions]
        assert made and all(hasattr(calculator, "get_potential_energy") for calculator in made)


@pytest.mark.parametrize("code, functions", [("qe", "qe qe_socket"), ("abinit", "abinit abinit_socket"), ("nwchem", "nwchem")])
def test_modules_of_the_examples_make_calculators(code, functions):
    module = module_of(CODES / code / "reference.py")
    for function in functions.split():
        assert hasattr(getattr(module, function)(), "get_potential_energy")


@pytest.mark.parametrize("code", ["gpaw", "pyscf"])
def test_modules_that_need_a_package_are_python(code):
    compile((CODES / code / "reference.py").read_text(), code, "exec")


def test_an_unconverged_calculation_of_abinit_fails(tmp_path):
    """ABINIT says so in its log, and ends with status 0."""
    from ase import Atoms
    from ase.calculators.calculator import CalculationFailed

    fake = tmp_path / "abinit.py"
    fake.write_text("print(' nstep=    5 was not enough SCF cycles to converge;')\n")
    calculator = module_of(CODES / "abinit" / "reference.py").abinit(command=f"{sys.executable} {fake}", pps="psp8")
    calculator.directory = tmp_path
    (tmp_path / "Si.psp8").write_text("")
    calculator.profile.pp_paths = [str(tmp_path)]
    calculator.template.read_results = lambda directory: {"energy": 1.0}
    atoms = Atoms("Si", cell=[5.0, 5.0, 5.0], pbc=True)
    atoms.calc = calculator
    with pytest.raises(CalculationFailed, match="the electrons have not converged"):
        atoms.get_potential_energy()
