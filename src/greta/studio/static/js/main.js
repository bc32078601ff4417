// The page: what is chosen, what was answered, and who shows it.
import { html, render, useCallback, useEffect, useRef, useState } from "../vendor/preact.js";
import { Problem, get, number, post, remove, sleep } from "./api.js";
import { DataPicker } from "./data.js";
import { Editor } from "./editor.js";
import { Follow } from "./follow.js";
import { WindowGraph } from "./graph.js";
import { Meaning, Plan } from "./plan.js";
import { ProblemBox } from "./problem.js";
import { Result, summarised } from "./result.js";

const sourceOf = (data) =>
  data.upload
    ? { upload: data.upload.upload, ...data.mapping, event_type: data.mapping.type ? "" : data.mapping.event_type }
    : { sample: data.sample };

function Studio({ start }) {
  const [page, setPage] = useState(location.hash);
  useEffect(() => {
    const turn = () => setPage(location.hash);
    addEventListener("hashchange", turn);
    return () => removeEventListener("hashchange", turn);
  }, []);
  const following = page === "#follow";
  const link = (href, name, current) => html`<a href=${href} aria-current=${current ? "page" : undefined}>${name}</a>`;
  return html`<a class="skip" href="#main" onClick=${(e) => { e.preventDefault(); document.querySelector("main button, main select, main input")?.focus(); }}>To the content</a>
    <header>
      <h1><img src="static/icon.svg" alt="" width="26" height="26" /> greta studio</h1>
      <nav aria-label="Pages">${link("#query", "Query", !following)} ${link("#follow", "Follow a stream", following)}</nav>
      <span class="note version">${start.version}</span>
    </header>
    ${following ? html`<${Follow} start=${start} />` : null}
    <div hidden=${following}><${Workbench} start=${start} /></div>`;
}

function Workbench({ start }) {
  const [data, setData] = useState({ sample: start.samples[0].name });
  const [given, setGiven] = useState({ text: start.samples[0].queries[0].text });
  const [query, setQuery] = useState(given.text);
  const [plan, setPlan] = useState(null);
  const [problem, setProblem] = useState(null);
  const [dataProblem, setDataProblem] = useState(null);
  const [exact, setExact] = useState(false);
  const [run, setRun] = useState(null);
  const [runProblem, setRunProblem] = useState(null);
  const [result, setResult] = useState(null);
  const [row, setRow] = useState(null);
  const newest = useRef(0), underWay = useRef(null);

  const source = sourceOf(data);
  const key = JSON.stringify(source);

  // Check as the text is typed, a moment after the last key.
  useEffect(() => {
    let current = true;
    const later = setTimeout(async () => {
      try {
        const answer = await post("api/check", { query, source });
        if (!current) return;
        setProblem(answer.error ?? null);
        setDataProblem(answer.data_error ?? null);
        if (!answer.error) setPlan(answer);
      } catch (error) {
        if (current) setProblem(error.described);
      }
    }, 250);
    return () => { current = false; clearTimeout(later); };
  }, [query, key]);

  // A run that nobody waits for any more is ended: the page asks for another, or is closed.
  const abandon = () => {
    if (underWay.current) remove(`api/runs/${underWay.current}`).catch(() => null);
    underWay.current = null;
  };
  useEffect(() => {
    addEventListener("pagehide", abandon);
    return () => removeEventListener("pagehide", abandon);
  }, []);

  const go = useCallback(async (text, from, precise) => {
    const turn = ++newest.current;
    abandon();
    const mine = (set) => turn === newest.current && set();
    setRunProblem(null);
    try {
      let now = await post("api/runs", { query: text, source: from, exact: precise });
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
          setResult(now);
          // What is small enough to be drawn for sure is drawn unasked.
          setRow(now.summary.rows > 0 && now.summary.events <= start.limits.graph_events ? 0 : null);
        }
        if (now.state === "failed") setRunProblem(now.error);
        if (now.state === "cancelled") setRunProblem({ message: "The run was cancelled.", hint: null });
      });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      mine(() => { setRun(null); setRunProblem(error.described); });
    }
  }, []);

  const put = (text) => { setGiven({ text }); setQuery(text); };
  const startSample = (name) => {
    const text = start.samples.find((each) => each.name === name).queries[0].text;
    setData({ sample: name });
    put(text);
    go(text, { sample: name }, exact);
  };
  const chooseQuery = (text) => { put(text); go(text, source, exact); };
  const takeUpload = (upload) => {
    const guess = upload.guess;
    const event_type = plan ? (query.match(/PATTERN\s+(?:SEQ\s*\(\s*)?(\w+)/i)?.[1] ?? "Event") : "Event";
    setData({ upload, mapping: { time: guess.time, time_unit: guess.time_unit ?? "", type: guess.type ?? "", event_type } });
    setResult(null);
  };

  useEffect(() => { go(query, source, exact); }, []);

  return html`<main class="bench" id="main">
    <div class="left">
      <${DataPicker} start=${start} data=${data} onSample=${startSample} onQuery=${chooseQuery} onUpload=${takeUpload}
        onMapping=${(mapping) => setData({ ...data, mapping })} />
      <section class="card" aria-labelledby="query-title">
        <h2 id="query-title">Query</h2>
        <${Editor} given=${given} problem=${problem} attributes=${plan?.attributes ?? []} onChange=${setQuery}
          onRun=${() => go(query, source, exact)} />
        <${ProblemBox} problem=${problem ?? dataProblem} id="query-problem" />
        <div class="toolbar">
          <button class="main" id="run" disabled=${run !== null} onClick=${() => go(query, source, exact)}>Run</button>
          <label class="check"><input type="checkbox" id="exact" checked=${exact} onChange=${(e) => setExact(e.target.checked)} /> Exact numbers</label>
          <span class="note" id="query-help">Ctrl+Enter runs it</span>
        </div>
        <p class="hidden" role="status" id="announced">${run ? run.phase : result && !runProblem ? summarised(result.summary) : ""}</p>
        ${run && html`<${Progress} run=${run} />`}
        <${ProblemBox} problem=${runProblem === null || same(runProblem, problem) ? null : runProblem} id="run-problem" />
      </section>
    </div>
    <div class="right">
      <${Meaning} plan=${plan} />
      ${result && html`<${Result} run=${result} limits=${start.limits} row=${row} onRow=${setRow} />`}
      ${result && row !== null && html`<${WindowGraph} key=${`${result.id} ${row}`} run=${result} row=${row} limits=${start.limits} />`}
      <${Plan} plan=${plan} />
    </div>
  </main>`;
}

// Phases are announced; seconds, which change all the time, are only seen.
function Progress({ run }) {
  return html`<div class="progress">
    <label>${run.phase}, ${number(Math.round(run.elapsed))} s <progress value=${run.done ?? undefined} max="1"></progress></label>
    <button id="cancel" onClick=${() => remove(`api/runs/${run.id}`).catch(() => null)}>Cancel</button>
  </div>`;
}

const same = (a, b) => a?.message === b?.message;

const root = document.getElementById("studio");
get("api/start").then(
  (start) => { root.textContent = ""; render(html`<${Studio} start=${start} />`, root); },
  (error) => { root.textContent = `The studio could not start: ${error.message}`; },
);
