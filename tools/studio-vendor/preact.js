// Preact with hooks, and htm bound to it, as one module.
import htm from "htm";
import { h, render } from "preact";
export { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
export const html = htm.bind(h);
export { render };
