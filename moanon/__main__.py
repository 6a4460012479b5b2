"""Run the command ``moanon`` as ``python -m moanon``."""

import sys

from moanon.cli import main

if __name__ == "__main__":
    sys.exit(main())
