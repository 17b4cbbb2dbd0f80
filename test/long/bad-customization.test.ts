import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LocalTree, until } from '../e2e/local-tree.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const [retail, fleet] = ['space/center/retail', 'space/center/fleet'];
const edge = 'edge.banyan.io/v1alpha1';
const inventory = 'inventory.banyan.io/v1alpha1';
const shops = ['hq', 'eu:store'];
/** Three loops, one in the other. */
const dear = (over: string) => `${over}.all(a, ${over}.all(b, ${over}.all(c, a + b + c != "x"))) ? "a" : "b"`;

interface Shown {
  data?: Record<string, string>;
  status?: {
    display?: string;
    failures?: { path: string; reason: string; message: string }[];
    attachedTo?: string;
    instances?: number;
    availableInstances?: number;
    conditions?: { type: string; status: string; reason: string; message: string }[];
  };
  rows?: { columns: unknown[] }[];
  rowErrors?: { count: number; sample: { path: string; field: string; message: string }[] };
}

describe.skipIf(withoutKubectl)(`an invalid customization or summary, on a tree of processes${why}`, () => {
  const tree = new LocalTree('test/e2e/bad-customization-topology.yaml');
  const texts = () =>
    shops.map((s) => tree.json<Shown>(`cluster/${s}`, 'configmap', 'wide', '-n', 'default')?.data?.text);
  const failures = () => tree.json<Shown>(retail, 'epl', 'wide')?.status?.failures ?? [];
  const write = (kind: string, name: string, spec: object) =>
    tree.apply(retail, {
      apiVersion: edge,
      kind,
      metadata: kind === 'Customizer' ? { name, namespace: 'default' } : { name },
      spec,
    });
  const customize = (spec: object) => write('Customizer', 'texts', spec);
  const failing = (message: string) =>
    until(`both fail: ${message}`, () => {
      const all = failures();
      return (
        all.length === 2 && all.every((one) => one.reason === 'CustomizationFailed' && one.message.includes(message))
      );
    });

  beforeAll(async () => {
    await tree.up();
    const data = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`k${i}`, 'x']));
    tree.apply(retail, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'wide', namespace: 'default' },
      data: { ...data, text: '' },
    });
    expect(customize({ replacements: [{ path: '$.data.text', value: 'at ${{ path }}' }] }).code).toBe(0);
    const downsync = [
      {
        apiGroup: '',
        resources: ['configmaps'],
        namespaces: ['default'],
        objectNames: ['wide'],
        customizers: ['texts'],
        statusSummarizers: ['sum', 'list'],
      },
    ];
    write('EdgePlacement', 'wide', { locationSelectors: [{ matchLabels: { env: 'prod' } }], downsync });
    await until('both have theirs', () => texts().join() === 'at hq,at eu:store');
  });
  afterAll(() => tree[Symbol.asyncDispose]());

  it('is refused with field and remedy if the text shows the error', () => {
    const refused = (spec: object) => {
      const { code, out } = customize(spec);
      expect(code, out).not.toBe(0);
      return out;
    };
    const cost = refused({ replacements: [{ path: '$.data.text', value: `\${{ ${dear('properties')} }}` }] });
    expect(cost).toContain('spec.replacements[0].value');
    expect(cost).toContain(
      'costs too much at a destination with 256 labels and 256 properties; use fewer nested loops',
    );
    const merge = (target: object, changes: object) => refused({ rules: [{ target, patch: [{ merge: changes }] }] });
    expect(merge({ kind: 'ConfigMap' }, { kind: 'Secret' })).toContain('spec.rules[0].patch[0].merge.kind: Forbidden');
    expect(merge({ name: 'wide' }, { metadata: { name: 'other' } })).toContain('merge.metadata.name: Forbidden');
  });

  it('fails at the destinations otherwise, with field and remedy, and keeps the last good object', async () => {
    expect(customize({ replacements: [{ path: '$.data.text', value: `\${{ ${dear('object.data')} }}` }] }).code).toBe(
      0,
    );
    await failing(
      'Customizer default/texts: spec.replacements[0].value: expression exceeds its cost limit; use fewer loops inside of others',
    );
    expect(
      customize({ rules: [{ patch: [{ merge: { metadata: { name: '${{ path.replace(":", "-") }}' } } }] }] }).code,
    ).toBe(0);
    await failing('metadata.name: was changed from "wide"');
    expect(customize({ rules: [{ patch: [{ merge: { data: { text: '${{ size(path) }}' } } }] }] }).code).toBe(0);
    await failing('data.text');
    expect(texts()).toEqual(['at hq', 'at eu:store']);
    expect(
      customize({ replacements: [{ path: '$.data.text', value: '${{ path == "hq" ? "7" : "seven" }}' }] }).code,
    ).toBe(0);
    await until('it goes on', () => texts().join() === '7,seven' && failures().length === 0);
  });

  it('is an error of its row in a summary, in both forms, and a limit of zero rows is refused', async () => {
    const list = [{ name: 'text', def: 'int(obj.data.text)' }];
    expect(write('StatusSummarizer', 'list', { select: list, limit: 0 }).out).toContain('spec.limit');
    const fields = [
      { name: 'n', type: 'COUNT' },
      { name: 's', type: 'SUM', subject: 'obj.data.text' },
    ];
    expect(write('StatusSummarizer', 'sum', { combinedFields: fields }).code).toBe(0);
    expect(write('StatusSummarizer', 'list', { select: list }).code).toBe(0);
    const summary = (name: string) => tree.json<Shown>(retail, 'ss', `wide.${name}`);
    await until('the sum has its errors', () => summary('sum')?.rowErrors?.count === 2);
    await until('the list has its error', () => summary('list')?.rowErrors?.count === 1);
    expect(
      summary('sum')
        ?.rowErrors?.sample.map(({ path, field }) => [path, field])
        .sort(),
    ).toEqual([...shops].sort().map((path) => [path, 'spec.combinedFields[1].subject']));
    expect(summary('list')?.rows?.map(({ columns }) => columns)).toEqual([[7]]);
    expect(summary('list')?.rowErrors?.sample).toMatchObject([{ path: 'eu:store', field: 'spec.select[0].def' }]);
  });

  it('is reported for an inventory space: whether the agent is connected, or which node knows', async () => {
    const own = (kind: string, name: string, spec: object) => {
      const labels = { tier: 'front' };
      const { code, out } = tree.apply(fleet, { apiVersion: inventory, kind, metadata: { name, labels }, spec });
      expect(code, out).toBe(0);
    };
    const target = (name: string) => tree.json<Shown>(fleet, 'synctarget', name)?.status;
    const fronts = () => tree.json<Shown>(fleet, 'location', 'fronts')?.status;
    own('SyncTarget', 'office', { attachTo: 'hq' });
    own('Location', 'fronts', { instanceSelector: { matchLabels: { tier: 'front' } } });
    await until('it is connected', () => target('office')?.conditions?.[0]?.status === 'True');
    expect(target('office')?.attachedTo).toBe('');
    await until('it is counted', () => fronts()?.availableInstances === 1);
    const pid = tree.pid('hq');
    process.kill(pid, 'SIGKILL');
    await until('it is back', () => tree.pid('hq') !== pid && fronts()?.availableInstances === 1);
    own('SyncTarget', 'cafe', { attachTo: 'eu:store' });
    await until(
      'the other node is named',
      () => target('cafe')?.conditions?.[0]?.message.includes('system space of eu ') ?? false,
    );
    await until('only instances are known', () => fronts()?.instances === 2);
    expect(fronts()).toEqual({ instances: 2 });
  });
});
