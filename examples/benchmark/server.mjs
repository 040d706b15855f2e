// Serves the search in a thread of its own, so that the client of the benchmark does not compete with it.
import { createServer } from 'node:http';
import { parentPort } from 'node:worker_threads';
import { search } from './search.mjs';

const server = createServer(({ url = '/' }, response) => {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(search(url.slice(1))));
}).listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object') parentPort?.postMessage(address?.port);
});
