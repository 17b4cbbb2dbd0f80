import { describe, expect, it } from 'vitest';
import type { AccessPlace } from '../../../../core/access/grant-scope.ts';
import { crossingRefusal } from '../../../../relay/remote-access/crossing.ts';

describe('a stream for a user of another node', () => {
  const asked: AccessPlace[] = [];
  const authorizer = {
    reaches: ({ name }: { name: string }, place: AccessPlace) => {
      asked.push(place);
      return name === 'center:alice';
    },
  };
  const stream = (path: string, kind: string) => ({
    ...{ path, kind, voucher: '', user: 'x', groups: [], header: new Uint8Array(0), deadlineMs: 1, bulk: false },
  });
  const user = (name: string, ...groups: string[]) => ({ name, groups });

  it('goes on if the user has any right at its end', () => {
    const refusal = crossingRefusal({ path: 'eu', authorizer, fromAbove: 'grants' });
    asked.length = 0;
    expect(refusal(user('center:alice'), stream('eu:paris', 'api'))).toBeUndefined();
    expect(refusal(user('center:alice'), stream('eu:paris:shop', 'cluster'))).toBeUndefined();
    expect(asked).toEqual([{ node: 'eu:paris' }, { cluster: 'eu:paris:shop' }]);
    expect(refusal(user('center:bob'), stream('eu:paris', 'api'))).toBe(
      'no AccessGrant of eu gives User "center:bob" a right at eu:paris',
    );
  });

  it('reaches the API of this node for everybody, because the API decides about each request', () => {
    const refusal = crossingRefusal({ path: 'eu', authorizer, fromAbove: 'grants' });
    expect(refusal(user('center:bob'), stream('eu', 'api'))).toBeUndefined();
    expect(refusal(user('center:bob'), stream('eu', 'echo'))).toMatch(/no AccessGrant/);
  });

  it('is refused to users of nodes above, and to nobody else, if the configuration gives them nothing', () => {
    const refusal = crossingRefusal({ path: 'eu', authorizer, fromAbove: 'none' });
    expect(refusal(user('center:alice', 'banyan:from-above'), stream('eu', 'api'))).toMatch(/access\.fromAbove/);
    expect(refusal(user('eu:paris:alice'), stream('eu', 'api'))).toBeUndefined();
  });
});
