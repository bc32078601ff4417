// Which events: a sample, or a file with its column mapping.
import { html, useState } from "../vendor/preact.js";
import { megabytes, sendFile } from "./api.js";
import { ProblemBox } from "./problem.js";

const UNITS = [
  ["", "time stamps, or plain seconds"], ["s", "seconds since 1970"], ["ms", "milliseconds since 1970"],
  ["us", "microseconds since 1970"], ["ns", "nanoseconds since 1970"],
];

export function DataPicker({ start, data, onSample, onQuery, onUpload, onMapping }) {
  const [busy, setBusy] = useState("");
  const [problem, setProblem] = useState(null);
  const sample = start.samples.find((each) => each.name === data.sample);

  async function choose(file) {
    if (!file) return;
    setProblem(null);
    if (file.size > start.limits.upload_bytes) {
      setProblem({
        message: `${file.name} has ${megabytes(file.size)}; files of up to ${megabytes(start.limits.upload_bytes)} can be uploaded here`,
        hint: "start greta studio with a larger --max-upload, or call greta.aggregate on the file",
      });
      return;
    }
    setBusy(`Reading ${file.name}, ${megabytes(file.size)}…`);
    try {
      onUpload(await sendFile(file));
    } catch (error) {
      setProblem(error.described);
    } finally {
      setBusy("");
    }
  }

  const value = data.upload ? "" : data.sample;
  return html`<section class="card" aria-labelledby="data-title">
    <h2 id="data-title">Events</h2>
    <div class="fields">
      <label>Data set
        <select id="sample" value=${value} onChange=${(e) => e.target.value && onSample(e.target.value)}>
          ${data.upload && html`<option value="">${data.upload.name} (yours)</option>`}
          ${start.samples.map((each) => html`<option value=${each.name}>${each.title}</option>`)}
        </select>
      </label>
      ${sample && html`<label>Query to start from
        <select id="sample-query" onChange=${(e) => onQuery(sample.queries[e.target.value].text)}>
          ${sample.queries.map((each, i) => html`<option key=${sample.name + i} value=${i}>${each.title}</option>`)}
        </select>
      </label>`}
    </div>
    ${sample && html`<p class="note">${sample.about}</p>`}
    ${data.upload && html`<${Mapping} upload=${data.upload} mapping=${data.mapping} onMapping=${onMapping} />`}
    <label class="file">Or your own file: CSV, Parquet or JSON lines, up to ${megabytes(start.limits.upload_bytes)}
      <input id="upload" type="file" accept=".csv,.parquet,.json,.jsonl,.ndjson"
        onChange=${(e) => { choose(e.target.files[0]); e.target.value = ""; }} />
    </label>
    <p role="status" class="note">${busy}</p>
    <${ProblemBox} problem=${problem} id="upload-problem" />
  </section>`;
}

function Mapping({ upload, mapping, onMapping }) {
  const set = (name) => (e) => onMapping({ ...mapping, [name]: e.target.value });
  const columns = upload.columns.map((column) => html`<option value=${column.name}>${column.name}</option>`);
  return html`<fieldset>
    <legend>${upload.name}, ${megabytes(upload.size)}: which column is what</legend>
    <div class="fields">
      <label>Time <select id="map-time" value=${mapping.time} onChange=${set("time")}>${columns}</select></label>
      <label>Numbers there count
        <select id="map-unit" value=${mapping.time_unit} onChange=${set("time_unit")}>
          ${UNITS.map(([unit, name]) => html`<option value=${unit}>${name}</option>`)}
        </select>
      </label>
      <label>Event type
        <select id="map-type" value=${mapping.type} onChange=${set("type")}>
          <option value="">the same for all events</option>${columns}
        </select>
      </label>
      ${!mapping.type && html`<label>Type of all events
        <input id="map-constant" value=${mapping.event_type} onInput=${set("event_type")} />
      </label>`}
    </div>
    <div class="wide"><table class="preview">
      <thead><tr>${upload.columns.map((column) => html`<th scope="col">${column.name}<br /><small>${column.kind}</small></th>`)}</tr></thead>
      <tbody>${upload.rows.slice(0, 3).map((row) => html`<tr>${row.map((cell) => html`<td>${cell ?? "NULL"}</td>`)}</tr>`)}</tbody>
    </table></div>
  </fieldset>`;
}
