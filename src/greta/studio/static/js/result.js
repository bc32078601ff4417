// Rows of a run: a chart, a table by pages, and the way to the graph behind a row.
import { html, useEffect, useState } from "../vendor/preact.js";
import { number, plural, useAnswer } from "./api.js";
import { Chart, ChartTools, remarks } from "./chart.js";
import { ProblemBox } from "./problem.js";

const PAGE = 12;

export const summarised = ({ rows, events, seconds }) => `${plural(rows, "row")} from ${plural(events, "event")} in ${seconds} s`;

export function Result({ run, limits, row, onRow }) {
  const { summary } = run;
  return html`<section class="card" aria-labelledby="result-title">
    <h2 id="result-title">Result</h2>
    <p id="summary" class="note">${summarised(summary)}</p>
    ${summary.notes.map((note) => html`<p class="warning">${note}</p>`)}
    ${summary.rows === 0 && html`<p>No window has a trend${summary.notes.length ? "" : " that the query asks for"}.</p>`}
    ${summary.windowed && summary.rows > 0 && html`<${Charts} run=${run} limits=${limits} />`}
    ${summary.rows > 0 && html`<${Rows} run=${run} row=${row} onRow=${onRow} />`}
  </section>`;
}

function Charts({ run, limits }) {
  const { aggregates } = run.summary;
  const [column, setColumn] = useState(aggregates[0]);
  const [log, setLog] = useState(true);
  const shown = aggregates.includes(column) ? column : aggregates[0];
  const { answer: chart, problem } = useAnswer(`api/runs/${run.id}/series`, { column: shown });
  return html`<${ChartTools} id="aggregate" names=${aggregates} column=${shown} log=${log} onColumn=${setColumn} onLog=${setLog} />
    <${ProblemBox} problem=${problem} id="chart-problem" />
    ${chart && html`<${Chart} ...${chart} log=${log} label=${`${shown} over window time, in numbers in the table below`} />
    <p class="note">${remarks(chart, limits)}</p>`}`;
}

function Rows({ run, row, onRow }) {
  const [offset, setOffset] = useState(0);
  useEffect(() => setOffset(0), [run.id]);
  const { answer: page, problem } = useAnswer(`api/runs/${run.id}/rows`, { offset, limit: PAGE });
  if (!page) return html`<${ProblemBox} problem=${problem} id="rows-problem" />`;

  const windowed = run.summary.windowed;
  const columns = page.columns.map((name, i) => ({ name, i })).filter(({ i }) => windowed || i > 1);
  const last = Math.min(offset + PAGE, page.total);
  const numeric = (i) => page.numeric[i] || run.summary.aggregates.includes(page.columns[i]);
  return html`<div class="wide"><table id="rows">
      <caption class="hidden">Rows ${offset + 1} to ${last} of ${page.total}</caption>
      <thead><tr>${columns.map(({ name, i }) => html`<th scope="col" class=${numeric(i) ? "number" : ""}>${name}</th>`)}<th scope="col"><span class="hidden">Graph</span></th></tr></thead>
      <tbody>${page.rows.map((cells, at) => html`<tr class=${offset + at === row ? "chosen" : ""}>
        ${columns.map(({ i }) => html`<td class=${numeric(i) ? "number" : ""}><${Cell} value=${cells[i]} /></td>`)}
        <td><button class="quiet" aria-pressed=${offset + at === row} aria-label=${`Graph of row ${offset + at + 1}`} onClick=${() => onRow(offset + at)}>Graph</button></td>
      </tr>`)}</tbody>
    </table></div>
    <nav class="toolbar" aria-label="Pages of the table">
      <button disabled=${offset === 0} onClick=${() => setOffset(Math.max(0, offset - PAGE))}>Earlier</button>
      <span role="status">${number(offset + 1)}–${number(last)} of ${number(page.total)}</span>
      <button disabled=${last >= page.total} onClick=${() => setOffset(offset + PAGE)}>Later</button>
      <a href=${`api/runs/${run.id}/rows.csv`} download="rows.csv">All rows as CSV</a>
    </nav>`;
}

// Exact numbers may have thousands of digits.
function Cell({ value }) {
  if (value === null) return html`<span class="note">NULL</span>`;
  if (typeof value === "string" && value.length > 40)
    return html`<span title=${value.slice(0, 2000)}>${value.slice(0, 12)}…${value.slice(-6)} <small>(${value.length} characters)</small></span>`;
  return number(value);
}
