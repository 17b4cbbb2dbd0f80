import { describe, expect, it } from 'vitest';
import { askReplicas, spaceContexts } from '../../../../center/cli/node-contexts.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';

const away = new BanyanError('Unavailable', 'does not answer');

describe('spaceContexts', () => {
  it('returns the contexts of a relay and of its replicas, and no others', () => {
    const contexts = ['node/eu', 'space/eu/center.retail', 'space/eu~1/center.retail', 'space/eu:fr/center.retail'];
    expect(spaceContexts([...contexts, 'space/eu/center.bank'], 'eu', 'center.retail')).toEqual([
      'space/eu/center.retail',
      'space/eu~1/center.retail',
    ]);
  });

  it('returns the plain context if the kubeconfig has none; a request with it then fails with a message', () => {
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

  it('returns the first answer that has the object, past a replica that is away and one that lacks the object', async () => {
    expect(await asking({ a: away, b: undefined, c: 'it', d: 'another' })).toEqual({ context: 'c', answer: 'it' });
  });

  it('returns nothing if a replica has answered that there is nothing', async () => {
    expect(await asking({ a: away, b: undefined })).toEqual({ context: 'b', answer: undefined });
  });

  it('fails if all replicas are away, and on any other error', async () => {
    await expect(asking({ a: away, b: away })).rejects.toThrow('does not answer');
    await expect(asking({ a: new BanyanError('Forbidden', 'not yours'), b: 'it' })).rejects.toThrow('not yours');
  });
});
