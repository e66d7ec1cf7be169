"""`python -m tracescript` is the command `tracescript`."""

import sys

from tracescript.cli import main

if __name__ == "__main__":
    sys.exit(main())
