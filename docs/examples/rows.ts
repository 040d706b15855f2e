// docs/examples/rows.ts: sends each row of a file once, in order, over all threads.
import { readFileSync } from 'node:fs';
import type { TaskCall, TaskSetup } from 'zerotime/load';

let rows: readonly string[] = [];
let url = '';

export function setup({ data }: TaskSetup<{ file: string; url: string }>): void {
  rows = readFileSync(data.file, 'utf8').trimEnd().split('\n');
  url = data.url;
}

export default async function post({ sequence, signal }: TaskCall): Promise<void> {
  const body = rows[sequence];
  if (body === undefined) throw new RangeError('no rows are left');
  const response = await fetch(url, { method: 'POST', body, signal });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`status ${response.status}`);
}
