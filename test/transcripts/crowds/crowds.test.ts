import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { playLines } from '../script.ts';
import { CrowdStage } from './crowd-stage.ts';

const directory = 'test/transcripts/crowds';

const commands: { readonly [name: string]: (stage: CrowdStage, ...args: string[]) => unknown } = {
  start: (stage, name, count) => stage.start(name!, Number(count ?? 1)),
  crash: (stage) => stage.crash(),
};

describe('very many children of one parent, as conversations', () => {
  it.each(readdirSync(directory).filter((file) => file.endsWith('.txt')))('%s', async (file) => {
    const text = readFileSync(`${directory}/${file}`, 'utf8');
    await expect(await playLines(text, new CrowdStage(), commands)).toMatchFileSnapshot(`./${file}`);
  });
});
