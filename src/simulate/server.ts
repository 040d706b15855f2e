import { randomNumbers } from '../load/plan/random.ts';
import { checkNumber } from '../options.ts';
import { Heap, type Timed } from '../time/heap.ts';
import { normal, parseTerms, type TermForm } from './terms.ts';

/** A server from the command line: `exponential serviceMs=80 capacity=20`. */
export interface ServerSpec {
  readonly text: string;
  /** Whether the service times depend on the seed. */
  readonly isRandom: boolean;
  /** Creates an idle server at instant 0. */
  create(seed: number): Server;
}

const CAPACITIES: readonly TermForm[] = [
  { needs: ['serviceMs'], takes: ['capacity'] },
  { needs: ['serviceMs', 'capacity', 'reducedTo', 'fromMs', 'untilMs'] },
];
const FORMS: Readonly<Record<string, readonly TermForm[]>> = {
  constant: CAPACITIES,
  exponential: CAPACITIES,
};

/** A capacity that is smaller for some time, as during a backup. */
export interface Reduction {
  readonly capacity: number;
  readonly fromUs: number;
  readonly untilUs: number;
}

/** Keeps the random service times independent of the arrivals. */
const SEED_OFFSET = 0x5e12;

/** The instant at which one of the server's places becomes free. */
function placeFreeAt(atUs: number): Timed {
  return { atUs, place: -1, order: 0 };
}

/** A server that processes up to `capacity` requests at once and queues the others in order. */
export class Server {
  readonly #capacity: number;
  readonly #reduction: Reduction | undefined;
  readonly #serviceUs: () => number;
  readonly #places = new Heap<Timed>();
  /** When the latest request starts: no later one overtakes it. */
  #startUs = 0;

  constructor(capacity: number, serviceUs: () => number, reduction?: Reduction) {
    this.#capacity = capacity;
    this.#serviceUs = serviceUs;
    this.#reduction = reduction;
  }

  /** Accepts a request; returns the instant of its response. Instants must be ascending. */
  respond(atUs: number): number {
    let startUs = Math.max(atUs, this.#startUs);
    for (;;) {
      let earliest = this.#places.first;
      while (earliest !== undefined && earliest.atUs <= startUs) {
        this.#places.remove(earliest);
        earliest = this.#places.first;
      }
      if (this.#places.size < this.#capacityAt(startUs)) break;
      // Requests in service end there, even if the capacity is reduced meanwhile.
      startUs = Math.min(earliest?.atUs ?? startUs, this.#restoredUs(startUs));
    }
    this.#startUs = startUs;
    const endUs = startUs + this.#serviceUs();
    this.#places.add(placeFreeAt(endUs));
    return endUs;
  }

  #capacityAt(us: number): number {
    const reduction = this.#reduction;
    const isReduced = reduction && us >= reduction.fromUs && us < reduction.untilUs;
    return isReduced ? reduction.capacity : this.#capacity;
  }

  /** When the capacity grows after this instant. */
  #restoredUs(us: number): number {
    const { fromUs, untilUs } = this.#reduction ?? { fromUs: us, untilUs: us };
    return us >= fromUs && us < untilUs ? untilUs : Number.POSITIVE_INFINITY;
  }
}

/** @throws RangeError with the reason */
export function parseServer(text: string): ServerSpec {
  const [term, ...others] = parseTerms(text, FORMS);
  if (others.length > 0) throw new RangeError('Give only one server.');
  const { serviceMs, capacity = Number.POSITIVE_INFINITY } = term.numbers;
  const { reducedTo, fromMs, untilMs } = term.numbers;
  if (capacity !== Number.POSITIVE_INFINITY) {
    checkNumber('capacity', capacity, { min: 1, max: 1e6, integer: true });
  }
  if (reducedTo !== undefined) {
    checkNumber('reducedTo', reducedTo, { min: 1, max: capacity, integer: true });
    checkNumber('fromMs', fromMs, { min: 0, max: 1e12 });
    checkNumber('untilMs', untilMs, { min: fromMs ?? 0, max: 1e12 });
  }
  const serviceUs = 1_000 * checkNumber('serviceMs', serviceMs, { min: 0.001, max: 1e7 });
  const isRandom = term.kind === 'exponential';
  const reduction =
    reducedTo === undefined
      ? undefined
      : { capacity: reducedTo, fromUs: 1_000 * (fromMs ?? 0), untilUs: 1_000 * (untilMs ?? 0) };
  return {
    text: normal(text),
    isRandom,
    create: (seed) => {
      const random = randomNumbers(seed + SEED_OFFSET);
      return new Server(
        capacity,
        isRandom ? () => -serviceUs * Math.log(random()) : () => serviceUs,
        reduction,
      );
    },
  };
}
