import { describe, expect, test } from 'vitest';
import { handTicker, trust } from './hand-ticker.ts';

describe('a ticker clock', () => {
  test('that spins follows its ticker from reading to reading', () => {
    const scene = handTicker(0);
    const { system, looks, tick, read } = scene;
    trust(scene);
    let us = 0;
    for (const stepUs of [0.25, 3, 20, 0.5]) {
      us += stepUs;
      system.set(1000 + us / 1000);
      tick();
      looks.mockClear();
      expect(read()).toBe(us);
      expect(looks).not.toHaveBeenCalled();
    }
  });

  test('that spins is at most 100 us late at a look, and never ahead of one', () => {
    const scene = handTicker(0);
    const { system, cell, tick, read } = scene;
    tick();
    expect(read()).toBe(0);
    system.advance(0.1);
    expect(read()).toBe(0);
    system.advance(0.00025);
    expect(read()).toBe(100.25);
    trust(scene);
    // Damaged memory: as much ahead as a reader follows without a look, and more.
    Atomics.add(cell.beats, 0, 200);
    expect(read()).toBe(150.25);
    Atomics.add(cell.beats, 0, 1);
    expect(read(), 'no further in several steps').toBe(150.25);
    Atomics.add(cell.beats, 0, 201);
    expect(read(), 'time never runs backwards').toBe(150.25);
    system.advance(0.06);
    expect(read()).toBe(160.25);
  });

  test('that spins has beats that wrap around', () => {
    const scene = handTicker(0);
    const { system, tick, read } = scene;
    for (let minute = 0; minute < 40; minute++) {
      system.set(1000 + minute * 60_000);
      tick();
      expect(read()).toBe(minute * 60e6);
      system.advance(0.06);
      expect(read(), 'the last tick').toBe(minute * 60e6);
      system.advance(0.05);
      expect(read(), 'the system clock').toBe(minute * 60e6 + 110);
    }
  });
});
