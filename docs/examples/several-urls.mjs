// docs/examples/several-urls.mjs: requests several URLs in turn.
/** @type {readonly string[]} */
let urls = [];

/** @param {import('zerotime/load').TaskSetup<readonly string[]>} setup */
export function setup({ data }) {
  urls = data;
}

/** @param {import('zerotime/load').TaskCall} call */
export default async function get({ sequence, signal }) {
  const response = await fetch(urls[sequence % urls.length] ?? '', { signal });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`status ${response.status}`);
}
