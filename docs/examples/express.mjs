// docs/examples/express.mjs: a thread that serves with express.
import { createServer } from 'node:http';
import { workerData } from 'node:worker_threads';
import express from 'express';
import { KeyedTokenBucket } from 'zerotime';
import { expressMiddleware } from 'zerotime/http';

const limiter = KeyedTokenBucket.attach(workerData.perClient);
const app = express();
app.use(expressMiddleware({ limiter }));
app.get('/', (_request, response) => {
  response.send('Hello\n');
});

const server = createServer(app);
server.listen(workerData.listen, () => console.log('listening', server.address()));
