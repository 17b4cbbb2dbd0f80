import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { playStreams } from './stream-script.ts';

const directory = 'test/transcripts/streams';

describe('byte streams, as conversations', () => {
  it.each(readdirSync(directory).filter((file) => file.endsWith('.txt')))('%s', async (file) => {
    const text = readFileSync(`${directory}/${file}`, 'utf8');
    await expect(await playStreams(text)).toMatchFileSnapshot(`./${file}`);
  });
});
