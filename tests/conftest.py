"""Hypothesis profiles, picked by GRETA_HYPOTHESIS_PROFILE, else `ci` where CI is set, else `dev`."""

import os

from hypothesis import HealthCheck, settings

# Two cores that other work shares stretch single examples, so no example has a deadline.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}

settings.register_profile("dev", max_examples=50, **_COMMON)
settings.register_profile("ci", max_examples=100, derandomize=True, print_blob=True, **_COMMON)
settings.register_profile("slow", max_examples=2000, **_COMMON)


def _profile() -> str:
    default = "ci" if os.environ.get("CI", "").lower() in {"1", "true"} else "dev"
    return os.environ.get("GRETA_HYPOTHESIS_PROFILE", default)


settings.load_profile(_profile())
