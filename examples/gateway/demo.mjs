// Starts a backend that serves eight requests at once, the gateway in front of it, and two tenants: one
// asks for more than its limits, the other for less. Then kills a process of the gateway, and asks again.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { HostRegion } from 'zerotime/host';
import { openLimits } from './limits.mjs';

const { REGION = `gateway-demo-${process.pid}`, PROCESSES = '4' } = process.env;
const SLOTS = 8;

/** @type {(() => void)[]} */
const queue = [];
let inWork = 0;
let most = 0;

/** Works for 20 ms on at most eight requests at once; the others queue. */
async function work() {
  if (inWork === SLOTS) await new Promise((resolve) => queue.push(() => resolve(undefined)));
  inWork++;
  await setTimeout(20);
  inWork--;
  queue.shift()?.();
}

let inBackend = 0;
const backend = createServer(async (_request, response) => {
  most = Math.max(most, ++inBackend);
  await work();
  inBackend--;
  response.end('done\n');
}).listen(0, '127.0.0.1');
await once(backend, 'listening');
/** @param {import('node:http').Server} server */
const portOf = (server) => /** @type {import('node:net').AddressInfo} */ (server.address()).port;

const gateway = spawn(process.execPath, [fileURLToPath(new URL('gateway.mjs', import.meta.url))], {
  env: {
    ...process.env,
    ...{ REGION, PROCESSES, PORT: '0', BACKEND: `http://127.0.0.1:${portOf(backend)}` },
  },
  stdio: ['ignore', 'pipe', 'inherit'],
});
process.once('exit', () => gateway.kill()); // also if the demo fails
const lines = createInterface(gateway.stdout)[Symbol.asyncIterator]();
async function nextPort() {
  const { value, done } = await lines.next();
  if (done) process.exit(1); // the gateway has said why
  return Number(value.split(' ')[1]);
}
let port = 0;
for (let i = 0; i < Number(PROCESSES); i++) port = await nextPort();

/**
 * Sends requests at once. Returns how many got each status.
 * @param {string} key
 * @param {number} count
 */
async function ask(key, count) {
  const send = async () => {
    const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { 'x-api-key': key } });
    await response.arrayBuffer();
    return response.status;
  };
  /** @type {Record<number, number>} */
  const counts = {};
  for (const status of await Promise.all(Array.from({ length: count }, send))) {
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

const startMs = performance.now();
const [acme, umbrella, nobody] = await Promise.all([
  ask('key-1', 200),
  ask('key-2', 15),
  ask('guess', 1),
]);
console.log('acme asks 200 times:', acme);
console.log('umbrella asks 15 times:', umbrella);
console.log('nobody asks once:', nobody);
console.log('most requests in the backend at once:', most);

const region = HostRegion.open({ path: REGION });
const { semaphore } = openLimits(region);
const victim = region.processes().find(({ pid }) => pid !== process.pid)?.pid ?? 0;
process.kill(victim, 'SIGKILL');
port = await nextPort();
const again = await ask('key-1', 200);
console.log('acme asks 200 times, after a process was killed:', again);
console.log('seconds:', ((performance.now() - startMs) / 1000).toFixed(3));
console.log('permits:', semaphore.available(), 'of', semaphore.permits, 'free');

region.close();
gateway.kill();
backend.close();
backend.closeAllConnections();
rmSync(region.path);
