import type { Clock } from '../../../time/clock.ts';

/** Why a sleep ends that the bell ends. */
const RUNG = Symbol('the bell has rung');

/** Any thread rings it, in shared memory; one thread hears it. It does not keep that one's event loop alive. */
export class Bell {
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #at: number;
  /** Rings that were heard. */
  #heard = 0;
  #watching = false;
  #wake: () => void = () => undefined;

  constructor(words: Int32Array<SharedArrayBuffer>, at: number) {
    this.#words = words;
    this.#at = at;
  }

  ring(): void {
    Atomics.add(this.#words, this.#at, 1);
    Atomics.notify(this.#words, this.#at);
  }

  /** Resolves when it has rung since the last rest, or when the clock has reached `untilUs`. */
  async rest(clock: Clock, untilUs: number): Promise<void> {
    const end = new AbortController();
    const rung = new Promise<void>((resolve) => {
      this.#wake = () => {
        end.abort(RUNG);
        resolve();
      };
    });
    this.#watch();
    await (untilUs === Number.POSITIVE_INFINITY ? rung : sleepOrEnd(clock, untilUs, end.signal));
    this.#heard = Atomics.load(this.#words, this.#at);
  }

  /** A wait in shared memory can't be taken back, so there is one at a time. */
  #watch(): void {
    if (this.#watching) return;
    this.#watching = true;
    const hear = () => {
      this.#watching = false;
      this.#wake();
    };
    const ring = Atomics.waitAsync(this.#words, this.#at, this.#heard);
    if (ring.async) ring.value.then(hear);
    else queueMicrotask(hear);
  }
}

async function sleepOrEnd(clock: Clock, untilUs: number, signal: AbortSignal): Promise<void> {
  try {
    await clock.sleep(untilUs, { signal });
  } catch (reason) {
    if (reason !== RUNG) throw reason;
  }
}
