import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeAllPrivate, makePrivate } from '../../../../core/runtime/private-files.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'banyan-private-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const modeOf = (path: string) => statSync(path).mode & 0o7777;

it('removes from a folder and everything in it the rights of others, and keeps those of the owner', () => {
  const [own, deep, other] = ['own', 'own/deep', 'other'].map((name) => join(folder, name)) as [string, string, string];
  mkdirSync(deep, { recursive: true });
  const [file, program, elsewhere] = [join(deep, 'file'), join(own, 'program'), other];
  for (const path of [file, program, elsewhere]) writeFileSync(path, '');
  symlinkSync(elsewhere, join(own, 'link'));
  const before = { [own]: 0o755, [deep]: 0o2777, [file]: 0o644, [program]: 0o555, [elsewhere]: 0o644 };
  for (const [path, mode] of Object.entries(before)) chmodSync(path, mode);
  makeAllPrivate(own);
  const after = Object.fromEntries(Object.keys(before).map((path) => [path, modeOf(path)]));
  expect(after).toEqual({ [own]: 0o700, [deep]: 0o2700, [file]: 0o600, [program]: 0o500, [elsewhere]: 0o644 });
});

it('ignores a missing folder', () => {
  makePrivate(join(folder, 'nothing'));
});
