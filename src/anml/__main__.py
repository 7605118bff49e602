"""`python -m anml`: the command line, where the command itself is not on the path."""

from anml.cli.main import main

if __name__ == "__main__":
    main()
