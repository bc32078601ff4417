// The events themselves: the number that the query compares, over time. Of a chosen row, its group and its window.
import { html, useEffect, useMemo, useState } from "../vendor/preact.js";
import { post, useAnswer } from "./api.js";
import { Chart } from "./chart.js";
import { number } from "./format.js";
import { ProblemBox } from "./problem.js";
import { Trends } from "./trends.js";

const ROW = " row"; // no line has a name that begins with a space

// chosenRow: {group, band: [from, to]} or null. run: whose trends are drawn over the events, or null; row: of which row.
export function EventsChart({ source, drawn, palette, chosenRow, run, row }) {
  const [chosen, setChosen] = useState(null);
  const [trends, setTrends] = useState(null);
  const [line, setLine] = useState("");
  useEffect(() => setChosen(null), [drawn.attribute]);
  const attribute = drawn.attributes.includes(chosen) ? chosen : drawn.attribute;
  const asked = { source, attribute, by: drawn.by, groups: drawn.groups };
  const { answer, problem } = useAnswer(attribute && "api/attribute", asked, post);
  const by = drawn.by.length ? `per ${drawn.by.join(" and ")}` : "of all events";
  const names = answer?.lines.map((each) => each.name) ?? [];
  const ofRow = answer?.lines.filter((each) => each.group !== undefined && each.group === chosenRow?.group) ?? [];
  useEffect(() => setLine(chosenRow?.group ? ROW : ""), [chosenRow?.group]);
  const lines = useMemo(() => {
    const shown = line === ROW ? ofRow : (answer?.lines.filter((each) => each.name === line) ?? []);
    return shown.length ? shown : answer?.lines;
  }, [answer, line, chosenRow?.group]);
  const band = chosenRow?.band ?? trends?.band;
  const marks = (band || trends) && { band, paths: trends?.paths };
  if (!attribute) return null;
  return html`<section class="card" id="events" aria-labelledby="events-title">
    <h2 id="events-title">The events: <select id="attribute" aria-label="Attribute drawn over time" value=${attribute} onChange=${(e) => setChosen(e.target.value)}>
      ${drawn.attributes.map((name) => html`<option value=${name}>${name}</option>`)}
    </select> over time, ${by}</h2>
    ${names.length > 1 && html`<div class="toolbar"><label>Line <select id="line" value=${lines === answer.lines ? "" : line} onChange=${(e) => setLine(e.target.value)}>
      <option value="">all</option>${ofRow.length > 0 && html`<option value=${ROW}>of the chosen row</option>`}${names.map((name) => html`<option value=${name}>${name}</option>`)}
    </select></label></div>`}
    <${ProblemBox} problem=${problem} id="events-problem" />
    ${answer && html`<${Chart} ...${answer} lines=${lines} joined label=${`${attribute} over time ${by}`} x="time" palette=${palette} marks=${marks} height=${230} />
    <p class="note">${answer.groups > answer.lines.length ? `${answer.lines.length} of ${number(answer.groups)} lines, those with the most events. ` : ""}${band ? `The shaded stretch is the window of ${chosenRow ? "the chosen row" : `row ${number(trends.row + 1)}`}.` : ""}</p>`}
    ${run && html`<${Trends} key=${run.id} run=${run} row=${row} attribute=${attribute} clock=${answer?.clock} onShow=${setTrends} />`}
  </section>`;
}
