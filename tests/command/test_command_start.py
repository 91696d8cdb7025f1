"""The command starts with few imports, and can be interrupted in any of them."""

import os
from pathlib import Path

import pytest
from label_tables import run_python

from twohot_command import THREADS
from twohot_command.app import command_function
from twohot_command.commands import COMMANDS

STOPPED = "Interrupted. No file is incomplete: run the command again.\n"


@pytest.mark.parametrize(
    ("module", "arguments", "error", "code", "said"),
    [
        ("typer", ["--help"], "KeyboardInterrupt", 130, STOPPED),
        ("numpy", ["fit", "--help"], "KeyboardInterrupt", 130, STOPPED),
        ("sklearn", ["fit", "--help"], "ImportError('no room')", 1, "loaded (no room): free"),
        ("sklearn", ["fit", "--help"], "MemoryError", 1, "cannot be loaded (no memory is left)"),
        ("twohot_command.extract", ["extract", "--help"], "KeyboardInterrupt", 130, STOPPED),
    ],
)
def test_an_interrupted_import_is_reported_in_one_sentence(module, arguments, error, code, said):
    script = f"""
        import sys

        class Interrupted:
            def find_spec(name, path=None, target=None):
                if name == {module!r}:
                    raise {error}

        sys.meta_path.insert(0, Interrupted)
        sys.argv = ["twohot", *{arguments}]
        from twohot_command import main
        main()
    """
    result = run_python(script)
    assert result.returncode == code
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


# All that `--help` may import beside what comes with Python: the parser and what it prints with.
OF_THE_PARSER = {
    "annotated_doc",
    "attr",
    "click",
    "markdown_it",
    "mdurl",
    "pygments",
    "rich",
    "shellingham",
    "twohot_command",
    "typer",
    "typing_extensions",
}


@pytest.mark.parametrize("arguments", [["--help"], []], ids=["help", "nothing"])
def test_help_imports_no_command(arguments):
    script = f"""
        import sys
        before = set(sys.modules)  # what the interpreter itself begins with
        sys.argv = ["twohot", *{arguments}]
        from twohot_command import main
        try:
            main()
        except SystemExit:
            names = {{name.partition(".")[0] for name in set(sys.modules) - before}}
            sys.stderr.write(" ".join(names - sys.stdlib_module_names))
    """
    result = run_python(script)
    assert all(name in result.stdout for name in COMMANDS)
    assert set(result.stderr.split()) <= OF_THE_PARSER


@pytest.mark.parametrize("name", COMMANDS)
def test_the_listed_text_is_that_of_the_docstring(name):
    words = " ".join((command_function(name).__doc__ or "").split())
    assert words.startswith(COMMANDS[name])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no limit of address space")
@pytest.mark.parametrize(
    ("space", "code", "said"),
    [
        (620, 1, "Error: twohot needs 1024 MB of address space, but the limit is 620 MB: raise"),
        (2000, 0, "1 1 1"),
    ],
)
def test_a_small_address_space_is_rejected_or_used_by_one_thread(space, code, said):
    script = f"""
        import os, resource, sys
        resource.setrlimit(resource.RLIMIT_AS, ({space} << 20, {space} << 20))
        sys.argv = ["twohot", "--version"]
        from twohot_command import THREADS, main
        try:
            main()
        except SystemExit as stopped:
            if stopped.code:
                raise
        from twohot.rows import count_threads
        print(*map(os.environ.get, THREADS), count_threads(None), file=sys.stderr)
    """
    unset = {name: value for name, value in os.environ.items() if name not in THREADS}
    result = run_python(script, env=unset)
    assert result.returncode == code, result.stderr
    assert result.stderr.startswith(said)
    assert result.stderr.count("\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
def test_a_full_disk_for_notes_is_ignored():
    script = """
        import sys
        from twohot_command import _open_streams
        _open_streams()
        from twohot_command.terminal import say, choosing
        for _ in range(3):
            say("a note", stderr=True)
        with choosing(quiet=False) as tried:
            tried("one")
        print("done")
    """
    with Path("/dev/full").open("w") as full:
        result = run_python(script, stderr=full)
    assert (result.returncode, result.stdout) == (0, "done\n")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_replaces_characters_that_a_terminal_lacks(encoding):
    script = """
        from twohot_command import _open_streams
        _open_streams()
        from twohot_command.terminal import print_table, say
        say("95 ± 1 → 漢")
        print_table(["class"], [["漢"]], names=["class"])
        say("± 漢", stderr=True)
    """
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    result = run_python(script, env=environment, text=False)
    assert result.returncode == 0, result.stderr
    assert b"95" in result.stdout
    assert b"?" in result.stdout


def test_a_warning_is_printed_as_one_note():
    script = """
        import sys
        import types
        import warnings
        import twohot_command

        def app(prog_name):
            warnings.warn("X has row 3 of norm 9.", stacklevel=1)

        sys.modules["twohot_command.commands"] = types.SimpleNamespace(app=app)
        twohot_command.main()
    """
    result = run_python(script)
    assert result.stderr == "Note: X has row 3 of norm 9.\n"
