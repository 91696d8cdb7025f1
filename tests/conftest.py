"""Its place puts `problems` and `twin` on the import path of every test beneath."""

from hypothesis import settings

# The same examples in every run: a failure is reproduced by running the test again.
settings.register_profile("twohot", derandomize=True, deadline=None)
settings.load_profile("twohot")
