"""`python -m holdfast.cli`, for where the `holdfast` script is not on the path."""

from holdfast.cli import main

main()
