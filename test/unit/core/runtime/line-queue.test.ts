import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock, VirtualClock } from '../../../../core/runtime/clock.ts';
import { LineQueue, type LineTarget } from '../../../../core/runtime/line-queue.ts';
import { RotatedFile } from '../../../../core/runtime/line-targets.ts';

/** A disk that takes at most 4 bytes at a time, or nothing while `trouble` is set. */
class SlowDisk implements LineTarget {
  text = '';
  trouble: string | undefined;
  append(bytes: Buffer): Promise<number> {
    if (this.trouble !== undefined) return Promise.reject(new Error(this.trouble));
    const part = bytes.subarray(0, 4);
    this.text += part.toString();
    return Promise.resolve(part.length);
  }
  betweenLines(): Promise<void> {
    expect(this.text.endsWith('\n')).toBe(true);
    return Promise.resolve();
  }
  close(): Promise<void> {
    return Promise.resolve();
  }
}

describe('a line queue', () => {
  it('keeps lines while the disk is full, and writes each exactly once afterwards', async () => {
    const disk = new SlowDisk();
    const clock = new VirtualClock();
    const queue = new LineQueue({ target: disk, clock, queueBytesMax: 40 });
    queue.write('first line\n');
    await Promise.resolve();
    disk.trouble = 'ENOSPC';
    expect(queue.write('second line\n')).toBe(true);
    await vi.waitFor(() => expect(queue.trouble).toBe('ENOSPC'));
    expect(queue.write('third line\n')).toBe(true);
    expect(queue.isFilling).toBe(true);
    expect(queue.write('a line that is too long\n')).toBe(false);
    disk.trouble = undefined;
    clock.advance(1_000);
    await vi.waitFor(() => expect(disk.text).toBe('first line\nsecond line\nthird line\n'));
    expect(queue.trouble).toBeUndefined();
    await vi.waitFor(() => expect(queue.isFilling).toBe(false));
  });

  it('ends although the disk stays full', async () => {
    const disk = new SlowDisk();
    disk.trouble = 'ENOSPC';
    const clock = new VirtualClock();
    const queue = new LineQueue({ target: disk, clock, queueBytesMax: 40 });
    queue.write('a line\n');
    const ended = queue[Symbol.asyncDispose]();
    clock.advance(2_000);
    await ended;
    expect(disk.text).toBe('');
  });
});

describe('a rotated file', () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-lines-'));
  const file = join(directory, 'audit.log');
  afterEach(() => {
    for (const name of readdirSync(directory)) rmSync(join(directory, name));
  });

  it('is private, and keeps as many older files as it may', async () => {
    writeFileSync(file, '', { mode: 0o644 });
    const target = new RotatedFile({ file, rotation: { fileMiB: 10 / 2 ** 20, files: 2 }, clock: systemClock });
    for (const line of ['one line of text\n', 'two lines of text\n', 'three lines of text\n', 'four\n']) {
      await target.append(Buffer.from(line));
      await target.betweenLines();
    }
    await target.close();
    expect(readFileSync(file, 'utf8')).toBe('four\n');
    expect(readFileSync(`${file}.1`, 'utf8')).toBe('three lines of text\n');
    expect(readdirSync(directory)).toHaveLength(2);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('removes older files after their time', async () => {
    writeFileSync(`${file}.1`, 'new\n');
    writeFileSync(`${file}.2`, 'old\n');
    const oldSeconds = Date.now() / 1_000 - 3 * 86_400;
    utimesSync(`${file}.2`, oldSeconds, oldSeconds);
    const ageMsMax = 2 * 86_400_000;
    const target = new RotatedFile({ file, rotation: { fileMiB: 1, files: 5 }, ageMsMax, clock: systemClock });
    await target.append(Buffer.from('line\n'));
    await target.close();
    expect(readdirSync(directory).sort()).toEqual(['audit.log', 'audit.log.1']);
  });
});
