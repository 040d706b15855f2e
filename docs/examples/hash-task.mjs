// docs/examples/hash-task.mjs: hashes a text of the length given as data.
import { createHash } from 'node:crypto';

let text = '';

/** @param {import('zerotime/load').TaskSetup<{ length: number }>} setup */
export function setup({ data }) {
  text = 'x'.repeat(data.length);
}

export default function hash() {
  return createHash('sha256').update(text).digest('hex');
}
