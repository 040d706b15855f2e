// The search as a task of `drive`, with another prefix for each call.
import { search } from './search.mjs';

/** @param {import('zerotime/load').TaskCall} call */
export default function task({ sequence }) {
  return search((sequence % 1296).toString(36));
}
