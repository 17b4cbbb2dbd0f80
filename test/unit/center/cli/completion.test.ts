import { describe, expect, it } from 'vitest';
import {
  completionLines,
  completionsOf,
  type TypedOptions,
  type WordSource,
} from '../../../../center/cli/completion.ts';
import { commandTable } from '../../../../center/cli/program.ts';

const asked: TypedOptions[] = [];
const answer =
  (...all: string[]) =>
  async (typed: TypedOptions) => {
    asked.push(typed);
    return all;
  };
const values: WordSource = {
  paths: answer('eu', 'eu:paris', 'us'),
  contexts: answer('node/center', 'space/center/retail', 'prod'),
  placements: answer('epl/web', 'epl/till'),
  objects: async (kind) => [`${kind}/web`, `${kind}/till`],
};

async function candidates(line: string, of = values): Promise<string[]> {
  const found = await completionsOf(commandTable(), line.split(' '), of);
  return found.candidates.map(({ value }) => value);
}

describe('the candidates for a word', () => {
  it.each([
    ['tr', ['tree']],
    ['user ', ['add', 'revoke', 'help']],
    ['topology val', ['validate']],
    ['tree eu', ['eu', 'eu:paris']],
    ['tree eu ', []],
    ['why deployment/w', ['deployment/web']],
    ['why deploy', []],
    ['why deployment/web --at u', ['us']],
    ['status e', ['epl/web', 'epl/till']],
    ['status --space ', ['space/center/retail']],
    ['status --context ', ['node/center', 'space/center/retail', 'prod']],
    ['tree -o ', ['json', 'yaml', 'wide', 'name']],
    ['tree -o=json --wat', ['--watch']],
    ['tree --output=json eu:', ['eu:paris']],
    ['tree -w eu:', ['eu:paris']],
    ['up --log', []],
    ['completion ', ['bash', 'zsh', 'fish']],
    ['comple', ['completion']],
    ['nonsense ', []],
  ])('of "%s" are %j', async (line, expected) => {
    expect(await candidates(line)).toEqual(expected);
  });

  it('come from the tree that the words before name', async () => {
    asked.length = 0;
    await candidates('status --kubeconfig k --context=prod e');
    expect(asked).toEqual([{ kubeconfig: 'k', context: 'prod' }]);
  });

  it('are none if the tree does not answer', async () => {
    const silent = { ...values, paths: async () => Promise.reject(new Error('no answer')) };
    expect(await candidates('tree ', silent)).toEqual([]);
  });
});

it('the shell offers files only for files', async () => {
  const lines = async (line: string) => completionLines(await completionsOf(commandTable(), line.split(' '), values));
  expect(await lines('up -f ')).toEqual([':0']);
  expect(await lines('join-token eu:x --ttl ')).toEqual([':4']);
  expect(await lines('tree --wa')).toEqual(['--watch\tshow the tree again every second, in place on a terminal', ':4']);
});
