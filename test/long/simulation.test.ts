import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

/** In processes of its own: an ended simulated process leaves rejected promises behind, which a test runner treats as failures. */
function sim(...args: string[]): { code: number | null; lines: string[] } {
  const { status, stdout } = spawnSync(process.execPath, ['test/sim/run.ts', ...args], { encoding: 'utf8' });
  return { code: status, lines: stdout.trimEnd().split('\n') };
}

const summary = /^runs (\d+), violations (\d+), steps \d+, hash ([0-9a-f]{16})$/;

describe('the simulation', () => {
  it('gives the same run for the same seed, and another run for another seed', () => {
    const [first, again, other] = ['1', '1', '2'].map((seed) => sim('--seed', seed, '--runs', '3').lines.at(-1)!);
    expect(first).toMatch(summary);
    expect(again).toBe(first);
    expect(summary.exec(other!)?.[3]).not.toBe(summary.exec(first!)?.[3]);
  });

  it('finds no violation in the product', () => {
    const { code, lines } = sim('--runs', '10');
    expect(code).toBe(0);
    expect(summary.exec(lines.at(-1)!)?.slice(1, 3)).toEqual(['10', '0']);
  });

  it('converges although some lines stay dead', () => {
    expect(sim('--runs', '10', '--mode', 'liveness').code).toBe(0);
  });

  it.each(['send-before-flush', 'last-of-batch-skipped', 'narrowed-without-tombstone', 'sessions-forgotten'])(
    'finds the canary %s at once, and says after how many runs',
    (canary) => {
      const { code, lines } = sim('--canary', canary, '--runs', '20');
      expect(code).toBe(1);
      expect(lines.join('\n')).toMatch(new RegExp(`the canary ${canary} was found after \\d+ runs`));
      expect(lines.at(-1)).toMatch(summary);
    },
  );

  it('lists its canaries, one name a line, and refuses other names', () => {
    const { code, lines } = sim('--canary', 'list');
    expect(code).toBe(0);
    expect(lines.length).toBeGreaterThanOrEqual(10);
    expect(lines.every((line) => /^[a-z-]+$/.test(line))).toBe(true);
    expect(sim('--canary', 'none-such').code).toBe(2);
    expect(sim('--runs', 'many').code).toBe(2);
  });
});
