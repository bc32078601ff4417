// What is kept: over a reload in this tab, and in links that others can open.

const KEY = "greta-studio";

export function keep(state) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(state));
  } catch {
    // A browser that keeps nothing keeps nothing.
  }
}

// What the address asks for, what this tab had before it was reloaded, or the first question of the first sample.
export function restored(samples) {
  const named = (name) => samples.find((each) => each.name === name);
  const linked = location.hash.startsWith("#share?") ? new URLSearchParams(location.hash.slice(7)) : null;
  if (linked) {
    // From here on the page is what people make of it, also after a reload.
    history.replaceState(null, "", "#query");
    const sample = named(linked.get("sample")) ?? samples[0];
    return { data: { sample: sample.name }, query: linked.get("query") ?? sample.questions[0].text, exact: linked.get("exact") === "1" };
  }
  try {
    const before = JSON.parse(sessionStorage.getItem(KEY));
    if (before && typeof before.query === "string" && (before.data?.upload || named(before.data?.sample))) return before;
  } catch {
    // What cannot be read is forgotten.
  }
  return { data: { sample: samples[0].name }, query: samples[0].questions[0].text, exact: false };
}

export function linkTo({ query, data, exact }) {
  const values = new URLSearchParams({ query });
  if (!data.upload) values.set("sample", data.sample);
  if (exact) values.set("exact", "1");
  return `${location.origin}${location.pathname}#share?${values}`;
}
