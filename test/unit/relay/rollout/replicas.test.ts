import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { WholeTree } from '../../../support/whole-tree.ts';

const agents = ['eu:a', 'eu:b', 'eu:c', 'eu:d'];
const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
const configMap = (name: string, text: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'shop' },
  data: { text },
});
const placement = (rollout: object, more: object = {}) => ({
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'EdgePlacement',
  metadata: { name: 'shop' },
  spec: {
    locationSelectors: [{ matchLabels: { env: 'prod' } }],
    downsync: [{ apiGroup: '', resources: ['configmaps'], namespaces: ['shop'] }],
    rollout: { strategy: 'Progressive', waves: [{ name: 'first', count: 2, soakSeconds: 1_000 }], ...rollout },
    ...more,
  },
});

interface Status {
  readonly summary: Record<string, number>;
  readonly rollout?: { readonly phase: string; readonly exposed?: number };
}

/** A region of two replicas. Its agents are attached to the first one, and a first release is complete. */
class Shop {
  readonly tree = new WholeTree({ relays: ['', 'eu', 'eu~1'], agents });
  /** All states of each cluster, one after the other. */
  readonly #seen = new Map<string, string[]>(agents.map((agent) => [agent, []]));

  async start(): Promise<this> {
    await this.tree.start();
    await this.tree.run(100);
    this.write(configMap('greeting', 'one'), configMap('old', 'one'));
    this.tree.apply('', 'retail', namespace, placement({ waves: [{ name: 'all', fraction: 1 }] }));
    await this.until('the first release is out', () => agents.every((agent) => this.has(agent) === 'one,one,-'));
    await this.until('it is promoted', () => this.status()?.rollout?.phase === 'Promoted');
    this.tree.apply('', 'retail', placement({}));
    await this.run(500);
    return this;
  }

  write(...objects: KubeObject[]): void {
    this.tree.apply('', 'retail', namespace, ...objects);
  }

  gate(name: string, status: object): void {
    const space = this.tree.space('', 'retail');
    const gate = { apiVersion: 'edge.banyan.io/v1alpha1', kind: 'RolloutGate', metadata: { name }, spec: {} };
    space.update({ ...space.create(gate), status } as KubeObject, { subresource: 'status' });
  }

  remove(name: string): void {
    this.tree.space('', 'retail').delete({ group: '', resource: 'configmaps', namespace: 'shop', name });
  }

  /** Texts of the objects `greeting`, `old` and `new`. */
  has(agent: string): string {
    const text = (name: string) => {
      const key = { group: '', resource: 'configmaps', namespace: 'shop', name };
      const object = this.tree.cluster(agent).get(key) as { data?: { text?: string } } | undefined;
      return object?.data?.text ?? '-';
    };
    return ['greeting', 'old', 'new'].map(text).join(',');
  }

  having(text: string): string[] {
    return agents.filter((agent) => this.has(agent) === text);
  }

  history(agent: string): string[] {
    return this.#seen.get(agent)!;
  }

  status(): Status | undefined {
    const key = { group: 'edge.banyan.io', resource: 'edgeplacements', namespace: '', name: 'shop' };
    return this.tree.space('', 'retail').get(key)?.status as Status | undefined;
  }

  async run(ms: number): Promise<void> {
    for (let done = 0; done < ms; done += 10) {
      await this.tree.run(10);
      for (const agent of agents) {
        const [seen, has] = [this.#seen.get(agent)!, this.has(agent)];
        if (seen.at(-1) !== has) seen.push(has);
      }
    }
  }

  async until(what: string, holds: () => boolean, ms = 30_000): Promise<void> {
    for (let done = 0; done < ms && !holds(); done += 10) await this.run(10);
    if (!holds()) {
      const state = JSON.stringify([this.status(), agents.map((agent) => this.has(agent))]);
      throw new Error(`not within ${ms} ms: ${what}; ${state}`);
    }
  }
}

describe('a release at a place with replicas', () => {
  it('stays with its destinations when the replica dies that handed it out, and goes to no other', async () => {
    const shop = await new Shop().start();
    shop.write(configMap('greeting', 'two'), configMap('new', 'two'));
    shop.remove('old');
    await shop.until('the first wave has it', () => shop.having('two,-,two').length === 2);
    // By then the other replica has received as much as the agents: only the agents' reports make a difference.
    await shop.run(2_500);
    const [has, hasNot] = [shop.having('two,-,two'), shop.having('one,one,-')];
    expect(hasNot).toHaveLength(2);
    const before = agents.map((agent) => shop.history(agent).length);
    // The other replica knows the release from the agents: it has no authorisation to hand anything out.
    shop.tree.cut('eu~1', '');
    shop.tree.kill('eu');
    await shop.run(2_000);
    expect([shop.having('two,-,two'), shop.having('one,one,-')]).toEqual([has, hasNot]);
    shop.tree.mend('eu~1', '');
    await shop.run(2_000);
    expect([shop.having('two,-,two'), shop.having('one,one,-')]).toEqual([has, hasNot]);
    expect(agents.map((agent) => shop.history(agent).length)).toEqual(before);
    await shop.until('all are counted', () => shop.status()?.summary.fresh === 4);
    expect(shop.status()!.summary).toMatchObject({ expected: 4, fresh: 4, available: 2, outdated: 2 });
  });

  it.each([1_000, 1_020, 1_040, 1_060])('stays also if the replica dies %i ms after the write', async (afterMs) => {
    const shop = await new Shop().start();
    shop.write(configMap('greeting', 'two'), configMap('new', 'two'));
    shop.remove('old');
    await shop.run(afterMs);
    shop.tree.kill('eu');
    await shop.until('the first wave has it', () => shop.having('two,-,two').length === 2);
    await shop.run(500);
    expect(shop.having('one,one,-')).toHaveLength(2);
    for (const agent of agents) expect(isForward(shop.history(agent))).toBe(true);
  });

  it('is replaced by the promoted objects if it was superseded before the other replica had contact with its agents', async () => {
    const shop = await new Shop().start();
    shop.write(configMap('greeting', 'two'), configMap('new', 'two'));
    await shop.until('the first wave has it', () => shop.having('two,one,two').length === 2);
    shop.tree.cut('eu', '');
    await shop.run(200);
    shop.write(configMap('greeting', 'three'));
    shop.remove('new');
    await shop.run(500);
    shop.tree.kill('eu');
    await shop.until('nobody has it', () => shop.having('two,one,two').length === 0);
    // The origin draws the wave among the agents that are connected again at that moment: one or two of them.
    await shop.until('another wave has the next', () => shop.having('three,one,-').length > 0);
    await shop.run(500);
    const next = shop.having('three,one,-').length;
    expect(next).toBeLessThanOrEqual(2);
    expect(shop.having('one,one,-')).toHaveLength(4 - next);
  });

  it('is awaited by agents that have it, if the other replica has not received it yet', async () => {
    const shop = await new Shop().start();
    shop.tree.cut('eu~1', '');
    shop.write(configMap('greeting', 'two'), configMap('new', 'two'));
    shop.remove('old');
    await shop.until('the first wave has it', () => shop.having('two,-,two').length === 2);
    const has = shop.having('two,-,two');
    shop.tree.kill('eu');
    await shop.run(3_000);
    expect(shop.having('two,-,two')).toEqual(has);
    shop.tree.mend('eu~1', '');
    await shop.until('all are counted', () => shop.status()?.summary.fresh === 4);
    await shop.run(500);
    expect(shop.having('two,-,two')).toEqual(has);
    for (const agent of agents) expect(isForward(shop.history(agent))).toBe(true);
  });

  it('stays also if the other replica has lost its store, and receives it from its agents before it receives it from above', async () => {
    const shop = await new Shop().start();
    shop.write(configMap('greeting', 'two'), configMap('new', 'two'));
    shop.remove('old');
    await shop.until('the first wave has it', () => shop.having('two,-,two').length === 2);
    await shop.run(2_500);
    const has = shop.having('two,-,two');
    const before = agents.map((agent) => shop.history(agent).length);
    shop.tree.apply('', 'retail', placement({ paused: true }));
    await shop.run(500);
    shop.tree.kill('eu~1');
    shop.tree.empty('eu~1');
    shop.tree.cut('eu~1', '');
    await shop.tree.start('eu~1');
    shop.tree.kill('eu');
    await shop.run(3_000);
    shop.tree.mend('eu~1', '');
    await shop.until('all are counted', () => shop.status()?.summary.fresh === 4);
    await shop.run(2_000);
    expect(shop.having('two,-,two')).toEqual(has);
    expect(agents.map((agent) => shop.history(agent).length)).toEqual(before);
  });

  it('that was rolled back is not handed out again by the other replica, which has not received the rollback', async () => {
    const shop = await new Shop().start();
    const waves = [{ name: 'first', count: 2, gates: [{ rolloutGate: 'go' }] }];
    shop.tree.apply('', 'retail', placement({ waves, onFailure: 'Rollback' }));
    shop.write(configMap('greeting', 'two'));
    await shop.until('the first wave has it', () => shop.having('two,one,-').length === 2);
    shop.tree.kill('eu');
    await shop.until('all are with the other one', () => shop.status()?.summary.fresh === 4);
    await shop.tree.start('eu');
    await shop.until('it is back', () => shop.status()?.rollout?.phase === 'WaitingForGate');
    await shop.run(2_500);
    shop.tree.cut('eu~1', '');
    for (const agent of agents) shop.tree.cut(agent, 'eu~1');
    await shop.until('all are with the first again', () => shop.status()?.summary.fresh === 4);
    expect(shop.having('two,one,-')).toHaveLength(2);
    shop.gate('go', { phase: 'Failed' });
    await shop.until('it is taken back', () => shop.having('one,one,-').length === 4);
    await shop.run(500);
    for (const agent of agents) shop.tree.mend(agent, 'eu~1');
    shop.tree.kill('eu');
    await shop.run(5_000);
    expect(shop.having('one,one,-')).toHaveLength(4);
  });
});

/** A new object is never replaced by a former one, object by object. */
function isForward(history: readonly string[]): boolean {
  const order = [
    ['-', 'one', 'two'],
    ['-', 'one', '-'],
    ['-', 'two'],
  ];
  const steps = history.map((has) => has.split(','));
  return order.every((of, object) => {
    let at = 0;
    return steps.every((has) => {
      const found = of.indexOf(has[object]!, at);
      at = found;
      return found >= 0;
    });
  });
}
