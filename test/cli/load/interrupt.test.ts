import { afterEach, expect, it, vi } from 'vitest';
import { Interrupt } from '../../../src/cli/load/keys.ts';

afterEach(() => vi.restoreAllMocks());

it('the first interrupt aborts, a repeat of the same key press is ignored, and the second ends the process', () => {
  const ended = vi.spyOn(process, 'exit').mockImplementation((() => undefined) as never);
  const now = vi.spyOn(performance, 'now');
  const listeners = process.listenerCount('SIGINT');
  const interrupt = new Interrupt();
  expect(interrupt.signal.aborted).toBe(false);
  now.mockReturnValue(1_000);
  process.emit('SIGINT');
  expect(interrupt.signal.aborted).toBe(true);
  now.mockReturnValue(1_500);
  process.emit('SIGINT');
  expect(ended).not.toHaveBeenCalled();
  now.mockReturnValue(1_501);
  process.emit('SIGTERM');
  expect(ended).toHaveBeenCalledExactlyOnceWith(130);
  interrupt.dispose();
  expect(process.listenerCount('SIGINT')).toBe(listeners);
});
