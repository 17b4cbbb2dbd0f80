import { describe, expect, it } from 'vitest';
import { RolloutBench } from './rollout-bench.ts';

const progressive = {
  strategy: 'Progressive',
  waves: [
    { name: 'canary', count: 2, soakSeconds: 5 },
    { name: 'half', fraction: 0.5 },
  ],
};
const phase = (bench: RolloutBench) => bench.status().rollout?.phase;
const soaks = (bench: RolloutBench) => bench.until('the canaries soak', () => phase(bench) === 'Soaking');
/** The number of agents with each of these texts. */
const counts = (bench: RolloutBench, ...texts: (string | undefined)[]) =>
  texts.map((text) => bench.having('greeting', text).length);

/** All agents have a greeting that a Customizer has made. */
function customizedBench(rollout: object = progressive): RolloutBench {
  const bench = new RolloutBench(['eu', 'us'], 10);
  bench.customizer('greet', '${{ object.data.text }} one');
  bench.write('greeting', 'Hello', 'greet');
  bench.place(rollout);
  bench.until('the first release is out', () => counts(bench, 'Hello one')[0] === 20);
  bench.until('it is promoted', () => phase(bench) === 'Promoted' || bench.status().rollout === undefined);
  bench.settle();
  expect(bench.kept()).toEqual([]);
  return bench;
}

describe('a Customizer that changes', () => {
  it('is a release of the placements whose objects it makes, and is promoted as one', () => {
    const bench = customizedBench();
    bench.customizer('greet', '${{ object.data.text }} two');
    soaks(bench);
    expect(counts(bench, 'Hello two', 'Hello one')).toEqual([2, 18]);
    expect(bench.status().summary).toMatchObject({ expected: 20, available: 2, outdated: 18, failed: 0 });
    expect(bench.kept()).toEqual(['c/center.retail/shop/edge.banyan.io/customizers/shop/greet']);
    bench.until('it is promoted', () => phase(bench) === 'Promoted');
    bench.settle();
    expect([counts(bench, 'Hello two'), bench.kept()]).toEqual([[20], []]);
    expect(bench.status().summary).toMatchObject({ expected: 20, available: 20 });
  });

  it('takes effect everywhere at once if nothing is staged', () => {
    const bench = customizedBench({ strategy: 'All' });
    bench.customizer('greet', '${{ object.data.text }} two');
    bench.settle();
    expect([counts(bench, 'Hello two'), bench.kept()]).toEqual([[20], []]);
  });

  it('is one release with the object that changes with it: no destination gets only one of them', () => {
    const bench = customizedBench();
    const seen = new Set<string | undefined>();
    bench.watch = () => {
      for (const agent of bench.agents) seen.add(bench.holds(agent).greeting);
    };
    bench.customizer('greet', '${{ object.data.text }} two');
    bench.write('greeting', 'Servus', 'greet');
    soaks(bench);
    expect(counts(bench, 'Servus two', 'Hello one')).toEqual([2, 18]);
    bench.until('it is promoted', () => phase(bench) === 'Promoted');
    bench.settle();
    expect(counts(bench, 'Servus two')).toEqual([20]);
    expect([...seen].sort()).toEqual(['Hello one', 'Servus two']);
  });

  it('ends as soon as it equals the promoted one', () => {
    const bench = customizedBench();
    bench.customizer('greet', '${{ object.data.text }} two');
    soaks(bench);
    bench.customizer('greet', '${{ object.data.text }} one');
    bench.settle();
    expect([phase(bench), bench.kept(), counts(bench, 'Hello one')]).toEqual(['Promoted', [], [20]]);
  });

  it('is rolled back with its release: every destination has the objects of the former one again', () => {
    const bench = customizedBench({ ...progressive, onFailure: 'Rollback', errorBudget: 0 });
    bench.customizer('greet', 'broken');
    bench.until('it is taken back', () => phase(bench) === 'RolledBack');
    bench.turn();
    expect(counts(bench, 'Hello one')).toEqual([20]);
    bench.restartOrigin();
    for (const hop of bench.hops.values()) hop.restart();
    for (let i = 0; i < 5; i++) bench.turn();
    expect(counts(bench, 'Hello one')).toEqual([20]);
    bench.customizer('greet', '${{ object.data.text }} three');
    bench.until('the next one is promoted', () => phase(bench) === 'Promoted');
    bench.settle();
    expect(counts(bench, 'Hello three')).toEqual([20]);
  });

  it('goes out to all when its placement no longer has a strategy, and leaves nothing behind', () => {
    const bench = customizedBench();
    bench.customizer('greet', '${{ object.data.text }} two');
    soaks(bench);
    bench.place({ strategy: 'All' });
    bench.turn();
    expect([counts(bench, 'Hello two'), bench.kept()]).toEqual([[20], []]);
  });

  it('leaves nothing behind when its placement goes', () => {
    const bench = customizedBench();
    bench.customizer('greet', '${{ object.data.text }} two');
    soaks(bench);
    bench.space.delete({ group: 'edge.banyan.io', resource: 'edgeplacements', namespace: '', name: 'shop' });
    bench.turn();
    expect([counts(bench, undefined), bench.kept()]).toEqual([[20], []]);
  });

  it('takes effect at once if another placement brings the object without stages', () => {
    const bench = customizedBench();
    bench.space.create({
      apiVersion: 'edge.banyan.io/v1alpha1',
      kind: 'EdgePlacement',
      metadata: { name: 'at-once' },
      spec: {
        locationSelectors: [{ matchLabels: { env: 'prod' } }],
        downsync: [{ apiGroup: '', resources: ['configmaps'], objectNames: ['greeting'] }],
      },
    });
    bench.settle();
    bench.customizer('greet', '${{ object.data.text }} two');
    soaks(bench);
    expect(counts(bench, 'Hello two')).toEqual([20]);
  });

  it('that changes again while it goes out starts anew, from the promoted one', () => {
    const bench = customizedBench();
    bench.customizer('greet', '${{ object.data.text }} two');
    soaks(bench);
    const first = bench.status().rollout!.release;
    bench.customizer('greet', '${{ object.data.text }} three');
    bench.until('the new canaries soak', () => phase(bench) === 'Soaking' && bench.status().rollout!.release > first);
    expect(counts(bench, 'Hello two', 'Hello three', 'Hello one')).toEqual([0, 2, 18]);
  });

  it('stays with its destinations over a restart of every last hop', () => {
    const bench = customizedBench();
    bench.customizer('greet', '${{ object.data.text }} two');
    soaks(bench);
    for (const hop of bench.hops.values()) hop.restart();
    bench.settle();
    expect(counts(bench, 'Hello two', 'Hello one')).toEqual([2, 18]);
  });

  const orders: [string, (keys: string[]) => string[]][] = [
    ['objects before releases', (keys) => [...keys].sort()],
    ['releases before objects', (keys) => [...keys].sort().reverse()],
  ];
  it.each(orders)('with %s, combines only versions that belong together', (_, order) => {
    const bench = customizedBench();
    bench.order = order;
    const seen = new Set<string | undefined>();
    bench.watch = () => {
      for (const agent of bench.agents) seen.add(bench.holds(agent).greeting);
    };
    bench.customizer('greet', '${{ object.data.text }} two');
    bench.write('greeting', 'Servus', 'greet');
    soaks(bench);
    bench.until('it is promoted', () => phase(bench) === 'Promoted');
    bench.settle();
    expect([...seen].sort()).toEqual(['Hello one', 'Servus two']);
  });
});

describe('a Customizer that only the former version names', () => {
  it('is kept as long as a destination has that version', () => {
    const bench = customizedBench();
    bench.customizer('other', '${{ object.data.text }} of another');
    bench.write('greeting', 'Hello', 'other');
    bench.removeCustomizer('greet');
    soaks(bench);
    expect(counts(bench, 'Hello of another', 'Hello one')).toEqual([2, 18]);
    // Made again from the kept form.
    const late = bench.agents.find((agent) => bench.holds(agent).greeting === 'Hello one')!;
    bench.hops.get(late.hop)!.restart();
    bench.settle();
    expect(bench.status().summary.failed).toBe(0);
    bench.until('it is promoted', () => phase(bench) === 'Promoted');
    bench.settle();
    expect([counts(bench, 'Hello of another'), bench.kept()]).toEqual([[20], []]);
  });

  it('makes the object of a new destination', () => {
    const bench = customizedBench();
    bench.write('greeting', 'plain');
    bench.removeCustomizer('greet');
    soaks(bench);
    const agent = { hop: 'eu', name: 'late', labels: { env: 'prod' } };
    bench.join(agent);
    expect(bench.holds(agent)).toEqual({ greeting: 'Hello one' });
  });
});

describe('a Customizer that an object names before it exists', () => {
  it('comes in waves, and the others keep their objects', () => {
    const bench = customizedBench();
    bench.write('greeting', 'Hello', 'missing');
    bench.until('nothing can be made', () => (bench.status().summary.failed ?? 0) > 0);
    expect(counts(bench, 'Hello one')).toEqual([20]);
    bench.customizer('missing', 'found');
    bench.until('the canaries have it', () => counts(bench, 'found')[0] === 2);
    expect(counts(bench, 'Hello one')).toEqual([18]);
    bench.until('it is promoted', () => phase(bench) === 'Promoted');
    bench.settle();
    expect(counts(bench, 'found')).toEqual([20]);
  });
});
