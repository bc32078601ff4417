// Rows of a run: a chart whose points lead to rows, and the table, which follows the chart's zoom.
import { html, useEffect, useState } from "../vendor/preact.js";
import { useAnswer } from "./api.js";
import { Chart, remarks } from "./chart.js";
import { ChartTools, useLog } from "./charttools.js";
import { plural } from "./format.js";
import { ProblemBox } from "./problem.js";
import { Rows } from "./rows.js";

export const summarised = ({ rows, events, seconds }) => `${plural(rows, "row")} from ${plural(events, "event")} in ${seconds} s`;

// stale: the query or the data are others by now.
export function Result({ run, stale, limits, row, onRow, palette }) {
  const { summary } = run;
  const [zoom, setZoom] = useState(null);
  const [jump, setJump] = useState(null);
  useEffect(() => { setZoom(null); setJump(null); }, [run.id]);
  const pick = (position) => { onRow(position); setJump({ row: position }); };
  return html`<section class=${stale ? "card stale" : "card"} id="result" aria-labelledby="result-title">
    <h2 id="result-title">Result</h2>
    ${stale && html`<p class="warning" id="stale">This is the answer to an older query or to other data: run it again (Ctrl+Enter).</p>`}
    <p id="summary" class="note">${summarised(summary)}</p>
    ${summary.notes.map((note) => html`<p class="warning">${note}</p>`)}
    ${summary.rows === 0 && html`<p>No window has a trend${summary.notes.length ? "" : " that the query asks for"}.</p>`}
    ${summary.windowed && summary.rows > 0 && html`<${Charts} run=${run} limits=${limits} zoom=${zoom} onZoom=${setZoom} onPick=${pick} palette=${palette} />`}
    ${summary.rows > 0 && html`<${Rows} run=${run} row=${row} jump=${jump} zoom=${zoom} onRow=${onRow} />`}
  </section>`;
}

function Charts({ run, limits, zoom, onZoom, onPick, palette }) {
  const { aggregates } = run.summary;
  const [column, setColumn] = useState(aggregates[0]);
  const [wish, setWish] = useState(null);
  const shown = aggregates.includes(column) ? column : aggregates[0];
  const { answer: chart, problem } = useAnswer(`api/runs/${run.id}/series`, { column: shown });
  const log = useLog(wish, chart);
  return html`<${ChartTools} id="aggregate" names=${aggregates} column=${shown} chart=${chart} log=${log} onColumn=${setColumn} onLog=${setWish}
      zoom=${zoom} onZoom=${onZoom} palette=${palette} />
    <${ProblemBox} problem=${problem} id="chart-problem" />
    ${chart && html`<${Chart} ...${chart} log=${log} label=${`${shown} over window time, in numbers in the table below`} palette=${palette}
      zoom=${zoom} onZoom=${onZoom} onPoint=${(line, at) => chart.lines[line].rows[at] !== null && onPick(chart.lines[line].rows[at])} />
    <p class="note">Click a point for its row and graph; drag over a stretch to zoom into it. ${remarks(chart, limits)}</p>`}`;
}
