/** The requests to a supervisor: the answers to the process that asks, and the refusals. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { requestChange, serveChanges } from '../../../../center/supervisor/change-requests.ts';
import { DataDirectory } from '../../../../center/supervisor/data-directory.ts';
import type { Supervisor } from '../../../../center/supervisor/supervisor.ts';
import { systemClock } from '../../../../core/runtime/clock.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';

let data: DataDirectory;
beforeEach(() => {
  data = new DataDirectory(mkdtempSync(join(tmpdir(), 'banyan-requests-')));
});
afterEach(() => {
  process.removeAllListeners('SIGUSR2');
  rmSync(data.root, { recursive: true, force: true });
});

const ask = (pid: number) => {
  const wanted = { name: 'shop', nodes: [], moved: {}, withdraw: [] };
  return requestChange(pid, wanted, 1_000, { data, clock: systemClock, random: new SeededRandom(1) });
};

it('writes no request for a supervisor that is still starting: its signal would end the supervisor', async () => {
  writeFileSync(data.supervisor, JSON.stringify({ pid: process.pid }));
  await expect(ask(process.pid)).rejects.toMatchObject({
    code: 'Unavailable',
    message: expect.stringMatching(/still starting/),
  });
  expect(existsSync(data.wanted)).toBe(false);
});

it('says that the supervisor has ended, and how to go on', async () => {
  writeFileSync(data.supervisor, JSON.stringify({ pid: 2 ** 30, takesChanges: true }));
  await expect(ask(2 ** 30)).rejects.toMatchObject({
    code: 'Unavailable',
    message: expect.stringMatching(/has ended: .*banyan up -f TOPOLOGY/),
  });
});

it('reports no success if the tree was ended in the middle of the change', async () => {
  const supervisor = {
    running: new Set<string>(),
    take: async (_tree: object, whenStopped: () => void) => whenStopped(),
    ready: async () => false,
  } as unknown as Supervisor;
  const printed: string[] = [];
  const ports = {
    data,
    clock: systemClock,
    random: new SeededRandom(1),
    print: (line: string) => void printed.push(line),
  };
  serveChanges(supervisor, ports);
  await expect(ask(process.pid)).rejects.toMatchObject({
    code: 'Unavailable',
    message: expect.stringMatching(/was ended meanwhile/),
  });
  expect(printed).toEqual([expect.stringMatching(/^a change of the topology failed: /)]);
});
