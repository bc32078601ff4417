"""``python -m greta_research.bench``: the paper's evaluation and more, measured here; ``report`` draws it again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from greta.cli.output import Json, examples, print_json
from greta.errors import GretaError, did_you_mean, visible

_COMMAND = "python -m greta_research.bench"

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

_EXAMPLES = examples(
    f"{_COMMAND} --quick",
    f"{_COMMAND} --only quadratic --only groups",
    f"{_COMMAND} --json | jq .report",
    f"{_COMMAND} report build/bench",
)


@app.callback(invoke_without_command=True, epilog=_EXAMPLES)
def bench(
    context: typer.Context,
    quick: Annotated[bool, typer.Option("--quick", help="Few and small runs, in minutes.")] = False,
    only: Annotated[list[str] | None, typer.Option(help="Run this experiment alone; may be given again.")] = None,
    output: Annotated[Path, typer.Option(help="Where results are kept.")] = Path("build/bench"),
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget earlier runs instead of going on.")] = False,
    json: Json = False,
) -> None:
    """Measure greta and its rivals, each run in a process of its own; go on where an earlier run stopped.

    Writes results.parquet, results.json, figures and report.html into the output directory.
    """
    if context.invoked_subcommand is not None:
        return
    from greta_research.bench import results
    from greta_research.bench.about import about
    from greta_research.bench.experiments import experiments
    from greta_research.bench.report import write_report
    from greta_research.bench.runner import run_all

    known = experiments()
    for name in only or ():
        if name not in known:
            hint = did_you_mean(name, known) or f"choose from {', '.join(known)}"
            raise GretaError(f"there is no experiment {name!r}", hint=f"{hint}")
    chosen = [known[name] for name in only or known]
    if quick:
        output = output / "quick"
        chosen = [experiment for experiment in chosen if experiment.quick]
    command = " ".join([_COMMAND, *(["--quick"] if quick else []), *(f"--only {name}" for name in only or ())])
    runs = run_all(chosen, output, quick=quick, fresh=fresh)
    results.write(output, runs, about(command))
    page = write_report(output)
    if json:
        print_json({"runs": len(runs), "results": str(output / "results.json"), "report": str(page)})
    else:
        typer.echo(f"{len(runs)} runs, report: {page}")


@app.command(epilog=examples(f"{_COMMAND} report build/bench", f"{_COMMAND} report build/bench/quick --json"))
def report(
    directory: Annotated[Path, typer.Argument(help="A directory with earlier runs.")],
    json: Json = False,
) -> None:
    """Draw the figures and the page of earlier runs again."""
    from greta_research.bench.report import write_report

    page = write_report(directory)
    if json:
        print_json({"report": str(page)})
    else:
        typer.echo(f"report: {page}")


def main() -> None:
    """Run the command line; a ``GretaError`` is printed on stderr, and the exit code is 1."""
    try:
        app(prog_name=_COMMAND)
    except GretaError as error:
        print(visible(str(error), keep="\n"), file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
