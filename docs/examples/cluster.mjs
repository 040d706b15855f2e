// docs/examples/cluster.mjs: several processes serve one port with express, under one limit.
import cluster from 'node:cluster';
import express from 'express';
import { KeyedTokenBucket } from 'zerotime';
import { HostRegion } from 'zerotime/host';
import { expressMiddleware } from 'zerotime/http';

const { HOST = '127.0.0.1', PORT = '8080', PROCESSES = '4', REGION = 'example' } = process.env;
const { RATE = '10', BURST = '20' } = process.env;

if (cluster.isPrimary) {
  for (let i = 0; i < Number(PROCESSES); i++) cluster.fork();
  cluster.on('listening', (worker, { port }) => {
    console.log('listening', port);
    worker.once('exit', () => cluster.fork());
  });
} else {
  const region = HostRegion.open({ path: REGION, bytes: 8_388_608 });
  const limiter = KeyedTokenBucket.open(region, 'per client', {
    rate: Number(RATE),
    burst: Number(BURST),
    capacity: 100_000,
  });
  const app = express();
  app.use(expressMiddleware({ limiter }));
  app.get('/', (_request, response) => {
    response.send(`Hello from process ${process.pid}\n`);
  });
  app.listen(Number(PORT), HOST);
}
