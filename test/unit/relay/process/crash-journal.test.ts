import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openCrashJournal } from '../../../../relay/process/crash-journal.ts';

describe('the crash journal', () => {
  let directory: string;
  const open = () => openCrashJournal(join(directory, 'work'));

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'banyan-note-'));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  it('is read by the next process as it was written last', () => {
    const note = open();
    expect(note.found).toBeUndefined();
    note.write('{"key":"o/größer"}');
    expect(open().found).toBe('{"key":"o/größer"}');
    note.write('{}');
    expect(open().found).toBe('{}');
    note.write('');
    expect(open().found).toBeUndefined();
  });

  it('is ignored if the machine left half of it', () => {
    writeFileSync(join(directory, 'work'), Buffer.of(200, 0, 0));
    expect(open().found).toBeUndefined();
  });
});
