// docs/examples/node-http.mjs: a thread that serves with node:http.
import { createServer } from 'node:http';
import { workerData } from 'node:worker_threads';
import { KeyedTokenBucket } from 'zerotime';
import { nodeListener } from 'zerotime/http';

const limiter = KeyedTokenBucket.attach(workerData.perClient);
const server = createServer(
  nodeListener({ limiter }, (_request, response) => {
    response.end('Hello\n');
  }),
);

server.listen(workerData.listen, () => console.log('listening', server.address()));
