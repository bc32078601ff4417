// Requests to the studio's own server, and numbers as people read them.
import { useEffect, useState } from "../vendor/preact.js";

export class Problem extends Error {
  constructor(described) {
    super(described.message);
    this.described = described;
  }
}

async function request(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Problem({ message: "the studio does not answer", hint: "is `greta studio` still running?" });
  }
  const answer = await response.json().catch(() => ({ error: { message: `the studio answered ${response.status}` } }));
  if (!response.ok) throw new Problem(answer.error);
  return answer;
}

export const get = (path, values = {}) => request(`${path}?${new URLSearchParams(values)}`);
export const remove = (path) => request(path, { method: "DELETE", keepalive: true });
export const post = (path, body) =>
  request(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
export const sendFile = (file) =>
  request(`api/uploads?${new URLSearchParams({ name: file.name })}`, {
    method: "POST",
    headers: { "Content-Type": "application/octet-stream" },
    body: file,
  });

// The answer to a question, or its problem; the one before stays until the next is there, so that nothing jumps.
export function useAnswer(path, values) {
  const [state, setState] = useState({ answer: null, problem: null });
  useEffect(() => {
    let current = true;
    get(path, values).then(
      (answer) => current && setState({ answer, problem: null }),
      (error) => current && setState({ answer: null, problem: error.described }),
    );
    return () => { current = false; };
  }, [path, JSON.stringify(values)]);
  return state;
}

export const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

export function number(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString("en-US");
  const size = Math.abs(value);
  return size >= 1e9 || (size < 1e-3 && size > 0)
    ? value.toExponential(5).replace("e+", "e")
    : value.toLocaleString("en-US", { maximumFractionDigits: 4 });
}

export const short = (value) =>
  Math.abs(value) >= 1e4 ? value.toExponential(1).replace("e+", "e").replace(".0e", "e") : number(value);
export const megabytes = (bytes) => `${(bytes / 1e6).toLocaleString("en-US", { maximumFractionDigits: 1 })} MB`;
export const plural = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
