/** Secrets at rest: a Secret goes every way that objects go in a tree, and then no byte of it is found in any file. The page docs/operations/encryption.md. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { readSealingRecord, type SealingRecord } from '../../core/encryption/sealing-record.ts';
import { silentLogger } from '../../core/runtime/logger.ts';
import { LmdbStore } from '../../core/store/lmdb/lmdb-store.ts';
import { banyan, LocalTree, until, untilAnswered } from '../e2e/local-tree.ts';
import { filesWith, formsOf } from '../e2e/secret-traces.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const space = 'space/center/retail';
const nodes = ['center', 'eu', 'eu.one', 'eu.two'];
const stores = [
  'nodes/center/data.mdb',
  'nodes/eu.one/store/data.mdb',
  'nodes/eu.two/store/data.mdb',
  'nodes/eu/data.mdb',
];

/** The log has the body of every request and answer, as far as a log may have them. */
const policy = stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'RequestResponse' }] });

/** The policy file is beside the topology. */
function topology(encryption?: object): string {
  const settings = { audit: { policyFile: 'policy.yaml' }, ...(encryption ? { encryption } : {}) };
  const cluster = (name: string) => ({ name, parent: 'eu', labels: { env: 'prod', place: name }, ...settings });
  return stringify({
    apiVersion: 'banyan.io/v1alpha1',
    kind: 'Topology',
    metadata: { name: 'secrets' },
    spec: {
      center: { spaces: [{ name: 'retail' }], ...settings },
      relays: [{ name: 'eu', ...settings }],
      clusters: [cluster('one'), cluster('two')],
    },
  });
}

/** Of a store, also while its node runs. */
async function recordIn(directory: string): Promise<SealingRecord | undefined> {
  const store = LmdbStore.open({ directory, readOnly: true }, silentLogger);
  const record = store.read(readSealingRecord);
  await store[Symbol.asyncDispose]();
  return record;
}

function linesOf(file: string): string[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
}

/** They ask for values of Secrets: the first of what is sent down, the second of what clusters report. */
const summarizersOfSecrets = [
  {
    name: 'sent',
    spec: {
      limit: 100,
      select: [
        { name: 'name', def: 'obj.metadata.name' },
        { name: 'pin', def: 'obj.data.pin' },
        { name: 'note', def: 'obj.metadata.annotations.note' },
      ],
    },
  },
  {
    name: 'reported',
    spec: {
      groupBy: [{ name: 'has', def: 'string(has(returned.data.pin))' }],
      combinedFields: [
        { name: 'all', type: 'COUNT' },
        { name: 'values', type: 'COUNT', subject: 'returned.data.pin' },
        { name: 'pins', type: 'TOPK', subject: 'returned.data.pin' },
      ],
    },
  },
].map(({ name, spec }) => ({
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'StatusSummarizer',
  metadata: { name },
  spec,
}));

const otherKey = Buffer.alloc(32, 9).toString('base64');

describe.skipIf(withoutKubectl)(`secrets at rest${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-encryption-'));
  const file = join(directory, 'topology.yaml');
  const tree = new LocalTree(file);
  const keyFile = (node: string) => join(tree.data, 'keys', node);
  const traces = (secret: string) => filesWith(formsOf(secret), tree.data);

  const apply = (...items: object[]) => {
    const { code, out } = tree.apply(space, { apiVersion: 'v1', kind: 'List', items });
    expect(code, out).toBe(0);
  };
  const secretAt = (context: string, name: string) =>
    tree.json<{ data?: Record<string, string> }>(context, 'secret', name, '-n', 'shop')?.data;
  const secret = (name: string, fields: object, annotations: object = {}, namespace = 'shop') => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace, annotations },
    ...fields,
  });
  const isReady = () => tree.ok(space, 'wait', 'epl/shop', '--for=condition=Ready', '--timeout=90s');

  /** Sends Secrets with the text every way: data, stringData, annotations, customized, large, in waves, taken over, undone, upsynced, deleted, summarized. */
  async function secretsGoEverywhere(text: string) {
    const encoded = Buffer.from(`pin=${text}`).toString('base64');
    for (const cluster of ['cluster/eu:one', 'cluster/eu:two']) {
      expect(tree.apply(cluster, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }).code).toBe(0);
      expect(tree.apply(cluster, secret('taken', { stringData: { had: `had-${text}`, pin: text } })).code).toBe(0);
    }
    apply(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
      {
        apiVersion: 'edge.banyan.io/v1alpha1',
        kind: 'Customizer',
        metadata: { name: 'at', namespace: 'shop' },
        spec: {
          rules: [
            {
              target: { kind: 'Secret' },
              // biome-ignore lint/suspicious/noTemplateCurlyInString: an expression of a Customizer
              patch: [{ merge: { stringData: { at: '${{ path }}', own: 'added' } } }],
            },
          ],
        },
      },
      ...summarizersOfSecrets,
      secret('plain', { data: { pin: encoded } }, { note: `note-${text}` }),
      secret('customized', { stringData: { pin: text } }, { 'edge.banyan.io/customizer': 'at' }),
      secret('taken', { stringData: { pin: text } }),
      secret('short-lived', { stringData: { pin: text } }),
      {
        apiVersion: 'edge.banyan.io/v1alpha1',
        kind: 'EdgePlacement',
        metadata: { name: 'shop' },
        spec: {
          locationSelectors: [{ matchLabels: { env: 'prod' } }],
          downsync: [
            { apiGroup: '', resources: ['namespaces', 'secrets'], namespaces: ['shop'], statusSummarizers: ['sent'] },
          ],
          upsync: [
            {
              apiGroup: '',
              resources: ['secrets'],
              namespaces: ['born'],
              returnTo: 'Center',
              statusSummarizers: ['reported'],
            },
          ],
          adopt: 'Always',
          rollout: {
            strategy: 'Progressive',
            waves: [
              { name: 'first', selector: { matchLabels: { place: 'one' } }, soakSeconds: 1 },
              { name: 'rest', fraction: 1 },
            ],
          },
        },
      },
    );
    isReady();
    for (const cluster of ['cluster/eu:one', 'cluster/eu:two']) {
      await until('the clusters have the Secrets', () => secretAt(cluster, 'plain')?.pin === encoded);
      await until('the customized one too', () => secretAt(cluster, 'customized')?.own !== undefined);
    }
    // Without the annotation of kubectl, which may not be so large.
    const large = secret('large', { stringData: { pin: `${text}${'x'.repeat(700_000)}${text}` } });
    const made = tree.kubectl(space, ['apply', '--server-side', '--force-conflicts', '-f', '-'], JSON.stringify(large));
    expect(made.code, made.out).toBe(0);
    await until('the large one', () => secretAt('cluster/eu:two', 'large') !== undefined);
    isReady();
    // Another release, with the former content in the history.
    apply(secret('plain', { data: { pin: encoded, more: Buffer.from(`more-${text}`).toString('base64') } }));
    await until('the second release', () => secretAt('cluster/eu:two', 'plain')?.more !== undefined);
    isReady();
    tree.ok(space, 'delete', 'secret', 'short-lived', '-n', 'shop', '--wait=false');
    await until('the deletion has arrived', () => secretAt('cluster/eu:two', 'short-lived') === undefined);
    await aFailureShowsNoValue(text);
    aMistakeShowsNoValue(text);
    const born = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'born' } };
    expect(tree.apply('cluster/eu:one', born).code).toBe(0);
    expect(tree.apply('cluster/eu:one', secret('born', { stringData: { pin: text } }, {}, 'born')).code).toBe(0);
    await until(
      'the Secret of the edge is at the center',
      () =>
        tree.kubectl('node/center', ['get', '--raw', '/reported/eu:one/api/v1/namespaces/born/secrets/born']).code ===
        0,
    );
    await aSummaryShowsNoValue();
  }

  /** The summaries count the Secrets and the names in them, and show no value. */
  async function aSummaryShowsNoValue() {
    const rows = (name: string) =>
      tree.json<{ rows?: { columns: unknown[] }[] }>(space, 'ss', name)?.rows?.map(({ columns }) => columns) ?? [];
    await until('the sent ones are summarized', () => rows('shop.sent').length >= 4);
    for (const [name, pin, note] of rows('shop.sent'))
      if (name !== 'shop') expect([pin, note], String(name)).toEqual([null, null]);
    await until('the reported one too', () => rows('shop.reported').length > 0);
    expect(rows('shop.reported')).toEqual([['true', 1, 0, []]]);
  }

  /** Somebody plans a Secret, sends malformed ones, and sends one to the URL of another kind. */
  function aMistakeShowsNoValue(text: string) {
    const at = join(directory, 'secret.json');
    const urls = ['secrets', 'configmaps'].map((kind) => `/spaces/retail/api/v1/namespaces/shop/${kind}`);
    const whole = JSON.stringify(secret('planned', { stringData: { pin: text } }));
    writeFileSync(at, whole);
    const planned = banyan('plan', '-f', at, '--space', space, '--data', tree.data);
    expect(planned.code, planned.out).toBe(0);
    const broken = [
      whole.replace(`"${text}"`, text),
      whole.replace('stringData', 'data'),
      whole.replace('"shop"', `"${text}"`),
    ];
    for (const url of urls) {
      for (const body of [...broken, ...(url.endsWith('maps') ? [whole] : [])]) {
        writeFileSync(at, body);
        expect(tree.kubectl('node/center', ['create', '--raw', url, '-f', at]).code).not.toBe(0);
      }
    }
    writeFileSync(at, '');
  }

  /** An expression fails with a value of the Secret. */
  async function aFailureShowsNoValue(text: string) {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: an expression of a Customizer
    const value = '${{ bool(object.metadata.annotations.note) }}';
    apply(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'failing' } },
      {
        apiVersion: 'edge.banyan.io/v1alpha1',
        kind: 'Customizer',
        metadata: { name: 'failing', namespace: 'failing' },
        spec: { replacements: [{ path: '$.metadata.annotations.answer', value }] },
      },
      secret('failing', {}, { note: text, answer: '', 'edge.banyan.io/customizer': 'failing' }, 'failing'),
      {
        apiVersion: 'edge.banyan.io/v1alpha1',
        kind: 'EdgePlacement',
        metadata: { name: 'failing' },
        spec: {
          locationSelectors: [{ matchLabels: { env: 'prod' } }],
          downsync: [{ apiGroup: '', resources: ['secrets'], namespaces: ['failing'] }],
        },
      },
    );
    const failures = () =>
      tree.json<{ status?: { failures?: { message: string }[] } }>(space, 'epl', 'failing')?.status?.failures ?? [];
    await until('the failure is known', () => failures().some(({ message }) => message.includes('Customizer')));
    expect(failures()[0]!.message).toContain('the reason may have values of the Secret and is not shown');
  }

  beforeAll(async () => {
    writeFileSync(join(directory, 'policy.yaml'), policy);
    writeFileSync(file, topology({ resources: [] }));
    await tree.up();
  });
  afterAll(async () => {
    await tree[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('finds the secrets in every store while nothing is sealed, and in no other file', async () => {
    await secretsGoEverywhere('four-seven-one-one');
    expect(await tree.down()).toBe(0);
    expect(traces('four-seven-one-one')).toEqual(stores);
  });

  it('seals what is there when it is turned on: no file has a trace, also not of what was deleted', async () => {
    writeFileSync(file, topology());
    await tree.up();
    expect(secretAt(space, 'plain')?.more).toBeDefined();
    expect(secretAt('cluster/eu:two', 'customized')?.own).toBeDefined();
    expect(traces('four-seven-one-one')).toEqual([]);
    expect(await tree.down()).toBe(0);
    expect(traces('four-seven-one-one')).toEqual([]);
  });

  it('leaves no trace of Secrets that go through the tree afterwards: not in a store, a log, an audit log or a metric', async () => {
    await tree.up();
    await secretsGoEverywhere('eight-five-two-six');
    expect(traces('eight-five-two-six')).toEqual([]);
    const shown = [
      ...['node/center', 'node/eu', 'cluster/eu:one', 'cluster/eu:two'].flatMap((context) => [
        tree.ok(context, 'get', '--raw', '/metrics'),
        tree.ok(context, 'get', 'events', '-A', '-o', 'yaml'),
      ]),
      tree.ok(space, 'get', 'events,edgeplacements', '-A', '-o', 'yaml'),
      tree.ok('node/center', 'get', 'nodes.mesh.banyan.io,mailboxes,spaces', '-o', 'yaml'),
      tree.ok('node/eu', 'get', 'nodes.mesh.banyan.io,mailboxes,synctargets', '-o', 'yaml'),
      banyan('history', 'epl/shop', '--space', space, '--data', tree.data).out,
    ].join('\n');
    for (const form of formsOf('eight-five-two-six')) expect(shown).not.toContain(form);
    for (const path of ['eu', 'eu:one', 'eu:two', 'center']) tree.kill(path);
    expect(await tree.down()).toBe(0);
    expect(traces('eight-five-two-six')).toEqual([]);
  });

  it('leaves none after a Secret was deleted and its center was restored from a copy', async () => {
    const [store, copy] = [join(tree.data, 'nodes/center'), join(directory, 'copy')];
    cpSync(store, copy, { recursive: true });
    await tree.up();
    tree.ok(space, 'delete', 'secret', 'customized', '-n', 'shop');
    await until('it is deleted', () => secretAt('cluster/eu:two', 'customized') === undefined);
    expect(await tree.down()).toBe(0);
    rmSync(store, { recursive: true });
    cpSync(copy, store, { recursive: true });
    await tree.up();
    expect(secretAt(space, 'customized')).toBeDefined();
    expect(await tree.down()).toBe(0);
    expect(traces('eight-five-two-six')).toEqual([]);
    expect(filesWith(formsOf('eight-five-two-six'), copy)).toEqual([]);
  });

  it('makes files that only the user of the node may read', () => {
    const open = readdirSync(tree.data, { recursive: true, withFileTypes: true })
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => !path.includes('kubecache') && (statSync(path).mode & 0o077) !== 0);
    expect(open).toEqual([]);
    for (const node of nodes) expect(existsSync(keyFile(node))).toBe(true);
  });

  describe('a node without its key', () => {
    const centerStore = () => readFileSync(join(tree.data, stores[0]!));
    const start = () => banyan('center', '--config', join(tree.data, 'config', 'center.yaml'));
    const agent = () => banyan('agent', '--config', join(tree.data, 'config', 'eu.one.yaml'));

    it.each([
      [
        'another key',
        () => writeFileSync(keyFile('center'), otherKey),
        /encryption: the store in .* is sealed with the key [0-9a-f]{16}, and the given keys are [0-9a-f]{16}; put the missing key back/,
      ],
      [
        'no file',
        () => rmSync(keyFile('center')),
        /encryption.keyFile: .*keys\/center: can't be read: .*; put the file/,
      ],
      [
        'a short key',
        () => writeFileSync(keyFile('center'), 'c2hvcnQ='),
        /line 1 has 5 bytes, and a key has 32; write 32 random bytes/,
      ],
    ])('ends with exit code 2 and words, and changes nothing: %s', (_name, spoil, message) => {
      const [key, before] = [readFileSync(keyFile('center')), centerStore()];
      spoil();
      const ran = start();
      writeFileSync(keyFile('center'), key);
      expect(ran.out).toMatch(message);
      expect(ran.code).toBe(2);
      expect(centerStore().equals(before)).toBe(true);
    });

    it('is an agent as well', () => {
      const key = readFileSync(keyFile('eu.one'));
      writeFileSync(keyFile('eu.one'), otherKey);
      const ran = agent();
      writeFileSync(keyFile('eu.one'), key);
      expect(ran).toMatchObject({ code: 2, out: expect.stringContaining('put the missing key back') });
    });

    it('is known to banyan up before it starts anything, if the file is no key file', () => {
      const key = readFileSync(keyFile('eu'));
      writeFileSync(keyFile('eu'), 'rubbish');
      const ran = banyan('up', '-f', file, '--data', tree.data);
      writeFileSync(keyFile('eu'), key);
      expect(ran).toMatchObject({ code: 2, out: expect.stringContaining('line 1 is no base64') });
    });
  });

  it('changes keys while the tree runs; a kill in the middle is harmless, and a second run ends the work', async () => {
    await tree.up();
    const items = Array.from({ length: 60 }, (_, i) =>
      secret(`many-${i}`, { stringData: { pin: `${i} ${'y'.repeat(300_000)}` } }),
    );
    const many = { apiVersion: 'v1', kind: 'List', items };
    expect(tree.kubectl(space, ['create', '-f', '-'], JSON.stringify(many)).code).toBe(0);
    const keysBefore = linesOf(keyFile('center'));
    const rekeying = spawn(process.execPath, ['center/cli/banyan.ts', 'rekey', '--data', tree.data, '--at', 'center']);
    const centerStore = join(tree.data, 'nodes/center');
    await untilAnswered('the pass is in the middle', async () => (await recordIn(centerStore))?.cursor !== undefined);
    tree.kill('center');
    const isEnded = once(rekeying, 'exit');
    rekeying.kill('SIGKILL');
    await isEnded;
    expect((await recordIn(centerStore))?.settled).toBeUndefined();
    expect(linesOf(keyFile('center'))).toHaveLength(keysBefore.length + 1);

    const second = banyan('rekey', '--data', tree.data, '--at', 'center');
    expect(second.out).toMatch(/^center: ended, \d+ values are sealed anew; former keys open older backups/m);
    expect(second.code).toBe(0);
    expect(linesOf(keyFile('center'))).toHaveLength(keysBefore.length + 1);
    expect((await recordIn(centerStore))?.settled).toBe(true);
    await until('the center answers again', () => secretAt(space, 'many-59') !== undefined);
    expect(secretAt(space, 'plain')?.more).toBeDefined();
  });

  it('changes the keys of all nodes, and needs no former key afterwards', async () => {
    const ran = banyan('rekey', '--data', tree.data, '--drop-old');
    expect(ran.out.match(/: ended, /g)).toHaveLength(nodes.length);
    for (const node of nodes) expect(linesOf(keyFile(node))).toHaveLength(1);
    expect(await tree.down()).toBe(0);
    await tree.up();
    for (const context of [space, 'cluster/eu:one', 'cluster/eu:two'])
      expect(secretAt(context, 'plain')?.more).toBeDefined();
    expect(await tree.down()).toBe(0);
    const offline = banyan('rekey', '--data', tree.data, '--at', 'eu', '--drop-old');
    expect(offline.out).toMatch(
      /^eu: the node does not run: its store is sealed anew here\neu: ended, [1-9]\d* values/m,
    );
    expect(linesOf(keyFile('eu'))).toHaveLength(1);
    for (const name of stores) expect(await recordIn(join(tree.data, name, '..'))).toMatchObject({ settled: true });
  });

  it('is turned off with the keys', async () => {
    writeFileSync(file, topology({ resources: [] }));
    await tree.up();
    expect(secretAt(space, 'plain')?.more).toBeDefined();
    expect(await tree.down()).toBe(0);
    expect(traces('eight-five-two-six')).toEqual(stores);
  });
});

describe.skipIf(withoutKubectl)(`the page docs/operations/encryption.md${why}`, () => {
  const page = readFileSync('docs/operations/encryption.md', 'utf8');
  const blocks = (kind: string) =>
    [...page.matchAll(new RegExp(`\`\`\`${kind}\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, text]) => text!);
  const directory = mkdtempSync(join(tmpdir(), 'banyan-encryption-page-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  const run = (commands: string, cwd: string) => spawnSync('bash', ['-e'], { input: commands, encoding: 'utf8', cwd });

  afterAll(async () => {
    await tree[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('starts its topology with the keys that its commands make', async () => {
    const [yaml = ''] = blocks('yaml');
    const [makeKey = ''] = blocks('sh');
    expect(run(makeKey, directory).status).toBe(0);
    expect(statSync(join(directory, 'center.keys')).mode & 0o777).toBe(0o600);
    expect(run(makeKey.replace('center.keys', 'eu.keys'), directory).status).toBe(0);
    const ofPage = parse(yaml.replace('/etc/banyan', directory)) as { spec: object };
    const head = { apiVersion: 'banyan.io/v1alpha1', kind: 'Topology', metadata: { name: 'page' } };
    writeFileSync(join(directory, 'topology.yaml'), stringify({ ...head, ...ofPage }));
    await tree.up();
    expect((await recordIn(join(tree.data, 'nodes/center')))?.resources).toEqual(['secrets', 'configmaps']);
    expect((await recordIn(join(tree.data, 'nodes/eu')))?.resources).toEqual(['secrets']);
    expect(await recordIn(join(tree.data, 'nodes/eu.rivoli/store'))).toBeUndefined();
  });

  it('says what rekey says about each node, and what it can not do', () => {
    const rekey = blocks('sh').find((block) => block.includes('rekey'))!;
    const ran = run(rekey.replace('DATA', tree.data), '.');
    expect(ran.stdout).toContain("encryption.keyCommand: the command can't change keys that a program prints");
    expect(ran.stdout).toContain('eu.rivoli.yaml: encryption: this node seals nothing');
    const refused = run(`${rekey.replace('DATA', tree.data).trim()} --at eu`, '.');
    expect(refused).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('let the program print a new first key'),
    });
    for (const line of blocks('text')[0]!.trim().split('\n')) {
      const parts = line.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
      expect(ran.stdout).toMatch(new RegExp(`^${parts.join('.*')}`, 'm'));
    }
    expect(ran.status).toBe(0);
  });
});
