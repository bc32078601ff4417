// The page of queries: what is chosen, what was answered, and who shows it.
import { html, useCallback, useEffect, useMemo, useRef, useState } from "../vendor/preact.js";
import { Problem, get, post, remove, sleep, useAnswer } from "./api.js";
import { Copy } from "./copy.js";
import { DataPicker } from "./data.js";
import { Editor } from "./editor.js";
import { EventsChart } from "./events.js";
import { number } from "./format.js";
import { WindowGraph } from "./graph.js";
import { keep, restored } from "./keep.js";
import { Palette } from "./palette.js";
import { Meaning, Plan } from "./plan.js";
import { ProblemBox } from "./problem.js";
import { Questions } from "./questions.js";
import { Result, summarised } from "./result.js";

const narrow = matchMedia("(max-width: 56rem)");

const sourceOf = (data) =>
  data.upload
    ? { upload: data.upload.upload, ...data.mapping, event_type: data.mapping.type ? "" : data.mapping.event_type }
    : { sample: data.sample };

export function Workbench({ start }) {
  const [first] = useState(() => restored(start.samples));
  const [data, setData] = useState(first.data);
  const [given, setGiven] = useState({ text: first.query });
  const [query, setQuery] = useState(first.query);
  const [exact, setExact] = useState(first.exact);
  const [lost, setLost] = useState(null);
  const [row, setRow] = useState(null);
  const [palette] = useState(() => new Palette());
  const answerFirst = useMedia(narrow);

  const source = sourceOf(data);
  const checked = useCheck(query, source);
  const runs = useRuns(start.limits, setRow);
  const { run, result, runProblem } = runs;
  const go = (text, from, precise) => runs.go({ query: text, source: from, exact: precise });
  const again = () => go(query, source, exact);

  useEffect(() => keep({ query, data, exact }), [query, JSON.stringify(data), exact]);

  // Another studio than the one before the reload does not have the file.
  useEffect(() => {
    if (!first.data.upload) return void go(query, source, exact);
    get(`api/uploads/${first.data.upload.upload}`).then(
      () => go(query, source, exact),
      () => {
        setLost({ message: `${first.data.upload.name} is not here any more`, hint: "upload it again" });
        setData({ sample: start.samples[0].name });
      },
    );
  }, []);

  const put = (text) => { setGiven({ text }); setQuery(text); };
  const ask = (sample, text) => {
    setLost(null);
    setData({ sample });
    put(text);
    go(text, { sample }, exact);
  };
  const takeUpload = (upload) => {
    const guess = upload.guess;
    const event_type = query.match(/PATTERN\s+(?:SEQ\s*\(\s*)?(\w+)/i)?.[1] ?? "Event";
    setLost(null);
    setData({ upload, mapping: { time: guess.time, time_unit: guess.time_unit ?? "", type: guess.type ?? "", event_type } });
  };

  const stale = result !== null && result.asked !== JSON.stringify({ query, source, exact });
  const plan = checked.plan;
  const chosen = useAnswer(result?.summary.windowed && row !== null && `api/runs/${result.id}/rows`, { around: row ?? 0, limit: 1 }).answer;
  const chosenRow = useMemo(() => chosen && describe(chosen, result.summary.groups), [chosen]);
  const question = html`<div class="left" key="question">
    <section class="card" id="query" aria-labelledby="query-title">
      <h2 id="query-title">Query</h2>
      <${Editor} given=${given} problem=${checked.problem} attributes=${checked.attributes} types=${checked.types} onChange=${setQuery} onRun=${again} />
      <${ProblemBox} problem=${checked.problem ?? checked.dataProblem} id="query-problem" />
      <div class="toolbar">
        <button class="main" id="run" disabled=${run !== null} onClick=${again}>Run</button>
        <label class="check"><input type="checkbox" id="exact" checked=${exact} onChange=${(e) => setExact(e.target.checked)} /> Exact numbers</label>
        <span class="note" id="query-help">Ctrl+Enter runs it, Tab takes a completion</span>
      </div>
      <${Copy} query=${query} data=${data} source=${source} exact=${exact} />
      <p class="hidden" role="status" id="announced">${run ? run.phase : result && !runProblem ? summarised(result.summary) : ""}</p>
      ${run && html`<${Progress} run=${run} />`}
      <${ProblemBox} problem=${runProblem === null || runProblem.message === checked.problem?.message ? null : runProblem} id="run-problem" />
    </section>
    <${DataPicker} start=${start} data=${data} problem=${lost} onSample=${(name) => ask(name, start.samples.find((each) => each.name === name).questions[0].text)}
      onUpload=${takeUpload} onMapping=${(mapping) => setData({ ...data, mapping })} />
  </div>`;
  const answer = html`<div class="right" key="answer">
    ${checked.drawn && html`<${EventsChart} source=${source} drawn=${checked.drawn} palette=${palette} chosenRow=${row === null ? null : chosenRow}
      run=${result !== null && !stale && result.summary.rows > 0 ? result : null} row=${row} />`}
    ${result && html`<${Result} run=${result} stale=${stale} limits=${start.limits} row=${row} onRow=${setRow} palette=${palette} />`}
    ${result && row !== null && html`<${WindowGraph} key=${`${result.id} ${row}`} run=${result} row=${row} limits=${start.limits} drawn=${checked.drawn} />`}
    <${Meaning} plan=${plan} />
    <${Plan} plan=${plan} />
  </div>`;
  return html`<main>
    <${Questions} samples=${start.samples} query=${query} sample=${data.sample} onChoose=${ask} />
    <div class="bench">${answerFirst ? [answer, question] : [question, answer]}</div>
  </main>`;
}

// Is the text a query, and what does it mean? Asked as it is typed, a moment after the last key.
function useCheck(query, source) {
  const [state, setState] = useState({ plan: null, problem: null, dataProblem: null, attributes: [], types: [], drawn: null });
  useEffect(() => {
    let current = true;
    const later = setTimeout(async () => {
      try {
        const answer = await post("api/check", { query, source });
        if (!current) return;
        const { attributes, types, data_error: dataProblem } = answer;
        setState((before) => ({
          attributes, types, dataProblem, problem: answer.error ?? null,
          plan: answer.error ? before.plan : answer,
          // What is drawn stays while a query is being written, unless the data are others.
          drawn: answer.error && before.drawn && before.attributes.length && same(attributes, before.attributes) ? before.drawn : answer.drawn,
        }));
      } catch (error) {
        if (current) setState((before) => ({ ...before, problem: error.described }));
      }
    }, 250);
    return () => { current = false; clearTimeout(later); };
  }, [query, JSON.stringify(source)]);
  return state;
}

// Runs of queries: the one under way, the last that was done, and the problem of the last that was not.
function useRuns(limits, setRow) {
  const [run, setRun] = useState(null);
  const [runProblem, setRunProblem] = useState(null);
  const [result, setResult] = useState(null);
  const newest = useRef(0), underWay = useRef(null);

  // A run that nobody waits for any more is ended: the page asks for another, or is closed.
  const abandon = () => {
    if (underWay.current) remove(`api/runs/${underWay.current}`).catch(() => null);
    underWay.current = null;
  };
  useEffect(() => {
    addEventListener("pagehide", abandon);
    return () => removeEventListener("pagehide", abandon);
  }, []);

  const go = useCallback(async (asked) => {
    const turn = ++newest.current;
    abandon();
    const mine = (set) => turn === newest.current && set();
    setRunProblem(null);
    try {
      let now = await post("api/runs", asked);
      for (let wait = 60; now.state === "running"; wait = Math.min(500, wait * 1.4)) {
        if (turn === newest.current) underWay.current = now.id;
        mine(() => setRun(now));
        await sleep(wait);
        now = await get(`api/runs/${now.id}`);
      }
      mine(() => {
        underWay.current = null;
        setRun(null);
        if (now.state === "done") {
          setResult({ ...now, asked: JSON.stringify({ query: asked.query, source: asked.source, exact: asked.exact }) });
          // What is small enough to be drawn for sure is drawn unasked.
          setRow(now.summary.rows > 0 && now.summary.events <= limits.graph_events ? 0 : null);
        }
        if (now.state === "failed") setRunProblem(now.error);
        if (now.state === "cancelled") setRunProblem({ message: "The run was cancelled.", hint: null });
      });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      mine(() => { setRun(null); setRunProblem(error.described); });
    }
  }, []);
  return { run, result, runProblem, go };
}

function useMedia(media) {
  const [matches, setMatches] = useState(media.matches);
  useEffect(() => {
    const change = () => setMatches(media.matches);
    media.addEventListener("change", change);
    return () => media.removeEventListener("change", change);
  }, []);
  return matches;
}

// Phases are announced; seconds, which change all the time, are only seen.
function Progress({ run }) {
  return html`<div class="progress">
    <label>${run.phase}, ${number(Math.round(run.elapsed))} s <progress value=${run.done ?? undefined} max="1"></progress></label>
    <button id="cancel" onClick=${() => remove(`api/runs/${run.id}`).catch(() => null)}>Cancel</button>
  </div>`;
}

// A row's window, and its group as the lines of charts are named.
function describe(page, groups) {
  const cells = groups.map((name) => page.rows[0][page.columns.indexOf(name)] ?? "NULL");
  return { band: page.bounds[0], group: cells.join(" · ") };
}

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
