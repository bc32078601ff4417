// Which events: a sample, or a file with its column mapping; and what is in them.
import { html, useState } from "../vendor/preact.js";
import { post, sendFile, useAnswer } from "./api.js";
import { megabytes, plural } from "./format.js";
import { ProblemBox } from "./problem.js";
import { Preview } from "./table.js";

const UNITS = [
  ["", "time stamps, or plain seconds"], ["s", "seconds since 1970"], ["ms", "milliseconds since 1970"],
  ["us", "microseconds since 1970"], ["ns", "nanoseconds since 1970"],
];

export function DataPicker({ start, data, problem: lost, onSample, onUpload, onMapping }) {
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
  return html`<section class="card" id="data" aria-labelledby="data-title">
    <h2 id="data-title">Events</h2>
    <label>Data set
      <select id="sample" value=${value} onChange=${(e) => e.target.value && onSample(e.target.value)}>
        ${data.upload && html`<option value="">${data.upload.name} (yours)</option>`}
        ${start.samples.map((each) => html`<option value=${each.name}>${each.title}</option>`)}
      </select>
    </label>
    ${sample && html`<p class="note">${sample.about}</p><${Outline} sample=${sample} />`}
    ${data.upload && html`<${Mapping} upload=${data.upload} mapping=${data.mapping} onMapping=${onMapping} />`}
    <label class="file">Or your own file: CSV, Parquet or JSON lines, up to ${megabytes(start.limits.upload_bytes)}
      <input id="upload" type="file" accept=".csv,.parquet,.json,.jsonl,.ndjson"
        onChange=${(e) => { choose(e.target.files[0]); e.target.value = ""; }} />
    </label>
    <p role="status" class="note">${busy}</p>
    <${ProblemBox} problem=${problem ?? lost} id="upload-problem" />
  </section>`;
}

function Outline({ sample }) {
  const { answer } = useAnswer("api/outline", { source: { sample: sample.name } }, post);
  if (!answer) return null;
  return html`<details id="outline" open aria-label=${`Columns and first rows of ${sample.title}`}>
    <summary>${plural(answer.columns.length, "column")}, first of ${plural(answer.events, "event")}</summary>
    <${Preview} columns=${answer.columns} rows=${answer.rows} label=${`First rows of ${sample.title}`} />
  </details>`;
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
    <${Preview} columns=${upload.columns} rows=${upload.rows} label=${`First rows of ${upload.name}`} />
  </fieldset>`;
}
