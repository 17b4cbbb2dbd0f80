import { beforeEach, describe, expect, it } from 'vitest';
import { placementId } from '../../../../core/entries/placement-id.ts';
import type { Content } from '../../../../core/feed/feed.ts';
import { FeedProducer } from '../../../../core/feed/producer.ts';
import { LocalTable } from '../../../../core/feed/table.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import type { Labels } from '../../../../core/object/selector.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { text } from '../../../../core/store/bytes.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import type { Child } from '../../../../relay/children/children.ts';
import { Placements, storeSelected } from '../../../../relay/placements/placements.ts';
import { readPlacement } from '../../../../relay/placements/read-placement.ts';
import { destinationPlan } from '../../../../relay/plan/destination-plan.ts';
import { plannedRows, planWith } from '../../../../relay/plan/space-plan.ts';
import { factsOf } from '../support/facts.ts';
import { SpaceBench, source } from '../support/space-bench.ts';

const labels: Labels = { site: 'shop' };

/** The parent of the agent `shop`, with the rows of a space above and with what the agent was sent. */
class LastHop {
  readonly store = new MemoryStore();
  readonly placements = new Placements();
  readonly #producer = this.store.write((t) =>
    FeedProducer.open(t, { name: 'mailbox', bootNonce: 'b', random: new SeededRandom(1) }),
  );
  readonly #table = this.store.write((t) => LocalTable.open(t, 'upstream'));
  readonly #agent: Child = {
    name: 'shop',
    role: 'agent',
    destinations: [
      {
        location: 'shop',
        syncTargetUid: 'u',
        labels,
        facts: factsOf('shop', labels, { 'store-name': 'Rivoli' }),
        evaluate: () => false,
      },
    ],
  };

  /** Everything of the space has arrived, and the agent was sent the objects of the placements `attached`. */
  receive(bench: SpaceBench, attached: readonly string[]): void {
    this.store.write((t) => {
      for (const { key, attributes, body } of bench.rows()) {
        const content = { key, attributes: text(attributes), body: text(body) };
        this.#table.put(t, content, 1);
        if (!key.startsWith('o/')) continue;
        const { refs } = JSON.parse(attributes) as { refs: string[] };
        for (const name of refs) storeSelected(t, placementId(source, name), hash128(key));
        if (refs.some((name) => attached.includes(name))) this.#producer.put(t, content, 1);
      }
    });
    this.store.read((reader) => {
      for (const name of attached) {
        const ports = { tableOf: () => this.#table };
        this.placements.set(readPlacement(reader, ports, placementId(source, name), new Set(['shop']))!);
      }
    });
  }

  plan(planned: readonly string[], rows: readonly Content[], agent = 'shop') {
    const ports = {
      children: new Map([['shop', this.#agent]]),
      placements: this.placements,
      tableOf: () => this.#table,
      mailboxOf: () => this.#producer,
      pathOf: (child: string) => `eu:${child}`,
    };
    const all = rows.map(({ key }) => key).filter((key) => key.startsWith('o/'));
    return this.store.read((reader) =>
      destinationPlan(reader, ports, agent, { source, planned, rows, make: all, all }),
    );
  }
}

const placement = (name: string, more: object = {}, item: object = {}): KubeObject => ({
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'EdgePlacement',
  metadata: { name },
  spec: {
    locationSelectors: [{ matchLabels: labels }],
    downsync: [{ apiGroup: '', resources: ['configmaps'], namespaces: ['shop'], ...item }],
    ...more,
  },
});
const greeting = (data: string, annotations: Labels = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'greeting', namespace: 'shop', annotations },
  data: { data },
});

describe('the plan of a destination', () => {
  let bench: SpaceBench;
  let hop: LastHop;
  const ports = () => ({
    space: bench.space,
    source,
    table: bench.table,
    children: new Map<string, Child>(),
    pathOf: (child: string) => child,
    present: () => undefined,
    boundsOf: () => undefined,
  });
  const asStored = (...objects: KubeObject[]) =>
    objects.map((object) => bench.space.apply(object, { fieldManager: 'plan', force: true, dryRun: true }));
  const planOf = (...objects: KubeObject[]) => {
    const { planned, rows } = bench.store.read((reader) => plannedRows(reader, ports(), asStored(...objects)));
    return hop.plan(planned, rows);
  };
  /** `name: present -> next`, with the data of the objects. */
  const shown = (...objects: KubeObject[]) => {
    const dataOf = (object: KubeObject | undefined) =>
      (object as { data?: { data: string } } | undefined)?.data?.data ?? '-';
    return planOf(...objects)
      .objects.filter(({ key }) => key.resource === 'configmaps')
      .map(({ key, present, next, failure }) => `${key.name}: ${dataOf(present)} -> ${failure ?? dataOf(next)}`);
  };

  beforeEach(() => {
    bench = new SpaceBench();
    hop = new LastHop();
    bench.namespace('shop');
    bench.configMap('shop', 'greeting', {}, 'hello');
    bench.configMap('shop', 'price', {}, '9');
    bench.placement('web', placement('web').spec as object);
    bench.settle();
    hop.receive(bench, ['web']);
  });

  it('without objects is what the agent has', () => {
    expect(shown()).toEqual(['greeting: hello -> hello', 'price: 9 -> 9']);
    expect(planOf().matches).toEqual({ web: true });
  });

  it('has the changed object, customised for the place', () => {
    const changed = greeting('hello %(store-name)', { 'edge.banyan.io/expand-parameters': 'true' });
    expect(shown(changed)).toEqual(['greeting: hello -> hello Rivoli', 'price: 9 -> 9']);
  });

  it('uses a Customizer that is only in the plan', () => {
    const customizer = {
      apiVersion: 'edge.banyan.io/v1alpha1',
      kind: 'Customizer',
      metadata: { name: 'greet', namespace: 'shop' },
      spec: { replacements: [{ path: '$.data.data', value: 'from $' + '{{ path }}' }] },
    };
    const with_ = placement('web', {}, { customizers: ['greet'], objectNames: ['greeting'] });
    expect(shown(customizer, with_)).toEqual(['greeting: hello -> from shop', 'price: 9 -> -']);
  });

  it('has the reason for an object that can not be made', () => {
    const broken = greeting('%(nowhere)', { 'edge.banyan.io/expand-parameters': 'true' });
    expect(shown(broken)[0]).toMatch(/^greeting: hello -> .*nowhere/);
    expect(shown(placement('web', {}, { customizers: ['none'] }))[0]).toMatch(/there is no Customizer shop\/none/);
  });

  it('takes away what the placement no longer brings, except what another placement brings', () => {
    const away = placement('web', { locationSelectors: [{ matchLabels: { site: 'other' } }] });
    expect(planOf(away).matches).toEqual({ web: false });
    expect(shown(away)).toEqual(['greeting: hello -> -', 'price: 9 -> -']);
    bench.placement('prices', placement('prices', {}, { objectNames: ['price'] }).spec as object);
    bench.settle();
    hop.receive(bench, ['web', 'prices']);
    expect(shown(away)).toEqual(['greeting: hello -> -', 'price: 9 -> 9']);
  });

  it('of a new placement is what it would bring', () => {
    bench.delete('EdgePlacement', 'web');
    bench.settle();
    hop = new LastHop();
    hop.receive(bench, []);
    expect(shown(placement('new', {}, { objectNames: ['price'] }))).toEqual(['price: - -> 9']);
  });

  it('writes nothing at the origin, and changes nothing in memory there', () => {
    const before = [bench.rows(), bench.space.storage.revision()];
    planOf(greeting('changed'), placement('web', { priority: 3 }), placement('other'));
    expect([bench.rows(), bench.space.storage.revision()]).toEqual(before);
    expect(
      bench.selection.explain({ group: '', resource: 'configmaps', namespace: 'shop', name: 'price' }),
    ).toMatchObject([{ placement: 'web' }]);
  });

  it('is refused for an agent that the node does not have', () => {
    expect(() => hop.plan([], [], 'nobody')).toThrow('--at: this node has no agent "nobody"');
  });

  it('is refused if it has too many objects', () => {
    for (let i = 0; i < 1_001; i++) bench.configMap('shop', `many-${i}`);
    bench.settle();
    expect(() => planOf()).toThrow('a plan makes at most 1000 for a destination: name fewer placements with -f');
  });

  describe('at the origin', () => {
    const objects = (...written: KubeObject[]) =>
      bench.store.read((reader) => planWith(reader, ports(), asStored(...written))).placements;

    it('counts what joins, what leaves and what changes', () => {
      const narrowed = placement('web', {}, { objectNames: ['greeting', 'new'] });
      const added = { ...greeting('x'), metadata: { name: 'new', namespace: 'shop' } };
      expect(objects(narrowed, added, greeting('changed'))).toMatchObject([
        {
          name: 'web',
          isNew: false,
          objects: {
            present: 2,
            next: 2,
            joining: { count: 1, sample: ['configmaps shop/new'] },
            leaving: { count: 1, sample: ['configmaps shop/price'] },
            changing: { count: 1, sample: ['configmaps shop/greeting'] },
          },
        },
      ]);
    });

    it('is about the placements that select a written object, also if the file has no placement', () => {
      expect(objects(greeting('changed'))).toMatchObject([{ name: 'web', objects: { changing: { count: 1 } } }]);
      expect(objects({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'shop' } })).toEqual([]);
    });

    it('reads the labels of namespaces as they would be', () => {
      const selected = placement(
        'web',
        {},
        { namespaces: undefined, namespaceSelectors: [{ matchLabels: { team: 'till' } }] },
      );
      const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop', labels: { team: 'till' } } };
      expect(objects(selected)).toMatchObject([{ objects: { present: 2, next: 0 } }]);
      expect(objects(selected, namespace)).toMatchObject([{ objects: { present: 2, next: 2 } }]);
    });
  });
});
