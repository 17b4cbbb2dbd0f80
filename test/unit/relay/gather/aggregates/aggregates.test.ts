import { describe, expect, it } from 'vitest';
import { parseKey } from '../../../../../core/object/key.ts';
import type { Condition, KubeObject } from '../../../../../core/object/meta.ts';
import { WholeTree } from '../../../../support/whole-tree.ts';

const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
const template = (image: string, more: object = {}) => ({
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'c', image }], ...more },
});
const web = (replicas: number, image = 'web:1', more: object = {}): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop' },
  spec: { replicas, selector: { matchLabels: { app: 'web' } }, template: template(image), ...more },
});
const job = (image: string): KubeObject => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'migrate', namespace: 'shop' },
  spec: { backoffLimit: 0, template: template(image, { restartPolicy: 'Never' }) },
});
const settings: KubeObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'settings', namespace: 'shop' },
  data: { a: 'b' },
};
const placement = (more: object = {}, name = 'shop'): KubeObject => ({
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'EdgePlacement',
  metadata: { name },
  spec: {
    locationSelectors: [{ matchLabels: { env: 'prod' } }],
    downsync: [{ apiGroup: '*', resources: ['*'], namespaces: ['shop'] }],
    ...more,
  },
});
const webKey = parseKey('apps/deployments/shop/web');
const jobKey = parseKey('batch/jobs/shop/migrate');
const placementKey = parseKey('edge.banyan.io/edgeplacements//shop');
const replicaSets = { group: 'apps', resource: 'replicasets' };

interface Status {
  readonly observedGeneration?: number;
  readonly replicas?: number;
  readonly availableReplicas?: number;
  readonly succeeded?: number;
  readonly conditions?: readonly Condition[];
}

/** A center with two relays: two agents below one, one agent below the other. */
class Shop {
  readonly tree = new WholeTree({
    relays: ['', 'eu', 'us'],
    agents: ['eu:a', 'eu:b', 'us:c'],
    labels: (agent) => ({ env: 'prod', name: agent.slice(3) }),
  });

  static async with(...objects: KubeObject[]): Promise<Shop> {
    const shop = new Shop();
    await shop.tree.start();
    await shop.tree.run(3_000);
    shop.apply(namespace, ...objects);
    return shop;
  }

  apply(...objects: KubeObject[]): void {
    this.tree.apply('', 'retail', ...objects);
  }

  get space() {
    return this.tree.space('', 'retail');
  }

  status(key = webKey): Status | undefined {
    return this.space.get(key)?.status as Status | undefined;
  }

  condition(type: string, key = webKey): Condition | undefined {
    return this.status(key)?.conditions?.find((condition) => condition.type === type);
  }

  async untilAvailable(): Promise<void> {
    await this.tree.until('the Deployment is available', () => this.condition('Available')?.status === 'True');
  }

  /** The status at a relay, in its read-only space. */
  statusAt(relay: string): Status | undefined {
    return this.tree.views.get(relay)!('/spaces/center.retail')!.get(webKey)?.status as Status | undefined;
  }

  shownReplicaSets(): KubeObject[] {
    return [...this.space.storage.scan(replicaSets, { namespace: 'shop' })].map((stored) => this.space.parse(stored));
  }

  /** The number of destinations of the placement, as its own status has it. */
  expected(): number | undefined {
    const { summary } = (this.space.get(placementKey)?.status ?? {}) as { summary?: { expected: number } };
    return summary?.expected;
  }

  isReady(): boolean {
    const { conditions = [] } = (this.space.get(placementKey)?.status ?? {}) as Status;
    return conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
  }

  versions(): (string | undefined)[] {
    return [webKey, jobKey, ...this.shownReplicaSets().map((one) => this.space.keyOf(one))].map(
      (key) => this.space.get(key)?.metadata.resourceVersion,
    );
  }
}

describe('the status of a Deployment at three destinations', () => {
  it('says that the Deployment is available when it is available at all, with the generation of the space', async () => {
    const shop = await Shop.with(web(2), placement());
    await shop.untilAvailable();
    expect(shop.status()).toMatchObject({ observedGeneration: 1, replicas: 2, availableReplicas: 2 });
    expect(shop.condition('Available')?.message).toBe('6 of 6 replicas are available at 3 destinations');
  });

  it('is about its former generation until every connected destination has the present one', async () => {
    const shop = await Shop.with(web(2), placement());
    await shop.untilAvailable();
    shop.tree.stop('eu:a');
    shop.apply(web(2, 'web:2'));
    await shop.tree.run(3_000);
    expect(shop.status()).toMatchObject({ observedGeneration: 1 });
    expect(shop.condition('Available')).toMatchObject({ status: 'False', message: expect.stringContaining('eu:a') });
    shop.tree.goOn('eu:a');
    await shop.untilAvailable();
    expect(shop.status()).toMatchObject({ observedGeneration: 2 });
  });

  it('says that the Deployment is not available while a destination is away, with its path, and keeps the time of the change', async () => {
    const shop = await Shop.with(web(2), placement());
    await shop.untilAvailable();
    shop.tree.kill('us:c');
    await shop.tree.run(2_000);
    const gone = shop.condition('Available');
    expect(gone).toMatchObject({ status: 'False', reason: 'Stale' });
    expect(gone?.message).toContain('1 of 3 destinations is not connected: us:c');
    expect(shop.status()).toMatchObject({ observedGeneration: 1, availableReplicas: 0 });
    await shop.tree.run(5_000);
    expect(shop.condition('Available')).toEqual(gone);
    await shop.tree.start('us:c');
    await shop.untilAvailable();
  });

  it('is not available as soon as the placement has a destination more, until the Deployment is available there too', async () => {
    const shop = await Shop.with(web(1), placement({ locationSelectors: [{ matchLabels: { ready: 'yes' } }] }));
    const ready = (relay: string, name: string) => {
      const key = parseKey(`inventory.banyan.io/locations//${name}`);
      shop.tree.space(relay).patch(key, { type: 'merge', patch: { metadata: { labels: { ready: 'yes' } } } });
    };
    ready('eu', 'a');
    await shop.untilAvailable();
    shop.tree.stop('eu:b');
    ready('eu', 'b');
    await shop.tree.until('two are expected', () => shop.expected() === 2);
    expect(shop.condition('Available')?.status).toBe('False');
    shop.tree.goOn('eu:b');
    await shop.untilAvailable();
    expect(shop.condition('Available')?.message).toBe('2 of 2 replicas are available at 2 destinations');
  });

  it('counts the destinations below a relay that is away as away, with the path of the relay', async () => {
    const shop = await Shop.with(web(2), placement());
    await shop.untilAvailable();
    shop.tree.kill('eu');
    await shop.tree.run(2_000);
    expect(shop.condition('Available')?.message).toContain('2 of 3 destinations are not connected: eu');
  });

  it('fails with the reason and the path when one destination has failed', async () => {
    const shop = await Shop.with(web(1, 'web:broken', { progressDeadlineSeconds: 2 }), placement());
    await shop.tree.until('it has failed', () => shop.condition('Progressing')?.status === 'False');
    expect(shop.condition('Progressing')).toMatchObject({ reason: 'ProgressDeadlineExceeded' });
    expect(shop.condition('Stalled')).toMatchObject({ status: 'True', message: expect.stringContaining('eu:a: ') });
    expect(shop.status()?.observedGeneration).toBe(1);
    shop.apply(web(1, 'web:1', { progressDeadlineSeconds: 2 }));
    await shop.untilAvailable();
  });

  it('is at each relay the status of its own subtree', async () => {
    const shop = await Shop.with(web(2), placement());
    await shop.untilAvailable();
    shop.tree.kill('us:c');
    await shop.tree.run(2_000);
    const message = (relay: string) => shop.statusAt(relay)?.conditions?.[0]?.message;
    expect(message('eu')).toBe('4 of 4 replicas are available at 2 destinations');
    expect(message('us')).toContain('1 of 1 destination is not connected: us:c');
  });

  it('is available exactly when the placement is Ready, also if a destination has another number of replicas', async () => {
    const customizer = {
      apiVersion: 'edge.banyan.io/v1alpha1',
      kind: 'Customizer',
      metadata: { name: 'more', namespace: 'shop' },
      spec: {
        rules: [
          {
            when: 'location.metadata.labels.name == "a"',
            target: { group: 'apps', kind: 'Deployment' },
            patch: [{ op: 'replace', path: '/spec/replicas', value: 3 }],
          },
        ],
      },
    };
    const downsync = [{ apiGroup: 'apps', resources: ['deployments'], namespaces: ['shop'], customizers: ['more'] }];
    const shop = await Shop.with(customizer, web(2), placement({ downsync }));
    await shop.untilAvailable();
    expect(shop.status()).toMatchObject({ replicas: 2, availableReplicas: 2 });
    expect(shop.condition('Available')?.message).toBe('7 of 7 replicas are available at 3 destinations');
    expect(shop.isReady()).toBe(true);
  });
});

describe('the status of other objects', () => {
  it('of a Job says that it is complete when it is complete at all destinations', async () => {
    const shop = await Shop.with(job('job:1'), placement());
    await shop.tree.until('the Job is complete', () => shop.condition('Complete', jobKey) !== undefined);
    expect(shop.status(jobKey)).toMatchObject({ succeeded: 1 });
    shop.tree.kill('us:c');
    await shop.tree.run(2_000);
    expect(shop.condition('Complete', jobKey)).toBeDefined();
  });

  it('of a Job says that it has failed when it has failed at one', async () => {
    const shop = await Shop.with(job('job:failing'), placement());
    await shop.tree.until('the Job has failed', () => shop.condition('Failed', jobKey) !== undefined);
    expect(shop.condition('Failed', jobKey)?.message).toContain('eu:a: ');
    expect(shop.condition('Complete', jobKey)).toBeUndefined();
  });

  it('of a Job that is made again under its name says nothing about the former Job', async () => {
    const shop = await Shop.with(job('job:1'), placement());
    await shop.tree.until('the Job is complete', () => shop.condition('Complete', jobKey) !== undefined);
    for (const agent of ['eu:a', 'eu:b', 'us:c']) shop.tree.stop(agent);
    shop.space.delete(jobKey);
    shop.apply(job('job:2'));
    await shop.tree.run(2_000);
    expect(shop.condition('Complete', jobKey)).toBeUndefined();
    expect(shop.status(jobKey)?.succeeded ?? 0).toBe(0);
  });

  it('of a ConfigMap and of a Namespace is left alone', async () => {
    const shop = await Shop.with(web(1), settings, placement());
    await shop.untilAvailable();
    expect(shop.status(parseKey('/configmaps/shop/settings'))).toBeUndefined();
    expect(shop.status(parseKey('/namespaces//shop'))).toEqual({ phase: 'Active' });
  });
});

describe('spec.reportedState', () => {
  it('None leaves the status empty, and takes it back with the ReplicaSet', async () => {
    const shop = await Shop.with(web(2), placement());
    await shop.untilAvailable();
    expect(shop.shownReplicaSets()).toHaveLength(1);
    shop.apply(placement({ reportedState: 'None' }));
    await shop.tree.run(2_000);
    expect([shop.status(), shop.statusAt('eu'), shop.shownReplicaSets()]).toEqual([undefined, undefined, []]);
    shop.apply(placement({ reportedState: 'Aggregate' }));
    await shop.untilAvailable();
  });

  it('Exact gives the status of the only destination, and none while there are several', async () => {
    const one = { locationSelectors: [{ matchLabels: { name: 'a' } }] };
    const shop = await Shop.with(web(2), placement({ ...one, reportedState: 'Exact' }));
    await shop.untilAvailable();
    expect(shop.condition('Available')?.message).not.toContain('destination');
    const there = shop.tree.cluster('eu:a').get(webKey)?.status;
    expect(shop.status()).toEqual({ ...(there as object), observedGeneration: 1 });
    shop.apply(placement({ reportedState: 'Exact' }));
    await shop.tree.run(3_000);
    expect(shop.status()).toBeUndefined();
  });

  it('Exact keeps the last status of the only destination while it is away', async () => {
    const one = { locationSelectors: [{ matchLabels: { name: 'a' } }], wantSingletonReportedState: true };
    const shop = await Shop.with(web(2), placement(one));
    await shop.untilAvailable();
    const before = shop.status();
    shop.tree.kill('eu:a');
    await shop.tree.run(3_000);
    expect(shop.status()).toEqual(before);
  });

  it('of several placements: each destination counts once, and only those of placements that want a status', async () => {
    const only = (...names: string[]) => ({
      locationSelectors: [{ matchExpressions: [{ key: 'name', operator: 'In', values: names }] }],
    });
    const shop = await Shop.with(web(1), placement(only('a', 'b')), placement(only('b', 'c'), 'other'));
    await shop.tree.until(
      'three count',
      () => shop.condition('Available')?.message.endsWith('at 3 destinations') ?? false,
    );
    shop.apply(placement({ ...only('b', 'c'), reportedState: 'None' }, 'other'));
    await shop.tree.until(
      'two count',
      () => shop.condition('Available')?.message.endsWith('at 2 destinations') ?? false,
    );
  });

  it('is refused together with a contradiction, with the field, the value and the remedy', () => {
    const shop = new Shop();
    return shop.tree.start('').then(() => {
      const wrong = placement({ wantSingletonReportedState: true, reportedState: 'None' });
      expect(() => shop.apply(wrong)).toThrow(/spec\.reportedState.*set spec\.reportedState to Exact, or take/s);
      expect(() => shop.apply(placement({ reportedState: 'Sum' }))).toThrow(
        /spec\.reportedState: .*"Sum".*"Aggregate", "Exact", "None"/s,
      );
    });
  });
});

describe('the ReplicaSet beside a Deployment', () => {
  it('has the template and the counts of the Deployment, and is not placed', async () => {
    const shop = await Shop.with(web(2), placement());
    await shop.untilAvailable();
    const [shown] = shop.shownReplicaSets();
    const { uid } = shop.space.get(webKey)!.metadata;
    expect(shown!.metadata.ownerReferences).toMatchObject([{ kind: 'Deployment', uid, controller: true }]);
    expect(shown!.status).toMatchObject({ readyReplicas: 2, observedGeneration: shown!.metadata.generation });
    await shop.tree.run(1_000);
    const there = [...shop.tree.cluster('eu:a').storage.scan(replicaSets, { namespace: 'shop' })];
    expect(there.map(({ key }) => key.name)).not.toContain(shown!.metadata.name);
  });

  it('is another one after the template has changed, and observes its generation only while the Deployment is ready', async () => {
    const shop = await Shop.with(web(2), placement());
    await shop.untilAvailable();
    const [first] = shop.shownReplicaSets();
    shop.tree.kill('us:c');
    shop.apply(web(2, 'web:2'));
    await shop.tree.run(3_000);
    const second = () => shop.shownReplicaSets().find(({ metadata }) => metadata.name !== first!.metadata.name)!;
    expect((second().status as Status).observedGeneration).toBeUndefined();
    await shop.tree.start('us:c');
    await shop.untilAvailable();
    expect((second().status as Status).observedGeneration).toBe(1);
  });

  it('keeps its former pod templates without replicas, numbered, as many as the Deployment says', async () => {
    const shop = await Shop.with(web(2), placement());
    const change = async (image: string, spec: object = {}) => {
      const deployment = web(2, image);
      shop.apply({ ...deployment, spec: { ...(deployment.spec as object), ...spec } });
      await shop.tree.run(2_000);
      await shop.untilAvailable();
    };
    const revisions = () =>
      shop
        .shownReplicaSets()
        .map((one) => {
          const { replicas, template } = one.spec as {
            replicas: number;
            template: { spec: { containers: { image: string }[] } };
          };
          const revision = one.metadata.annotations?.['deployment.kubernetes.io/revision'];
          return `${revision} ${template.spec.containers[0]!.image} ${replicas} ${(one.status as Status).replicas}`;
        })
        .sort();
    await shop.untilAvailable();
    await change('web:2');
    expect(revisions()).toEqual(['1 web:1 0 0', '2 web:2 2 2']);
    await change('web:1');
    expect(revisions()).toEqual(['2 web:2 0 0', '3 web:1 2 2']);
    await change('web:3', { revisionHistoryLimit: 1 });
    expect(revisions()).toEqual(['3 web:1 0 0', '4 web:3 2 2']);
    await change('web:4', { revisionHistoryLimit: 0 });
    expect(revisions()).toEqual(['5 web:4 2 2']);
  });

  it('is the same one for a template that a client wrote with other empty values', async () => {
    const shop = await Shop.with(web(2), placement());
    await shop.untilAvailable();
    const [{ name } = { name: '' }] = shop.shownReplicaSets().map(({ metadata }) => metadata);
    const deployment = web(2);
    const spec = deployment.spec as { template: { metadata: object; spec: { containers: object[] } } };
    const { template } = spec;
    const containers = template.spec.containers.map((one) => ({ ...one, resources: {}, tty: false }));
    const written = { metadata: template.metadata, spec: { ...template.spec, containers } };
    shop.apply({ ...deployment, spec: { ...spec, template: written } });
    await shop.tree.run(2_000);
    await shop.untilAvailable();
    const [shown, ...more] = shop.shownReplicaSets();
    expect([shown!.metadata.name, more]).toEqual([name, []]);
    expect(shown!.spec).toMatchObject({ replicas: 2, template: { spec: { containers } } });
  });

  it('ends with the Deployment', async () => {
    const shop = await Shop.with(web(2), placement());
    await shop.untilAvailable();
    shop.space.delete(webKey);
    await shop.tree.run(2_000);
    expect(shop.shownReplicaSets()).toEqual([]);
  });
});

describe('a tree that is at rest', () => {
  it('writes no status again, also after the center has started again', async () => {
    const shop = await Shop.with(web(2), job('job:1'), placement());
    await shop.untilAvailable();
    await shop.tree.until('the Job is complete', () => shop.condition('Complete', jobKey) !== undefined);
    await shop.tree.run(3_000);
    const before = shop.versions();
    await shop.tree.run(60_000);
    expect(shop.versions()).toEqual(before);
    const committed = shop.tree.backup('');
    shop.tree.kill('');
    shop.tree.restore('', committed);
    await shop.tree.start('');
    await shop.tree.run(20_000);
    expect(shop.versions()).toEqual(before);
  }, 60_000);
});

it('a release that was rolled back reads as failed', async () => {
  const rollout = {
    strategy: 'Progressive',
    waves: [{ name: 'first', count: 1 }],
    onFailure: 'Rollback',
    errorBudget: 0,
  };
  const shop = await Shop.with(web(1, 'web:1', { progressDeadlineSeconds: 2 }), placement({ rollout }));
  await shop.untilAvailable();
  shop.apply(web(1, 'web:broken', { progressDeadlineSeconds: 2 }));
  await shop.tree.until(
    'the release is rolled back',
    () => shop.condition('Stalled')?.reason === 'RolledBack',
    120_000,
  );
  expect(shop.condition('Progressing')).toMatchObject({ status: 'False', reason: 'ProgressDeadlineExceeded' });
  expect(shop.status()?.observedGeneration).toBe(2);
}, 60_000);

it('a status leaves out a destination that waited for its copy in a move, and that the placement gave up', async () => {
  const tree = new WholeTree({
    relays: ['', 'eu'],
    agents: ['eu:a', 'b'],
    labels: (agent) => ({ name: agent.slice(-1) }),
  });
  await tree.start();
  await tree.run(3_000);
  const place = (...names: string[]) =>
    tree.apply(
      '',
      'retail',
      placement({
        locationSelectors: [{ matchExpressions: [{ key: 'name', operator: 'In', values: names }] }],
        move: { strategy: 'BreakBeforeMake', deadlineSeconds: 600 },
      }),
    );
  const status = () => tree.space('', 'retail').get(webKey)?.status as Status | undefined;
  tree.apply('', 'retail', namespace, settings);
  place('a');
  await tree.run(3_000);
  tree.stop('eu');
  await tree.run(20_000);
  place('a', 'b');
  await tree.run(500);
  tree.apply('', 'retail', web(2));
  await tree.run(2_000);
  place('a');
  await tree.run(2_000);
  tree.goOn('eu');
  await tree.until('the copy is available', () => status()?.availableReplicas === 2);
  expect(status()).toMatchObject({ replicas: 2, availableReplicas: 2 });
});
