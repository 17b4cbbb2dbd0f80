import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { NodeApiClient } from '../../center/cli/api-client.ts';
import { banyan, LocalTree, until } from '../e2e/local-tree.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const retail = 'space/center/retail';
const clusters = ['eu:paris:rivoli', 'eu:paris:bastille', 'eu:berlin:mitte', 'eu:berlin:lab', 'us:market', 'hq'];
const paris = clusters.slice(0, 2);
const apiVersion = 'edge.banyan.io/v1alpha1';

interface Placement {
  status?: {
    summary?: Record<string, number>;
    display?: string;
    failures?: { reason: string }[];
    rollout?: { release: number; phase: string; wave?: string; message: string };
    conditions?: { type: string; status: string; reason: string; message: string }[];
  };
}
type Answer = { passed: boolean; message?: string } | 'silence';

/** An external program: called over HTTPS, it gives its answers in order, and repeats the last one. */
class Gatekeeper {
  answers: Answer[] = ['silence'];
  readonly asked: unknown[] = [];
  readonly #server: Server;

  constructor(pki: string) {
    const [cert, key] = ['crt', 'key'].map((kind) => readFileSync(join(pki, `center.${kind}`)));
    this.#server = createServer({ cert, key }, async (request, response) => {
      this.asked.push(JSON.parse((await request.toArray()).join('')));
      const answer = this.answers.length > 1 ? this.answers.shift() : this.answers[0];
      if (answer !== 'silence') response.end(JSON.stringify(answer));
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}/may-it-go-on`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

describe.skipIf(withoutKubectl)(`a condition that holds a release back${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-gates-'));
  const topology = join(directory, 'topology.yaml');
  const tree = new LocalTree(topology);
  let api: NodeApiClient;
  let gatekeeper: Gatekeeper;
  let webhook: { url: string; timeoutSeconds: number; caBundle: string };

  const status = () => tree.json<Placement>(retail, 'epl', 'shop')?.status;
  const rollout = () => status()?.rollout;
  const condition = (type: string) => status()?.conditions?.find((one) => one.type === type);
  const at = (phase: string) => () => rollout()?.phase === phase;
  const apply = (...items: object[]) => {
    const { code, out } = tree.apply(retail, { apiVersion: 'v1', kind: 'List', items });
    expect(code, out).toBe(0);
  };
  const customizer = (value: string) => ({
    apiVersion,
    kind: 'Customizer',
    metadata: { name: 'greet', namespace: 'shop' },
    spec: { replacements: [{ path: '$.data.text', value }] },
  });
  const place = (rollout: object) =>
    apply({
      apiVersion,
      kind: 'EdgePlacement',
      metadata: { name: 'shop' },
      spec: {
        locationSelectors: [{}],
        downsync: [{ apiGroup: '', resources: ['configmaps'], namespaces: ['shop'] }],
        rollout: { strategy: 'Progressive', ...rollout },
      },
    });
  const texts = async () => {
    const read = (cluster: string) => api.get(`cluster/${cluster}`, '/api/v1/namespaces/shop/configmaps/greeting');
    return (await Promise.all(clusters.map(read))).map(
      (map) => (map as { data?: { text: string } } | undefined)?.data?.text,
    );
  };
  const having = async (text: string) => {
    const all = await texts();
    return clusters.filter((_, i) => all[i] === text);
  };
  const everywhere = async (text: string) => {
    const deadline = performance.now() + 30_000;
    for (let all = await having(text); all.length < clusters.length; all = await having(text)) {
      if (performance.now() > deadline) throw new Error(`only at ${all.join()}: ${text}`);
      await new Promise((done) => setTimeout(done, 100));
    }
  };

  beforeAll(async () => {
    const shop = parse(readFileSync('deploy/topologies/shop.yaml', 'utf8'));
    shop.spec.center.egress = { allow: ['127.0.0.1'] };
    writeFileSync(topology, stringify(shop));
    await tree.up();
    api = new NodeApiClient(join(tree.data, 'kubeconfig'));
    const pki = join(tree.data, 'pki');
    gatekeeper = new Gatekeeper(pki);
    const caBundle = readFileSync(join(pki, 'ca.crt')).toString('base64');
    webhook = { url: await gatekeeper.listen(), timeoutSeconds: 1, caBundle };
    const configMap = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'greeting', namespace: 'shop', annotations: { 'edge.banyan.io/customizer': 'greet' } },
      data: { text: 'Hello' },
    };
    apply(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
      configMap,
      customizer('Hello from ${{ path }}'),
    );
    place({ strategy: 'All' });
    tree.ok(retail, 'wait', 'epl/shop', '--for=condition=Ready', '--timeout=60s');
  });
  afterAll(async () => {
    gatekeeper?.close();
    api?.close();
    await tree[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('is a webhook that does not answer or says no, until it says yes, with its message; the release may be of a Customizer', async () => {
    gatekeeper.answers = ['silence', 'silence', { passed: false, message: 'the freezer is being defrosted' }];
    const first = { name: 'paris', selector: { matchLabels: { zone: 'paris' } } };
    place({ waves: [{ ...first, gates: [{ name: 'ops', webhook }] }] });
    await until('it is staged', at('Promoted'));
    apply(customizer('Bonjour from ${{ path }}'));
    await until('nobody answers', () => rollout()?.message.includes('no answer within 1 s') ?? false);
    await until(
      'it says no',
      () => rollout()?.message.includes("gate 'ops' (the freezer is being defrosted)") ?? false,
    );
    expect(rollout()).toMatchObject({ phase: 'WaitingForGate', wave: 'paris' });
    expect(gatekeeper.asked[0]).toEqual({
      placement: 'shop',
      source: 'center.retail',
      release: 1,
      wave: 'paris',
      summary: { expected: 2, fresh: 2, exposed: 2, available: 2, failed: 0 },
    });
    expect(await texts()).toEqual(clusters.map((path) => `${paris.includes(path) ? 'Bonjour' : 'Hello'} from ${path}`));
    const asked = banyan(
      'why',
      'configmap/greeting',
      '-n',
      'shop',
      '--at',
      'us:market',
      '--space',
      retail,
      '--data',
      tree.data,
    );
    expect(asked.out).toContain('shop: matches the Location market');
    expect(asked.out).toMatch(/shop: release 1 is not promoted \(WaitingForGate\): .*the freezer is being defrosted/);
    expect(asked.out).toMatch(/shop: release 1 at the parent of the agent: handed to 0 agents of this node/);
    gatekeeper.answers = [{ passed: true }];
    await until('it is promoted', at('Promoted'));
    tree.ok(retail, 'wait', 'epl/shop', '--for=condition=Ready', '--timeout=30s');
    expect(await texts()).toEqual(clusters.map((path) => `Bonjour from ${path}`));
  });

  it('is a webhook whose address the node may not call: the node says so, and calls nobody', async () => {
    const asked = gatekeeper.asked.length;
    const elsewhere = { ...webhook, url: webhook.url.replace('127.0.0.1', '127.0.0.2') };
    place({
      waves: [
        { name: 'paris', selector: { matchLabels: { zone: 'paris' } }, gates: [{ name: 'ops', webhook: elsewhere }] },
      ],
    });
    apply(customizer('Salut from ${{ path }}'));
    const refusal = 'the node does not call 127.0.0.2, a loopback address: add the address to egress.allow of the node';
    await until('the node refuses', () => rollout()?.message.includes(refusal) ?? false);
    place({
      waves: [{ name: 'paris', selector: { matchLabels: { zone: 'paris' } }, gates: [{ name: 'ops', webhook }] }],
    });
    await until('it is promoted', at('Promoted'));
    tree.ok(retail, 'wait', 'epl/shop', '--for=condition=Ready', '--timeout=30s');
    expect(await texts()).toEqual(clusters.map((path) => `Salut from ${path}`));
    expect(gatekeeper.asked.length).toBeGreaterThan(asked);
  });

  it('is a person, who pauses and resumes it', async () => {
    const gate = { apiVersion, kind: 'RolloutGate', metadata: { name: 'go' }, spec: { description: 'for the test' } };
    apply(gate);
    const waves = [{ name: 'paris', selector: { matchLabels: { zone: 'paris' } }, gates: [{ rolloutGate: 'go' }] }];
    place({ waves });
    apply(customizer('paused'));
    await until('the first wave has it', at('WaitingForGate'));
    const pause = (paused: boolean) =>
      tree.ok(retail, 'patch', 'epl', 'shop', '--type=merge', '-p', JSON.stringify({ spec: { rollout: { paused } } }));
    pause(true);
    await until('it is paused', at('Paused'));
    expect(condition('Progressing')).toMatchObject({ status: 'Unknown', reason: 'Paused' });
    expect(rollout()?.message).toContain('paused by hand; goes on when spec.rollout.paused is false');
    tree.ok(retail, 'patch', 'rg', 'go', '--subresource=status', '--type=merge', '-p', '{"status":{"phase":"Passed"}}');
    // A relay that receives this late receives it later than the gate: it ends at the same state.
    tree.ok(retail, 'annotate', 'epl', 'shop', 'note=seen');
    await until('it has been looked at', () => tree.ok(retail, 'get', 'epl', 'shop').includes('paused by hand'));
    expect(await having('paused')).toEqual(paris);
    pause(false);
    await until('it is promoted', at('Promoted'));
    await everywhere('paused');
  });

  it('is a deadline, at which it is rolled back: the former Customizer takes effect again, and the counts show it at every level', async () => {
    const waves = [{ name: 'paris', selector: { matchLabels: { zone: 'paris' } }, gates: [{ rolloutGate: 'nobody' }] }];
    place({ waves, progressDeadlineSeconds: 15, onFailure: 'Rollback' });
    apply(customizer('late'));
    await until('the first wave has it', at('WaitingForGate'));
    expect(await having('late')).toEqual(paris);
    await until('it is taken back', at('RolledBack'));
    expect(condition('Progressing')).toMatchObject({ status: 'False', reason: 'ProgressDeadlineExceeded' });
    expect(condition('Progressing')?.message).toContain('no progress for 15 s; waits for gate');
    await everywhere('paused');
    await until('all are counted', () => status()?.display === 'available 6/6 (rolled back)');
    expect(status()?.summary).toMatchObject({ expected: 6, available: 6, outdated: 0, failed: 0 });
    expect(condition('Ready')).toMatchObject({ status: 'False', reason: 'RolledBack' });
    const below = () => tree.json<Placement>('space/eu/center.retail', 'epl', 'shop')?.status;
    await until('those of a region too', () => below()?.display === 'available 4/4 (rolled back)');
    expect(banyan('status', 'epl/shop', '--space', retail, '--data', tree.data).out).toContain('rolled back');
  });
});
