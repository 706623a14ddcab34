"""The package of this checkout is the one that is tested."""

import pytest
from real_script import dptrain


@pytest.fixture(scope="module")
def compiled_module():
    """Skips tests of what is compiled where it is not."""
    try:
        dptrain.load  # noqa: B018
    except ImportError as error:
        pytest.skip(f"the compiled module is not here: {error}")
