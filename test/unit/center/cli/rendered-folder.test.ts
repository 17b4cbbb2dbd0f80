import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { writeFolder } from '../../../../center/cli/rendered-folder.ts';
import { UsageError } from '../../../../center/cli/usage-error.ts';

const root = mkdtempSync(join(tmpdir(), 'banyan-folder-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const files = (more: Record<string, string> = {}) => new Map(Object.entries({ 'README.md': 'a', ...more }));
const textsOf = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'));

describe('a rendered folder', () => {
  it('has the same bytes after a second run, and loses the files of nodes that are gone', () => {
    const folder = join(root, 'again');
    writeFolder(folder, files({ 'eu/values.yaml': 'b' }));
    const before = textsOf(folder);
    writeFolder(folder, files({ 'eu/values.yaml': 'b' }));
    expect(textsOf(folder)).toEqual(before);
    writeFolder(folder, files({ 'us/values.yaml': 'c' }));
    expect([existsSync(join(folder, 'eu/values.yaml')), existsSync(join(folder, 'us/values.yaml'))]).toEqual([
      false,
      true,
    ]);
  });

  it('goes on after a run that was ended before its list', () => {
    const folder = join(root, 'ended');
    writeFolder(folder, files({ 'eu/values.yaml': 'b' }));
    rmSync(join(folder, 'SHA256SUMS'));
    writeFolder(folder, files({ 'eu/values.yaml': 'b' }));
    expect(existsSync(join(folder, 'SHA256SUMS'))).toBe(true);
  });

  it.each([
    ['another file', 'notes.txt', /has another file, notes\.txt: name a new or an empty folder/],
    ['a file that was changed by hand', 'README.md', /README\.md was changed by hand: bring the change/],
  ])('is refused with %s, and nothing changes', (title, name, words) => {
    const folder = join(root, title);
    writeFolder(folder, files());
    writeFileSync(join(folder, name), 'mine');
    const before = textsOf(folder);
    expect(() => writeFolder(folder, files({ 'README.md': 'new' }))).toThrow(UsageError);
    expect(() => writeFolder(folder, files({ 'README.md': 'new' }))).toThrow(words);
    expect(textsOf(folder)).toEqual(before);
  });
});
