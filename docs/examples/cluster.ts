// docs/examples/cluster.ts: several processes serve one port with express, under one limit.
import cluster from 'node:cluster';
import express from 'express';
import { KeyedTokenBucket, rateLimitHeaders } from 'zerotime';
import { HostRegion } from 'zerotime/host';

const { HOST = '127.0.0.1', PORT = '8080', PROCESSES = '4', REGION = 'example' } = process.env;
const { RATE = '10', BURST = '20' } = process.env;

if (cluster.isPrimary) {
  for (let i = 0; i < Number(PROCESSES); i++) cluster.fork();
  cluster.on('listening', (_, { port }) => console.log('listening', port));
  cluster.on('exit', () => cluster.fork());
} else {
  const region = HostRegion.open({ path: REGION, bytes: 8_388_608 });
  const perClient = KeyedTokenBucket.open(region, 'per client', {
    rate: Number(RATE),
    burst: Number(BURST),
    capacity: 100_000,
  });
  const app = express();
  app.use((request, response, next) => {
    const decision = perClient.decide(request.ip ?? 'unknown');
    response.set({ ...rateLimitHeaders(decision), 'x-process': `${process.pid}` });
    if (decision.allowed) next();
    else response.status(429).send('Too many requests\n');
  });
  app.get('/', (_request, response) => {
    response.send('Hello\n');
  });
  app.listen(Number(PORT), HOST);
}
