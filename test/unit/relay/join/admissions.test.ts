/** Which agents get a certificate for a join token, and the records of it, over a real system space. */
import { beforeEach, describe, expect, it } from 'vitest';
import { Revocations } from '../../../../core/access/revocations.ts';
import type { Space } from '../../../../core/apiserver/space.ts';
import type { NodeAct } from '../../../../core/audit/node-acts.ts';
import { hashOfSecret } from '../../../../core/identity/join-token.ts';
import type { PeerIdentity } from '../../../../core/identity/peer-identity.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { admitKey } from '../../../../core/session/admitted-keys.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { Admissions } from '../../../../relay/join/admissions.ts';
import { openSpace } from '../../../../relay/spaces/own-spaces.ts';

const path = 'eu:till';
const secret = 's'.repeat(43);
const name = 'aaaaaaaaaa';
const asked = { name, secret, path, request: 'key-1' };
const hourMs = 3_600_000;
const shown = { key: 'key-1', fromMs: Date.UTC(2030, 0, 1) };

let clock: VirtualClock;
let space: Space;
let admissions: Admissions;
let order: string[];
let store: MemoryStore;
let ended: string[];
let noted: NodeAct[];
let revocations: Revocations;
let revokeFails: boolean;
/** The times after which certificates have to begin. */
let after: (number | undefined)[];
beforeEach(() => {
  after = [];
  revocations = new Revocations();
  revokeFails = false;
  clock = new VirtualClock(Date.UTC(2030, 0, 1));
  const random = new SeededRandom(1);
  store = new MemoryStore();
  ended = [];
  noted = [];
  const ports = { store, clock, random, log: silentLogger, defer: () => {}, path: 'eu' };
  ({ space } = openSpace(ports, 'system', 'System', () => {}));
  order = [];
  admissions = new Admissions({
    path: 'eu',
    space,
    store: {
      read: (act) => store.read(act),
      write: (act) => store.write(act),
      flushed: async () => void order.push('flush'),
    },
    endSession: (child, reason) => void ended.push(`${child}: ${reason}`),
    revocations,
    revoke: (of) => {
      if (revokeFails) throw new BanyanError('StoreFull', 'the disk is full');
      revocations.set(of, { kind: 'nodes', name: of, atMs: clock.wallMs() });
    },
    clock,
    log: silentLogger,
    noteAct: (act) => void noted.push(act),
    signer: {
      authority: () => 'authority',
      chains: () => [],
      judge: async ({ path: of, role }, request) => {
        order.push('judge');
        const sign = async (afterMs?: number) => {
          order.push('sign');
          after.push(afterMs);
          return {
            certificate: `certificate of ${of} for ${request}`,
            ...(role === 'relay' ? { issuer: `authority of ${of}` } : {}),
          };
        };
        return { key: request, sign };
      },
    },
  });
  make('SyncTarget', 'inventory.banyan.io', 'till', {});
  token(name);
});

function make(kind: string, group: string, of: string, spec: object): void {
  space.create({ apiVersion: `${group}/v1alpha1`, kind, metadata: { name: of }, spec });
}

function token(of: string, spec: object = {}): void {
  const expires = new Date(clock.wallMs() + hourMs).toISOString();
  make('JoinToken', 'mesh.banyan.io', of, { path, expires, hash: hashOfSecret(secret), ...spec });
}

const statusOf = (of: string) =>
  space.get({ group: 'mesh.banyan.io', resource: 'jointokens', namespace: '', name: of })?.status;

describe('a relay that gets a join token', () => {
  it('checks the request once, and answers with a certificate for its path when the use is on the disk', async () => {
    expect(await admissions.join(asked, '10.0.0.7:4711')).toEqual({
      authority: 'authority',
      certificate: 'certificate of eu:till for key-1',
    });
    expect(order).toEqual(['judge', 'sign', 'flush']);
    expect(statusOf(name)).toEqual({
      state: 'Used',
      usedAt: '2030-01-01T00:00:00Z',
      usedFrom: '10.0.0.7:4711',
      key: 'key-1',
    });
  });

  it('notes each join and each refusal for the audit log', async () => {
    await admissions.join(asked, '10.0.0.7:1');
    await admissions.join({ ...asked, secret: 't'.repeat(43) }, '10.0.0.8:2').catch(() => {});
    expect(noted).toEqual([
      { verb: 'join', about: path, from: '10.0.0.7:1' },
      {
        verb: 'join',
        about: path,
        from: '10.0.0.8:2',
        refused: { code: 401, reason: 'Unauthorized', message: expect.stringContaining('not known here') },
      },
    ]);
    await expect(admissions.renew({ path: 'us:till', role: 'agent' } as PeerIdentity, 'key-1')).rejects.toThrow();
    expect(noted[2]).toMatchObject({ verb: 'renew', about: 'us:till', refused: { code: 403 } });
  });

  it('answers the same key again, and no other', async () => {
    await admissions.join(asked, '10.0.0.7:1');
    clock.advance(60_000);
    expect((await admissions.join(asked, '10.0.0.8:2')).certificate).toContain('key-1');
    expect(statusOf(name)).toMatchObject({ usedFrom: '10.0.0.7:1', usedAt: '2030-01-01T00:00:00Z' });
    await expect(admissions.join({ ...asked, request: 'key-2' }, '10.0.0.9:3')).rejects.toMatchObject({
      code: 'Conflict',
      message: expect.stringMatching(/was used by another key from 10\.0\.0\.7:1 at 2030-01-01T00:00:00Z/),
    });
  });

  it('accepts one of two keys that come at once', async () => {
    const both = await Promise.allSettled([
      admissions.join(asked, 'a'),
      admissions.join({ ...asked, request: 'key-2' }, 'b'),
    ]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(order.filter((step) => step === 'sign')).toHaveLength(1);
  });

  it('refuses a token older than the SyncTarget, unless the SyncTarget owns it: it was made for a former one of that name', async () => {
    const key = { group: 'inventory.banyan.io', resource: 'synctargets', namespace: '', name: 'till' };
    clock.advance(60_000);
    space.delete(key);
    make('SyncTarget', 'inventory.banyan.io', 'till', {});
    await expect(admissions.join(asked, 'a')).rejects.toMatchObject({
      code: 'Forbidden',
      message: expect.stringMatching(/made at 2030-01-01T00:00:00Z.*SyncTarget of "eu:till" at 2030-01-01T00:01:00Z/),
    });
    expect(statusOf(name) ?? {}).not.toHaveProperty('key');
    token('bbbbbbbbbb');
    expect((await admissions.join({ ...asked, name: 'bbbbbbbbbb' }, 'a')).certificate).toContain('key-1');
  });

  it('accepts an older token that the SyncTarget owns: the clock was set back between them', async () => {
    const key = { group: 'inventory.banyan.io', resource: 'synctargets', namespace: '', name: 'till' };
    space.delete(key);
    clock.advance(60_000);
    make('SyncTarget', 'inventory.banyan.io', 'till', {});
    const { uid } = space.get(key)!.metadata;
    const older = space.get({ group: 'mesh.banyan.io', resource: 'jointokens', namespace: '', name })!;
    const owner = { apiVersion: 'inventory.banyan.io/v1alpha1', kind: 'SyncTarget', name: 'till', uid: uid! };
    space.update({ ...older, metadata: { ...older.metadata, ownerReferences: [owner] } });
    expect((await admissions.join(asked, 'a')).certificate).toContain('key-1');
  });

  it('gives the same answer for a missing token and for a wrong secret', async () => {
    const refusalOf = async (wrong: object) => {
      try {
        await admissions.join({ ...asked, ...wrong }, 'a');
      } catch (error) {
        return error;
      }
      throw new Error('it was taken');
    };
    const [noToken, noSecret] = [await refusalOf({ name: 'bbbbbbbbbb' }), await refusalOf({ secret: 'x'.repeat(43) })];
    const odd = await refusalOf({ name: '../x', secret: '' });
    for (const error of [noToken, noSecret, odd]) {
      expect(error).toMatchObject({ code: 'Unauthorized', message: (noToken as Error).message });
    }
    expect([order, statusOf(name)]).toEqual([[], undefined]);
  });

  it('reports the error to a client with the secret, and does not use up the token', async () => {
    await expect(admissions.join({ ...asked, path: 'eu:other' }, 'a')).rejects.toMatchObject({
      code: 'Forbidden',
      message: expect.stringMatching(/is for "eu:till", and not for "eu:other"/),
    });
    token('bbbbbbbbbb', { path: 'us:till' });
    await expect(admissions.join({ ...asked, name: 'bbbbbbbbbb', path: 'us:till' }, 'a')).rejects.toThrow(
      /there is no SyncTarget of "us:till" here/,
    );
    space.delete({ group: 'inventory.banyan.io', resource: 'synctargets', namespace: '', name: 'till' });
    await expect(admissions.join(asked, 'a')).rejects.toMatchObject({
      code: 'Forbidden',
      message: expect.stringMatching(/no SyncTarget of "eu:till".*banyan join-token eu:till/),
    });
    clock.advance(hourMs);
    await expect(admissions.join(asked, 'a')).rejects.toMatchObject({
      code: 'Expired',
      message: expect.stringMatching(/expired at .*banyan join-token eu:till --again/),
    });
    expect([order.includes('sign'), statusOf(name)]).toEqual([false, undefined]);
  });

  it('treats a token that nobody used in time as expired, from its start to its end', async () => {
    admissions.start();
    clock.advance(hourMs);
    expect(statusOf(name)).toEqual({ state: 'Expired' });
    admissions.stop();
    token('bbbbbbbbbb');
    clock.advance(2 * hourMs);
    expect(statusOf('bbbbbbbbbb')).toBeUndefined();
  });

  it('does no work beyond its rate, and names the time to retry', () => {
    for (let i = 0; i < 20; i++) admissions.admit();
    expect(() => admissions.admit()).toThrow(
      expect.objectContaining({ code: 'TooManyRequests', details: { retryAfterSeconds: 1 } }),
    );
    clock.advance(200);
    admissions.admit();
  });

  it('keeps a token as it was made', () => {
    const key = { group: 'mesh.banyan.io', resource: 'jointokens', namespace: '', name };
    expect(() => space.patch(key, { type: 'merge', patch: { spec: { expires: '2040-01-01T00:00:00Z' } } })).toThrow(
      /a join token can not be changed: make another/,
    );
  });
});

describe('a relay that is asked to renew', () => {
  it('signs for the agent that has shown its certificate, while the agent is in the inventory', async () => {
    const { certificate } = await admissions.renew({ path, role: 'agent', certificate: shown }, 'key-1');
    expect(certificate).toBe('certificate of eu:till for key-1');
    space.delete({ group: 'inventory.banyan.io', resource: 'synctargets', namespace: '', name: 'till' });
    await expect(admissions.renew({ path, role: 'agent', certificate: shown }, 'key-1')).rejects.toThrow(
      /no SyncTarget of "eu:till"/,
    );
  });

  it('signs for no other key than the one that the node has shown', async () => {
    await expect(admissions.renew({ path, role: 'agent', certificate: shown }, 'key-2')).rejects.toMatchObject({
      code: 'Forbidden',
      message: expect.stringMatching(
        /renewed only for the key of the certificate that the node has shown; .*join-token eu:till --again/,
      ),
    });
    expect(order).toEqual(['judge']);
  });

  it.each([
    { path: 'us:till', role: 'agent' },
    { path: 'eu', role: 'agent' },
    { path: 'eu:paris:till', role: 'agent' },
    { path: 'eu:till', role: 'relay' },
    { path: '', role: 'center' },
  ] as const)('signs nothing for %o', async (peer) => {
    await expect(admissions.renew({ ...peer, certificate: shown }, 'key-1')).rejects.toMatchObject({
      code: 'Forbidden',
    });
    expect(order).toEqual([]);
  });
});

describe('a key', () => {
  const attach = (key: string, fromMs = clock.wallMs()) => store.write((t) => admitKey(t, path, { key, fromMs }));

  it('that joins ends the session of the earlier key, which is refused from then on', async () => {
    await admissions.join(asked, 'a');
    expect(ended).toEqual([]);
    attach('key-1');
    token('bbbbbbbbbb');
    await admissions.join({ ...asked, name: 'bbbbbbbbbb', request: 'key-2' }, 'b');
    expect(ended).toEqual(['till: another key was admitted for this agent']);
    expect(() => attach('key-1')).toThrow(/"eu:till" has another key now, .*join-token eu:till --again/);
    await expect(admissions.renew({ path, role: 'agent', certificate: shown }, 'key-1')).rejects.toThrow(
      /has another key now/,
    );
    attach('key-2');
  });

  it('that joins again with the same key ends no session', async () => {
    await admissions.join(asked, 'a');
    await admissions.join(asked, 'a');
    expect(ended).toEqual([]);
  });
});

describe('a relay that joins', () => {
  const relay = 'eu:paris';
  const ask = { name: 'cccccccccc', secret, path: relay, role: 'relay', request: 'key-1' } as const;
  const peer: PeerIdentity = { path: relay, role: 'relay', certificate: shown };
  beforeEach(() => {
    make('Node', 'mesh.banyan.io', 'eu.paris', { path: relay, role: 'Relay' });
    token(ask.name, { path: relay, role: 'Relay' });
  });

  it('gets a certificate and an authority, and renews both', async () => {
    const whole = { certificate: 'certificate of eu:paris for key-1', issuer: 'authority of eu:paris' };
    expect(await admissions.join(ask, 'a')).toMatchObject(whole);
    expect(await admissions.renew(peer, 'key-1')).toMatchObject(whole);
    expect(revocations.all().nodes).toEqual({});
  });

  it('is refused with a token of another role, in both directions', async () => {
    await expect(admissions.join({ ...ask, role: undefined } as never, 'a')).rejects.toThrow(
      'this join token is for the relay "eu:paris", and the agent "eu:paris" shows it',
    );
    await expect(admissions.join({ ...asked, role: 'relay' }, 'a')).rejects.toThrow(/is for the agent "eu:till"/);
    for (const of of [ask.name, name]) expect(statusOf(of) ?? {}).not.toHaveProperty('key');
  });

  it('is refused without its Node object', async () => {
    space.delete({ group: 'mesh.banyan.io', resource: 'nodes', namespace: '', name: 'eu.paris' });
    await expect(admissions.join(ask, 'a')).rejects.toThrow(/not known here|no Node object of "eu:paris"/);
    await expect(admissions.renew(peer, 'key-1')).rejects.toThrow(/no Node object of "eu:paris" .*join-token --relay/);
  });

  it('with another key revokes everything that the earlier key has, and has signed', async () => {
    await admissions.join(ask, 'a');
    clock.advance(10_000);
    token('dddddddddd', { path: relay, role: 'Relay' });
    await admissions.join({ ...ask, name: 'dddddddddd', request: 'key-2' }, 'b');
    expect(revocations.nodeRevokedAtMs(relay)).toBe(clock.wallMs());
    expect(ended).toEqual(['paris: another key was admitted for this relay']);
    await expect(admissions.renew(peer, 'key-1')).rejects.toThrow(/the certificate of "eu:paris" was revoked/);
  });
});

it('a relay gets no new key before everything of the earlier key is revoked', async () => {
  const of = 'eu:paris';
  space.create({
    apiVersion: 'mesh.banyan.io/v1alpha1',
    kind: 'Node',
    metadata: { name: 'eu.paris' },
    spec: { path: of, role: 'Relay' },
  });
  for (const name of ['eeeeeeeeee', 'ffffffffff']) token(name, { path: of, role: 'Relay' });
  const ask = { ...asked, path: of, role: 'relay' } as const;
  await admissions.join({ ...ask, name: 'eeeeeeeeee', request: 'key-1' }, 'a');
  clock.advance(10_000);
  revokeFails = true;
  const again = { ...ask, name: 'ffffffffff', request: 'key-2' };
  await expect(admissions.join(again, 'b')).rejects.toThrow('the disk is full');
  revokeFails = false;
  await admissions.join(again, 'b');
  expect(revocations.nodeRevokedAtMs(of)).toBe(clock.wallMs());
});

it('a revoked agent renews nothing, and its next certificate begins after the revocation', async () => {
  revocations.set('r', { kind: 'nodes', name: path, atMs: clock.wallMs() });
  await expect(admissions.renew({ path, role: 'agent', certificate: shown }, 'key-1')).rejects.toMatchObject({
    code: 'Forbidden',
    message: expect.stringMatching(/was revoked: admit it again: .*join-token eu:till --again/),
  });
  await admissions.join(asked, 'a');
  expect(after).toEqual([clock.wallMs()]);
});
