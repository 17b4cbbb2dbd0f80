/** An agent that joins with a token: the certificate that it gets and keeps, and every token that is refused, with real processes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { hashOfSecret, readJoinToken, writeJoinToken } from '../../core/identity/join-token.ts';
import { connectProxy } from '../support/connect-proxy.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { tlsTerminator } from '../support/tls-terminator.ts';
import { banyan, fixture, LocalTree, until } from './local-tree.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const topology = {
  apiVersion: 'banyan.io/v1alpha1',
  kind: 'Topology',
  metadata: { name: 'joining' },
  spec: { center: {}, relays: [{ name: 'eu' }, { name: 'us', replicas: 2 }], clusters: [] },
};

interface Agent {
  readonly process: ChildProcess;
  readonly ended: Promise<number | null>;
  log(): string;
}

describe.skipIf(withoutKubectl)(`an agent with a join token${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-join-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  const agents: Agent[] = [];

  beforeAll(async () => {
    writeFileSync(join(directory, 'topology.yaml'), stringify(topology));
    await tree.up();
  });
  afterAll(async () => {
    for (const agent of agents) agent.process.kill('SIGKILL');
    await tree[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  const tokenFor = (path: string, ...args: string[]): string => {
    const { code, out } = banyan('join-token', path, ...args, '--data', tree.data);
    // It prints only the token; warnings come after that.
    const [printed] = /^banyan-join-1\.\S+$/m.exec(out) ?? [];
    if (code !== 0 || printed === undefined) throw new Error(out);
    return printed;
  };
  const meshAddress = (relay: string): string => {
    const { mesh } = parse(readFileSync(join(tree.data, 'config', `${relay}.yaml`), 'utf8')) as {
      mesh: { port: number };
    };
    return `127.0.0.1:${mesh.port}`;
  };
  const at = (name: string, file = '') => join(directory, name, file);

  /** Its data are in a folder of this name, so that a later process of that name continues with them. Without a token, the token's file does not exist. */
  function start(name: string, token: string | undefined, more: object = {}): Agent {
    mkdirSync(at(name), { recursive: true });
    if (token === undefined) rmSync(at(name, 'token'), { force: true });
    else writeFileSync(at(name, 'token'), `${token}\n`);
    const config = {
      path: 'eu:till',
      data: at(name, 'data'),
      logFile: at(name, 'log'),
      parent: { address: meshAddress('eu'), path: 'eu' },
      pki: { joinToken: at(name, 'token') },
      cluster: { embedded: {} },
      ...more,
    };
    writeFileSync(at(name, 'agent.yaml'), stringify(config));
    const process_ = spawn(process.execPath, [fixture('edge-agent/main.ts'), '--config', at(name, 'agent.yaml')], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let output = '';
    process_.stderr.on('data', (chunk: Buffer) => {
      output += chunk;
    });
    const ended = new Promise<number | null>((done) => process_.once('exit', done));
    const log = () => {
      try {
        return readFileSync(at(name, 'log'), 'utf8') + output;
      } catch {
        return output;
      }
    };
    const agent = { process: process_, ended, log };
    agents.push(agent);
    return agent;
  }
  const isConnected = (path: string) => {
    const name = path.replaceAll(':', '.');
    const node = tree.json<{ status?: { session?: { state?: string } } }>('node/eu', 'nodes.mesh.banyan.io', name);
    return node?.status?.session?.state === 'Connected';
  };
  /** Also clears its shown state: the next one must be visible. */
  async function end(agent: Agent, path = 'eu:till'): Promise<void> {
    await endProcess(agent);
    await until('the agent is shown as detached', () => !isConnected(path));
  }
  async function endProcess(agent: Agent): Promise<void> {
    agent.process.kill('SIGTERM');
    expect(await agent.ended).toBe(0);
  }
  const tokenObject = (token: string) =>
    tree.json<{ spec: object; status?: object }>('node/eu', 'jointokens', readJoinToken(token, 'test').name);
  const refusedWith = async (name: string, token: string, more: object = {}) => {
    const agent = start(name, token, more);
    const code = await agent.ended;
    return { code, log: agent.log() };
  };

  let token: string;

  it('gets a certificate for its path with a key that it made, keeps both private, and is attached', async () => {
    token = tokenFor('eu:till', '--label', 'env=prod');
    expect(token).toMatch(/^banyan-join-1\.[a-z0-9]{10}\.[\w-]{43}\.[\w-]{43}$/);
    const secret = readJoinToken(token, 'test').secret;
    expect(JSON.stringify(tokenObject(token))).not.toContain(secret);
    const agent = start('first', token);
    await until('the agent is attached', () => isConnected('eu:till'));
    expect(agent.log()).toContain('joined: a certificate is kept');
    expect(agent.log()).not.toContain(secret);
    const kept = at('first', 'data/identity');
    expect(readdirSync(kept).sort()).toEqual(['ca.crt', 'tls.crt', 'tls.key']);
    for (const file of readdirSync(kept)) expect(statSync(join(kept, file)).mode & 0o777).toBe(0o600);
    expect(tokenObject(token)).toMatchObject({
      spec: { path: 'eu:till', hash: hashOfSecret(secret) },
      status: { state: 'Used', usedFrom: expect.stringMatching(/^127\.0\.0\.1:\d+$/) },
    });
    expect(tree.json('node/eu', 'location', 'till')).toMatchObject({ metadata: { labels: { env: 'prod' } } });
    await end(agent);
  });

  it('continues with the stored certificate, without the token', async () => {
    const agent = start('first', undefined);
    await until('the agent is attached', () => isConnected('eu:till'));
    expect(agent.log().match(/joined: a certificate is kept/g)).toHaveLength(1);
    await end(agent);
  });

  it('is refused a second use of the token with another key, with the time of the first use', async () => {
    const { code, log } = await refusedWith('second', token);
    expect(code).toBe(1);
    expect(log).toMatch(/was used by another key from 127\.0\.0\.1:\d+ at .*banyan join-token eu:till --again/);
  });

  it('may use the token again with the same key, for example after a lost answer', async () => {
    for (const file of ['ca.crt', 'tls.crt']) rmSync(at('first', `data/identity/${file}`));
    const agent = start('first', token);
    await until('the agent is attached', () => isConnected('eu:till'));
    await end(agent);
  });

  it('is refused with a token that is unknown, expired, of another path or of another tree, each with a remedy', async () => {
    const another = tokenFor('eu:till', '--again');
    const { name, secret, pin } = readJoinToken(another, 'test');
    const unknownName = await refusedWith('unknown', writeJoinToken({ name: 'aaaaaaaaaa', secret, pin }));
    const otherSecret = await refusedWith('guess', writeJoinToken({ name, secret: pin, pin }));
    for (const { code, log } of [unknownName, otherSecret]) {
      expect([code, log]).toEqual([1, expect.stringMatching(/this join token is not known here/)]);
    }
    expect(await refusedWith('pin', writeJoinToken({ name, secret, pin: secret }))).toEqual({
      code: 1,
      log: expect.stringMatching(/is of another tree than the join token/),
    });
    expect(await refusedWith('path', another, { path: 'eu:other' })).toEqual({
      code: 1,
      log: expect.stringMatching(/this join token is for \\"eu:till\\", and not for \\"eu:other\\"/),
    });
    // Nothing is sent to the parent at a wrong address.
    expect(await refusedWith('parent', another, { parent: { address: meshAddress('us'), path: 'eu' } })).toEqual({
      code: 1,
      log: expect.stringMatching(/is the relay \\"us\\", not the relay \\"eu\\"/),
    });
    expect(await refusedWith('cut', another.slice(0, -3))).toEqual({
      code: 2,
      log: expect.stringMatching(/a part of the join token is missing.*was all of it copied/),
    });
    const expires = new Date(Date.now() - 3_600_000).toISOString();
    const past = {
      apiVersion: 'mesh.banyan.io/v1alpha1',
      kind: 'JoinToken',
      metadata: { name: 'bbbbbbbbbb' },
      spec: { path: 'eu:till', expires, hash: hashOfSecret(secret) },
    };
    expect(tree.apply('node/eu', past).code).toBe(0);
    expect(await refusedWith('late', writeJoinToken({ name: 'bbbbbbbbbb', secret, pin }))).toEqual({
      code: 1,
      log: expect.stringContaining(`expired at ${expires}: make another`),
    });
    expect(tokenObject(another)?.status).toBeUndefined();
  });

  it('joins through a proxy, and sends nothing when TLS ends before the parent', async () => {
    const another = tokenFor('eu:kiosk');
    const proxy = await connectProxy();
    const own = { path: 'eu:kiosk' };
    const agent = start('proxied', another, { ...own, link: { proxy: proxy.url } });
    await until('the agent is attached', () => isConnected('eu:kiosk'));
    expect(new Set(proxy.tunnels)).toEqual(new Set([meshAddress('eu')]));
    await end(agent, 'eu:kiosk');
    await proxy[Symbol.asyncDispose]();

    const read = (file: string) => readFileSync(join(tree.data, 'pki', file));
    const certificate = { caPem: read('ca.crt'), certPem: read('us.crt'), keyPem: read('us.key') };
    const terminator = await tlsTerminator(meshAddress('eu'), certificate);
    const unused = tokenFor('eu:third');
    const third = { path: 'eu:third', parent: { address: terminator.address, path: 'eu' } };
    // The agent does not reveal the token: the certificate that it sees is not its parent's.
    expect(await refusedWith('intercepted', unused, third)).toEqual({
      code: 1,
      log: expect.stringMatching(/is the relay \\"us\\", not the relay \\"eu\\"/),
    });
    expect(await refusedWith('terminated', unused, { ...third, link: { terminatedTls: true } })).toEqual({
      code: 1,
      log: expect.stringMatching(/link\.terminatedTls: this node can't get a certificate.*banyan enroll/),
    });
    expect(tokenObject(unused)?.status).toBeUndefined();
    await terminator[Symbol.asyncDispose]();
  });

  it('finds the replica that has its token, and is admitted at all replicas', async () => {
    const shared = tokenFor('us:till');
    const parent = { address: meshAddress('us~1'), path: 'us', replicas: [meshAddress('us')] };
    const agent = start('replica', shared, { path: 'us:till', parent });
    await until('the agent has joined', () => agent.log().includes('joined: a certificate is kept'));
    for (const node of ['node/us', 'node/us~1']) expect(tree.json(node, 'synctarget', 'till')).toBeDefined();
    const { name } = readJoinToken(shared, 'test');
    expect(tree.json('node/us', 'jointokens', name)).toMatchObject({ status: { state: 'Used' } });
    expect(tree.json('node/us~1', 'jointokens', name)).toBeUndefined();
    agent.process.kill('SIGTERM');
    expect(await agent.ended).toBe(0);
  });

  it('waits for an absent parent, and joins when the parent is there', async () => {
    const unused = tokenFor('eu:fourth');
    tree.kill('eu');
    const agent = start('fourth', unused, { path: 'eu:fourth' });
    await until('the agent is attached', () => isConnected('eu:fourth'));
    await end(agent, 'eu:fourth');
  });

  it('cannot use an older token when there is a newer one, unless it has used the older one before', async () => {
    const [older, newer] = [tokenFor('eu:fourth', '--again'), tokenFor('eu:fourth', '--again')];
    expect(tokenObject(older)).toBeUndefined();
    expect(tokenObject(newer)).toMatchObject({ spec: { path: 'eu:fourth' } });
    expect(await refusedWith('older', older, { path: 'eu:fourth' })).toEqual({
      code: 1,
      log: expect.stringMatching(/this join token is not known here/),
    });
    expect(tokenObject(token)).toMatchObject({ status: { state: 'Used' } });
    tokenFor('eu:till', '--again');
    expect(tokenObject(token)).toMatchObject({ status: { state: 'Used' } });
  });

  it('is locked out when its SyncTarget is deleted, and its tokens go too', async () => {
    const unused = tokenFor('eu:fourth', '--again');
    tree.ok('node/eu', 'delete', 'synctarget', 'fourth');
    await until('its tokens are gone', () => {
      const { items } = tree.json<{ items: { spec: { path: string } }[] }>('node/eu', 'jointokens')!;
      return items.every(({ spec }) => spec.path !== 'eu:fourth');
    });
    expect(await refusedWith('fifth', unused, { path: 'eu:fourth' })).toEqual({
      code: 1,
      log: expect.stringMatching(/this join token is not known here/),
    });
  });

  it('whose place was given to another machine is refused, also with a certificate that is still valid', async () => {
    const path = 'eu:fourth';
    await until(
      'the node of the removed agent is gone',
      () => !tree.json('node/eu', 'nodes.mesh.banyan.io', 'eu.fourth'),
    );
    const again = tokenFor(path);
    const old = start('fourth', undefined, { path });
    await until('the parent refuses the key of the removed agent', () =>
      old.log().includes('was removed here, and the key of its certificate is not admitted again'),
    );
    const next = start('sixth', again, { path });
    await until('the new machine is attached', () => isConnected(path));
    await endProcess(old);
    const later = start('fourth', undefined, { path });
    await until('the parent refuses the former key', () =>
      later.log().includes('has another key now, which was admitted later'),
    );
    expect(isConnected(path)).toBe(true);
    await endProcess(later);
    await end(next, path);
  });

  it('has a name that no other agent gets, and gets another token only when a person asks for one', () => {
    expect(banyan('join-token', 'eu:till', '--data', tree.data)).toMatchObject({
      code: 1,
      out: expect.stringMatching(/"eu:till" is taken at node\/eu/),
    });
    for (const [args, message] of [
      [['eu:x', '--ttl', '31d'], /--ttl: "31d" is too long; at most 30d/],
      [['eu:x', '--ttl', 'soon'], /--ttl: "soon" is no time/],
      [['EU:x'], /"EU:x" is no path of a node/],
    ] as const) {
      expect(banyan('join-token', ...args, '--data', tree.data)).toMatchObject({
        code: 2,
        out: expect.stringMatching(message),
      });
    }
  });
});
