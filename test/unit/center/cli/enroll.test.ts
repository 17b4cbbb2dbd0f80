import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { enroll } from '../../../../center/cli/enroll.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';

const path = 'eu:paris:store-17';
const target = '/apis/inventory.banyan.io/v1alpha1/synctargets/store-17';
const location = '/apis/inventory.banyan.io/v1alpha1/locations/store-17';
const asked = { path, labels: ['env=prod', 'tier=store'], secret: 'who', again: false };

/** What is at the parent by path, and certificates that say whose they are. */
function parent(there: Readonly<Record<string, KubeObject>> = {}) {
  const made = new Map<string, KubeObject>();
  const issued: string[] = [];
  return {
    made,
    issued,
    api: {
      contexts: () => ['node/center', 'node/eu:paris'],
      get: async (context: string, at: string) => (context === 'node/eu:paris' ? there[at] : undefined),
      apply: async (context: string, at: string, object: KubeObject) => {
        made.set(`${context} ${at}`, object);
        return object;
      },
    },
    issue: async (agent: string) => {
      issued.push(agent);
      return { caPem: 'authority', certPem: `certificate of ${agent}`, keyPem: `key of ${agent}` };
    },
  };
}

const known: KubeObject = {
  apiVersion: 'inventory.banyan.io/v1alpha1',
  kind: 'SyncTarget',
  metadata: { name: 'store-17' },
};

describe('banyan enroll', () => {
  it('makes the place of the agent at its parent, with its labels, and prints what the chart takes', async () => {
    const { api, issue, made } = parent();
    const secret = parse(await enroll(api, asked, issue)) as object;
    expect(secret).toEqual({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'who' },
      type: 'kubernetes.io/tls',
      stringData: { 'ca.crt': 'authority', 'tls.crt': `certificate of ${path}`, 'tls.key': `key of ${path}` },
    });
    expect([...made.keys()]).toEqual([`node/eu:paris ${target}`, `node/eu:paris ${location}`]);
    for (const { metadata } of made.values()) expect(metadata.labels).toEqual({ env: 'prod', tier: 'store' });
  });

  it('refuses a name that is taken, and issues nothing', async () => {
    const node = '/apis/mesh.banyan.io/v1alpha1/nodes/eu.paris.store-17';
    for (const there of [{ [target]: known }, { [node]: known }]) {
      const { api, issue, made, issued } = parent(there);
      await expect(enroll(api, asked, issue)).rejects.toThrow(
        /"eu:paris:store-17" is taken at node\/eu:paris.*--again/,
      );
      expect([made.size, issued]).toEqual([0, []]);
    }
  });

  it('gives a known agent another certificate when that is asked for, and leaves its place as it is', async () => {
    const { api, issue, made } = parent({ [target]: known });
    expect(await enroll(api, { ...asked, again: true }, issue)).toContain(`certificate of ${path}`);
    expect(made.size).toBe(0);
    await expect(enroll(parent().api, { ...asked, again: true }, issue)).rejects.toThrow(/there is no "eu:paris/);
  });

  it.each([
    [{ path: 'eu:Paris' }, /"eu:Paris" is no path of an agent/],
    [{ path: '' }, /"" is no path of an agent/],
    [{ path: 'us:store-17' }, /no node\/us: the parent of an agent is a relay of the tree/],
    [{ labels: ['env'] }, /--label: "env" is not of the form key=value/],
    [{ labels: ['env=a=b'] }, /--label: "env=a=b" is not of the form key=value/],
    [{ labels: ['env=no spaces'] }, /--label: "env=no spaces": /],
    [{ secret: 'Not_A_Name' }, /--secret: "Not_A_Name": /],
  ])('refuses %o in words, and issues nothing', async (wrong, words) => {
    const { api, issue, made, issued } = parent();
    await expect(enroll(api, { ...asked, ...wrong }, issue)).rejects.toThrow(words);
    expect([made.size, issued]).toEqual([0, []]);
  });
});
