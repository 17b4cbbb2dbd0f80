import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeWhole } from '../../../../core/runtime/whole-file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'banyan-whole-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const modeOf = (path: string) => statSync(path).mode & 0o777;

describe('a file that is written as a whole', () => {
  it('has the content and a mode that nobody else can read, with nothing beside it', () => {
    const file = join(folder, 'key');
    writeWhole(file, 'größer');
    expect([readFileSync(file, 'utf8'), modeOf(file), readdirSync(folder)]).toEqual(['größer', 0o600, ['key']]);
  });

  it('replaces an older file, with the requested mode and not the older one', () => {
    const file = join(folder, 'key');
    writeFileSync(file, 'old and longer than the new one', { mode: 0o644 });
    writeWhole(file, 'new');
    expect([readFileSync(file, 'utf8'), modeOf(file)]).toEqual(['new', 0o600]);
    writeWhole(file, 'public', { mode: 0o444 });
    expect([readFileSync(file, 'utf8'), modeOf(file)]).toEqual(['public', 0o444 & ~process.umask()]);
  });

  it('is a new file, so a reader of the older one reads all of it', () => {
    const file = join(folder, 'config');
    writeWhole(file, 'a');
    const before = statSync(file).ino;
    writeWhole(file, 'b');
    expect(statSync(file).ino).not.toBe(before);
  });

  it('gets its folders, for its owner only', () => {
    const file = join(folder, 'a', 'b', 'key');
    writeWhole(file, 'x');
    expect([readFileSync(file, 'utf8'), modeOf(join(folder, 'a')), modeOf(join(folder, 'a', 'b'))]).toEqual([
      'x',
      0o700,
      0o700,
    ]);
  });

  it('may be named relative to the working directory', () => {
    writeWhole(relative(process.cwd(), join(folder, 'new', 'key')), 'x');
    expect(readFileSync(join(folder, 'new', 'key'), 'utf8')).toBe('x');
  });

  it('does not use the mode or content that a killed process left', () => {
    const file = join(folder, 'key');
    const left = `${file}.${process.pid}.tmp`;
    writeFileSync(left, 'left over');
    chmodSync(left, 0o666);
    writeWhole(file, 'x');
    expect([readFileSync(file, 'utf8'), modeOf(file), readdirSync(folder)]).toEqual(['x', 0o600, ['key']]);
  });

  it('leaves the former file, and nothing beside it, if it cannot be put in place', () => {
    const taken = join(folder, 'taken');
    mkdirSync(taken);
    writeFileSync(join(taken, 'inside'), 'kept');
    expect(() => writeWhole(taken, 'x')).toThrow(
      expect.objectContaining({
        code: 'Internal',
        message: expect.stringMatching(/\/taken was not written \(.*\): see that there is room, and that/),
      }),
    );
    expect([readdirSync(folder), readFileSync(join(taken, 'inside'), 'utf8')]).toEqual([['taken'], 'kept']);
  });

  it('is named in the error if its folder cannot be made', () => {
    writeFileSync(join(folder, 'file'), 'kept');
    expect(() => writeWhole(join(folder, 'file', 'key'), 'x')).toThrow(/\/file\/key was not written \(E/);
    expect(readFileSync(join(folder, 'file'), 'utf8')).toBe('kept');
  });
});
