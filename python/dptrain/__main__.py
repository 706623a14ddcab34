"""``python -m dptrain``: the console script ``dptrain``."""

import sys

from dptrain.cli import main

sys.exit(main())
