import { systemClock } from '../../src/index.ts';
import { button, element } from './form.ts';
import { LIMITERS } from './kinds.ts';
import { type Playground, STALL_MS } from './playground.ts';

export interface WorkerActions {
  onStall(name: number): void;
  onKill(name: number): void;
}

/** The workers: what each was offered and what each limiter admitted of it. */
export class WorkerTable {
  readonly #table: HTMLTableElement;
  readonly #playground: Playground;
  readonly #actions: WorkerActions;
  /** Rows stay while their worker lives, so that the focus stays on a button. */
  readonly #rows = new Map<number, HTMLElement>();
  readonly #body = element('tbody');
  readonly #head = element('tr');

  constructor(table: HTMLTableElement, playground: Playground, actions: WorkerActions) {
    this.#table = table;
    this.#playground = playground;
    this.#actions = actions;
    // It may scroll, which the keyboard must reach.
    if (table.parentElement !== null) table.parentElement.tabIndex = 0;
    this.#table.append(element('thead', {}, [this.#head]), this.#body);
  }

  show(): void {
    const { crew, lanes } = this.#playground;
    const names = [
      'worker',
      'action',
      'offered',
      ...lanes.map(({ choice }) => LIMITERS[choice.kind]?.title ?? ''),
    ];
    const titles = names.join();
    if (this.#head.dataset['titles'] !== titles) {
      this.#head.dataset['titles'] = titles;
      const cells = names.map((name) => element('th', { scope: 'col' }, [name]));
      this.#head.replaceChildren(...cells);
      this.#rows.clear();
      this.#body.replaceChildren();
    }
    const nowUs = systemClock.now();
    for (const [name, row] of this.#rows) {
      if (crew.members.some((member) => member.name === name)) continue;
      row.remove();
      this.#rows.delete(name);
    }
    for (const { name, offered, stalledUntilUs } of crew.members) {
      const cells = this.#cellsOf(name);
      const admitted = lanes.map(({ byWorker }) => byWorker.get(name) ?? 0);
      const values = [offered, ...admitted].map((count) => count.toLocaleString('en-US'));
      for (const [index, value] of values.entries()) {
        const cell = cells[index];
        if (cell !== undefined) cell.textContent = value;
      }
      this.#rows.get(name)?.classList.toggle('stalled', stalledUntilUs > nowUs);
    }
  }

  #cellsOf(name: number): readonly HTMLElement[] {
    const known = this.#rows.get(name);
    if (known !== undefined) return [...known.querySelectorAll<HTMLElement>('.count')];
    const { onStall, onKill } = this.#actions;
    const seconds = STALL_MS / 1_000;
    const row = element('tr', {}, [
      element('th', { scope: 'row' }, [`${name}`]),
      element('td', { class: 'actions' }, [
        button('Stall', `Stall worker ${name} for ${seconds} seconds`, () => onStall(name)),
        button('Kill', `Kill worker ${name}`, () => onKill(name)),
      ]),
      ...Array.from({ length: 1 + this.#playground.lanes.length }, () =>
        element('td', { class: 'count' }),
      ),
    ]);
    this.#rows.set(name, row);
    this.#body.append(row);
    return [...row.querySelectorAll<HTMLElement>('.count')];
  }
}
