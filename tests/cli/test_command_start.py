"""The command can be interrupted while it still imports what it needs."""

import subprocess
import sys
import textwrap

import pytest


@pytest.mark.parametrize("module", ["numpy", "sklearn", "typer", "twohot.cli.extract"])
def test_an_interruption_of_an_import_is_one_sentence(module):
    script = f"""
        import sys

        class Interrupted:
            def find_spec(name, path=None, target=None):
                if name == {module!r}:
                    raise KeyboardInterrupt

        sys.meta_path.insert(0, Interrupted)
        sys.argv = ["twohot", "--version"]
        from twohot_command import main
        main()
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert result.returncode == 130
    assert result.stderr == "Interrupted. Nothing was half written: run it again.\n"


def test_the_command_is_the_command_line():
    script = "import sys; sys.argv = ['twohot', '--version']; import twohot_command as c; c.main()"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)  # noqa: S603
    assert result.returncode == 0
    assert result.stdout.startswith(b"twohot ")
