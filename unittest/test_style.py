"""The rules of the house (tools/check_style.py) hold for every file of the repository."""

import importlib.util
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent.parent / "tools" / "check_style.py"
spec = importlib.util.spec_from_file_location("check_style", SCRIPT)
check_style = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_style)


def test_rules_of_the_house():
    found = check_style.violations(with_format=True)
    assert not found, "\n" + "\n".join(found)


def test_a_violation_is_found():
    lines = ['#include "pair.h"', "#include <Kokkos_Core.hpp>", "#include <mpi.h>", "#include <ATen/ATen.h>"]
    assert len(list(check_style.check_includes(Path("lib/dptrain/src/kernels/x.cpp"), lines))) == 3
    up = ['#include "dptrain/models/model_in_use.h"', '#include "base/text.h"', '#include "nowhere/x.h"']
    assert len(list(check_style.check_layers(Path("lib/dptrain/include/dptrain/frames/x.h"), up))) == 2
    assert len(list(check_style.check_layers(Path("lib/dptrain/src/elsewhere/x.cpp"), []))) == 1
    assert len(list(check_style.check_layers(Path("src/USER-DPTRAIN/nested/x.cpp"), ['#include "styles/rewind.h"', '#include "pair.h"']))) == 1
    long_function = ["void f()", "{"] + ["  x();"] * 150 + ["}"]
    assert len(list(check_style.check_functions(Path("x.cpp"), long_function))) == 1
    assert len(list(check_style.check_text(Path("x.md"), "caf\u00e9 \n"))) == 2
