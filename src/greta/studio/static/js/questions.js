// Where to start: questions, each with the data and the query that answer it.
import { html, useState } from "../vendor/preact.js";

export function Questions({ samples, query, sample, onChoose }) {
  const [all, setAll] = useState(false);
  const cards = samples.flatMap((each) => each.questions.map((question) => ({ ...question, sample: each.name, data: each.title })));
  return html`<section class="questions" id="questions" aria-labelledby="questions-title">
    <div class="row"><h2 id="questions-title">What would you like to know?</h2>
      <button class="quiet" id="more-questions" aria-expanded=${all} onClick=${() => setAll(!all)}>${all ? "Fewer questions" : `All ${cards.length} questions`}</button></div>
    <ul>${cards.filter((card) => all || card.featured).map((card) => html`<li key=${card.title}>
      <button class="question-card" aria-pressed=${card.sample === sample && card.text === query} onClick=${() => onChoose(card.sample, card.text)}>
        <strong>${card.title}</strong> <span>${card.about}</span> <small>${card.data}</small>
      </button></li>`)}
    </ul>
  </section>`;
}
