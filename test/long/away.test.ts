import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LocalTree, until } from '../e2e/local-tree.ts';
import { placedInProduction } from '../e2e/placements.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const retail = 'space/center/retail';

interface Failure {
  readonly path: string;
  readonly reason: string;
  readonly message: string;
  readonly since?: string;
}
interface Placement {
  readonly status?: { readonly summary?: Record<string, number>; readonly failures?: readonly Failure[] };
}

describe.skipIf(withoutKubectl)(`a place that stays away${why}`, () => {
  const tree = new LocalTree('test/e2e/moves-topology.yaml');
  const status = () => tree.json<Placement>(retail, 'epl', 'shop')?.status;
  const failure = () => status()?.failures?.find(({ path }) => path === 'us:market');
  const described = () => tree.ok(retail, 'describe', 'epl', 'shop');

  beforeAll(() => tree.up('--no-restart'));
  afterAll(() => tree[Symbol.asyncDispose]());

  it('has an age that counts on from the same time, and is an Event after a minute', async () => {
    tree.ok(retail, 'create', 'namespace', 'shop');
    tree.ok(retail, 'create', 'configmap', 'prices', '-n', 'shop');
    expect(tree.apply(retail, placedInProduction('shop')).code).toBe(0);
    await until('all three are available', () => status()?.summary?.available === 3);
    tree.kill('us:market');
    await until('the place is named', () => failure()?.reason === 'Away');
    const { since } = failure()!;
    await until('the age counts on', () => /\([12]m\)$/.test(failure()?.message ?? ''), 150);
    expect(failure()?.since).toBe(since);
    await until('the Event is there', () => /Warning\s+Stale/.test(described()), 90);
    expect(described()).toMatch(/Stale.*1 of 3 destinations are not connected: us:market since/);
    expect(tree.ok(retail, 'get', 'epl', 'shop', '-o', 'wide')).toMatch(/oldest \d+[sm]/);
  });
});
