import { describe, expect, it } from 'vitest';
import { askReplicas, spaceContexts } from '../../../../center/cli/node-contexts.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';

const away = new BanyanError('Unavailable', 'does not answer');

describe('spaceContexts', () => {
  it('gives those of a relay and of its siblings, and no others', () => {
    const contexts = ['node/eu', 'space/eu/center.retail', 'space/eu~1/center.retail', 'space/eu:fr/center.retail'];
    expect(spaceContexts([...contexts, 'space/eu/center.bank'], 'eu', 'center.retail')).toEqual([
      'space/eu/center.retail',
      'space/eu~1/center.retail',
    ]);
  });

  it('gives the plain one where the kubeconfig has none, which says so when it is asked for', () => {
    expect(spaceContexts([], 'eu', 'center.retail')).toEqual(['space/eu/center.retail']);
  });
});

describe('askReplicas', () => {
  const asking = (answers: Readonly<Record<string, string | undefined | BanyanError>>) =>
    askReplicas(Object.keys(answers), async (context) => {
      const answer = answers[context];
      if (answer instanceof BanyanError) throw answer;
      return answer;
    });

  it('takes the first that has it, past one that is away and one that lacks it', async () => {
    expect(await asking({ a: away, b: undefined, c: 'it', d: 'another' })).toEqual({ context: 'c', answer: 'it' });
  });

  it('says of nothing where one has answered that there is nothing', async () => {
    expect(await asking({ a: away, b: undefined })).toEqual({ context: 'b', answer: undefined });
  });

  it('fails when all are away, and with whatever else goes wrong', async () => {
    await expect(asking({ a: away, b: away })).rejects.toThrow('does not answer');
    await expect(asking({ a: new BanyanError('Forbidden', 'not yours'), b: 'it' })).rejects.toThrow('not yours');
  });
});
