import { LeakyBucket, ManualClock, Region, TokenBucket } from '../../src/index.ts';
import type { Random } from './random.ts';

// Only the DOM library declares it.
declare const WebAssembly: {
  readonly Memory: {
    new (limits: { initial: number; maximum?: number; shared?: boolean }): object;
    readonly prototype: object;
  };
};

/** A handle whose fields may hold anything. */
type Damaged = Record<string, unknown>;

const clock = ManualClock.create({ nowMs: 1000 });

/** A region with one limiter of each kind, from which damaged copies are made. */
const PRISTINE = (() => {
  const bytes = 64 + 576 + 4736 + 3 * 576;
  const region = Region.create({ buffer: new SharedArrayBuffer(bytes) });
  const continuous = TokenBucket.create({ rate: 1000, burst: 10, clock, region });
  const counted = TokenBucket.create({ rate: 1 / 3, burst: 10, clock, region, stats: true });
  const filled = { quantum: 5, fillIntervalMs: 10, burst: 10 };
  const quantum = TokenBucket.create({ ...filled, clock, region });
  const leaky = LeakyBucket.create({ rate: 1000, slack: 2, clock, region });
  const rate = Number.POSITIVE_INFINITY;
  const unlimited = TokenBucket.create({ rate, burst: 10, clock, region });
  const limiters = [
    { handle: continuous.handle, bytes: 576 },
    { handle: counted.handle, bytes: 4736 },
    { handle: quantum.handle, bytes: 576 },
    { handle: leaky.handle, bytes: 576 },
    { handle: unlimited.handle, bytes: 576 },
  ] as const;
  return { region, limiters };
})();

/** A limiter's first line, which starts with its word, and its configuration records. */
const LINE_BYTES = 64;
const RECORDS_BYTES = 8 * LINE_BYTES;
const FLOATS = [
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  0,
  -1,
  5e-324,
  1e-300,
  2 ** 53,
  2 ** 61,
  -(2 ** 61),
  Number.MAX_VALUE,
  -Number.MAX_VALUE,
  1e-3,
  1e12,
] as const;
const INTEGERS = [0, 1, -1, 2, 64, 65, 128, 255, 2 ** 31 - 1, -(2 ** 31)] as const;

/** Overwrites memory with random bits, bytes, or numbers that are hard to compute with. */
export function scribble(random: Random, buffer: SharedArrayBuffer, from: number, to: number) {
  const end = Math.min(to, buffer.byteLength - (buffer.byteLength % 8));
  if (end - from < 8) return;
  const bytes = new Uint8Array(buffer);
  const at = from + random.below((end - from) >> 3) * 8;
  switch (random.below(5)) {
    case 0:
      bytes[at + random.below(8)] = random.below(256);
      break;
    case 1:
      for (let i = 0; i < 8; i++) bytes[at + i] = random.below(256);
      break;
    case 2:
      new Int32Array(buffer, 0, end >> 2)[(at >> 2) + random.below(2)] = random.pick(INTEGERS);
      break;
    case 3:
      new Float64Array(buffer, 0, end >> 3)[at >> 3] = random.pick(FLOATS);
      break;
    case 4: {
      const i64 = new BigInt64Array(buffer, 0, end >> 3);
      i64[at >> 3] = (i64[at >> 3] ?? 0n) ^ (1n << BigInt(random.below(64)));
      break;
    }
  }
}

/** Values that are not valid in a handle. */
function nonsense(random: Random, scribbled: () => void): unknown {
  const thrown = () => {
    throw new Error('a trap of a hostile handle');
  };
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const choices: [() => unknown, ...(() => unknown)[]] = [
    () => undefined,
    () => null,
    () => random.bits() - 2 ** 31,
    () => random.pick(FLOATS),
    () => random.pick(INTEGERS),
    () => random.pick(['', 'system', 'manual', 'token-bucket', 'leaky-bucket', 'constructor']),
    () => 10n ** 30n,
    () => Symbol('hostile'),
    () => thrown,
    () => [],
    () => new ArrayBuffer(128),
    () => new SharedArrayBuffer(random.below(200)),
    () => Object.create(SharedArrayBuffer.prototype),
    () => Object.create(WebAssembly.Memory.prototype),
    () => new WebAssembly.Memory({ initial: 1 }),
    () => new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }),
    () => revoked.proxy,
    () => new Proxy({}, { get: thrown, getPrototypeOf: thrown, has: thrown, ownKeys: thrown }),
    () => ({ toString: thrown, valueOf: thrown, [Symbol.toPrimitive]: thrown }),
    () => ({ name: 'manual', buffer: new SharedArrayBuffer(16) }),
    () => ({ name: 'manual', buffer: random.pick([null, new SharedArrayBuffer(8), 5]) }),
    () => ({ name: 'manual', buffer: Object.create(SharedArrayBuffer.prototype) }),
    () => ({ get name() { return thrown(); } }), // biome-ignore format: one choice per line
    () => ({ get name() { scribbled(); return 'system'; } }), // biome-ignore format: one choice per line
    () => ({ name: 'manual', get buffer() { return thrown(); } }), // biome-ignore format: one choice per line
  ];
  return random.pick(choices)();
}

const FIELDS = ['zerotime', 'version', 'memory', 'offset', 'nonce', 'clock'] as const;

/** A damaged handle and its memory. */
export interface Damage {
  readonly handle: Damaged;
  readonly buffer: SharedArrayBuffer;
  /** Damages the limiter further. */
  readonly scribble: () => void;
  /** If only the limiter's word and records are damaged: all other bytes, which must not change. */
  readonly others?: () => Buffer;
}

/** A damaged handle, or a handle to damaged memory, as determined by `random`. */
export function damaged(random: Random): Damage {
  const { region, limiters } = PRISTINE;
  const { handle: pristine, bytes } = random.pick(limiters);
  const { offset } = pristine;
  if (random.below(3) === 0) {
    const buffer = copied(region.buffer.byteLength);
    const scribbleWithin = () => {
      const records = offset + LINE_BYTES;
      scribble(random, buffer, records, records + RECORDS_BYTES);
      if (random.below(2) === 0) scribble(random, buffer, offset, offset + 8);
    };
    for (let times = random.below(4); times >= 0; times--) scribbleWithin();
    const all = new Uint8Array(buffer);
    const others = () => Buffer.concat([all.subarray(0, offset), all.subarray(offset + bytes)]);
    return { handle: { ...pristine, memory: buffer }, buffer, scribble: scribbleWithin, others };
  }
  const whole = region.buffer.byteLength;
  const buffer = copied(random.below(8) === 0 ? random.below(whole) : whole);
  const scribbleAnywhere = () => {
    const from = random.pick([0, offset, offset]);
    scribble(random, buffer, from, from + LINE_BYTES * random.pick([1, 1, 9]));
  };
  for (let times = random.below(4); times > 0; times--) scribbleAnywhere();
  const handle: Damaged = { ...pristine, memory: buffer };
  if (random.below(3) === 0) {
    const field = random.pick(FIELDS);
    handle[field] = nonsense(random, scribbleAnywhere);
    if (random.below(8) === 0) delete handle[field];
  }
  const hostile = random.below(16) === 0 ? nonsense(random, scribbleAnywhere) : handle;
  return { handle: hostile as Damaged, buffer, scribble: scribbleAnywhere };
}

function copied(bytes: number): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(bytes);
  new Uint8Array(buffer).set(new Uint8Array(PRISTINE.region.buffer, 0, bytes));
  return buffer;
}
