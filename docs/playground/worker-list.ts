import { systemClock } from '../../src/index.ts';
import { button, element, figure } from './form.ts';
import { LIMITERS } from './kinds.ts';
import { type Playground, STALL_MS } from './playground.ts';

export interface WorkerActions {
  onStall(name: number): void;
  onKill(name: number): void;
}

/** The workers: what each was offered and what each limiter admitted of it. */
export class WorkerList {
  readonly #list: HTMLElement;
  readonly #playground: Playground;
  readonly #actions: WorkerActions;
  /** Items stay while their worker lives, so that the focus stays on a button. */
  readonly #items = new Map<number, HTMLElement>();

  constructor(list: HTMLElement, playground: Playground, actions: WorkerActions) {
    this.#list = list;
    this.#playground = playground;
    this.#actions = actions;
  }

  show(): void {
    const { crew, lanes } = this.#playground;
    const nowUs = systemClock.now();
    for (const [name, item] of this.#items) {
      if (crew.members.some((member) => member.name === name)) continue;
      item.remove();
      this.#items.delete(name);
    }
    for (const { name, offered, stalledUntilUs } of crew.members) {
      const item = this.#itemOf(name);
      const counts: [string, number][] = [
        ['offered', offered],
        ...lanes.map(({ choice, byWorker }): [string, number] => [
          LIMITERS[choice.kind]?.title ?? '',
          byWorker.get(name) ?? 0,
        ]),
      ];
      const figures = counts.map(([title, count]) => figure(title, count.toLocaleString('en-US')));
      item.querySelector('dl')?.replaceChildren(...figures);
      item.classList.toggle('stalled', stalledUntilUs > nowUs);
    }
  }

  #itemOf(name: number): HTMLElement {
    const known = this.#items.get(name);
    if (known !== undefined) return known;
    const { onStall, onKill } = this.#actions;
    const seconds = STALL_MS / 1_000;
    const item = element('li', {}, [
      element('h3', {}, [`Worker ${name}`]),
      element('div', { class: 'buttons' }, [
        button('Stall', `Stall worker ${name} for ${seconds} seconds`, () => onStall(name)),
        button('Kill', `Kill worker ${name}`, () => onKill(name)),
      ]),
      element('dl'),
    ]);
    this.#items.set(name, item);
    this.#list.append(item);
    return item;
  }
}
