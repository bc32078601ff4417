// A running stream's output directory, looked at every second; it may not be there yet.
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { get, post, sleep } from "./api.js";
import { Chart, remarks } from "./chart.js";
import { ChartTools, useLog } from "./charttools.js";
import { ago, megabytes, number, plural } from "./format.js";
import { Palette } from "./palette.js";
import { ProblemBox } from "./problem.js";
import { Wide } from "./table.js";

const STATES = {
  awaited: ["Waiting", "the directory is not there yet: it appears when the stream starts"],
  live: ["Live", ""],
  quiet: ["Quiet", "no news for a while: the stream has no events, or was ended from outside"],
  ended: ["Ended", "the stream was stopped"],
  failed: ["Failed", "the stream ended with an error: its terminal says which"],
};

export function Follow({ start }) {
  const [id, setId] = useState(start.followed[0]?.id ?? "");
  const [followed, setFollowed] = useState(start.followed);
  const [path, setPath] = useState("");
  const [problem, setProblem] = useState(null);

  async function choose(event) {
    event.preventDefault();
    setProblem(null);
    try {
      const found = await post("api/follow", { path });
      if (!followed.some((each) => each.id === found.id)) setFollowed([...followed, { id: found.id, path }]);
      setId(found.id);
    } catch (error) {
      setProblem(error.described);
    }
  }

  return html`<main class="follow">
    <section class="card" aria-labelledby="follow-title">
      <h2 id="follow-title">Follow a running stream</h2>
      <p class="note">Reads the Parquet files that <code>greta stream</code> writes, as they appear. The studio reads the
        directory you name as yourself, on this machine, and only files of results in it.</p>
      <div class="fields">
        ${followed.length > 0 && html`<label>Directory <select id="followed" value=${id} onChange=${(e) => setId(e.target.value)}>
          ${followed.map((each) => html`<option value=${each.id}>${each.path}</option>`)}
        </select></label>`}
        ${start.may_choose && html`<form onSubmit=${choose} class="inline">
          <label>${followed.length ? "Another directory" : "Output directory, there already or not"}
            <input id="directory" value=${path} placeholder="out/trends" onInput=${(e) => setPath(e.target.value)} /></label>
          <button class="main" disabled=${!path}>Follow</button>
        </form>`}
      </div>
      <${ProblemBox} problem=${problem} id="follow-problem" />
    </section>
    ${id && html`<${Stream} key=${id} id=${id} limits=${start.limits} />`}
  </main>`;
}

function Stream({ id, limits }) {
  const [column, setColumn] = useState("");
  const [wish, setWish] = useState(null);
  const [palette] = useState(() => new Palette());
  const { seen, problem } = useLooks(id, column);
  const log = useLog(wish, seen?.chart);
  if (!seen) return html`<${ProblemBox} problem=${problem} id="stream-problem" />`;
  const { chart } = seen;
  return html`<${ProblemBox} problem=${problem} id="stream-problem" />
    <${State} seen=${seen} />
    ${seen.state !== "awaited" && html`<${Tiles} seen=${seen} />`}
    <section class="card" aria-labelledby="live-title">
      <h2 id="live-title">Results as they come</h2>
      ${!chart && html`<p class="note" role="status">No rows yet: windows close when the watermark passes their end.</p>`}
      ${chart && html`<${ChartTools} id="live-aggregate" names=${seen.aggregates} column=${chart.column} chart=${chart} log=${log} onColumn=${setColumn} onLog=${setWish} palette=${palette}>
        <span class="note" id="live-rows">${plural(seen.total, "row")} in ${plural(seen.files, "file")}</span>
      <//>
      <${Chart} ...${chart} log=${log} palette=${palette} label=${`${chart.column} over window time, the newest in the table below`} />
      <p class="note">${remarks(chart, limits)} ${seen.kept < seen.total ? `The newest ${number(seen.kept)} rows are kept.` : ""}</p>
      <${Wide} label="Newest windows"><table id="latest">
        <caption>Newest windows</caption>
        <thead><tr>${seen.columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
        <tbody>${seen.latest.map((row) => html`<tr>${row.map((cell) => html`<td>${cell === null ? "NULL" : number(cell)}</td>`)}</tr>`)}</tbody>
      </table><//>`}
    </section>`;
}

// What there is to see in a directory, again and again, and the problem of the last look.
function useLooks(id, column) {
  const [seen, setSeen] = useState(null);
  const [problem, setProblem] = useState(null);
  const wanted = useRef("");
  wanted.current = column;
  useEffect(() => {
    let going = true;
    (async () => {
      while (going) {
        try {
          const found = await get(`api/follow/${id}`, wanted.current ? { column: wanted.current } : {});
          if (!going) return;
          setSeen((before) => (same(before, found) ? before : found));
          setProblem(null);
        } catch (error) {
          if (going) setProblem(error.described);
        }
        await sleep(1000);
      }
    })();
    return () => { going = false; };
  }, [id]);
  return { seen, problem };
}

// The query, and whether there is still somebody who computes it.
function State({ seen }) {
  const [now, setNow] = useState(Date.now() / 1e3);
  useEffect(() => {
    const clock = setInterval(() => setNow(Date.now() / 1e3), 1000);
    return () => clearInterval(clock);
  }, []);
  const [word, meaning] = STATES[seen.state];
  return html`<section class="card" aria-labelledby="stream-title">
    <h2 id="stream-title">The stream</h2>
    <p><span class=${`state ${seen.state}`} id="state" role="status">${word}</span> <span class="note" id="updated">${seen.updated === null ? "" : `last update ${ago(Math.max(0, now - seen.updated))}`}${meaning && `${seen.updated === null ? "" : "; "}${meaning}`}</span></p>
    ${seen.state === "awaited" && html`<p class="note">${seen.directory}</p>`}
    ${seen.query !== null && html`<pre class="streamed" id="streamed-query" tabindex="0" aria-label="Query of the stream">${seen.query.trim()}</pre>`}
  </section>`;
}

function Tiles({ seen }) {
  const { status } = seen;
  const latest = (name) => status[name].findLast((value) => value !== null);
  const late = latest("late_events");
  return html`<dl class="tiles">
    <${Tile} name="Rows" value=${number(seen.total)} />
    <${Tile} name="Events per second" value=${number(round(latest("events_per_second")))} history=${status.events_per_second} />
    <${Tile} name="Lag" value=${unit(latest("lag_seconds"), "s")} history=${status.lag_seconds} />
    <${Tile} name="Batch" value=${unit(latest("batch_seconds"), "s")} history=${status.batch_seconds} />
    <${Tile} name="Late events" value=${number(late)} alarming=${late > 0} history=${status.late_events} />
    <${Tile} name="Open windows" value=${number(latest("open_windows"))} history=${status.open_windows} />
    <${Tile} name="State" value=${latest("state_bytes") === undefined ? "–" : megabytes(latest("state_bytes"))} history=${status.state_bytes} />
  </dl>`;
}

function Tile({ name, value, history = [], alarming = false }) {
  return html`<div class=${alarming ? "tile alarming" : "tile"}><dt>${name}</dt><dd>${value}<${Spark} values=${history} /></dd></div>`;
}

// The last triggers in a line a few letters long.
function Spark({ values }) {
  const known = values.slice(-60).filter((value) => value !== null);
  if (known.length < 2) return null;
  const low = Math.min(...known), span = Math.max(...known) - low || 1;
  const points = known.map((value, i) => `${(i / (known.length - 1)) * 96 + 2},${22 - ((value - low) / span) * 18}`);
  return html`<svg class="spark" viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true"><polyline points=${points.join(" ")} /></svg>`;
}

const round = (value) => (value === undefined ? value : Math.round(value));
const unit = (value, name) => (value === undefined ? "–" : `${number(Math.round(value * 100) / 100)} ${name}`);
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
