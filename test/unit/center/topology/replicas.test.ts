import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { contextsOf } from '../../../../center/supervisor/kubeconfig.ts';
import { parseTopology } from '../../../../center/topology/parse.ts';
import { planOf } from '../../../../center/topology/plan.ts';
import { identityOfSpiffeId, spiffeId } from '../../../../core/identity/peer-identity.ts';

const file = join(import.meta.dirname, '../../../../deploy/topologies/replicas.yaml');

function problemsOf(relays: string): string[] {
  const text = `apiVersion: banyan.io/v1alpha1\nkind: Topology\nmetadata: {name: t}\nspec:\n  relays:\n${relays}`;
  const parsed = parseTopology(text);
  return 'problems' in parsed ? parsed.problems.map(({ field, message }) => `${field}: ${message}`) : [];
}

function planned() {
  const parsed = parseTopology(readFileSync(file, 'utf8'));
  if (!('topology' in parsed)) throw new Error(JSON.stringify(parsed.problems));
  return planOf(parsed.topology);
}

describe('replicas in a topology', () => {
  it('are nodes of one path, and each child has all of them as parents in an order of its own', () => {
    const nodes = planned();
    expect(nodes.filter(({ path }) => path === 'eu').map(({ id, replica }) => [id, replica])).toEqual([
      ['eu', 0],
      ['eu~1', 1],
    ]);
    const parents = nodes.filter(({ role }) => role === 'agent').map((node) => node.parents.join());
    expect(new Set(parents)).toEqual(new Set(['eu:fr:paris,eu:fr:paris~1', 'eu:fr:paris~1,eu:fr:paris', 'eu:de']));
    expect(nodes.find(({ id }) => id === 'eu:fr')?.relays).toEqual(['paris', 'paris~1']);
  });

  it('have one context each, and the first replica also has the context of the path', () => {
    const names = contextsOf(planned(), (id) => `https://${id}`);
    const urlOf = (name: string) => names.find((context) => context.name === name)?.url;
    expect(urlOf('node/eu')).toBe('https://eu');
    expect(urlOf('node/eu~1')).toBe('https://eu~1');
    expect(urlOf('space/eu~1/center.retail')).toBe('https://eu~1/spaces/center.retail');
    expect(urlOf('fleet/center/retail')).toBe('https:///fleet/retail');
    expect(urlOf('fleet/eu~1/center.retail')).toBe('https://eu~1/fleet/center.retail');
    expect(
      names.filter(({ name }) => name.startsWith('fleet/')).every(({ name }) => urlOf(name.replace('fleet', 'space'))),
    ).toBe(true);
    expect(urlOf('mailbox/eu~1')).toBe('https:///mailboxes/eu~1');
    expect(urlOf('mailbox/eu:fr:paris:store-1')).toBe('https://eu:fr:paris/mailboxes/store-1');
    expect(urlOf('mailbox/eu:fr:paris:store-1~1')).toBe('https://eu:fr:paris~1/mailboxes/store-1');
    expect(new Set(names.map(({ name }) => name)).size).toBe(names.length);
  });

  it('are refused with spaces, with a port, and directly below replicas, with a message', () => {
    expect(problemsOf('    - {name: eu, replicas: 2, spaces: [{name: ops}]}')).toEqual([
      expect.stringMatching(/^spec\.relays\[0\]\.spaces: .*each would have a space "ops" of its own/),
    ]);
    expect(problemsOf('    - {name: eu, replicas: 2, listen: {apiPort: 8443}}')).toEqual([
      expect.stringMatching(/^spec\.relays\[0\]\.listen: .*can't listen on one port \(8443\)/),
    ]);
    expect(problemsOf('    - {name: eu, replicas: 2}\n    - {name: paris, parent: eu, replicas: 2}')).toEqual([
      expect.stringMatching(/^spec\.relays\[1\]\.replicas: .*put a relay without replicas between them/),
    ]);
    expect(problemsOf('    - {name: eu, replicas: 9}')).toHaveLength(1);
  });

  it('are distinguished by their certificates; only relays can be replicas', () => {
    const identity = { role: 'relay', path: 'eu:paris', replica: 1 } as const;
    expect(spiffeId('shop', identity)).toBe('spiffe://shop/node/relay.1/eu/paris');
    expect(identityOfSpiffeId('spiffe://shop/node/relay.1/eu/paris')).toEqual(identity);
    for (const id of ['agent.1/eu/till', 'relay.0/eu', 'relay.01/eu', 'relay.9/eu', 'relay./eu', 'center.1']) {
      expect(() => identityOfSpiffeId(`spiffe://shop/node/${id}`)).toThrow('no node of a tree');
    }
  });
});
