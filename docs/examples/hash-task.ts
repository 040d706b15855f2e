// docs/examples/hash-task.ts: hashes a text of the length given as data.
import { createHash } from 'node:crypto';
import type { TaskSetup } from 'zerotime/load';

let text = '';

export function setup({ data }: TaskSetup<{ length: number }>): void {
  text = 'x'.repeat(data.length);
}

export default function hash(): string {
  return createHash('sha256').update(text).digest('hex');
}
