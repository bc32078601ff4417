// Requests to the studio's own server.
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
// Without a path nothing is asked. `ask` is how: get, or post.
export function useAnswer(path, values, ask = get) {
  const [state, setState] = useState({ answer: null, problem: null });
  useEffect(() => {
    if (!path) return setState({ answer: null, problem: null });
    let current = true;
    ask(path, values).then(
      (answer) => current && setState({ answer, problem: null }),
      (error) => current && setState({ answer: null, problem: error.described }),
    );
    return () => { current = false; };
  }, [path, JSON.stringify(values)]);
  return state;
}

export const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
