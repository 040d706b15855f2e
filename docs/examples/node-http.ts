// docs/examples/node-http.ts: a thread that serves with node:http.
import { createServer } from 'node:http';
import { workerData } from 'node:worker_threads';
import { KeyedTokenBucket, rateLimitHeaders } from 'zerotime';

const { host, port } = workerData;
const perClient = KeyedTokenBucket.attach(workerData.perClient);

const server = createServer((request, response) => {
  const decision = perClient.decide(request.socket.remoteAddress ?? 'unknown');
  response.writeHead(decision.allowed ? 200 : 429, { ...rateLimitHeaders(decision) });
  response.end(decision.allowed ? 'Hello\n' : 'Too many requests\n');
});

server.listen(port, host, () => console.log('listening', server.address()));
