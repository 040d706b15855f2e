// The form that changes a limiter, on the page of `zerotime host serve`: runs in the browser.

import { el, type Node } from './dom.ts';
import type { ChangeAnswer, ChangeRequest, LimiterView } from './view.ts';

type Action = ChangeRequest['action'];

/** Sends a change to the server. */
export type MakeChange = (request: ChangeRequest) => Promise<ChangeAnswer>;

const LABELS: Readonly<Record<Action, string>> = {
  set: 'Set',
  pause: 'Pause',
  resume: 'Resume',
  block: 'Block key',
  reset: 'Reset',
};

/** What can be set, by the kind of the limiter. */
function exampleOf(kind: string): string {
  if (kind === 'semaphore') return 'permits=5';
  if (kind.endsWith('limit-set')) return 'limits[0].rate=50';
  if (/window|log/.test(kind)) return 'limit=50';
  return kind === 'leaky-bucket' ? 'rate=50 slack=10' : 'rate=50 burst=10';
}

function field(label: string, input: Node): Node {
  return el('label', {}, label, input);
}

/** Each action first shows what it would change, and makes the change if that is confirmed. */
export class ChangeForm {
  readonly node = el('form', { 'aria-label': 'Change this limiter' });
  readonly #path: string;
  readonly #make: MakeChange;
  readonly #changes = el('input', { autocomplete: 'off' });
  readonly #key = el('input', { autocomplete: 'off' });
  readonly #keyType = el(
    'select',
    {},
    ...['string', 'number', 'bigint'].map((type) => el('option', { value: type }, type)),
  );
  readonly #time = el('input', { placeholder: '10m', autocomplete: 'off' });
  readonly #outcome = el('div', { class: 'outcome', role: 'status' });
  #shown = '';
  #isKeyed = false;

  constructor(path: string, make: MakeChange) {
    this.#path = path;
    this.#make = make;
    // Enter in a field does nothing by itself: there are several buttons.
    this.node.addEventListener('submit', (event) => event.preventDefault());
  }

  /** Shows the form for a limiter, or none. Keeps what was typed. */
  update(limiter: LimiterView | undefined): void {
    const shown = JSON.stringify([limiter?.name, limiter?.kind, limiter?.actions]);
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.node.hidden = limiter === undefined || limiter.actions.length === 0;
    if (limiter === undefined) return;
    const { actions, kind, name } = limiter;
    const button = (action: Action) => {
      const made = el('button', { type: 'button' }, LABELS[action]);
      made.addEventListener('click', () => this.#preview(name, action));
      return made;
    };
    this.#changes.setAttribute('placeholder', exampleOf(kind));
    this.#isKeyed = actions.includes('block');
    const plain = actions.filter((one) => one === 'pause' || one === 'resume');
    const reset = actions.includes('reset') && !this.#isKeyed ? [button('reset')] : [];
    this.#outcome.replaceChildren();
    this.node.replaceChildren(
      el(
        'div',
        { class: 'fields' },
        field(`New options of this ${kind}`, this.#changes),
        button('set'),
        ...plain.map(button),
        ...reset,
      ),
      ...(this.#isKeyed ? [this.#keyFields(button)] : []),
      this.#outcome,
    );
  }

  #keyFields(button: (action: Action) => Node): Node {
    return el(
      'div',
      { class: 'fields' },
      field('Key', this.#key),
      field('Type of the key', this.#keyType),
      field('Time', this.#time),
      button('block'),
      button('reset'),
    );
  }

  #request(name: string, action: Action): ChangeRequest {
    const ofKey = { key: this.#key.value, keyType: this.#keyType.value };
    return {
      path: this.#path,
      name,
      action,
      isDry: true,
      ...(action === 'set' && { changes: this.#changes.value }),
      ...(action === 'block' && { ...ofKey, time: this.#time.value }),
      ...(action === 'reset' && this.#isKeyed && ofKey),
    };
  }

  async #preview(name: string, action: Action): Promise<void> {
    const request = this.#request(name, action);
    const lines = linesOf(await this.#make(request), 'Would change: ');
    if (lines.isChange) {
      const apply = el('button', { type: 'button', class: 'apply' }, 'Make this change');
      apply.addEventListener('click', async () => {
        apply.disabled = true;
        const made = linesOf(await this.#make({ ...request, isDry: false }), 'Changed: ');
        this.#outcome.replaceChildren(...made.nodes);
      });
      this.#outcome.replaceChildren(...lines.nodes, apply);
      apply.focus();
    } else {
      this.#outcome.replaceChildren(...lines.nodes);
    }
  }
}

function linesOf(answer: ChangeAnswer, before: string): { nodes: Node[]; isChange: boolean } {
  if ('error' in answer) {
    return { nodes: [el('p', { class: 'bad' }, answer.error)], isChange: false };
  }
  const { differences } = answer;
  if (differences.length === 0)
    return { nodes: [el('p', {}, 'Nothing to change.')], isChange: false };
  const text = differences.map((difference) => difference.join(' ')).join(', ');
  return { nodes: [el('p', {}, before + text)], isChange: true };
}
