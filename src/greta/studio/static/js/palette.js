// Colours of lines. A name keeps its colour for as long as the page is open, whatever else is drawn beside it.
import { useEffect, useState } from "../vendor/preact.js";

// Okabe and Ito's colours, which stay apart in every common kind of colour blindness; yellow darkened for paper.
const DAY = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8f8400", "#7f7f7f"];
const NIGHT = ["#56b4e9", "#ff9f5a", "#2fc79b", "#e5a3c8", "#4f8fd0", "#f0c04a", "#d8cf52", "#a8b0b8"];
const dark = matchMedia("(prefers-color-scheme: dark)");

export class Palette {
  #places = new Map();

  // A colour for each name. New names take a free one; where none is free, that of a name not drawn now.
  colours(names, night) {
    const shown = new Set(names);
    for (const name of shown) if (!this.#places.has(name)) this.#places.set(name, this.#free(shown));
    return names.map((name) => (night ? NIGHT : DAY)[this.#places.get(name) % DAY.length]);
  }

  #free(shown) {
    const taken = new Set(this.#places.values());
    for (let place = 0; place < DAY.length; place++) if (!taken.has(place)) return place;
    for (const [name, place] of this.#places) {
      if (shown.has(name)) continue;
      this.#places.delete(name);
      return place;
    }
    return this.#places.size;
  }
}

export function useNight() {
  const [night, setNight] = useState(dark.matches);
  useEffect(() => {
    const change = () => setNight(dark.matches);
    dark.addEventListener("change", change);
    return () => dark.removeEventListener("change", change);
  }, []);
  return night;
}
