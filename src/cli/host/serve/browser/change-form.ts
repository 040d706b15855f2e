// The form that changes a limiter, on the page of `zerotime host serve`: runs in the browser.

import { type ComponentChild, h } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { ChangeAnswer, ChangeRequest, LimiterView } from '../view.ts';

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

/** What was typed into the fields. */
const EMPTY = { changes: '', key: '', keyType: 'string', time: '' };

interface Outcome {
  /** The limiter that it is about. */
  readonly about: string;
  readonly request: ChangeRequest;
  readonly answer: ChangeAnswer;
  /** Whether the change that it shows has been asked for. */
  readonly isApplied?: boolean;
}

interface FormProps {
  readonly path: string;
  /** No form if undefined. */
  readonly limiter: LimiterView | undefined;
  readonly make: MakeChange;
}

/** Each action first shows what it would change, and makes the change if that is confirmed. */
export function ChangeForm({ path, limiter, make }: FormProps): ComponentChild {
  const [typed, setTyped] = useState(EMPTY);
  const [outcome, setOutcome] = useState<Outcome>();
  const apply = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => apply.current?.focus(), [outcome]);
  if (limiter === undefined || limiter.actions.length === 0) return null;
  const { name, kind, actions } = limiter;
  const about = JSON.stringify([name, kind, actions]);
  const isKeyed = actions.includes('block');
  const ask = async (request: ChangeRequest) =>
    setOutcome({ about, request, answer: await make(request) });
  const input = (field: keyof typeof EMPTY) => ({
    autocomplete: 'off',
    value: typed[field],
    onInput: ({ currentTarget: { value } }: { currentTarget: HTMLInputElement }) =>
      setTyped((before) => ({ ...before, [field]: value })),
  });
  const button = (action: Action) => {
    const { changes, time, ...ofKey } = typed;
    const request: ChangeRequest = {
      ...{ path, name, action, isDry: true },
      ...(action === 'set' && { changes }),
      ...(action === 'block' && { ...ofKey, time }),
      ...(action === 'reset' && isKeyed && ofKey),
    };
    return h('button', { type: 'button', onClick: () => ask(request) }, LABELS[action]);
  };
  const plain = actions.filter(
    (one) => one === 'pause' || one === 'resume' || (one === 'reset' && !isKeyed),
  );
  const types = ['string', 'number', 'bigint'].map((type) => h('option', { value: type }, type));
  const keyFields = h(
    'div',
    { class: 'fields' },
    h('label', {}, 'Key', h('input', input('key'))),
    h('label', {}, 'Type of the key', h('select', input('keyType'), types)),
    h('label', {}, 'Time', h('input', { placeholder: '10m', ...input('time') })),
    button('block'),
    button('reset'),
  );
  const confirm = (shown: Outcome) => {
    setOutcome({ ...shown, isApplied: true });
    void ask({ ...shown.request, isDry: false });
  };
  return h(
    'form',
    {
      'aria-label': 'Change this limiter',
      // Enter in a field does nothing by itself: there are several buttons.
      onSubmit: (event: Event) => event.preventDefault(),
    },
    h(
      'div',
      { class: 'fields' },
      h(
        'label',
        {},
        `New options of this ${kind}`,
        h('input', { placeholder: exampleOf(kind), ...input('changes') }),
      ),
      button('set'),
      plain.map(button),
    ),
    isKeyed && keyFields,
    h(
      'div',
      { class: 'outcome', role: 'status' },
      outcome?.about === about && [
        shownAnswer(outcome),
        isToConfirm(outcome) &&
          h(
            'button',
            {
              ...{ type: 'button', class: 'apply', ref: apply, disabled: outcome.isApplied },
              onClick: () => confirm(outcome),
            },
            'Make this change',
          ),
      ],
    ),
  );
}

function isToConfirm({ request, answer }: Outcome): boolean {
  return request.isDry && 'differences' in answer && answer.differences.length > 0;
}

function shownAnswer({ request, answer }: Outcome): ComponentChild {
  if ('error' in answer) return h('p', { class: 'bad' }, answer.error);
  const { differences } = answer;
  if (differences.length === 0) return h('p', {}, 'Nothing to change.');
  const text = differences.map((difference) => difference.join(' ')).join(', ');
  return h('p', {}, `${request.isDry ? 'Would change' : 'Changed'}: ${text}`);
}
