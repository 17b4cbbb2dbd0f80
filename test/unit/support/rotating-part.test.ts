import { describe, expect, it } from 'vitest';
import { rotatingPart } from '../../support/rotating-part.ts';

const files = Array.from({ length: 40 }, (_, index) => `test/long/${String(index).padStart(2, '0')}.test.ts`);
const commits = Array.from({ length: 6 }, (_, index) => `${index.toString(16).padStart(8, '0')}cafe`);

describe('the rotating part of the long files', () => {
  it('is the same for the same commit, whatever the order of the files', () => {
    expect(rotatingPart(files.toReversed(), commits[3]!)).toEqual(rotatingPart(files, commits[3]!));
  });

  it('reaches every file once over six kinds of commits', () => {
    expect(commits.flatMap((commit) => rotatingPart(files, commit)).toSorted()).toEqual(files);
  });

  it('has a sixth of the files, or one more', () => {
    for (const commit of commits) expect([6, 7]).toContain(rotatingPart(files, commit).length);
  });
});
