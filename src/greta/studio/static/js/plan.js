// What the query means and how it will be computed.
import { html } from "../vendor/preact.js";
import { Wide } from "./table.js";

export function Meaning({ plan }) {
  if (!plan) return null;
  return html`<section class="card" aria-labelledby="meaning-title">
    <h2 id="meaning-title">What it means</h2>
    <p class="words" id="words">${plan.words}</p>
    <div class="wide picture" tabindex="0" role="group" aria-label="Template of the pattern"
      dangerouslySetInnerHTML=${{ __html: plan.picture }}></div>
  </section>`;
}

export function Plan({ plan }) {
  if (!plan) return null;
  return html`<section class="card" aria-labelledby="plan-title">
    <details aria-labelledby="plan-title">
      <summary><h2 id="plan-title">How it is computed</h2> <span class="note">${plan.cost}</span></summary>
      ${plan.sections.map((section) => html`<${Section} section=${section} />`)}
    </details>
  </section>`;
}

function Section({ section }) {
  return html`<section class="plan">
    <h3>${section.title}</h3>
    ${section.blocks.map((block) => (block.headers ? html`<${Table} ...${block} />` : html`<${Facts} ...${block} />`))}
    ${section.sections.map((inner) => html`<${Section} section=${inner} />`)}
  </section>`;
}

const Facts = ({ rows }) => html`<dl>${rows.map(([name, text]) => html`<dt>${name}</dt><dd>${text}</dd>`)}</dl>`;

const Table = ({ headers, rows }) => html`<${Wide} label=${headers.join(", ")}><table>
  <thead><tr>${headers.map((header) => html`<th scope="col">${header}</th>`)}</tr></thead>
  <tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
</table><//>`;
