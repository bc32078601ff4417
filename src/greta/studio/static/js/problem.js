// An error as the page shows it: what, where, and the way out.
import { html } from "../vendor/preact.js";

export function ProblemBox({ problem, id }) {
  if (!problem) return html`<div id=${id} aria-live="polite"></div>`;
  return html`<div id=${id} aria-live="polite">
    <div class="problem">
      <p><strong>${problem.line ? `Line ${problem.line}: ` : ""}${problem.message}</strong></p>
      ${problem.carets && html`<pre class="carets">${problem.carets}</pre>`}
      ${problem.hint && html`<p class="hint">Hint: ${problem.hint}</p>`}
    </div>
  </div>`;
}
