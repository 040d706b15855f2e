import { Agent, get } from 'node:http';

const agent = new Agent({ keepAlive: true });

/** A task of a pool: one request, until the response is complete. */
export default function request(url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = get(url, { agent }, (response) => {
      response.on('error', reject).on('end', resolve).resume();
    });
    sent.on('error', reject);
  });
}
