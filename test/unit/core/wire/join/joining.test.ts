/** The certificates that an agent requests, keeps and uses, from a real issuer. */

import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  createAuthority,
  createIssuer,
  issueJoined,
  type KeyAndCertificate,
} from '../../../../../core/identity/authority.ts';
import { createNextAuthority } from '../../../../../core/identity/authority-change.ts';
import { hostsMissing } from '../../../../../core/identity/certificate-hosts.ts';
import { judgeRequest } from '../../../../../core/identity/certificate-request.ts';
import { leafDays, validityOf } from '../../../../../core/identity/certificate-validity.ts';
import { newJoinToken, readJoinToken, writeJoinToken } from '../../../../../core/identity/join-token.ts';
import { authorityId } from '../../../../../core/identity/peer-identity.ts';
import { certificatesIn } from '../../../../../core/identity/pem-certificates.ts';
import { type Clock, VirtualClock } from '../../../../../core/runtime/clock.ts';
import { BanyanError, type ErrorCode } from '../../../../../core/runtime/errors.ts';
import { type Logger, silentLogger } from '../../../../../core/runtime/logger.ts';
import { SeededRandom, systemRandom } from '../../../../../core/runtime/random.ts';
import { fileStore } from '../../../../../core/wire/join/file-store.ts';
import type { IdentityStore } from '../../../../../core/wire/join/identity-store.ts';
import { JoinedIdentity } from '../../../../../core/wire/join/joined-identity.ts';
import { type JoiningPorts, joinedIdentity } from '../../../../../core/wire/join/joining.ts';
import { type CertificateRenewalPorts, nextLookMs, Renewal } from '../../../../../core/wire/join/renewal.ts';
import type { JoinRequest } from '../../../../../core/wire/join-messages.ts';
import { currentOf } from '../../../../../core/wire/node-credentials.ts';
import { settledTrust } from '../../../../support/settled-trust.ts';
import { TestTree } from '../../../../support/test-tree.ts';

const path = 'eu:kid';
const dayMs = 86_400_000;

let tree: TestTree;
let issuer: KeyAndCertificate;
let token: string;
beforeAll(async () => {
  tree = await TestTree.create('shop');
  issuer = await createIssuer(
    tree.authority,
    { tree: 'shop', path: 'eu' },
    { clock: new VirtualClock(Date.now()), random: systemRandom },
  );
  token = writeJoinToken(newJoinToken(tree.authority.certPem, systemRandom));
});

let directory: string;
let store: IdentityStore;
let clock: VirtualClock;
let asked: JoinRequest[];
let warned: string[];
let tokens: number;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'banyan-identity-'));
  store = fileStore(join(directory, 'identity'));
  clock = new VirtualClock(Date.now());
  asked = [];
  warned = [];
  tokens = 0;
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const log: Logger = {
  ...silentLogger,
  warn: (fields: object) => void warned.push((fields as { reason: string }).reason),
};

const sign = async (of: string, request: string, at: Clock = clock, lifeMs?: number, hosts: readonly string[] = []) => {
  const id = `spiffe://shop/node/agent/${of.replaceAll(':', '/')}`;
  const judged = await judgeRequest(request, { path: of, id, role: 'agent', hosts });
  const certificate = await issueJoined(issuer, judged, { clock: at, random: systemRandom }, { lifeMs });
  return { authority: tree.authority.certPem, certificate };
};
const answering = async (_pin: string, request: JoinRequest) => {
  asked.push(request);
  return sign(path, request.request);
};
const refusing =
  (code: ErrorCode, message: string = code) =>
  async (_pin: string, request: JoinRequest) => {
    asked.push(request);
    throw new BanyanError(code, message);
  };

function ports(...parents: JoiningPorts['parents']): JoiningPorts {
  const read = () => {
    tokens++;
    return { text: token, where: 'token' };
  };
  return { path, store, token: read, parents, clock, random: new SeededRandom(1), log };
}

function at(path: string, ...parents: JoiningPorts['parents']): JoiningPorts {
  return { ...ports(...parents), path };
}

const stored = async () => ({ issuerPem: undefined, ...(await store.read()) });

const answeringOther = async (_pin: string, request: JoinRequest) => {
  asked.push(request);
  return sign('eu:other', request.request);
};

async function keyOf(request: string): Promise<string> {
  const { Pkcs10CertificateRequest } = await import('@peculiar/x509');
  return Buffer.from(new Pkcs10CertificateRequest(request).publicKey.rawData).toString('hex');
}

/** Time advances for everybody who waits. */
async function settled<T>(promise: Promise<T>): Promise<T> {
  let over = false;
  const watched = promise.finally(() => {
    over = true;
  });
  watched.catch(() => {});
  while (!over) {
    await new Promise((done) => setImmediate(done));
    clock.advance(1_000);
  }
  return watched;
}

describe('an agent with a join token', () => {
  it('keeps its certificate in files of its own, and needs no token from then on', async () => {
    const identity = await joinedIdentity(ports(answering));
    expect(new X509Certificate(identity.certPem).subject).toBe('CN=eu:kid');
    for (const [file, pem] of [
      ['tls.key', identity.keyPem],
      ['tls.crt', identity.certPem],
      ['ca.crt', identity.caPem],
    ] as const) {
      const kept = join(directory, 'identity', file);
      expect([readFileSync(kept, 'utf8'), statSync(kept).mode & 0o777]).toEqual([pem, 0o600]);
    }
    expect(statSync(join(directory, 'identity')).mode & 0o777).toBe(0o700);
    expect(await joinedIdentity(ports(refusing('Internal')))).toEqual(identity);
    expect([asked.length, tokens]).toEqual([1, 1]);
  });

  it('asks again with the same key after a lost answer', async () => {
    await expect(joinedIdentity(ports(refusing('Forbidden')))).rejects.toThrow('Forbidden');
    const key = (await store.read())?.keyPem;
    const identity = await joinedIdentity(ports(answering));
    expect(identity.keyPem).toBe(key);
    expect(new X509Certificate(identity.certPem).publicKey.export({ type: 'spki', format: 'pem' })).toEqual(
      expect.stringContaining('PUBLIC KEY'),
    );
    expect(asked).toHaveLength(2);
  });

  it('asks the replicas of its parent, one of which knows the token', async () => {
    await joinedIdentity(ports(refusing('Unavailable'), refusing('Unauthorized'), answering, refusing('Internal')));
    expect(asked).toHaveLength(3);
  });

  it('waits while a replica that may know the token is away, and accepts a refusal when all have answered', async () => {
    let isAway = true;
    const sometimes = async (pin: string, request: JoinRequest) => {
      const answer = await refusing(isAway ? 'Unavailable' : 'Unauthorized', isAway ? 'it is away' : 'unknown')(
        pin,
        request,
      ).catch((e: unknown) => e);
      if (asked.length > 7) isAway = false;
      throw answer;
    };
    await expect(settled(joinedIdentity(ports(refusing('Unauthorized', 'unknown'), sometimes)))).rejects.toThrow(
      'unknown',
    );
    expect(new Set(warned)).toEqual(new Set(['it is away']));
  });

  it.each(['Forbidden', 'Expired', 'Conflict', 'Invalid', 'NotFound'] as const)(
    'accepts %s as an answer, and asks no other replica',
    async (code) => {
      await expect(joinedIdentity(ports(refusing(code), answering))).rejects.toMatchObject({ code });
      expect(asked).toHaveLength(1);
    },
  );

  it('joins again, with its key, when its certificate has expired', async () => {
    const before = await joinedIdentity(ports(answering));
    clock.advance((leafDays + 1) * dayMs);
    const after = await joinedIdentity(ports(answering));
    expect(after.keyPem).toBe(before.keyPem);
    expect(after.certPem).not.toBe(before.certPem);
  });

  it.each([
    ['its parent is away', () => ports(refusing('Unavailable'))],
    ['its token is refused', () => ports(refusing('Unauthorized'))],
    ['its token is there no more', () => ({ ...ports(), token: () => readJoinToken('', 'token') as never })],
  ])('works on its cluster with the expired certificate while %s, and joins as soon as it can', async (_, hindered) => {
    const before = await joinedIdentity(ports(answering));
    clock.advance((leafDays + 1) * dayMs);
    const found = await joinedIdentity(hindered());
    expect(found).toEqual(before);
    let present = hindered();
    const held = new JoinedIdentity(
      { ...ports(), token: () => present.token(), parents: [(...a) => present.parents[0]!(...a)] },
      found,
    );
    const renewed = new Renewal({ ...ports(), renewable: held, trust: settledTrust(held), renewals: [] });
    renewed.start();
    await renewed.look();
    expect(renewed.trouble?.message).toContain('was not renewed');
    present = ports(answering);
    clock.advance(120_000);
    while (renewed.trouble) await new Promise((done) => setImmediate(done));
    expect(currentOf(held.credentials()).certPem.toString()).not.toBe(before.certPem);
  });

  it('joins at another path with another key, keeps its former identity until then, and asks with the same key again', async () => {
    const former = await joinedIdentity(ports(answering));
    await expect(joinedIdentity(at('eu:other', refusing('Forbidden')))).rejects.toThrow('Forbidden');
    expect(await stored()).toMatchObject(former);
    expect(await joinedIdentity(ports(refusing('Internal')))).toEqual(former);
    const identity = await joinedIdentity(at('eu:other', answeringOther));
    expect(new X509Certificate(identity.certPem).subject).toBe('CN=eu:other');
    expect(identity.keyPem).not.toBe(former.keyPem);
    expect(await stored()).toEqual(identity);
    const [, refused, joined] = await Promise.all(asked.map(({ request }) => keyOf(request)));
    expect(joined).toBe(refused);
    expect(await joinedIdentity(at('eu:other', refusing('Internal')))).toEqual(identity);
  });

  it.each([
    ['its key', ['tls.key'], true],
    ['that the next key is its key', ['tls.key'], false],
    ['all but its certificate', ['tls.key', 'ca.crt', 'issuer.crt'], false],
  ])(
    'goes on at another path with the next key after an end in which it has stored %s',
    async (_, written, hasNext) => {
      const file = (name: string) => join(directory, 'identity', name);
      await joinedIdentity(ports(answering));
      const former = readFileSync(file('tls.crt'));
      const moved = await joinedIdentity(at('eu:other', answeringOther));
      if (!written.includes('ca.crt')) writeFileSync(file('issuer.crt'), '');
      writeFileSync(file('tls.crt'), former);
      if (hasNext) writeFileSync(file('next.key'), moved.keyPem);
      expect((await joinedIdentity(at('eu:other', answeringOther))).keyPem).toBe(moved.keyPem);
      expect(await stored()).not.toHaveProperty('nextKeyPem');
    },
  );

  it('waits at another path for a parent that is away', async () => {
    await joinedIdentity(ports(answering));
    const sometimes = (pin: string, request: JoinRequest) =>
      asked.length < 4 ? refusing('Unavailable', 'away')(pin, request) : answeringOther(pin, request);
    const identity = await settled(joinedIdentity(at('eu:other', sometimes)));
    expect(new X509Certificate(identity.certPem).subject).toBe('CN=eu:other');
    expect(warned).toHaveLength(3);
    expect(warned[0]).toMatch(/^\S+identity has the certificate of the agent "eu:kid": .*: away$/);
  });

  it.each([
    ['a token that is there no more', () => at('eu:other'), () => readJoinToken('', 'token') as never, 'no join token'],
    ['a token of the former place', () => at('eu:other', refusing('Unauthorized', 'unknown')), undefined, 'unknown'],
  ])('does not continue as another agent with %s, and says what to do', async (_, wrong, read, reason) => {
    const former = await joinedIdentity(ports(answering));
    const asking = wrong();
    await expect(joinedIdentity({ ...asking, token: read ?? asking.token })).rejects.toThrow(
      new RegExp(
        `has the certificate of the agent "eu:kid": the agent "eu:other" needs a join token of its own .*join-token eu:other.*correct the path in the configuration: .*${reason}`,
      ),
    );
    expect(await stored()).toMatchObject(former);
  });

  it('is no relay at another path: the nodes below have certificates for its path', async () => {
    const former = await joinedIdentity(ports(answering));
    await expect(joinedIdentity({ ...ports(answering), path: 'eu:other', role: 'relay' })).rejects.toMatchObject({
      code: 'BadRequest',
      message: expect.stringMatching(
        /identity has the certificate of the agent "eu:kid", and not of the relay "eu:other": correct/,
      ),
    });
    expect(await stored()).toMatchObject(former);
  });

  it('refuses a malformed token before it sends anything', async () => {
    const wrong = { ...ports(answering), token: () => ({ text: 'x', where: '/run/token' }) };
    await expect(joinedIdentity(wrong)).rejects.toMatchObject({
      code: 'BadRequest',
      message: expect.stringMatching(/^\/run\/token: the text is no join token/),
    });
    expect(asked).toEqual([]);
  });

  it('trusts the pinned authority and those that it introduces, and no other one that its parent names', async () => {
    const issuing = { clock: new VirtualClock(Date.now()), random: systemRandom };
    const next = await createNextAuthority(tree.authority, 'shop', issuing);
    const stranger = await createAuthority('shop', issuing);
    const bundle = [next.certPem, tree.authority.certPem, stranger.certPem, next.introductionPem].join('\n');
    const named = async (pin: string, request: JoinRequest) => ({
      ...(await answering(pin, request)),
      authority: bundle,
    });
    const { caPem } = await joinedIdentity(ports(named));
    expect(certificatesIn(caPem).map(authorityId)).toEqual(
      [next.certPem, tree.authority.certPem].map((pem) => authorityId(new X509Certificate(pem))),
    );
  });

  it('does not accept a certificate of a key that is not its own', async () => {
    await joinedIdentity(ports(answering));
    writeFileSync(join(directory, 'identity', 'tls.key'), (await foreignKey()).trim());
    const again = await joinedIdentity(ports(answering));
    expect(asked).toHaveLength(2);
    expect(again.keyPem).toBe((await store.read())?.keyPem);
  });
});

async function foreignKey(): Promise<string> {
  const { newKey } = await import('../../../../../core/identity/certificate-request.ts');
  return newKey();
}

describe('the identity of an agent that runs', () => {
  const renewal = async (
    answer = (request: string) => sign(path, request),
    trust?: CertificateRenewalPorts['trust'],
  ) => {
    const renewals: string[] = [];
    const identity = await joinedIdentity(ports(answering));
    const held = new JoinedIdentity(ports(), identity);
    const ask = async (_credentials: unknown, request: string) => {
      renewals.push(request);
      return answer(request);
    };
    const renewed = new Renewal({ ...ports(), renewable: held, trust: trust ?? settledTrust(held), renewals: [ask] });
    return { identity, renewed, renewals, credentials: held.credentials() };
  };

  it('is renewed after two thirds of its lifetime, with the same key, in the process and on the disk', async () => {
    const { identity, renewed, renewals, credentials } = await renewal();
    clock.advance((leafDays * dayMs * 2) / 3 - dayMs);
    await renewed.look();
    expect(renewals).toEqual([]);
    clock.advance(2 * dayMs);
    await renewed.look();
    expect(renewals).toHaveLength(1);
    const current = currentOf(credentials);
    expect(new X509Certificate(current.certPem).validToDate > new X509Certificate(identity.certPem).validToDate).toBe(
      true,
    );
    expect(current.keyPem.toString()).toBe(identity.keyPem);
    expect(await store.read()).toMatchObject({ certPem: current.certPem.toString(), keyPem: identity.keyPem });
    await renewed.look();
    expect(renewals).toHaveLength(1);
  });

  it('is renewed soon after its parent has begun to sign with another authority, and takes no authorities with it', async () => {
    let isOutdated = false;
    let changed = () => {};
    const trust = {
      credentials: {} as never,
      isOutdated: () => isOutdated,
      onChange: (act: () => void) => {
        changed = act;
      },
    };
    const strange = async (request: string) => {
      const answer = await sign(path, request);
      isOutdated = false;
      return { ...answer, authority: `${answer.authority}${(await TestTree.create('other')).authority.certPem}` };
    };
    const { identity, renewed, renewals, credentials } = await renewal(strange, trust);
    renewed.start();
    changed();
    clock.advance(11_000);
    expect(renewals).toEqual([]);
    isOutdated = true;
    changed();
    clock.advance(11_000);
    await vi.waitFor(() => expect(currentOf(credentials).certPem.toString()).not.toBe(identity.certPem));
    expect(renewals).toHaveLength(1);
    expect(currentOf(credentials).caPem.toString()).toBe(identity.caPem);
    expect((await store.read())?.caPem).toBe(identity.caPem);
  });

  it('asks again within two minutes if its parent has not signed with the other authority yet', async () => {
    const trust = { credentials: {} as never, isOutdated: () => true, onChange: () => {} };
    const { renewed, renewals } = await renewal((request) => sign(path, request), trust);
    renewed.start();
    clock.advance(120_000);
    await vi.waitFor(() => expect(renewals).toHaveLength(1));
    await vi.waitFor(() => {
      clock.advance(120_000);
      expect(renewals).toHaveLength(2);
    });
  });

  it('adopts the certificate that another agent with the same store has renewed', async () => {
    const { identity, renewed, renewals, credentials } = await renewal();
    clock.advance(leafDays * dayMs * 0.7);
    const { requestFor } = await import('../../../../../core/identity/certificate-request.ts');
    const { authority, certificate } = await sign(path, await requestFor(path, identity.keyPem));
    await store.keep({ caPem: authority, certPem: certificate, keyPem: identity.keyPem });
    await renewed.look();
    expect(renewals).toEqual([]);
    expect(currentOf(credentials).certPem.toString()).toBe(certificate);
  });

  it('is replaced as soon as the parent admits more of the names that it has to have', async () => {
    const names = ['eu.example.com', 'fd00::1'];
    let admitted = names.slice(0, 1);
    const held = new JoinedIdentity(ports(), await joinedIdentity(ports(answering)));
    const ask = (_credentials: unknown, request: string) => sign(path, request, clock, undefined, admitted);
    const renewed = new Renewal({ ...ports(), renewable: held, names, trust: settledTrust(held), renewals: [ask] });
    await renewed.look();
    expect(renewed.trouble).toMatchObject({
      reason: 'Forbidden',
      message: expect.stringMatching(
        /pki\.names: the parent does not admit fd00::1 for this relay: .*--again --host eu\.example\.com --host fd00::1/,
      ),
    });
    const first = held.present().certPem;
    expect(hostsMissing(new X509Certificate(first), names)).toEqual(['fd00::1']);
    await renewed.look();
    expect(held.present().certPem).toBe(first);
    admitted = names;
    await renewed.look();
    expect(renewed.trouble).toBeUndefined();
    expect(hostsMissing(new X509Certificate(held.present().certPem), names)).toEqual([]);
    const { certPem } = held.present();
    await renewed.look();
    expect(held.present().certPem).toBe(certPem);
  });

  it('is replaced soon after a relay with another host has come below, when the parent admits the host', async () => {
    let admitted = ['eu.example.com'];
    const held = new JoinedIdentity(ports(), await joinedIdentity(ports(answering)));
    let asks = 0;
    const ask = (_credentials: unknown, request: string) => {
      asks++;
      return sign(path, request, clock, undefined, admitted);
    };
    const renewed = new Renewal({ ...ports(), renewable: held, trust: settledTrust(held), renewals: [ask] });
    renewed.start();
    // A DNS name includes the names below it.
    const below = ['paris.eu.example.com', '10.1.2.3'];
    renewed.requireBelow(below);
    clock.advance(10_000);
    await vi.waitFor(() =>
      expect(renewed.trouble?.message).toMatch(
        /a relay below: the parent does not admit 10\.1\.2\.3 for this relay: .*--host paris\.eu\.example\.com --host 10/,
      ),
    );
    expect(hostsMissing(new X509Certificate(held.present().certPem), ['eu.example.com'])).toEqual([]);
    admitted = ['eu.example.com', '10.1.2.3'];
    await vi.waitFor(() => {
      clock.advance(120_000);
      expect(renewed.trouble).toBeUndefined();
    });
    expect(hostsMissing(new X509Certificate(held.present().certPem), admitted)).toEqual([]);
    const asked = asks;
    renewed.requireBelow(admitted);
    clock.advance(120_000);
    expect(asks).toBe(asked);
  });

  it('stays the same, and reports it, if the renewal is refused', async () => {
    let isRefused = true;
    const { identity, renewed, renewals, credentials } = await renewal((request) => {
      if (!isRefused) return sign(path, request);
      throw new BanyanError('Forbidden', 'there is no SyncTarget');
    });
    const reported: unknown[] = [];
    renewed.onTrouble(() => reported.push(renewed.trouble));
    clock.advance(leafDays * dayMs * 0.7);
    await renewed.look();
    await renewed.look();
    expect(renewals).toHaveLength(2);
    expect(warned).toEqual(['there is no SyncTarget', 'there is no SyncTarget']);
    expect(currentOf(credentials).certPem.toString()).toBe(identity.certPem);
    const { validTo } = new X509Certificate(identity.certPem);
    const message = `its certificate ends on ${validTo} and was not renewed: there is no SyncTarget`;
    expect(reported).toEqual([{ reason: 'Forbidden', message }]);
    isRefused = false;
    await renewed.look();
    expect(reported).toEqual([{ reason: 'Forbidden', message }, undefined]);
  });

  it.each([
    ['of a year, young', 397 * dayMs, 0, 0, 3_600_000],
    ['of a year, young, and another agent', 397 * dayMs, 0, 1, 7_200_000],
    ['of a year, half an hour before its time', 397 * dayMs, (397 * dayMs * 2) / 3 - 1_800_000, 0, 3_600_000],
    ['of a year, overdue', 397 * dayMs, 396 * dayMs, 0.5, 5_400_000],
    ['of a year, which ends in ten minutes', 397 * dayMs, 397 * dayMs - 600_000, 0, 30_000],
    ['of a minute, young', 60_000, 10_000, 0, 30_000 + 1_000],
    ['of a minute, young, and another agent', 60_000, 10_000, 1, 30_000 + 2_000],
    ['of a minute, overdue', 60_000, 45_000, 1, 1_500],
    ['of a minute, nearly over', 60_000, 59_000, 1, 1_000],
    ['of a minute, ended', 60_000, 90_000, 1, 7_200_000],
  ])('%s, is checked again after a short time', (_what, lengthMs, ageMs, chance, inMs) => {
    const validity = { renewAtMs: (lengthMs * 2) / 3, endsAtMs: lengthMs };
    expect(nextLookMs(validity, ageMs, chance)).toBeCloseTo(inMs);
  });

  it('of a short lifetime is checked when its time has come, and again soon if it was not renewed', async () => {
    const lifeMs = 60_000;
    const identity = await joinedIdentity(ports(async (_pin, { request }) => sign(path, request, clock, lifeMs)));
    const away = async () => {
      throw new BanyanError('Unavailable', 'away');
    };
    const held = new JoinedIdentity(ports(), identity);
    const renewed = new Renewal({ ...ports(), renewable: held, trust: settledTrust(held), renewals: [away] });
    const after = vi.spyOn(clock, 'after');
    const delayMs = () => after.mock.calls.at(-1)![0];
    const { renewAtMs } = validityOf(new X509Certificate(identity.certPem));
    renewed.start();
    const [first, atMs] = [delayMs(), clock.wallMs()];
    expect(first > renewAtMs - atMs && first < renewAtMs - atMs + lifeMs / 10).toBe(true);
    clock.advance(first);
    await vi.waitFor(() => expect(after).toHaveBeenCalledTimes(2));
    expect(warned).toEqual(['away']);
    expect(delayMs()).toBeLessThan(lifeMs / 10);
  });

  it('is checked every one to two hours', async () => {
    const { identity, renewed, renewals, credentials } = await renewal();
    clock.advance(leafDays * dayMs * 0.7);
    renewed.start();
    clock.advance(3_599_000);
    expect(renewals).toEqual([]);
    clock.advance(3_601_000);
    // Signing takes some turns of the event loop, and the next check is scheduled after it.
    await vi.waitFor(() => expect(currentOf(credentials).certPem.toString()).not.toBe(identity.certPem));
    expect(renewals).toHaveLength(1);
    clock.advance(leafDays * dayMs * 0.7);
    await vi.waitFor(() => {
      clock.advance(7_200_000);
      expect(renewals).toHaveLength(2);
    });
  });
});
