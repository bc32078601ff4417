// The studio: its pages, its help.
import { html, render, useEffect, useState } from "../vendor/preact.js";
import { get } from "./api.js";
import { Follow } from "./follow.js";
import { CheatSheet, Invitation, Tour, invited } from "./help.js";
import { Workbench } from "./workbench.js";

function Studio({ start }) {
  const [page, setPage] = useState(location.hash);
  const [sheet, setSheet] = useState(false);
  const [tour, setTour] = useState(false);
  const [invitation, setInvitation] = useState(invited);
  useEffect(() => {
    // A link that is pasted into the address of an open page is opened like in a new one.
    const turn = () => (location.hash.startsWith("#share?") ? location.reload() : setPage(location.hash));
    addEventListener("hashchange", turn);
    return () => removeEventListener("hashchange", turn);
  }, []);
  const following = page === "#follow";
  const link = (href, name, current) => html`<a href=${href} aria-current=${current ? "page" : undefined}>${name}</a>`;
  return html`<a class="skip" href="#studio" onClick=${(e) => { e.preventDefault(); document.querySelector("main button, main select, main input")?.focus(); }}>To the content</a>
    <header>
      <h1><img src="static/icon.svg" alt="" width="26" height="26" /> greta studio</h1>
      <nav aria-label="Pages">${link("#query", "Query", !following)} ${link("#follow", "Follow a stream", following)}</nav>
      <div class="help">
        <button class="quiet" id="open-sheet" onClick=${() => setSheet(true)}>Cheat sheet</button>
        ${!following && html`<button class="quiet" id="open-tour" onClick=${() => { setTour(true); setInvitation(false); }}>Tour</button>`}
        <span class="note version">${start.version}</span>
      </div>
    </header>
    ${invitation && !following && html`<${Invitation} onTour=${() => setTour(true)} onClose=${() => setInvitation(false)} />`}
    ${following ? html`<${Follow} start=${start} />` : null}
    <div hidden=${following}><${Workbench} start=${start} /></div>
    ${sheet && html`<${CheatSheet} sections=${start.cheat_sheet} onClose=${() => setSheet(false)} />`}
    ${tour && !following && html`<${Tour} onClose=${() => setTour(false)} />`}`;
}

const root = document.getElementById("studio");
get("api/start").then(
  (start) => { root.textContent = ""; render(html`<${Studio} start=${start} />`, root); },
  (error) => { root.textContent = `The studio could not start: ${error.message}. ${error.described?.hint ?? ""}`; },
);
