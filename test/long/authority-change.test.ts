/**
 * Another authority of nodes while the tree runs: both are trusted for a time, all nodes get certificates of the new one, the former one is dropped. With nodes of
 * `banyan up`, with a relay and agents that joined by token, with nodes that are away meanwhile, and with a stolen key of a relay. Real processes.
 */
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { createAuthority } from '../../core/identity/authority.ts';
import { createNextAuthority } from '../../core/identity/authority-change.ts';
import { authorityId } from '../../core/identity/peer-identity.ts';
import { certificatesIn } from '../../core/identity/pem-certificates.ts';
import { authorityOfChain } from '../../core/identity/trusted-authorities.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { JoinedNodes } from '../e2e/joined-nodes.ts';
import { banyan, kubectlBy, LocalTree, until } from '../e2e/local-tree.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const topology = {
  apiVersion: 'banyan.io/v1alpha1',
  kind: 'Topology',
  metadata: { name: 'authorities' },
  spec: {
    center: {},
    relays: [{ name: 'us' }],
    clusters: [{ name: 'depot', parent: 'us', provider: { embedded: {} } }],
  },
};

interface Shown {
  readonly id: string;
  readonly inUse?: boolean;
  readonly nodes: number;
  readonly sample?: readonly string[];
}

describe.skipIf(withoutKubectl)(`a change of the authority of nodes${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-authority-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  const nodes = new JoinedNodes(directory, tree);
  const pki = (file: string) => join(tree.data, 'pki', file);
  let former: string;
  let next: string;

  const authority = (...args: string[]) => banyan('authority', ...args, '--data', tree.data);
  function shown(): Shown[] {
    const { code, out, stdout } = authority('show', '-o', 'json');
    if (code !== 0) throw new Error(out);
    return JSON.parse(stdout) as Shown[];
  }
  const of = (id: string) => shown().find((one) => one.id === id);
  const idIn = (file: string) => authorityId(certificatesIn(readFileSync(file))[0]!);
  /** The ids of the authorities that a node has stored as handed down. */
  function trustedAt(data: string): string[] {
    try {
      const { trusted } = JSON.parse(readFileSync(join(data, 'authorities.json'), 'utf8')) as { trusted: string };
      return certificatesIn(trusted).map(authorityId);
    } catch {
      return [];
    }
  }
  const dataOfAll = () => [
    ...['center', 'us', 'us.depot'].map((name) => join(tree.data, 'nodes', name)),
    ...['edge', 'till', 'away'].map((name) => nodes.at(name, 'data')),
  ];
  const areConnected = () =>
    nodes.isConnected('node/center', 'us') &&
    nodes.isConnected('node/center', 'edge') &&
    nodes.isConnected('node/us', 'us:depot') &&
    nodes.isConnected('node/edge', 'edge:till');

  beforeAll(async () => {
    writeFileSync(join(directory, 'topology.yaml'), stringify(topology));
    await tree.up();
    nodes.writeKubeconfig();
    const relay = nodes.tokenFor('edge', '--relay', '--host', '127.0.0.1');
    nodes.start('edge', { program: 'relay', path: 'edge', parent: nodes.center(), token: relay });
    await nodes.serves('edge');
    nodes.writeKubeconfig(['edge', 'edge']);
    for (const name of ['till', 'away', 'late']) {
      const token = nodes.tokenFor(`edge:${name}`);
      nodes.start(name, { program: 'edge-agent', path: `edge:${name}`, parent: nodes.parentAt('edge', 'edge'), token });
      await until(`${name} is attached`, () => nodes.isConnected('node/edge', `edge:${name}`));
    }
    former = idIn(pki('ca.crt'));
    await until('the center has heard of all', () => of(former)?.nodes === 7);
  }, 300_000);
  afterAll(async () => {
    await nodes[Symbol.asyncDispose]();
    await tree[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('begins with both trusted at every node, kept on its disk', async () => {
    await nodes.end('late');
    const { code, out } = authority('add');
    expect(code, out).toBe(0);
    next = idIn(pki('ca_next.crt'));
    await until('all nodes trust both', () =>
      dataOfAll().every((data) => trustedAt(data).join() === [former, next].join()),
    );
    // Whoever writes the object by hand can't cut the tree off.
    const only = JSON.stringify({ spec: { authorities: `${readFileSync(pki('ca_next.crt'))}` } });
    const patch = ['patch', 'nodes.mesh.banyan.io', 'center', '--type=merge', '-p', only];
    expect(kubectlBy(nodes.kubeconfig, ['--context', 'node/center', ...patch]).code).toBe(0);
    await until('the center says no', () =>
      readFileSync(join(tree.data, 'logs', 'center.log'), 'utf8').includes(
        'the certificate of the center leads to none',
      ),
    );
    expect(areConnected()).toBe(true);
    // Again: the same authority, and not a third one.
    expect(authority('add').code).toBe(0);
    await until('the center shows it', () => of(next) !== undefined);
    expect(shown()).toMatchObject([
      { id: former, inUse: true, nodes: 7 },
      { id: next, inUse: false, nodes: 0 },
    ]);
    // A node that is away while the new authority begins to sign.
    await nodes.end('away');
  });

  it('refuses to drop the authority that signs, one that nobody knows, and one on which nodes depend', () => {
    expect(authority('drop', former).out).toMatch(
      /the certificate of the center, or one of its issuers, leads to .*authority use/,
    );
    expect(authority('drop', 'abc')).toMatchObject({
      code: 2,
      out: expect.stringMatching(/trusts no authority "abc"/),
    });
  });

  it('gives all nodes certificates of the new authority, for their present keys', async () => {
    const keyBefore = nodes.identityOf('till').keyPem;
    const { code, out } = authority('use');
    expect(code, out).toBe(0);
    await until('only the nodes that are away depend on the former one', () => of(former)?.nodes === 2, 60);
    expect(of(former)?.sample?.toSorted()).toEqual(['edge:away', 'edge:late']);
    expect(of(next)).toMatchObject({ inUse: true, nodes: 5 });
    const trusted = certificatesIn(readFileSync(pki('ca.crt')));
    for (const name of ['edge', 'till'])
      expect(authorityOfChain(nodes.identityOf(name).certPem, trusted), name).toBe(next);
    expect(nodes.identityOf('till').keyPem).toBe(keyBefore);
    // The relay admits nodes below with an authority that leads to the new one too.
    expect(authorityOfChain(readFileSync(nodes.at('edge', 'data/identity/issuer.crt')), trusted)).toBe(next);
    const refused = authority('drop', former);
    expect(refused.code).toBe(1);
    expect(refused.out).toMatch(
      /2 nodes still depend on .*edge:away, edge:late|2 nodes still depend on .*edge:late, edge:away/,
    );
    expect(of(former)).toBeDefined();
  });

  it('takes a node back that was away meanwhile, as long as both are trusted', async () => {
    nodes.start('away', { program: 'edge-agent', path: 'edge:away', parent: nodes.parentAt('edge', 'edge') });
    await until('it is attached', () => nodes.isConnected('node/edge', 'edge:away'));
    await until('it has another certificate', () => of(former)?.nodes === 1, 60);
    expect(trustedAt(nodes.at('away', 'data'))).toEqual([next, former]);
  });

  it('is over when the former one is dropped, and names the remedy to a node that comes later', async () => {
    expect(authority('drop', former).code).toBe(1);
    const { code, out } = authority('drop', former, '--force');
    expect(code, out).toBe(0);
    await until('no node trusts the former one', () => dataOfAll().every((data) => trustedAt(data).join() === next));
    await until('all are attached', areConnected);
    nodes.writeKubeconfig(['edge', 'edge']);
    nodes.start('late', { program: 'edge-agent', path: 'edge:late', parent: nodes.parentAt('edge', 'edge') });
    await until('it reads the remedy', () =>
      /was not signed by the authority of this tree.*after a change of the authority.*join-token PATH --again/.test(
        nodes.log('late'),
      ),
    );
    await nodes.end('late');
    rmSync(nodes.at('late', 'data/identity'), { recursive: true });
    const token = nodes.tokenFor('edge:late', '--again');
    nodes.start('late', { program: 'edge-agent', path: 'edge:late', parent: nodes.parentAt('edge', 'edge'), token });
    await until('it is attached again', () => nodes.isConnected('node/edge', 'edge:late'));
  });

  it('survives a start of all nodes, with new tokens and users', async () => {
    await nodes.end('edge');
    await tree.down();
    await tree.up();
    nodes.start('edge', { program: 'relay', path: 'edge', parent: nodes.center() });
    await nodes.serves('edge');
    // The port of the relay is another one, and its children are told so by their start.
    for (const name of ['till', 'away', 'late']) {
      await nodes.end(name);
      nodes.start(name, { program: 'edge-agent', path: `edge:${name}`, parent: nodes.parentAt('edge', 'edge') });
    }
    nodes.writeKubeconfig(['edge', 'edge']);
    await until('all are attached', areConnected);
    expect(kubectlBy(nodes.kubeconfig, ['--context', 'node/us', 'get', 'nodes.mesh.banyan.io', 'us']).code).toBe(0);
    expect(shown()).toMatchObject([{ id: next, inUse: true }]);
  });

  it('takes no authority that somebody with rights at the center, or with the key of a relay, has made', async () => {
    const edge = {
      certPem: readFileSync(nodes.at('edge', 'data/identity/issuer.crt'), 'utf8'),
      keyPem: nodes.identityOf('edge').keyPem,
    };
    const issuing = { clock: systemClock, random: systemRandom };
    const stranger = await createAuthority('authorities', issuing);
    const theirs = await createNextAuthority(edge, 'authorities', issuing);
    for (const added of [stranger.certPem, `${theirs.certPem}\n${theirs.introductionPem}`]) {
      const present = readFileSync(pki('ca.crt'), 'utf8');
      const patch = JSON.stringify({ spec: { authorities: `${present}\n${added}` } });
      const args = ['--context', 'node/center', 'patch', 'nodes.mesh.banyan.io', 'center', '--type=merge', '-p', patch];
      expect(kubectlBy(nodes.kubeconfig, args).code).toBe(0);
      const id = authorityId(new X509Certificate(added));
      await until('the center says no', () =>
        readFileSync(join(tree.data, 'logs', 'center.log'), 'utf8').includes(`the authority ${id} `),
      );
      expect(shown().map((one) => one.id)).toEqual([next]);
    }
    const elsewhere = ['--context', 'node/us', 'patch', 'nodes.mesh.banyan.io', 'us', '--type=merge', '-p'];
    expect(
      kubectlBy(nodes.kubeconfig, [...elsewhere, JSON.stringify({ spec: { authorities: stranger.certPem } })]).out,
    ).toMatch(/the authorities of a tree are those of its center/);
  });
});
