"""python -m warpmill: the program, as it comes with the package."""

import os
import sys


def main() -> None:
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "warpmill-program")
    os.execv(program, [program] + sys.argv[1:])


if __name__ == "__main__":
    main()
