// What stands above a chart: which aggregate, which scale, the way back from a zoom, the picture as a file.
import { html } from "../vendor/preact.js";
import { moment } from "./format.js";
import { download, picture, raster } from "./picture.js";
import { fitsLog } from "./scale.js";

// The scale in use: the one chosen, or a logarithm wherever it fits.
export const useLog = (chosen, chart) => (chart && fitsLog(chart.lines) ? (chosen ?? true) : false);

export function ChartTools({ id, names, column, chart, log, onColumn, onLog, zoom = null, onZoom, palette, children }) {
  const fits = chart !== null && fitsLog(chart.lines);
  const drawn = () => picture(chart, log, palette, zoom);
  return html`<div class="toolbar">
    <label>Aggregate <select id=${id} value=${column} onChange=${(e) => onColumn(e.target.value)}>
      ${names.map((name) => html`<option value=${name}>${name}</option>`)}
    </select></label>
    <label class="check" title=${fits ? "" : "values that are not positive, or within two powers of ten, have a linear scale"}>
      <input type="checkbox" id=${`${id}-log`} checked=${log} disabled=${!fits} onChange=${(e) => onLog(e.target.checked)} /> Log scale</label>
    ${chart && html`<span class="choices">Chart as
      <button class="quiet" id=${`${id}-svg`} onClick=${() => download(`${column}.svg`, "image/svg+xml", drawn())}>SVG</button>
      <button class="quiet" id=${`${id}-png`} onClick=${async () => download(`${column}.png`, "image/png", await raster(drawn()))}>PNG</button></span>`}
    ${children}
  </div>
  ${zoom && html`<p class="zoomed" role="status">Zoomed to ${moment(zoom[0], chart?.clock)} – ${moment(zoom[1], chart?.clock)}
    <button class="quiet" id=${`${id}-whole`} onClick=${() => onZoom(null)}>Show all</button></p>`}`;
}
