import { Tally } from './tally.ts';

/** The outcomes of one thread, with the warm-up apart. */
export class ThreadTallies {
  readonly warmUp = new Tally();
  counted = new Tally();
  #countFromUs = 0;

  /**
   * @param countFromUs requests due earlier belong to the warm-up
   * @param byTime whether to also record latencies over time
   */
  begin(startUs: number, countFromUs: number, byTime: boolean): void {
    this.#countFromUs = countFromUs;
    this.counted = new Tally(byTime ? startUs : undefined);
  }

  of(dueUs: number): Tally {
    return dueUs < this.#countFromUs ? this.warmUp : this.counted;
  }
}
