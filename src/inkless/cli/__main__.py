"""`python -m inkless.cli`, for where the console script is not on the path."""

from inkless.cli import main

main()
