import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { play } from './script.ts';

const directory = 'test/transcripts';

describe('the protocol, as conversations', () => {
  it.each(readdirSync(directory).filter((file) => file.endsWith('.txt')))('%s', async (file) => {
    const path = `${directory}/${file}`;
    await expect(await play(readFileSync(path, 'utf8'))).toMatchFileSnapshot(`./${file}`);
  });
});
