/**
 * Which key a child may use. An identity names a path, and a path may be given to a second machine: the first one was stolen, or its SyncTarget was deleted and
 * made again. Then the certificate of the first machine is still valid, so the parent also checks the key. The newest admission wins.
 *
 * The parent admits a key when an agent joins with a token, or when a child comes with a certificate that is newer than the certificate of the admitted key.
 * Only the authority, or this node's own issuer, can make such a certificate, and this node renews certificates only for the admitted key.
 *
 * `path` is the path of the child, with the number of the replica, as in the records of sessions (handshake.ts).
 */
import { leafMs } from '../identity/certificate-validity.ts';
import type { PeerCertificate } from '../identity/peer-identity.ts';
import { cliCommand } from '../runtime/cli-command.ts';
import { BanyanError } from '../runtime/errors.ts';
import { asText, concat, prefixRange, text } from '../store/bytes.ts';
import { prefixOf } from '../store/keyspace.ts';
import type { Reader, Transaction } from '../store/store.ts';
import { forgetStarts } from './handshake.ts';

export interface AdmittedKey extends ShownKey {
  /** Earlier keys of the child. The parent refuses these keys, whatever their certificates say. */
  readonly former: readonly string[];
  /** True: the child was removed, and nobody has been admitted in its place. */
  readonly removed?: true;
  /** True: the key came with a join token, and this node has signed its certificate. */
  readonly joined?: true;
  /** Present: what the key has signed is to be revoked from this time on, in ms of the wall clock, and the Revocation is not written yet. */
  readonly revokeAtMs?: number;
}

/** The part of a certificate that decides. */
export type ShownKey = Pick<PeerCertificate, 'key' | 'fromMs'>;

/**
 * Number of former keys that a record names. An older key is refused as well, because its certificate is older. The list is needed only for certificates
 * that were made shortly before the admission: their validity begins up to an hour before they are made.
 */
const formerMax = 16;

export type KeyDecision = { readonly admitted: AdmittedKey } | { readonly refused: 'removed' | 'former' | 'older' };

/** Decides whether the certificate counts. `admitted` is the record to store: it is `known` itself if nothing changes. */
export function judgeKey(known: AdmittedKey | undefined, certificate: ShownKey): KeyDecision {
  if (!known) return { admitted: replaced(undefined, certificate) };
  const { key, fromMs, former, removed } = known;
  if (former.includes(certificate.key)) return { refused: 'former' };
  if (certificate.key === key) {
    if (removed) return { refused: 'removed' };
    return { admitted: certificate.fromMs > fromMs ? { ...known, fromMs: certificate.fromMs } : known };
  }
  if (certificate.fromMs <= fromMs) return { refused: 'older' };
  return { admitted: replaced(known, certificate) };
}

function replaced(known: AdmittedKey | undefined, { key, fromMs }: ShownKey): AdmittedKey {
  const others = known ? [known.key, ...known.former].filter((one) => one !== key) : [];
  return { key, fromMs, former: others.slice(0, formerMax) };
}

/**
 * Whether the key of the certificate replaces another one. Stores nothing. Throws Forbidden with the remedy if the certificate of the child does not count.
 */
export function replacesKey(reader: Reader, path: string, certificate: ShownKey): boolean {
  const known = read(reader, path);
  return isOther(known, countingKey(known, path, certificate));
}

/** Admits the key of the certificate. Call it only when the child gets its session: a refused child must not shut out another one. Throws like `replacesKey`. */
export function admitKey(t: Transaction, path: string, certificate: ShownKey): void {
  const known = read(t, path);
  store(t, path, known, countingKey(known, path, certificate));
}

/** Whether the key of a node that has shown a join token will replace another one. */
export function replacesOther(reader: Reader, path: string, certificate: ShownKey): boolean {
  const known = read(reader, path);
  return isOther(known, replaced(known, certificate));
}

/** Admits the key of a node that has shown a join token. Returns true if the key replaces another one. */
export function admitJoined(t: Transaction, path: string, certificate: ShownKey): boolean {
  const known = read(t, path);
  const admitted: AdmittedKey = { ...replaced(known, certificate), joined: true };
  store(t, path, known, admitted);
  return isOther(known, admitted);
}

/** Runs when a child was removed for good. From now on, the parent refuses its key. */
export function dismissKey(t: Transaction, path: string): void {
  const known = read(t, path);
  if (known) put(t, path, { ...known, removed: true });
}

/** Like `dismissKey`, for a relay, which may have signed certificates for its subtree. Returns true if a Revocation is due now. */
export function dismissRelayKey(t: Transaction, path: string, revokeAtMs: number): boolean {
  const known = read(t, path);
  if (!known || known.removed) return false;
  put(t, path, { ...known, removed: true, revokeAtMs });
  return true;
}

/** The nodes for which a Revocation is due, with its time. */
export function dueRevocations(reader: Reader): { path: string; atMs: number }[] {
  const prefix = prefixOf('admittedKey');
  return Array.from(reader.scan(prefixRange(prefix))).flatMap(([key, value]) => {
    const { revokeAtMs } = parse(value);
    return revokeAtMs === undefined ? [] : [{ path: asText(key.subarray(prefix.length)), atMs: revokeAtMs }];
  });
}

export function revocationWritten(t: Transaction, path: string): void {
  const { revokeAtMs: _written, ...known } = read(t, path) ?? {};
  if ('key' in known) put(t, path, known as AdmittedKey);
}

function countingKey(known: AdmittedKey | undefined, path: string, certificate: ShownKey): AdmittedKey {
  const decision = judgeKey(known, certificate);
  if ('refused' in decision) throw refusalOf(path, decision.refused);
  return decision.admitted;
}

/** With another key, another machine may come. Then the starts of the machine with the earlier key say nothing about the new one. */
function store(t: Transaction, path: string, known: AdmittedKey | undefined, admitted: AdmittedKey): void {
  if (admitted !== known) put(t, path, admitted);
  if (isOther(known, admitted)) forgetStarts(t, path);
}

function isOther(known: AdmittedKey | undefined, admitted: AdmittedKey): boolean {
  return known !== undefined && known.key !== admitted.key;
}

/** Runs when the process starts. Removes records of removed children whose certificates have all expired: even a certificate renewed on the last day. */
export function pruneKeys(t: Transaction, wallMs: number): void {
  const prefix = prefixOf('admittedKey');
  for (const [key, value] of t.scan(prefixRange(prefix))) {
    const { fromMs, removed } = parse(value);
    if (removed && fromMs + 2 * leafMs < wallMs) t.remove(key);
  }
}

const reasons = {
  removed: 'was removed here, and the key of its certificate is not admitted again',
  former: 'has another key now, which was admitted later',
  older: 'has another key now, which was admitted with a newer certificate',
} as const;

function refusalOf(path: string, reason: keyof typeof reasons): BanyanError {
  const remedy = `if this is the right machine, make a new certificate for it (for an agent: ${cliCommand('join-token', path, '--again')})`;
  return new BanyanError('Forbidden', `"${path}" ${reasons[reason]}: ${remedy}`);
}

function read(reader: Reader, path: string): AdmittedKey | undefined {
  const bytes = reader.get(keyOf(path));
  return bytes && parse(bytes);
}

function parse(bytes: Uint8Array): AdmittedKey {
  return JSON.parse(asText(bytes)) as AdmittedKey;
}

function put(t: Transaction, path: string, record: AdmittedKey): void {
  t.put(keyOf(path), text(JSON.stringify(record)));
}

function keyOf(path: string): Uint8Array {
  return concat(prefixOf('admittedKey'), text(path));
}
