// The graph of one window: counts on vertices, and the trends through the vertex under the pointer or in focus.
import { html, useEffect, useMemo, useRef, useState } from "../vendor/preact.js";
import { useAnswer } from "./api.js";
import { number, plural } from "./format.js";
import { ProblemBox } from "./problem.js";

const LISTED = 12;

export function WindowGraph({ run, row, limits, drawn }) {
  const numbers = drawn?.attributes ?? [];
  const [wish, setWish] = useState(null);
  const height = wish ?? drawn?.attribute ?? "";
  const { answer: graph, problem } = useAnswer(`api/runs/${run.id}/graph`, { row, height });
  return html`<section class="card" aria-labelledby="graph-title" id="graph">
    <h2 id="graph-title">The graph behind row ${number(row + 1)}</h2>
    ${numbers.length > 0 && html`<div class="toolbar"><label>Height <select id="height" value=${height} onChange=${(e) => setWish(e.target.value)}>
      <option value="">the pattern's states</option>${numbers.map((name) => html`<option value=${name}>${name}</option>`)}
    </select></label></div>`}
    ${!graph && !problem && html`<p class="note" role="status">Drawing…</p>`}
    <${ProblemBox} problem=${problem} id="graph-problem" />
    ${graph && html`<p class="note">${graph.about} Point at a vertex, or move to it with Tab, to see the trends through it.</p>
      ${graph.parts.map((part) => html`<${Part} part=${part} />`)}`}
    <p class="note">Drawn for windows of up to ${limits.graph_events} events; trends are listed up to ${number(limits.graph_trends)}.</p>
  </section>`;
}

function Part({ part }) {
  const place = useRef();
  const [chosen, setChosen] = useState(null);
  const through = useMemo(
    () => (chosen === null || !part.trends ? [] : part.trends.filter((trend) => trend.includes(chosen))),
    [chosen, part],
  );

  useEffect(() => {
    const on = new Set(through.flat());
    for (const vertex of place.current.querySelectorAll("[data-vertex]")) {
      const id = Number(vertex.dataset.vertex);
      vertex.classList.toggle("on", on.has(id));
      vertex.classList.toggle("chosen", id === chosen);
    }
    const used = new Set(through.flatMap((trend) => trend.slice(1).map((vertex, i) => `${trend[i]}-${vertex}`)));
    for (const edge of place.current.querySelectorAll("[data-edge]")) edge.classList.toggle("on", used.has(edge.dataset.edge));
    place.current.classList.toggle("choosing", chosen !== null);
  }, [through, chosen, part]);

  const vertexOf = (event) => event.target.closest?.("[data-vertex]");
  const choose = (event) => {
    const vertex = vertexOf(event);
    if (vertex) setChosen(Number(vertex.dataset.vertex));
  };
  return html`<figure class="graph">
    ${part.title && html`<figcaption>${part.title}</figcaption>`}
    <div class="wide picture" ref=${place} onPointerOver=${choose} onFocusIn=${choose}
      onPointerLeave=${() => setChosen(null)} onFocusOut=${() => setChosen(null)}
      dangerouslySetInnerHTML=${{ __html: part.picture }}></div>
    <div class="through" aria-live="polite">${describe(part, chosen, through)}</div>
  </figure>`;
}

function describe(part, chosen, through) {
  if (chosen === null) return html`<p class="note">${part.summary}</p>`;
  const name = part.names[chosen];
  if (!part.trends) return html`<p><strong>${name}</strong>: ${part.summary}</p>`;
  return html`<p><strong>${name}</strong>: ${plural(through.length, "trend")} of ${number(part.trends.length)} ${through.length === 1 ? "passes" : "pass"} through it${through.length > LISTED ? `, the first ${LISTED}` : ""}</p>
    <ul class="trends">${through.slice(0, LISTED).map((trend) => html`<li>${trend.map((v) => html`<span class=${v === chosen ? "me" : ""}>${part.names[v]}</span> `)}</li>`)}</ul>`;
}
