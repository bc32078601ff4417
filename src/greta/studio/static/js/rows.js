// The rows of a run as a table: by pages, sorted, filtered, within the zoom; each leads to its graph.
import { html, useEffect, useState } from "../vendor/preact.js";
import { useAnswer } from "./api.js";
import { number } from "./format.js";
import { ProblemBox } from "./problem.js";
import { Wide } from "./table.js";

const PAGE = 12;

// row: the position of the chosen one in the result. jump: {row} where the table should show that row's page.
export function Rows({ run, row, jump, zoom, onRow }) {
  const [view, setView] = useState({ offset: 0, sort: "", descending: false, filter: "", around: null });
  useEffect(() => setView({ ...view, offset: 0, around: null }), [run.id, JSON.stringify(zoom)]);
  useEffect(() => { if (jump) setView({ ...view, filter: "", around: jump.row }); }, [jump]);
  const values = { offset: view.offset, limit: PAGE, sort: view.sort, descending: view.descending, filter: view.filter };
  if (zoom) Object.assign(values, { since: zoom[0], until: zoom[1] });
  if (view.around !== null) values.around = view.around;
  const { answer: page, problem } = useAnswer(`api/runs/${run.id}/rows`, values);

  const turn = (offset) => setView({ ...view, offset, around: null });
  const sorted = (name) => setView({ ...view, sort: view.sort === name && view.descending ? "" : name, descending: view.sort === name && !view.descending, offset: 0, around: null });
  return html`<div class="toolbar">
      <label>Filter <input id="filter" value=${view.filter} placeholder=${example(run)} onInput=${(e) => setView({ ...view, filter: e.target.value, offset: 0, around: null })} /></label>
      <span class="choices">Rows as
        <a href=${`api/runs/${run.id}/rows.csv`} download="rows.csv">CSV</a>
        <a href=${`api/runs/${run.id}/rows.parquet`} download="rows.parquet">Parquet</a></span>
    </div>
    <${ProblemBox} problem=${problem} id="rows-problem" />
    ${page && html`<${Table} run=${run} page=${page} view=${view} row=${row} onRow=${onRow} onSort=${sorted} />
    <nav class="toolbar" aria-label="Pages of the table">
      <button disabled=${page.offset === 0} onClick=${() => turn(Math.max(0, page.offset - PAGE))}>Earlier</button>
      <span role="status" id="shown-rows">${page.selected === 0 ? "No row" : `${number(page.offset + 1)}–${number(page.offset + page.rows.length)}`} of ${number(page.selected)}${page.selected < page.total ? ` (${number(page.total)} in all)` : ""}</span>
      <button disabled=${page.offset + PAGE >= page.selected} onClick=${() => turn(page.offset + PAGE)}>Later</button>
    </nav>`}`;
}

function Table({ run, page, view, row, onRow, onSort }) {
  const columns = page.columns.map((name, i) => ({ name, i })).filter(({ i }) => run.summary.windowed || i > 1);
  const numeric = (i) => (page.numeric[i] || run.summary.aggregates.includes(page.columns[i]) ? "number" : "");
  const order = (name) => (view.sort !== name ? "none" : view.descending ? "descending" : "ascending");
  return html`<${Wide} label="Rows of the result"><table id="rows">
    <caption class="hidden">Rows ${page.offset + 1} to ${page.offset + page.rows.length} of ${page.selected}</caption>
    <thead><tr>${columns.map(({ name, i }) => html`<th scope="col" class=${numeric(i)} aria-sort=${order(name)}>
      <button class="sort" title="Sort" onClick=${() => onSort(name)}>${name}<span aria-hidden="true">${{ none: "", ascending: " ▲", descending: " ▼" }[order(name)]}</span></button></th>`)}
      <th scope="col"><span class="hidden">Graph</span></th></tr></thead>
    <tbody>${page.rows.map((cells, at) => {
      const position = page.positions[at];
      return html`<tr class=${position === row ? "chosen" : ""} data-row=${position}>
        ${columns.map(({ i }) => html`<td class=${numeric(i)}><${Cell} value=${cells[i]} /></td>`)}
        <td><button class="quiet" aria-pressed=${position === row} aria-label=${`Graph of row ${position + 1}`} onClick=${() => onRow(position)}>Graph</button></td>
      </tr>`;
    })}</tbody>
  </table><//>`;
}

// A filter that fits the columns, to show what one looks like.
function example(run) {
  const { groups, aggregates } = run.summary;
  return `${aggregates[0]} > 100${groups.length ? `, ${groups[0]} = …` : ""}`;
}

// Exact numbers may have thousands of digits.
function Cell({ value }) {
  if (value === null) return html`<span class="note">NULL</span>`;
  if (typeof value === "string" && value.length > 40)
    return html`<span title=${value.slice(0, 2000)}>${value.slice(0, 12)}…${value.slice(-6)} <small>(${value.length} characters)</small></span>`;
  return number(value);
}
