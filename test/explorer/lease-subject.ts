import { ManualClock, Region, TokenBucket } from '../../src/index.ts';
import { nonceOf } from '../../src/memory/cell.ts';
import { REGION_HEADER_BYTES } from '../../src/memory/layout.ts';
import type { Operation, Subject } from './subject.ts';

const OFFSET = REGION_HEADER_BYTES;

/** `setup` is `burst initial`; time stands still. */
export function create(setup: string): SharedArrayBuffer {
  const [burst = 1, initial = burst] = setup.split(' ').map(Number);
  const region = Region.create({ buffer: new SharedArrayBuffer(1024) });
  TokenBucket.create({ rate: 1, burst, initial, region, clock: ManualClock.create() });
  return region.buffer;
}

function open(buffer: SharedArrayBuffer): TokenBucket {
  const nonce = nonceOf({ region: Region.open(buffer), offset: OFFSET, bytes: 0 });
  const clock = ManualClock.create().handle;
  const cell = { memory: buffer, offset: OFFSET, nonce };
  return TokenBucket.attach({ zerotime: 'token-bucket', version: 1, ...cell, clock });
}

/** Each thread has a lease of its own. */
export function attach(buffer: SharedArrayBuffer): Subject {
  const bucket = open(buffer);
  const lease = bucket.lease({ size: 64 });
  return {
    run([name, a = 0, b = 0]: Operation): unknown {
      switch (name) {
        case 'spend':
          return lease.tryConsume(a);
        case 'release':
          return lease.release() >= 0;
        // reconfigure rate burst
        case 'reconfigure':
          return bucket.reconfigure({ rate: a, burst: b }) ?? null;
        default:
          throw new Error(`no operation ${name}`);
      }
    },
  };
}

export function observe(buffer: SharedArrayBuffer): unknown {
  const bucket = open(buffer);
  return { rate: bucket.rate, burst: bucket.burst, balance: bucket.balance() };
}
