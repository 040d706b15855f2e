import { Chart } from './chart.ts';
import { button, choiceForm, element, figure } from './form.ts';
import { type Choice, codeOf, LIMITERS } from './kinds.ts';
import type { Lane } from './lane.ts';
import { SLOT_US, type Timeline } from './timeline.ts';

export interface LaneActions {
  onChange(choice: Choice): void;
  onRemove(): void;
}

/** The card of one limiter: its numbers, its figures, its chart. */
export class LaneCard {
  readonly element: HTMLElement;
  readonly #lane: Lane;
  readonly #figures = element('dl', { class: 'figures' });
  readonly #promise = element('p', { class: 'promise' });
  readonly #place = element('div', { class: 'chart', role: 'img' });
  readonly #code = element('code');
  #kind = '';
  #chart: Chart | undefined;
  #summary = '';

  constructor(lane: Lane, place: number, { onChange, onRemove }: LaneActions) {
    this.#lane = lane;
    const remove = button('Remove', `Remove limiter ${place}`, onRemove);
    const form = choiceForm(`Limiter ${place}`, LIMITERS, lane.choice, onChange);
    this.element = element('section', { class: 'card lane', 'aria-label': `Limiter ${place}` }, [
      element('div', { class: 'row' }, [form, remove]),
      this.#figures,
      this.#place,
      this.#promise,
      this.#code,
    ]);
  }

  /** Call this after the card is in the page, which gives the chart its width. */
  show(slots: readonly number[], offered: Timeline): void {
    const lane = this.#lane;
    const { kind } = lane.choice;
    const { latencyMs } = lane;
    const unit = latencyMs === undefined ? 'tokens' : 'permits';
    if (this.#kind !== kind) {
      this.#kind = kind;
      this.#chart?.remove();
      this.#chart = new Chart(this.#place, { flows: LIMITERS[kind]?.flows ?? false, unit });
    }
    this.#code.textContent = codeOf(lane.choice);
    const admitted = lane.admitted.values(slots, 0);
    const tokens = lane.tokens.values(slots, null);
    const most = lane.mostInSlot;
    const offers = offered.values(slots, 0);
    const isAbove = most > 4 * Math.max(1, ...offers);
    this.#chart?.draw({ slots, offered: offers, admitted, tokens, most: isAbove ? null : most });

    const perSecond = this.#perSecond(admitted);
    const now = lane.tokensNow;
    this.#figures.replaceChildren(
      figure('admitted', `${perSecond.toFixed(1)}/s`),
      figure('total admitted', lane.total.toLocaleString('en-US')),
      figure('refused', lane.refused.toLocaleString('en-US')),
      now < 0 ? figure('promised', (-now).toFixed(1)) : figure(unit, now.toFixed(1)),
      ...(latencyMs === undefined ? [] : [figure('latency', `${latencyMs.toFixed(0)} ms`)]),
    );
    const { held, text } = lane.promise;
    this.#promise.className = held ? 'promise held' : 'promise broken';
    const inSlot = `at most ${most.toLocaleString('en-US', { maximumFractionDigits: 1 })} in any 100 ms`;
    const line = Number.isFinite(most)
      ? ` ${isAbove ? 'Far above the chart' : 'Red line'}: ${inSlot}.`
      : '';
    this.#promise.textContent = `${held ? 'held' : 'BROKEN'}: ${text}.${line}`;
    const kept = held ? 'bound held' : 'bound broken';
    this.#summary = `${this.#title}: ${perSecond.toFixed(1)} requests a second admitted, ${kept}`;
    this.#place.setAttribute('aria-label', this.#summary);
  }

  get #title(): string {
    return LIMITERS[this.#lane.choice.kind]?.title ?? this.#lane.choice.kind;
  }

  /** One sentence, for screen readers. */
  get summary(): string {
    return this.#summary;
  }

  /** Over the last two seconds. */
  #perSecond(admitted: readonly number[]): number {
    const lately = admitted.slice(-20);
    const seconds = (lately.length * SLOT_US) / 1e6;
    return seconds === 0 ? 0 : lately.reduce((sum, count) => sum + count, 0) / seconds;
  }

  remove(): void {
    this.#chart?.remove();
    this.element.remove();
  }
}
