"""What all tests share: how many examples Hypothesis tries, how Java runs, what runs first.

Hypothesis profiles are picked by GRETA_HYPOTHESIS_PROFILE, else `ci` where CI is set, else `dev`.
"""

import os

import pytest
from hypothesis import HealthCheck, Phase, settings

# Two cores that other work shares stretch single examples, so no example has a deadline.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}

settings.register_profile("dev", max_examples=50, **_COMMON)
settings.register_profile("ci", max_examples=100, derandomize=True, print_blob=True, **_COMMON)
settings.register_profile("slow", max_examples=2000, **_COMMON)
# For mutants, whose only question is whether anything fails: nothing is made shorter.
settings.register_profile(
    "quick", max_examples=25, derandomize=True, phases=[Phase.explicit, Phase.generate], **_COMMON
)


def _profile() -> str:
    default = "ci" if os.environ.get("CI", "").lower() in {"1", "true"} else "dev"
    return os.environ.get("GRETA_HYPOTHESIS_PROFILE", default)


settings.load_profile(_profile())

# For a Java that lives for seconds: compile little, collect on one thread. An archive of Spark's classes saves a start
# three of twenty seconds of processor time and takes sixty to make, more than the dozen starts of a run give back.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xlog:disable")


_LONGEST = (
    "tests/spark",
    "tests/docs/test_docs",
    "tests/docs/test_notebooks",
    "tests/engine/test_against_brute_force",
    "tests/live/test_live_rows",
    "tests/engine/test_trends",
    "tests/studio",
    "tests/engine",
    "tests/live",
    "tests/research",
    "tests/graph",
    "tests/cli",
    "tests/docs",
)
"""Files and directories that take longest, longest first."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first: two workers that take one file after another then end at about the same time.

    Within a directory, files with few tests come first: those of Spark that start a process per test.
    """
    sizes: dict[str, int] = {}
    for item in items:
        sizes[_file(item)] = sizes.get(_file(item), 0) + 1

    def rank(item: pytest.Item) -> tuple[int, int, str]:
        file = _file(item)
        place = next((at for at, directory in enumerate(_LONGEST) if file.startswith(directory)), len(_LONGEST))
        return place, sizes[file], file

    items.sort(key=rank)


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]
