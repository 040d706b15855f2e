// docs/examples/several-urls.ts: requests several URLs in turn.
import type { TaskCall, TaskSetup } from 'zerotime/load';

let urls: readonly string[] = [];

export function setup({ data }: TaskSetup<readonly string[]>): void {
  urls = data;
}

export default async function get({ sequence, signal }: TaskCall): Promise<void> {
  const response = await fetch(urls[sequence % urls.length] ?? '', { signal });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`status ${response.status}`);
}
