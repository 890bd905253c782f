"""`python -m anyshape`: the command line."""

from __future__ import annotations

import sys

from anyshape.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
