import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { logDestination } from '../../../../core/runtime/log-destination.ts';
import { SmallDisk, withoutSmallDisk } from '../../../support/small-disk.ts';

const why = withoutSmallDisk ? ` [not run: ${withoutSmallDisk}]` : '';

it.skipIf(withoutSmallDisk)(`a log on a full disk ends nobody, and goes on when there is room${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-log-'));
  const file = join(directory, 'log');
  const messages = () =>
    readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { msg: string }).msg);
  {
    using disk = new SmallDisk(directory, 4);
    const log = pino({}, logDestination(file));
    log.info({}, 'before');
    disk.fill(0);
    // The page that is begun has room still.
    log.info({ filling: 'x'.repeat(5_000) }, 'while it is full');
    log.fatal({}, 'also then');
    disk.free();
    log.info({}, 'after');
    expect(messages()).toEqual(['before', 'while it is full', 'also then', 'after']);
    disk.fill(0);
    for (let line = 0; line < 1_000; line++) log.info({ filling: 'x'.repeat(2_000) }, 'too much');
    disk.free();
    log.info({}, 'in the end');
    log.info({}, 'and further');
    // A megabyte of them waited.
    const kept = messages().filter((message) => message === 'too much').length;
    expect(kept).toBeGreaterThan(400);
    expect(kept).toBeLessThan(600);
    expect(messages().at(-1)).toBe('and further');
  }
  rmSync(directory, { recursive: true });
});
