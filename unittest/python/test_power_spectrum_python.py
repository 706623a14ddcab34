"""Models with the descriptor power_spectrum in Python and in the shell: learned by a session, read, not convertible; and the
defaults that the manual names."""

import json
import re

import numpy as np
import pytest
from real_script import ROOT, RealScript, dptrain

pytest.importorskip("ase")
from copper_run import emt, frames  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiled_module")

COUNTS = ("n_max", "axis_neuron", "l_max")


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A model of copper that has learned ten frames, its input having no more than the elements and the kind of descriptor."""
    folder = tmp_path_factory.mktemp("copper")
    (folder / "input.json").write_text(json.dumps({"model": {"type_map": ["Cu"], "descriptor": {"type": "power_spectrum"}}}))
    with dptrain.Session(str(folder / "input.json"), emt, mode="passive", every=1, warmup=5, train=60, seed=1, save=str(folder / "cu.dp"),
                         disp=str(folder / "lcurve.out"), log=None) as session:
        for positions, cell in frames(10):
            step = session.step(positions, ["Cu"] * 32, cell)
    assert session.report()["frames"] == 10 and step.moved_by == "model"
    return folder / "cu.dp"


def test_a_session_learns_and_saves_it(learned):
    """The model in the file knows the forces of frames like those that it has learned."""
    potential = dptrain.load(str(learned))
    positions, cell = next(frames(1, seed=5))
    expected, found = emt(positions, None, cell)[1], potential.evaluate(positions, ["Cu"] * 32, cell)
    assert np.sqrt(np.mean((found.forces - expected) ** 2)) < 0.35 * np.sqrt(np.mean(expected**2))
    shift = np.array([0.3, -0.2, 0.1])
    moved = potential.evaluate(positions + shift, ["Cu"] * 32, cell)
    assert moved.energy == pytest.approx(found.energy, rel=1e-12)


def test_what_is_known_of_it(learned):
    potential = dptrain.load(str(learned))
    info = potential.info
    assert info["kind"] == "native" and info["descriptor"] == "power_spectrum" and potential.rcut == info["rcut"] == 6.5
    blocks = potential.parameter_sizes
    assert blocks["/model/descriptor/@variables/c0"] == info["n_max"] * info["n_basis"]
    widths = [info["n_max"] * (1 + (info["l_max"] + 1) * info["axis_neuron"]), *info["fitting_neuron"]]
    assert [blocks[f"/model/fitting/nets/networks/0/layers/{k}/@variables/w"] for k in range(3)] == \
        [a * b for a, b in zip(widths, widths[1:])]
    assert potential.overflow_count == 0


def test_no_other_format_holds_it(learned, tmp_path):
    """Whatever DeePMD-kit would be asked for: the message says why, and what runs the file."""
    from dptrain.convert import ConvertError, convert

    for target in ("cu.pth", "cu.pb", "cu.yaml"):
        with pytest.raises(ConvertError, match="power_spectrum") as caught:
            convert(str(learned), str(tmp_path / target))
        for text in (str(learned), "DeePMD-kit does not have", "pair_style dptrain", "dptrain.load"):
            assert text in str(caught.value), text
    with pytest.raises(dptrain.Error, match="power_spectrum.*DeePMD-kit does not have this descriptor"):
        dptrain.load(str(learned)).save(str(tmp_path / "cu.pth"))
    assert list(tmp_path.iterdir()) == []
    assert RealScript(tmp_path)("convert", learned, "copy.dp") == (0, "wrote copy.dp\n", "")
    positions, cell = next(frames(1))
    one, two = (dptrain.load(str(path)).evaluate(positions, ["Cu"] * 32, cell) for path in (learned, tmp_path / "copy.dp"))
    assert one.energy == two.energy


def defaults_of_the_manual():
    """{key: text of the default} of the table of power_spectrum."""
    text = (ROOT / "doc" / "src" / "dptrain_input.rst").read_text()
    section = text[text.index("model/descriptor of type power_spectrum\n"):text.index("model/descriptor of type nep\n")]
    rows = re.findall(r"^ {3}\* - (\S.*)\n {5}- (.*)\n", section, re.M)
    return {key: default for names, default in rows for key in names.split(", ")}


def test_the_manual_has_its_defaults(learned):
    """Numbers in the table are those of a model whose input gives none of them."""
    info, manual = dptrain.load(str(learned)).info, defaults_of_the_manual()
    assert {key: int(re.match(r"\d+", manual[key])[0]) for key in COUNTS} == {key: info[key] for key in COUNTS}
    assert manual["rcut"] == "auto" and manual["n_basis"].endswith(": 4 per Angstrom, up to 32")
    assert info["rcut"] == 6.5 and info["n_basis"] == 26  # copper: 2.6 times 2.56 Angstrom
    assert manual["rcut_smth"] == "rcut / 3" and info["rcut_smth"] == pytest.approx(info["rcut"] / 3, rel=1e-15)
