import { randomNumbers } from '../load/plan/random.ts';
import { checkNumber } from '../options.ts';
import { Heap, type Timed } from '../time/heap.ts';
import { normal, parseTerms, sentence, type TermForm } from './terms.ts';

/** A server from the command line: `exponential serviceMs=80 capacity=20`. */
export interface ServerSpec {
  readonly text: string;
  /** Whether the service times depend on the seed. */
  readonly isRandom: boolean;
  /** Creates an idle server at instant 0. */
  create(seed: number): Server;
}

const FORMS: Readonly<Record<string, readonly TermForm[]>> = {
  constant: [{ needs: ['serviceMs'], takes: ['capacity'] }],
  exponential: [{ needs: ['serviceMs'], takes: ['capacity'] }],
};

/** Keeps the random service times independent of the arrivals. */
const SEED_OFFSET = 0x5e12;

/** The instant at which one of the server's places becomes free. */
function placeFreeAt(atUs: number): Timed {
  return { atUs, place: -1, order: 0 };
}

/** A server that processes up to `capacity` requests at once and queues the others in order. */
export class Server {
  readonly #capacity: number;
  readonly #serviceUs: () => number;
  readonly #places = new Heap<Timed>();

  constructor(capacity: number, serviceUs: () => number) {
    this.#capacity = capacity;
    this.#serviceUs = serviceUs;
  }

  /** Accepts a request; returns the instant of its response. Instants must be ascending. */
  respond(atUs: number): number {
    let startUs = atUs;
    const earliest = this.#places.first;
    if (earliest !== undefined && (this.#places.size >= this.#capacity || earliest.atUs <= atUs)) {
      this.#places.remove(earliest);
      startUs = Math.max(atUs, earliest.atUs);
    }
    const endUs = startUs + this.#serviceUs();
    this.#places.add(placeFreeAt(endUs));
    return endUs;
  }
}

/** @throws RangeError with the reason */
export function parseServer(text: string): ServerSpec {
  const [term, ...others] = parseTerms(text, FORMS);
  if (others.length > 0) throw new RangeError('Give only one server.');
  const { serviceMs, capacity = Number.POSITIVE_INFINITY } = term.numbers;
  const serviceUs = sentence(() => {
    if (capacity !== Number.POSITIVE_INFINITY) {
      checkNumber('capacity', capacity, { min: 1, max: 1e6, integer: true });
    }
    return 1_000 * checkNumber('serviceMs', serviceMs, { min: 0.001, max: 1e7 });
  });
  const isRandom = term.kind === 'exponential';
  return {
    text: normal(text),
    isRandom,
    create: (seed) => {
      const random = randomNumbers(seed + SEED_OFFSET);
      return new Server(
        capacity,
        isRandom ? () => -serviceUs * Math.log(random()) : () => serviceUs,
      );
    },
  };
}
