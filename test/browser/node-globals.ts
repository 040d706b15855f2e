// What the contract suite uses of Node.js, for a page.

/** Listeners cannot be counted in a page. */
export function getEventListeners(): readonly never[] {
  return [];
}

/** Calls back in a later turn of the event loop. */
export function setImmediate(callback: () => void): void {
  setTimeout(callback, 0);
}
