/**
 * Relays that joined by token, with certificates of a minute and authorities of two minutes: each relay renews both while it runs, with relays and agents below it.
 * Real processes, real time.
 */
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { certificatesIn } from '../../core/identity/pem-certificates.ts';
import { JoinedNodes } from '../e2e/joined-nodes.ts';
import { LocalTree, until } from '../e2e/local-tree.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const certificateSeconds = 60;
const topology = {
  apiVersion: 'banyan.io/v1alpha1',
  kind: 'Topology',
  metadata: { name: 'renewing' },
  spec: { center: { issuer: { certificateSeconds } }, relays: [], clusters: [] },
};

describe.skipIf(withoutKubectl)(`the authority of a relay${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-relay-renewal-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  const nodes = new JoinedNodes(directory, tree);

  beforeAll(async () => {
    writeFileSync(join(directory, 'topology.yaml'), stringify(topology));
    await tree.up();
    nodes.writeKubeconfig();
  });
  afterAll(async () => {
    await nodes[Symbol.asyncDispose]();
    await tree[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  const contexts: [string, string][] = [
    ['edge', 'edge'],
    ['sub', 'edge:sub'],
  ];
  const issuerOf = (name: string) =>
    new X509Certificate(certificatesIn(readFileSync(nodes.at(name, 'data/identity/issuer.crt')))[0]!.raw);
  const areConnected = () =>
    nodes.isConnected('node/center', 'edge') &&
    nodes.isConnected('node/edge', 'edge:sub') &&
    nodes.isConnected('node/edge:sub', 'edge:sub:till');

  it('is renewed while nodes below it run, which go on with certificates of the renewed one', async () => {
    const relay = (path: string, parent: ReturnType<typeof nodes.center>) => ({
      program: 'relay' as const,
      path,
      parent,
      certificateSeconds,
      token: nodes.tokenFor(path, '--relay', '--host', '127.0.0.1'),
    });
    nodes.start('edge', relay('edge', nodes.center()));
    await nodes.serves('edge');
    nodes.writeKubeconfig(...contexts.slice(0, 1));
    nodes.start('sub', relay('edge:sub', nodes.parentAt('edge', 'edge')));
    await nodes.serves('sub');
    nodes.writeKubeconfig(...contexts);
    const parent = nodes.parentAt('sub', 'edge:sub');
    const token = nodes.tokenFor('edge:sub:till');
    nodes.start('till', { program: 'edge-agent', path: 'edge:sub:till', parent, token });
    await until('all are attached', areConnected);
    const first = ['edge', 'sub'].map((name) => issuerOf(name));
    const endsMs = Math.max(...first.map(({ validTo }) => Date.parse(validTo)));
    // Every certificate of the first chain has ended, also those of the authorities.
    await until('the first authorities have ended', () => Date.now() > endsMs + 1_000, 180);
    await until('all are attached, without a new token', areConnected);
    for (const [i, name] of ['edge', 'sub'].entries()) {
      const now = issuerOf(name);
      expect(Date.parse(now.validTo), name).toBeGreaterThan(Date.now());
      expect(now.publicKey.equals(first[i]!.publicKey), name).toBe(true);
    }
    const chain = certificatesIn(nodes.identityOf('till').certPem);
    expect(chain.map(({ validTo }) => Date.parse(validTo) > Date.now())).toEqual(chain.map(() => true));
    // The relays admit nodes with the renewed authorities.
    const more = nodes.tokenFor('edge:sub:more');
    nodes.start('more', { program: 'edge-agent', path: 'edge:sub:more', parent, token: more });
    await until('another agent is attached', () => nodes.isConnected('node/edge:sub', 'edge:sub:more'));
  }, 400_000);
});
