import { expect, it } from 'vitest';
import { lossesOf } from '../../../../center/cli/difference-output.ts';

const remove = (path: string, takesAway?: string) => ({
  action: 'remove' as const,
  path,
  fields: [],
  ...(takesAway === undefined ? {} : { takesAway }),
});
const nodes = ['', 'eu', 'us'].map((path) => ({ path }));

it('a person has to agree to lost workloads, and to the loss of the whole tree even if nothing runs there', () => {
  expect(lossesOf(nodes, [remove('us')])).toBeUndefined();
  expect(lossesOf(nodes, [remove('us', 'the objects of ops')])).toBe('us: the objects of ops');
  expect(lossesOf(nodes, [remove('us'), remove('eu')])).toBe('center: every node below it, and their workloads');
  expect(lossesOf([{ path: '' }], [])).toBeUndefined();
});
