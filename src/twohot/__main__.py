"""`python -m twohot` is the command `twohot`."""

from twohot.cli import app

if __name__ == "__main__":
    app(prog_name="twohot")
