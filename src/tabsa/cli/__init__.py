"""The command line: parse, call, print. One file a command; nothing here computes."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C is one line and exit code 130, while the commands are imported, too."""
    try:
        from tabsa.cli.commands import run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted\n")
        sys.exit(130)
