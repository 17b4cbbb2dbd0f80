/** The commands for persons: which Secrets and files they bring, and what they leave in place. */
import { describe, expect, it } from 'vitest';
import { deploymentsOf, type InstalledNode } from '../../../../center/install/deployments.ts';
import {
  ending,
  firstAdministrator,
  installation,
  moving,
  newToken,
  renewal,
} from '../../../../center/install/install-commands.ts';
import { parseTopology } from '../../../../center/topology/parse.ts';
import { planOf } from '../../../../center/topology/plan.ts';

const nodes = (spec: string): Map<string, InstalledNode> => {
  const parsed = parseTopology(`apiVersion: banyan.io/v1alpha1\nkind: Topology\nmetadata: {name: t}\nspec: ${spec}\n`);
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  return new Map(deploymentsOf(parsed.topology, planOf(parsed.topology)).map((one) => [one.node.path, one]));
};
const all = nodes(`
  center: {deploy: {names: [c.example.com]}, encryption: {resources: []}}
  relays: [{name: eu, deploy: {as: machine, names: [eu.example.com]}, encryption: {keyCommand: [vault, keys]}}]
  clusters: [{name: shop, parent: eu, provider: {kubeconfig: {path: k}}}, {name: till, parent: eu}]`);
const at = (path: string) => all.get(path)!;

describe('an installation', () => {
  it('by the chart makes the Secrets that the values name, and no others', () => {
    expect(installation(at(''), 'DIR').commands).toEqual([
      'kubectl create namespace banyan',
      'helm upgrade --install banyan deploy/chart -n banyan --wait -f DIR/center/values.yaml --set image.repository=registry.example.com/banyan',
    ]);
    expect(installation(at('eu:shop'), 'DIR').commands.join('\n')).toMatch(
      /secret generic banyan-keys --from-literal=keys=.*\n.*secret generic banyan-join --from-file=token=eu\.shop\.token\n/,
    );
  });

  it('on a machine makes a key file, unless a program gives the keys, and brings the token', () => {
    const [relay, agent] = [at('eu'), at('eu:till')].map((node) => installation(node, 'DIR').commands.join('\n'));
    expect(relay).not.toContain('/var/lib/banyan/keys');
    expect(relay).toContain('cp eu.token /var/lib/banyan/join-token');
    expect(agent).toContain('tee /var/lib/banyan/keys');
    expect(installation(at('eu'), 'DIR').at).toBe('on eu.example.com');
  });
});

it('a token admits the hosts of the relays below too, unless a DNS name of the relay includes them', () => {
  const deploy = (...names: string[]) => `deploy: {names: [${names.map((name) => `"${name}"`).join(', ')}]}`;
  const below = nodes(`
    center: {${deploy('c.example.com')}}
    relays:
      - {name: lyon, parent: eu, ${deploy('fd00::2', 'lyon.eu.example.com')}}
      - {name: eu, ${deploy('eu.example.com')}}
      - {name: east, parent: "eu:lyon", ${deploy('east.example.com', 'fd00::3')}}
      - {name: us, ${deploy('us.example.com')}}`);
  const hosts = (path: string) => below.get(path)!.hosts;
  expect(hosts('eu')).toEqual(['eu.example.com', 'fd00::2', 'east.example.com', 'fd00::3']);
  expect(hosts('eu:lyon')).toEqual(['fd00::2', 'lyon.eu.example.com', 'east.example.com', 'fd00::3']);
  expect([hosts('us'), hosts('')]).toEqual([['us.example.com'], []]);
  expect(newToken(below.get('eu')!).commands[0]).toContain('--relay --host eu.example.com --host fd00::2 --host east');
  expect(below.get('eu:lyon')!.names).toEqual(['fd00::2', 'lyon.eu.example.com']);
});

describe('a move', () => {
  it('brings a token and files, and keeps the store', () => {
    const machine = moving(at('eu:till'), 'us:till', 'DIR');
    expect(machine.at).toBe('on the machine of us:till');
    expect(machine.commands).toEqual([
      'sudo -u banyan cp eu.till.token /var/lib/banyan/join-token',
      'sudo -u banyan cp -r DIR/eu.till/. /var/lib/banyan',
      'sudo systemctl restart banyan-agent',
    ]);
    expect(moving(at('eu:shop'), 'us:shop', 'DIR').commands).toEqual([
      'kubectl -n banyan delete secret banyan-join --ignore-not-found',
      'kubectl -n banyan create secret generic banyan-join --from-file=token=eu.shop.token',
      expect.stringMatching(/^helm upgrade --install banyan .*-f DIR\/eu\.shop\/values\.yaml/),
    ]);
  });
});

it('a renewal brings files and no token; an end leaves the data', () => {
  expect(renewal(at('eu'), 'DIR').commands).toEqual([
    'sudo -u banyan cp -r DIR/eu/. /var/lib/banyan',
    'sudo systemctl restart banyan-relay',
  ]);
  expect(renewal(at('eu:shop'), 'DIR').commands).toHaveLength(1);
  expect(ending('eu', 'relay').commands.join('\n')).not.toMatch(/\brm\b|delete/);
});

it('the token of a relay admits the hosts of its API', () => {
  expect(newToken(at('eu')).commands).toEqual([
    expect.stringMatching(/join-token eu --relay --host eu\.example\.com > eu\.token$/),
  ]);
  expect(newToken(at('eu:till'), '--again').commands).toEqual([
    expect.stringMatching(/join-token eu:till --again > eu\.till\.token$/),
  ]);
});

it('the first administrator reaches the center at its first name, also at an IPv6 address', () => {
  const center = (deploy: string) => nodes(`{center: {deploy: ${deploy}}}`).get('')!;
  expect(firstAdministrator(center('{names: [c.example.com]}'))).toEqual({
    at: 'with the kubeconfig of the cluster of center',
    commands: [expect.stringContaining('--data /data --server https://c.example.com:6443 > admin.kubeconfig')],
  });
  expect(firstAdministrator(center('{as: machine, names: ["fd00::1"]}'))).toEqual({
    at: 'on fd00::1',
    commands: [expect.stringContaining('--data /var/lib/banyan/data --server https://[fd00::1]:6443 > ')],
  });
});
