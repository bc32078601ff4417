// Trends of a row: which ones, a list to move through, and the events of the one that is pointed at.
import { html, useEffect, useMemo, useState } from "../vendor/preact.js";
import { useAnswer } from "./api.js";
import { moment, number, plural } from "./format.js";
import { ProblemBox } from "./problem.js";

const LISTED = 40; // events of a trend that are written out

// row: the chosen one, or null for the row with the most to show. onShow hears what to draw: {paths, band, row}, or null.
export function Trends({ run, row, attribute, clock, onShow }) {
  const [pick, setPick] = useState("sample");
  const [seed, setSeed] = useState(0);
  const [active, setActive] = useState(0);
  const { answer, problem } = useAnswer(`api/runs/${run.id}/trends`, { row: row ?? "", pick, attribute, seed });
  useEffect(() => setActive(0), [answer]);
  const shown = useMemo(() => answer && {
    row: answer.row, band: answer.band,
    paths: answer.trends.map(({ points }, i) => ({ points, strong: i === active })),
  }, [answer, active]);
  useEffect(() => { onShow(shown); }, [shown]);
  useEffect(() => () => onShow(null), []);
  if (problem) return html`<${ProblemBox} problem=${problem} id="trends-problem" />`;
  if (!answer) return html`<p class="note" role="status" id="trends-waiting">Looking for trends… the first time, this takes a minute.</p>`;
  if (!answer.trends.length) return null;
  const trend = answer.trends[Math.min(active, answer.trends.length - 1)];
  const move = (event) => {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    const to = event.key === "Home" ? 0 : event.key === "End" ? answer.trends.length - 1 : step && active + step;
    if (to === undefined || to < 0 || to >= answer.trends.length) return;
    event.preventDefault();
    setActive(to);
  };
  return html`<div class="toolbar">
      <label>Trends of row ${number(answer.row + 1)} <select id="trends-pick" value=${answer.pick} onChange=${(e) => setPick(e.target.value)}>
        ${answer.picks.map((each) => html`<option value=${each.pick}>${each.title}</option>`)}</select></label>
      ${answer.pick === "sample" && html`<button class="quiet" id="trends-again" onClick=${() => setSeed(seed + 1)}>Another sample</button>`}
    </div>
    <ul class="shown-trends" id="trends" role="listbox" tabindex="0" aria-label="Trends, drawn over the events; arrow keys move through them"
      aria-activedescendant=${`trend-${active}`} onKeyDown=${move}>
      ${answer.trends.map((each, i) => html`<li role="option" id=${`trend-${i}`} aria-selected=${i === active} onPointerEnter=${() => setActive(i)} onClick=${() => setActive(i)}>${inWords(each, clock)}</li>`)}
    </ul>
    <p class="note" id="trend-events" aria-live="polite">${listed(trend)}</p>`;
}

function inWords({ events, first, last, from, to }, clock) {
  const time = (seconds) => (clock ? moment(seconds, clock).slice(11) : moment(seconds, clock));
  const change = from === null || to === null ? "" : `, ${number(from)} → ${number(to)} (${to > from ? "+" : ""}${number(to - from)})`;
  return `${plural(events, "event")}${change}, ${time(first)}${last > first ? ` – ${time(last)}` : ""}`;
}

function listed({ listed, events }) {
  const names = new Set(listed.map((event) => event.variable));
  const word = ({ variable, value }) => (value === null ? variable : names.size > 1 ? `${variable} ${number(value)}` : number(value));
  return listed.slice(0, LISTED).map(word).join(" → ") + (events > LISTED ? ` → … (${plural(events - LISTED, "event")} more)` : "");
}
