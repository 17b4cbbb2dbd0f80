/**
 * Converts the prefixes of a reconciliation, and the answers to them, between the types of feeds and the wire. All parts of an answer are in one field, one
 * after the other, without tags; so are all rows.
 */
import type { PrefixAnswer, PrefixItem, PrefixSummary, ReconcileRequest } from '../feed/feed.ts';
import {
  checkPrefixes,
  digitsMax,
  fingerprintBytes,
  listMax,
  parts,
  prefixesPerRequest,
  seedBytes,
} from '../feed/reconcile-prefixes.ts';
import { hashBytes } from '../object/hash.ts';
import { BanyanError } from '../runtime/errors.ts';
import { asBuffer, readU48, u48, u48Bytes } from '../store/bytes.ts';
import type * as wire from '../wire/generated/mesh.ts';
import { PrefixAnswer_Kind } from '../wire/generated/mesh.ts';

/** `key hash, fingerprint, u48 origin revision`. */
const rowBytes = hashBytes + fingerprintBytes + u48Bytes;

export function prefixToWire({ prefix, fingerprint }: PrefixSummary): wire.PrefixSummary {
  return { prefix: asBuffer(prefix), fingerprint: asBuffer(fingerprint) };
}

type Asks = Pick<ReconcileRequest, 'seed' | 'prefixes'>;

/** Throws Protocol for prefixes that no correct consumer asks for. */
export function prefixesFromWire({ seed, prefixes }: Pick<wire.ReconcileRequest, 'seed' | 'prefixes'>): Asks {
  if (prefixes.length === 0) return { seed: new Uint8Array(0), prefixes };
  if (seed.length !== seedBytes)
    throw bad(`a reconcile request with a seed of ${seed.length} bytes, expected ${seedBytes}`);
  if (prefixes.length > prefixesPerRequest)
    throw bad(`a reconcile request of ${prefixes.length} prefixes; at most ${prefixesPerRequest}`);
  for (const { prefix, fingerprint } of prefixes) {
    if (prefix.length > digitsMax || prefix.some((digit) => digit > 15))
      throw bad(
        `a prefix of ${prefix.length} bytes, ${prefix.subarray(0, digitsMax).toString('hex')}: at most ${digitsMax}, each below 16`,
      );
    if (fingerprint.length !== 0 && fingerprint.length !== fingerprintBytes)
      throw bad(`a fingerprint of ${fingerprint.length} bytes, expected ${fingerprintBytes} or none`);
  }
  checkPrefixes(prefixes);
  return { seed, prefixes };
}

export function prefixAnswerToWire(answer: PrefixAnswer): wire.PrefixAnswer {
  const empty = { parts: Buffer.alloc(0), rows: Buffer.alloc(0) };
  switch (answer.kind) {
    case 'same':
      return { ...empty, kind: PrefixAnswer_Kind.KIND_SAME };
    case 'split':
      return { ...empty, kind: PrefixAnswer_Kind.KIND_SPLIT, parts: Buffer.concat(answer.parts) };
    case 'list': {
      const rows = answer.items.flatMap((item) => [item.keyHash, item.fingerprint, u48(item.originRevision)]);
      return { ...empty, kind: PrefixAnswer_Kind.KIND_LIST, rows: Buffer.concat(rows) };
    }
  }
}

export function prefixAnswerFromWire({ kind, parts: partBytes, rows }: wire.PrefixAnswer): PrefixAnswer {
  switch (kind) {
    case PrefixAnswer_Kind.KIND_SAME:
      return { kind: 'same' };
    case PrefixAnswer_Kind.KIND_SPLIT:
      if (partBytes.length !== parts * fingerprintBytes)
        throw bad(`a prefix that is split into ${partBytes.length} bytes, expected ${parts * fingerprintBytes}`);
      return { kind: 'split', parts: records(partBytes, fingerprintBytes) };
    case PrefixAnswer_Kind.KIND_LIST:
      if (rows.length % rowBytes !== 0 || rows.length > listMax * rowBytes)
        throw bad(`a list of ${rows.length} bytes: rows of ${rowBytes}, at most ${listMax}`);
      return { kind: 'list', items: records(rows, rowBytes).map(itemOf) };
    default:
      throw bad(`a reconcile answer of the unknown kind ${kind}`);
  }
}

function itemOf(record: Buffer): PrefixItem {
  const revisionAt = hashBytes + fingerprintBytes;
  return {
    keyHash: record.subarray(0, hashBytes),
    fingerprint: record.subarray(hashBytes, revisionAt),
    originRevision: readU48(record, revisionAt),
  };
}

function records(bytes: Buffer, length: number): Buffer[] {
  return Array.from({ length: bytes.length / length }, (_, i) => bytes.subarray(i * length, (i + 1) * length));
}

function bad(what: string): BanyanError {
  return new BanyanError('Protocol', what);
}
