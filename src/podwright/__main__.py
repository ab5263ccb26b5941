"""Runs the command line as `python -m podwright`."""

from podwright._console import main

if __name__ == "__main__":
    main()
