"""The same examples in every run: a failure here is reproduced by running the test again."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "theory",
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("theory")
