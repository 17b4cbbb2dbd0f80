import { describe, expect, it } from 'vitest';
import { printed } from '../../../../center/cli/output.ts';
import { treeOutput } from '../../../../center/cli/tree-output.ts';
import { versionOutput } from '../../../../center/cli/version.ts';
import { whyOutput } from '../../../../center/cli/why-output.ts';

const nowMs = Date.parse('2030-01-01T10:00:00Z');
const row = {
  depth: 0,
  role: 'Relay',
  session: 'Connected',
  lag: '3',
  below: '2',
  transport: 'grpc',
  version: '0.1.0',
  notes: '',
  rank: 1,
};

describe('the formats of -o', () => {
  const output = { data: { a: [1] }, names: ['x/a', 'x/b'], text: 'text', wide: 'wide' };
  it.each([
    [undefined, 'text'],
    ['wide', 'wide'],
    ['name', 'x/a\nx/b'],
    ['json', '{\n  "a": [\n    1\n  ]\n}'],
    ['yaml', 'a:\n  - 1'],
  ] as const)('%s', (format, expected) => {
    expect(printed(output, format)).toBe(expected);
  });
});

it('a tree has numbers, times and lists for programs', () => {
  const rows = [
    { ...row, path: 'eu', receivedAtMs: nowMs - 5_000, notes: 'DiskLow: full; ClusterTrouble: old' },
    { ...row, path: 'eu:till', role: 'Agent', session: 'Never', isNew: true, lag: '', below: '', transport: '' },
  ];
  const { data, names, wide } = treeOutput(rows, nowMs);
  expect(data).toEqual({
    nodes: [
      {
        path: 'eu',
        role: 'Relay',
        version: '0.1.0',
        session: 'Connected',
        transport: 'grpc',
        rootContactAt: '2030-01-01T09:59:55Z',
        lag: 3,
        destinations: 2,
        notes: ['DiskLow: full', 'ClusterTrouble: old'],
      },
      { path: 'eu:till', role: 'Agent', version: '0.1.0', session: 'Never', rootContactAt: 'never', notes: [] },
    ],
  });
  expect(names).toEqual(['node.mesh.banyan.io/eu', 'node.mesh.banyan.io/eu.till']);
  expect(wide).toMatch(/TRANSPORT +VERSION/);
});

describe('the version', () => {
  const client = { version: '0.2.0', node: '22.0.0' };

  it('is shown for each node, with a line about other versions', () => {
    const { text, data } = versionOutput(client, {
      rows: [
        { ...row, path: '' },
        { ...row, path: 'eu', version: '' },
      ],
    });
    expect(text).toMatch(/^client {3}0\.2\.0 {3}\(Node\.js 22\.0\.0\)\n/);
    expect(text).toMatch(/center +Relay +0\.1\.0\neu +Relay +unknown\nother versions than the client's: 0\.1\.0$/);
    expect(data).toMatchObject({ client, nodes: [{ path: 'center', version: '0.1.0' }, { path: 'eu' }] });
  });

  it('of nodes is unknown without a tree, with the reason', () => {
    const { text, data } = versionOutput(client, { why: 'no kubeconfig' });
    expect(text).toContain('nodes    unknown: no kubeconfig');
    expect(data).toEqual({ client, nodes: [], reason: 'no kubeconfig' });
  });
});

it('the steps of why name where each one is seen', () => {
  const question = { object: { kind: 'cm', name: 'a' }, namespace: 'n', space: 'space/center/s', at: 'eu:till', nowMs };
  const { data, wide } = whyOutput(['mailbox/eu:till: it is: there', 'web: matches'], question);
  expect(data).toMatchObject({
    object: 'cm/a',
    steps: [
      { where: 'mailbox/eu:till', what: 'it is: there' },
      { where: 'web', what: 'matches' },
    ],
  });
  expect(wide).toBe('WHERE             WHAT\nmailbox/eu:till   it is: there\nweb               matches');
});
