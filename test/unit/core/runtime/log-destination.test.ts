import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
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
    // The current page still has room.
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
    // A megabyte of lines waited.
    const kept = messages().filter((message) => message === 'too much').length;
    expect(kept).toBeGreaterThan(400);
    expect(kept).toBeLessThan(600);
    expect(messages().at(-1)).toBe('and further');
  }
  rmSync(directory, { recursive: true });
});

describe('a large log', () => {
  const rotation = { fileMiB: 0.01, files: 3 };
  const within = (test: (file: string, numbers: () => number[]) => void) => {
    const directory = mkdtempSync(join(tmpdir(), 'banyan-log-'));
    const file = join(directory, 'eu.log');
    /** All lines, the oldest file first; each line has to be whole. */
    const numbers = () =>
      [2, 1, 0]
        .map((age) => (age === 0 ? file : `${file}.${age}`))
        .filter((name) => existsSync(name))
        .flatMap((name) => readFileSync(name, 'utf8').split('\n').slice(0, -1))
        .map((line) => (JSON.parse(line) as { number: number }).number);
    test(file, numbers);
    rmSync(directory, { recursive: true });
  };
  const fill = (file: string, from: number, count: number, rotated = rotation) => {
    const log = pino({}, logDestination(file, rotated));
    for (let number = from; number < from + count; number++) log.info({ number, filling: 'x'.repeat(100) }, 'line');
  };

  it('is rotated between two lines; no line is lost, cut or repeated', () => {
    within((file, numbers) => {
      fill(file, 0, 120);
      expect(numbers()).toEqual(Array.from({ length: 120 }, (_, number) => number));
      expect(readdirSync(join(file, '..')).length).toBeGreaterThan(1);
      expect(statSync(file).size).toBeLessThan(0.01 * 2 ** 20 + 200);
      expect(statSync(file).mode & 0o777).toBe(0o600);
    });
  });

  it('is kept in a bounded number of files, with the newest lines', () => {
    within((file, numbers) => {
      fill(file, 0, 1_000);
      expect(readdirSync(join(file, '..')).sort()).toEqual(['eu.log', 'eu.log.1', 'eu.log.2']);
      const kept = numbers();
      expect(kept).toEqual(Array.from({ length: kept.length }, (_, i) => 1_000 - kept.length + i));
      expect(kept.length).toBeGreaterThan(100);
    });
  });

  it('counts the bytes that a former process wrote, killed or not, and continues behind them', () => {
    within((file, numbers) => {
      for (let start = 0; start < 12; start++) fill(file, 10 * start, 10);
      expect(numbers()).toEqual(Array.from({ length: 120 }, (_, number) => number));
      expect(existsSync(`${file}.1`)).toBe(true);
    });
  });

  it('may be a single file', () => {
    within((file, numbers) => {
      fill(file, 0, 200, { ...rotation, files: 1 });
      expect(readdirSync(join(file, '..'))).toEqual(['eu.log']);
      expect(numbers().at(-1)).toBe(199);
    });
  });

  it('still accepts lines if it cannot be rotated', () => {
    within((file, numbers) => {
      mkdirSync(join(`${file}.2`, 'of somebody else'), { recursive: true });
      fill(file, 0, 300);
      rmSync(`${file}.2`, { recursive: true });
      expect(numbers()).toEqual(Array.from({ length: 300 }, (_, number) => number));
    });
  });
});
