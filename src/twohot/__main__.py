"""`python -m twohot` is the command `twohot`."""

from twohot_command import main

if __name__ == "__main__":
    main()
