"""The package of this checkout is the one that is tested."""

import real_script  # noqa: F401
