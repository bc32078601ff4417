"""How far Spark's jobs are, asked from beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Stages:
    """Tasks of the stages that run right now."""

    done: int
    total: int


def describe(spark: SparkSession, text: str) -> None:
    """Name the jobs to come in Spark's own pages; over Spark Connect by a tag, which takes no commas."""
    context = getattr(spark, "_sc", None)
    if context is not None:
        context.setJobDescription(text)
    elif hasattr(spark, "addTag"):
        spark.addTag(text.replace(",", " "))


def running(spark: SparkSession) -> Stages | None:
    """The tasks that run now; None where Spark does not tell (Spark Connect)."""
    context = getattr(spark, "_sc", None)
    if context is None:
        return None
    tracker = context.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    known = [stage for stage in stages if stage is not None]
    return Stages(sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known))
