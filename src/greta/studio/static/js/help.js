// Help: the language on a page, and a short tour of the studio.
import { html, useEffect, useRef, useState } from "../vendor/preact.js";

const SEEN = "greta-studio-tour";
const STEPS = [
  ["#questions", "Start from a question", "Each card brings data and a query that answers it."],
  ["#query", "The query", "Write it here; what is wrong appears beneath. Tab takes a completion, Ctrl+Enter runs the query."],
  ["#data", "Whose events?", "A sample with its columns, or a file of your own: CSV, Parquet or JSON lines. It stays on this machine."],
  ["#events", "The events", "What the query compares, over time, with some trends of a row drawn on it: a sample, the longest, the steepest. The window of the row is shaded."],
  ["#result", "The answer", "Click a point for its row; drag to zoom, and the table follows. Sort by a column's name, filter, take the rows along."],
  ["#copy", "Take it elsewhere", "As a link, or as a program in Python, for the shell or for Spark."],
];

export function CheatSheet({ sections, onClose }) {
  const dialog = useRef();
  useEffect(() => dialog.current.showModal(), []);
  return html`<dialog class="sheet" id="cheat-sheet" ref=${dialog} onClose=${onClose} aria-labelledby="sheet-title">
    <div class="row"><h2 id="sheet-title">The language on a page</h2><button id="close-sheet" onClick=${() => dialog.current.close()}>Close</button></div>
    <div class="columns">${sections.map((section) => html`<section><h3>${section.title}</h3>
      <dl>${section.rows.map((row) => html`<dt><code>${row.text}</code></dt><dd>${row.meaning}</dd>`)}</dl></section>`)}</div>
  </dialog>`;
}

export const invited = () => { try { return !localStorage.getItem(SEEN); } catch { return false; } };
const remember = () => { try { localStorage.setItem(SEEN, "1"); } catch { /* then it is offered again */ } };

export function Invitation({ onTour, onClose }) {
  const away = () => { remember(); onClose(); };
  return html`<p class="invitation" id="invitation">New here? <button class="quiet" onClick=${() => { away(); onTour(); }}>Take the tour: ${STEPS.length} steps</button>
    <button class="quiet" aria-label="Close the invitation to the tour" onClick=${away}>No, thanks</button></p>`;
}

export function Tour({ onClose }) {
  const [at, setAt] = useState(0);
  const box = useRef();
  // What is not on the page now has nothing to be shown of it.
  const steps = STEPS.filter(([place]) => document.querySelector(place));
  const [place, title, text] = steps[Math.min(at, steps.length - 1)];
  useEffect(() => {
    const target = document.querySelector(place);
    target.classList.add("toured");
    target.scrollIntoView({ block: "center", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
    box.current.querySelector("#tour-next").focus({ preventScroll: true });
    return () => target.classList.remove("toured");
  }, [place]);
  useEffect(() => {
    const key = (event) => { if (event.key === "Escape") onClose(); };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, []);
  const last = at >= steps.length - 1;
  return html`<div class="tour" role="dialog" aria-labelledby="tour-title" aria-describedby="tour-text" ref=${box}>
    <p class="note">${at + 1} of ${steps.length}</p>
    <h2 id="tour-title">${title}</h2>
    <p id="tour-text" aria-live="polite">${text}</p>
    <div class="toolbar">
      <button disabled=${at === 0} onClick=${() => setAt(at - 1)}>Back</button>
      <button class="main" id="tour-next" onClick=${() => (last ? onClose() : setAt(at + 1))}>${last ? "Done" : "Next"}</button>
      ${!last && html`<button class="quiet" onClick=${onClose}>End the tour</button>`}
    </div>
  </div>`;
}
