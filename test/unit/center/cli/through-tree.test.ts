import { describe, expect, it } from 'vitest';
import {
  contextOfPart,
  contextsThrough,
  entryUrl,
  ownPath,
  pathOfContext,
} from '../../../../center/cli/through-tree.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';

const node = (path: string, role: string): KubeObject => ({
  apiVersion: 'mesh.banyan.io/v1alpha1',
  kind: 'Node',
  metadata: { name: path },
  spec: { path, role },
});

it.each([
  ['https://a:6443', 'https://a:6443', ''],
  ['https://a:6443/', 'https://a:6443', ''],
  ['https://a/spaces/retail', 'https://a', '/spaces/retail'],
  ['https://a/spaces/retail/', 'https://a', '/spaces/retail'],
  ['https://a/gate/banyan/spaces/retail', 'https://a/gate/banyan', '/spaces/retail'],
  ['https://a/tree/eu%3Aparis/cluster', 'https://a', '/cluster'],
  ['https://a/gate', 'https://a/gate', ''],
])('splits %s into the URL of the node and the part of it', (url, base, below) => {
  expect(entryUrl(new URL(url))).toEqual({ base, below });
});

describe('a context that the kubeconfig does not have', () => {
  it.each([
    ['node/center', '', ''],
    ['node/eu:paris', '', '/tree/eu%3Aparis'],
    ['node/eu', 'eu', ''],
    ['space/center/retail', '', '/spaces/retail'],
    ['space/eu/center.retail', '', '/tree/eu/spaces/center.retail'],
    ['fleet/eu/ops', 'eu', '/fleet/ops'],
    ['cluster/eu:till', 'eu', '/tree/eu%3Atill/cluster'],
    ['mailbox/hq', '', '/mailboxes/hq'],
    ['mailbox/eu:till', '', '/tree/eu/mailboxes/till'],
    ['reported/eu/eu:till', '', '/tree/eu/reported/eu:till'],
  ])('leads from %s at the node "%s" to %s', (context, entry, path) => {
    expect(pathOfContext(context, entry)).toBe(path);
  });

  it.each(['prod', 'node/', 'space/eu', 'gadget/eu/x', 'space/eu/ops/more'])('is none: %s', (context) => {
    expect(pathOfContext(context, '')).toBe(undefined);
  });

  it('has the name of the part of the node to which the URL leads', () => {
    expect(contextOfPart('/spaces/retail', '')).toBe('space/center/retail');
    expect(contextOfPart('/fleet/ops', 'eu')).toBe('fleet/eu/ops');
    expect(contextOfPart('', 'eu')).toBe('node/eu');
  });
});

it('the contexts through a node are those of its relays and of its own agents, one for all replicas', () => {
  const nodes = [
    node('eu:paris', 'Relay'),
    node('eu', 'Relay'),
    node('eu:berlin~1', 'Relay'),
    node('eu:berlin', 'Relay'),
    node('eu:hq', 'Agent'),
  ];
  expect(ownPath(nodes)).toBe('eu');
  expect(contextsThrough(nodes, 'eu')).toEqual([
    'node/eu:paris',
    'mailbox/eu:paris',
    'node/eu',
    'node/eu:berlin',
    'mailbox/eu:berlin',
    'cluster/eu:hq',
    'mailbox/eu:hq',
  ]);
});
