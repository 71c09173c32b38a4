"""`python -m tabsa` is `tabsa`."""

from tabsa.cli import main

main()
