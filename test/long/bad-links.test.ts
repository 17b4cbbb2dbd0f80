/**
 * Seven agents on bad lines: one slow, one far away, one that is cut in the middle of frames, one that is reset there, one that goes silent without a close,
 * and two that are silent in one direction: on one the agent receives nothing, on the other its parent.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NodeApiClient } from '../../center/cli/api-client.ts';
import { LocalTree, untilAnswered } from '../e2e/local-tree.ts';
import { freePorts } from '../support/free-ports.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { Toxiproxy, withoutToxiproxy } from '../support/toxiproxy.ts';

const lacking = [withoutToxiproxy, withoutKubectl].filter((reason) => reason !== undefined).join('; ');
const why = lacking === '' ? '' : ` [not run: ${lacking}]`;
const space = 'space/center/retail';
const lines = ['thin', 'far', 'cut', 'reset', 'mute', 'deaf', 'unheard'] as const;
type Line = (typeof lines)[number];
const smallObjects = 200;
/** toxiproxy counts in thousands of bytes a second: 48 kbit/s. */
const thinRate = 6;
/** Each way. */
const farMs = 600;
/** A connection carries no more than this; the object that has to arrive is twice as large. */
const cutBytes = 60_000;
const [largeBytes, mediumBytes] = [1_000_000, 120_000];
/** Beats are sent every 15 s, and the bytes in flight before them take 2 s of the line. */
const beatAgeMax = 20;
/** Three missed beats are 60 s; the line became bad up to a beat after the last one. */
const deadWithinS = 80;

describe.skipIf(lacking !== '')(`a tree on bad lines${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-bad-links-'));
  let tree: LocalTree;
  let toxiproxy: Toxiproxy;
  let api: NodeApiClient;

  beforeAll(async () => {
    const [meshPort, toxiproxyPort, ...fronts] = (await freePorts(2 + lines.length)) as [number, number, ...number[]];
    toxiproxy = await Toxiproxy.start(toxiproxyPort);
    for (const [i, line] of lines.entries()) await toxiproxy.proxy(line, fronts[i]!, meshPort);
    await toxiproxy.add('thin', { type: 'bandwidth', attributes: { rate: thinRate } }, 'downstream', 'upstream');
    await toxiproxy.add('far', { type: 'latency', attributes: { latency: farMs } }, 'downstream', 'upstream');
    // Before the first connection: see there.
    const reset = { type: 'reset_peer', toxicity: 0, attributes: { timeout: 0 } } as const;
    await toxiproxy.add('reset', reset, 'downstream', 'upstream');
    const topology = {
      apiVersion: 'banyan.io/v1alpha1',
      kind: 'Topology',
      metadata: { name: 'bad-links' },
      spec: {
        center: { spaces: [{ name: 'retail' }], listen: { meshPort } },
        clusters: lines.map((name, i) => ({
          name,
          labels: { line: name },
          link: { transport: name === 'reset' ? 'websocket' : 'grpc', endpoint: `127.0.0.1:${fronts[i]}` },
        })),
      },
    };
    const file = join(directory, 'topology.yaml');
    writeFileSync(file, JSON.stringify(topology));
    tree = new LocalTree(file);
    await tree.up('--no-restart');
    api = new NodeApiClient(join(tree.data, 'kubeconfig'));
    place('bulk', ['thin', 'far']);
    place('medium', ['cut', 'reset']);
    place('word', ['mute', 'deaf', 'unheard']);
    await Promise.all(lines.map((line) => until(`a namespace is at ${line}`, async () => (await maps(line)).size > 0)));
  });
  afterAll(async () => {
    api?.close();
    await tree?.[Symbol.asyncDispose]();
    await toxiproxy?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  const namespaceOf: Record<Line, string> = {
    ...{ thin: 'bulk', far: 'bulk', cut: 'medium', reset: 'medium' },
    ...{ mute: 'word', deaf: 'word', unheard: 'word' },
  };

  /** A namespace, its first object, and the placement that sends both to these lines. */
  function place(name: string, to: readonly Line[]): void {
    const placement = {
      apiVersion: 'edge.banyan.io/v1alpha1',
      kind: 'EdgePlacement',
      metadata: { name },
      spec: {
        locationSelectors: [{ matchExpressions: [{ key: 'line', operator: 'In', values: to }] }],
        downsync: [{ apiGroup: '*', resources: ['*'], namespaces: [name] }],
      },
    };
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
    const items = [namespace, configMap(name, 'first', 'x'), placement];
    const { code, out } = tree.apply(space, { apiVersion: 'v1', kind: 'List', items });
    expect(code, out).toBe(0);
  }

  const configMap = (namespace: string, name: string, text: string) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace },
    data: { text },
  });
  const write = (namespace: string, name: string, text: string) =>
    api.apply(space, `/api/v1/namespaces/${namespace}/configmaps/${name}`, configMap(namespace, name, text));
  /** The text length of each ConfigMap on a line's cluster. */
  const maps = async (line: Line) => {
    const found = await api.list(`cluster/${line}`, `/api/v1/namespaces/${namespaceOf[line]}/configmaps`);
    return new Map(found.map(({ metadata, data }) => [metadata.name!, (data as { text?: string })?.text?.length ?? 0]));
  };
  const metric = (line: Line, name: string) => {
    const text = tree.ok(`cluster/${line}`, 'get', '--raw', '/metrics');
    return Number(new RegExp(`^${name.replace(/[{}"]/g, '\\$&')} (\\S+)$`, 'm').exec(text)?.[1] ?? 0);
  };
  const silences = (line: Line) => metric(line, 'banyan_session_ends_total{peer="parent",reason="Silence"}');
  /**
   * Silences that the center noticed, of any child: of the lines that are silent in one direction only the one from whose agent it receives nothing, and the
   * silent line.
   */
  const silentChildren = () => {
    const text = tree.ok('node/center', 'get', '--raw', '/metrics');
    return Number(/^banyan_session_ends_total\{peer="child",reason="Silence"\} (\S+)$/m.exec(text)?.[1] ?? 0);
  };
  const placed = async () => {
    const placement = await api.get(space, '/apis/edge.banyan.io/v1alpha1/edgeplacements/word');
    return (placement?.status as { summary?: { fresh: number; available: number } } | undefined)?.summary;
  };
  const agentLog = (line: Line) => readFileSync(join(tree.data, 'logs', `${line}.log`), 'utf8');
  const centerLog = () => readFileSync(join(tree.data, 'logs', 'center.log'), 'utf8').split('\n');
  const sessions = (line: Line) =>
    centerLog().filter((text) => text.includes('a child is attached') && text.includes(`"child":"${line}"`)).length;

  it('keeps sessions alive, lets small changes overtake a large one, and ends silent links', async () => {
    for (const line of ['cut', 'reset'])
      await toxiproxy.add(line, { type: 'limit_data', attributes: { bytes: cutBytes } }, 'downstream');
    const swallowed = { type: 'timeout', attributes: { timeout: 0 } } as const;
    await toxiproxy.add('mute', swallowed, 'downstream', 'upstream');
    await toxiproxy.add('deaf', swallowed, 'downstream');
    await toxiproxy.add('unheard', swallowed, 'upstream');
    const ages: number[] = [];
    const startMs = performance.now();
    const beats = setInterval(() => ages.push(metric('thin', 'banyan_root_age_seconds')), 2_000);
    try {
      await write('bulk', 'large', 'x'.repeat(largeBytes));
      await Promise.all(Array.from({ length: smallObjects }, (_, i) => write('bulk', `small-${i}`, `${i}`)));
      await write('medium', 'medium', 'y'.repeat(mediumBytes));
      await write('word', 'word', 'said while nobody heard');
      const count = (line: Line) =>
        maps(line).then((found) => [...found.keys()].filter((key) => key.startsWith('small-')).length);
      await Promise.all([
        until('the small ones are through the thin line', async () => (await count('thin')) === smallObjects).then(
          async () => {
            console.log(
              `small ones through the thin line after ${((performance.now() - startMs) / 1000).toFixed(1)} s`,
            );
            expect((await maps('thin')).has('large')).toBe(false);
          },
        ),
        until('all is far away', async () => (await count('far')) === smallObjects && (await maps('far')).has('large')),
        until('the medium one is through the cuts', async () => (await maps('cut')).get('medium') === mediumBytes),
        until('the medium one is through the resets', async () => (await maps('reset')).get('medium') === mediumBytes),
        until('who hears its parent has the word', async () => (await maps('unheard')).has('word'), 20),
        until('the mute session is over', async () => silences('mute') > 0, deadWithinS),
        until('who hears nothing has ended its session', async () => silences('deaf') > 0, deadWithinS),
        until('the center has ended those that it does not hear', async () => silentChildren() === 2, deadWithinS),
      ]);
    } finally {
      clearInterval(beats);
    }
    expect(Math.max(...ages)).toBeLessThan(beatAgeMax);
    expect(sessions('thin')).toBe(1);
    expect(sessions('far')).toBe(1);
    expect(sessions('cut')).toBeGreaterThan(mediumBytes / cutBytes);
    expect(sessions('reset')).toBeGreaterThan(mediumBytes / cutBytes);
    expect(agentLog('reset')).toContain('the connection broke');
    expect(silences('unheard')).toBe(0);
    expect((await maps('deaf')).has('word')).toBe(false);
    await until('none is counted', async () => {
      const counts = await placed();
      return counts?.fresh === 0 && counts.available === 0;
    });
  });

  it('reaches the same state everywhere when the lines are good again', async () => {
    await toxiproxy.remove('thin', 'bandwidth', 'downstream', 'upstream');
    for (const line of ['cut', 'reset']) await toxiproxy.remove(line, 'limit_data', 'downstream');
    await toxiproxy.remove('mute', 'timeout', 'downstream', 'upstream');
    await toxiproxy.remove('deaf', 'timeout', 'downstream');
    await toxiproxy.remove('unheard', 'timeout', 'upstream');
    await until('the large one is there', async () => (await maps('thin')).get('large') === largeBytes);
    for (const line of ['mute', 'deaf'] as const)
      await until(`${line} has heard`, async () => (await maps(line)).has('word'));
    await until(
      'all three are counted',
      async () => (await placed())?.fresh === 3 && (await placed())?.available === 3,
    );
    for (const line of ['thin', 'far'] as const) expect(sessions(line), line).toBe(1);
    for (const line of ['mute', 'deaf', 'unheard'] as const) expect(sessions(line), line).toBe(2);
  });
});

function until(what: string, holds: () => Promise<boolean>, seconds = 80): Promise<void> {
  return untilAnswered(what, holds, seconds);
}
