import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { isAlive, startOf } from '../../../../core/runtime/process-alive.ts';

it('a running process is alive, and has a start time that stays', () => {
  expect(isAlive(process.pid)).toBe(true);
  expect(startOf(process.pid)).toMatch(/^\d+$/);
  expect(startOf(process.pid)).toBe(startOf(process.pid));
});

it('a process that has ended is not alive while its parent has not asked for its end', () => {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' });
  const pid = child.pid!;
  expect(isAlive(pid)).toBe(true);
  child.kill('SIGKILL');
  // The loop keeps Node from asking.
  while (!/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')));
  expect(isAlive(pid)).toBe(false);
});

it('a pid without a process is not alive', () => expect(isAlive(2 ** 22 + 1)).toBe(false));
