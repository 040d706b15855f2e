import { requestTemplate } from './connection.ts';
import type { LoadThreadData } from './messages.ts';
import { Sender } from './sender.ts';
import type { WorkHooks } from './work.ts';

/** A connection that takes longer to open is opened by its first request. */
const OPEN_MS = 2_000;

/** Creates a sender and opens its first connections. */
export async function openSender(data: LoadThreadData, hooks: WorkHooks): Promise<Sender> {
  const { url, connections, openAhead, request, timeoutMs, transport } = data;
  const target = new URL(url);
  const sender = new Sender({
    ...hooks,
    origin: target.origin,
    host: request.headers.find(([name]) => name.toLowerCase() === 'host')?.[1],
    request: requestTemplate(target, request),
    connections,
    transport,
    timeoutMs,
  });
  await sender.open(openAhead, Math.min(timeoutMs, OPEN_MS));
  return sender;
}
