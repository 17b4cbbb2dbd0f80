import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { lastLogError } from '../../../../core/runtime/last-log-error.ts';

describe('the last error in a log', () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-log-'));
  const file = join(directory, 'eu.log');
  afterAll(() => rmSync(directory, { recursive: true }));
  const line = (level: number, msg: string) => `${JSON.stringify({ level, msg })}\n`;

  it('is the message of the last line of this level, also at the end of a long file', () => {
    writeFileSync(file, `${line(60, 'old')}${'x'.repeat(100_000)}\n${line(50, 'no room')}${line(30, 'starts')}{"cut`);
    expect(lastLogError(file)).toBe('no room');
    writeFileSync(file, JSON.stringify({ level: 60, reason: 'the port is taken', msg: 'the node can not go on' }));
    expect(lastLogError(file)).toBe('the node can not go on: the port is taken');
  });

  it('is none without such a line, or without a file', () => {
    writeFileSync(file, line(30, 'starts'));
    expect([lastLogError(file), lastLogError(join(directory, 'none'))]).toEqual([undefined, undefined]);
  });
});
