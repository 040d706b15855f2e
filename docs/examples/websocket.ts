// docs/examples/websocket.ts: sends messages over one WebSocket for each thread, and awaits the echoes.
import { once } from 'node:events';
import { WebSocket } from 'undici'; // Node.js has it as a global, from 22 on
import type { TaskCall, TaskSetup } from 'zerotime/load';

let socket: WebSocket;
const waiting = new Map<string, () => void>();

export async function setup({ data: url, signal }: TaskSetup<string>): Promise<void> {
  socket = new WebSocket(url);
  socket.addEventListener('message', ({ data }) => waiting.get(String(data))?.());
  signal.addEventListener('abort', () => socket.close());
  await once(socket, 'open');
}

export default async function echo({ sequence, signal }: TaskCall): Promise<void> {
  const message = `message ${sequence}`;
  const echoed = new Promise<void>((resolve) => waiting.set(message, resolve));
  signal.addEventListener('abort', () => waiting.delete(message));
  socket.send(message);
  await echoed;
  waiting.delete(message);
}
