// The query taken elsewhere: as a link, or as a program that gives the same rows.
import { html, useState } from "../vendor/preact.js";
import { post } from "./api.js";
import { linkTo } from "./keep.js";

const KINDS = [["link", "Link"], ["python", "Python"], ["shell", "Shell"], ["spark", "Spark"]];

export function Copy({ query, data, source, exact }) {
  const [copied, setCopied] = useState(null);

  async function copy(kind) {
    let text;
    try {
      text = kind === "link" ? linkTo({ query, data, exact }) : (await post("api/snippets", { query, source, exact }))[kind];
    } catch (error) {
      return setCopied({ said: error.message, text: "" });
    }
    // Pages of other machines, without encryption, have no clipboard: the text is shown in any case.
    const taken = await Promise.resolve(navigator.clipboard?.writeText(text)).then(() => Boolean(navigator.clipboard), () => false);
    const alone = kind === "link" && data.upload ? " It has the query; your file stays with you." : "";
    setCopied({ said: `${taken ? "Copied." : "Copy this:"}${alone}`, text });
  }

  return html`<div class="copy" id="copy">
    <span class="choices">Copy as ${KINDS.map(([kind, name]) => html`<button class="quiet" id=${`copy-${kind}`} onClick=${() => copy(kind)}>${name}</button> `)}</span>
    <p class="note" role="status" id="copied">${copied?.said}</p>
    ${copied?.text && html`<pre class="copied" tabindex="0" aria-label="What was copied">${copied.text}</pre>
      <button class="quiet" onClick=${() => setCopied(null)}>Close</button>`}
  </div>`;
}
