// docs/examples/database.mjs: writes to Redis over one connection for each thread.
import { createClient } from 'redis';

const client = createClient({ url: process.env.REDIS_URL ?? 'redis://localhost:6379' });

export async function setup() {
  await client.connect();
}

/** @param {import('zerotime/load').TaskCall} call */
export default async function write({ sequence }) {
  await client.hSet(`user:${sequence % 1_000}`, { visits: sequence });
}

export async function teardown() {
  await client.close();
}
