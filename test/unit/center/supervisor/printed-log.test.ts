import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { finished } from 'node:stream/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PrintedLog } from '../../../../center/supervisor/printed-log.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';

let directory: string;
let file: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'banyan-printed-'));
  file = join(directory, 'logs', 'eu.log');
});
afterEach(() => rmSync(directory, { recursive: true }));

const by = { node: 'eu', pid: 17, clock: new VirtualClock(1_000) };

async function print(...chunks: string[]): Promise<void> {
  const output = new PassThrough();
  new PrintedLog({ file }, by).take(output);
  for (const chunk of chunks) output.write(chunk);
  output.end();
  await finished(output);
}

const lines = () => readFileSync(file, 'utf8').split('\n').slice(0, -1);

describe('the output of a node beside its log', () => {
  it('is in the log, one line of JSON for each line, in whatever pieces it arrives', async () => {
    await print('FATAL ERROR: Reached heap ', 'limit\n\n 1: 0xb8\n {not JSON', '\nwithout an end');
    const line = (msg: string) => ({ level: 40, time: 1_000, node: 'eu', pid: 17, printed: true, msg });
    expect(lines().map((line) => JSON.parse(line) as unknown)).toEqual(
      ['FATAL ERROR: Reached heap limit', ' 1: 0xb8', ' {not JSON', 'without an end'].map(line),
    );
  });

  it('stays unchanged if it is a log line already', async () => {
    await print('{"level":30,"msg":"fine"}\n');
    expect(lines()).toEqual(['{"level":30,"msg":"fine"}']);
  });

  it('uses bounded memory without an end of line', async () => {
    await print('x'.repeat(100_000), 'y'.repeat(100_000));
    expect(lines().map((line) => (JSON.parse(line) as { msg: string }).msg.length)).toEqual([100_000, 100_000]);
  });

  it('uses bounded disk space', async () => {
    await print(...Array.from({ length: 300 }, () => `${'x'.repeat(10_000)}\n`));
    expect(statSync(file).size).toBeLessThan(1_200_000);
  });
});

it('is put aside before the next process writes, if a former process left too much', async () => {
  await print('first\n');
  writeFileSync(file, '{}\n'.repeat(4 * 2 ** 20));
  await print('second\n');
  expect(lines()).toHaveLength(1);
  expect(statSync(`${file}.1`).size).toBe(12 * 2 ** 20);
});
