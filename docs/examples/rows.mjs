// docs/examples/rows.mjs: sends each row of a file once, in order, over all threads.
import { readFileSync } from 'node:fs';

/** @type {readonly string[]} */
let rows = [];
let url = '';

/** @param {import('zerotime/load').TaskSetup<{ file: string, url: string }>} setup */
export function setup({ data }) {
  rows = readFileSync(data.file, 'utf8').trimEnd().split('\n');
  url = data.url;
}

/** @param {import('zerotime/load').TaskCall} call */
export default async function post({ sequence, signal }) {
  const body = rows[sequence];
  if (body === undefined) throw new RangeError('no rows are left');
  const response = await fetch(url, { method: 'POST', body, signal });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`status ${response.status}`);
}
