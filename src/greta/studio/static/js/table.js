// Tables that may be wider than the page: they scroll by themselves, with the keyboard too.
import { html } from "../vendor/preact.js";

export const Wide = ({ label, children }) => html`<div class="wide" tabindex="0" role="group" aria-label=${`${label}, scrollable`}>${children}</div>`;

export function Preview({ columns, rows, label }) {
  return html`<${Wide} label=${label}><table class="preview" aria-label=${label}>
    <thead><tr>${columns.map((column) => html`<th scope="col">${column.name}<br /><small>${column.kind}</small></th>`)}</tr></thead>
    <tbody>${rows.slice(0, 3).map((row) => html`<tr>${row.map((cell) => html`<td>${cell ?? "NULL"}</td>`)}</tr>`)}</tbody>
  </table><//>`;
}
