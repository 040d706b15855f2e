// docs/examples/express.ts: a thread that serves with express.
import { workerData } from 'node:worker_threads';
import express from 'express';
import { KeyedTokenBucket, rateLimitHeaders } from 'zerotime';

const { host, port } = workerData;
const perClient = KeyedTokenBucket.attach(workerData.perClient);

const app = express();
app.use((request, response, next) => {
  const decision = perClient.decide(request.ip ?? 'unknown');
  response.set({ ...rateLimitHeaders(decision) });
  if (decision.allowed) next();
  else response.status(429).send('Too many requests\n');
});
app.get('/', (_request, response) => {
  response.send('Hello\n');
});

const server = app.listen(port, host, () => console.log('listening', server.address()));
