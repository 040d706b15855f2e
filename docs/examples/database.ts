// docs/examples/database.ts: writes to Redis over one connection for each thread.
import { createClient } from 'redis';
import type { TaskCall } from 'zerotime/load';

const client = createClient({ url: process.env['REDIS_URL'] ?? 'redis://localhost:6379' });

export async function setup(): Promise<void> {
  await client.connect();
}

export default async function write({ sequence }: TaskCall): Promise<void> {
  await client.hSet(`user:${sequence % 1_000}`, { visits: sequence });
}

export async function teardown(): Promise<void> {
  await client.close();
}
