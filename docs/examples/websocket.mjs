// docs/examples/websocket.mjs: sends messages over one WebSocket for each thread, and awaits the echoes.
import { WebSocket } from 'undici'; // Node.js has it as a global, from 22 on

/** @type {WebSocket} */
let socket;
/** @type {Map<string, (value?: unknown) => void>} */
const waiting = new Map();

/** @param {import('zerotime/load').TaskSetup<string>} setup */
export async function setup({ data: url, signal }) {
  socket = new WebSocket(url);
  socket.addEventListener('message', ({ data }) => waiting.get(String(data))?.());
  signal.addEventListener('abort', () => socket.close());
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', ({ error }) => reject(error));
  });
}

/** @param {import('zerotime/load').TaskCall} call */
export default async function echo({ sequence, signal }) {
  const message = `message ${sequence}`;
  const echoed = new Promise((resolve) => waiting.set(message, resolve));
  signal.addEventListener('abort', () => waiting.delete(message));
  socket.send(message);
  await echoed;
  waiting.delete(message);
}
