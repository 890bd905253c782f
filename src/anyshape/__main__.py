"""`python -m anyshape`: commands for those who look inside."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from anyshape.base.errors import AnyshapeError
from anyshape.cli import opt


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; errors go to stderr, and the exit code says that there was one."""
    parser = argparse.ArgumentParser(prog="python -m anyshape")
    commands = parser.add_subparsers(required=True, metavar="command")
    opt.declare(commands.add_parser("opt", help="run passes on the text of a graph"))
    parsed = parser.parse_args(arguments)
    try:
        parsed.run(parsed)
    except (AnyshapeError, OSError, UnicodeDecodeError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
