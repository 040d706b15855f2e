import { continuous } from '../../src/kernel/bucket/schedule.ts';
import { PlainKernel } from '../support/plain-bucket.ts';
import { operations, type Reference, type Subject } from './subject.ts';
import { reference as tokenReference } from './token-reference.ts';
import { tokenCalls } from './token-subject.ts';

const NOW_US = 1_000_000;

/** The word, the rate and the burst. `setup` as for a bucket. */
export function create(setup: string): SharedArrayBuffer {
  const [, rate = 1, burst = 1, initial = burst] = setup.split(' ').map(Number);
  const buffer = new SharedArrayBuffer(24);
  new Float64Array(buffer).set([0, rate, burst]);
  const bucket = open(buffer);
  bucket.drain(NOW_US, burst);
  bucket.returnTokens(NOW_US, initial);
  return buffer;
}

function open(buffer: SharedArrayBuffer): PlainKernel {
  const [, rate = 1, burst = 1] = new Float64Array(buffer);
  return new PlainKernel(buffer, continuous(rate, burst));
}

export function attach(buffer: SharedArrayBuffer): Subject {
  return operations(tokenCalls(open(buffer), NOW_US));
}

export function reference(setup: string): Reference {
  return tokenReference(setup, true);
}

export function observe(buffer: SharedArrayBuffer): unknown {
  const bucket = open(buffer);
  const { rate, burst } = bucket.schedule();
  return { limits: [[rate, burst]], tokens: [bucket.balance(NOW_US)], doubled: [] };
}
