/** Reconciliation by prefixes between the feeds' types and the wire: parts and rows lie one behind the other in one field, without tags. */
import type { PrefixAnswer, PrefixAsks, PrefixItem } from '../feed/feed.ts';
import { checkPrefixes, digitsMax, fingerprintBytes, seedBytes } from '../feed/reconcile-prefixes.ts';
import { listMax, parts, rangesPerRequest } from '../feed/reconcile-rows.ts';
import { hashBytes } from '../object/hash.ts';
import { BanyanError } from '../runtime/errors.ts';
import { asBuffer, readU48, u48, u48Bytes } from '../store/bytes.ts';
import type * as wire from '../wire/generated/mesh.ts';
import { RangeAnswer_Kind } from '../wire/generated/mesh.ts';

/** `key hash, fingerprint, u48 origin revision`. */
const rowBytes = hashBytes + fingerprintBytes + u48Bytes;

type Asks = Pick<wire.ReconcileRequest, 'seed' | 'prefixes'>;

export function prefixesToWire(asks: PrefixAsks | undefined): Asks {
  if (!asks) return { seed: Buffer.alloc(0), prefixes: [] };
  const prefixes = asks.asked.map(({ prefix, fingerprint }) => ({
    prefix: asBuffer(prefix),
    fingerprint: asBuffer(fingerprint),
  }));
  return { seed: asBuffer(asks.seed), prefixes };
}

export function prefixesFromWire({ seed, prefixes }: Asks): PrefixAsks | undefined {
  if (prefixes.length === 0) return undefined;
  if (seed.length !== seedBytes)
    throw bad(`a reconcile request with a seed of ${seed.length} bytes, expected ${seedBytes}`);
  if (prefixes.length > rangesPerRequest)
    throw bad(`a reconcile request of ${prefixes.length} prefixes; at most ${rangesPerRequest}`);
  for (const { prefix, fingerprint } of prefixes) {
    if (prefix.length > digitsMax || prefix.some((digit) => digit > 15))
      throw bad(
        `a prefix of ${prefix.length} bytes, ${prefix.subarray(0, digitsMax).toString('hex')}: at most ${digitsMax}, each below 16`,
      );
    if (fingerprint.length !== 0 && fingerprint.length !== fingerprintBytes)
      throw bad(`a fingerprint of ${fingerprint.length} bytes, expected ${fingerprintBytes} or none`);
  }
  checkPrefixes(prefixes);
  return { seed, asked: prefixes };
}

export function prefixAnswerToWire(answer: PrefixAnswer): wire.PrefixAnswer {
  const empty = { parts: Buffer.alloc(0), rows: Buffer.alloc(0) };
  switch (answer.kind) {
    case 'same':
      return { ...empty, kind: RangeAnswer_Kind.KIND_SAME };
    case 'split':
      return { ...empty, kind: RangeAnswer_Kind.KIND_SPLIT, parts: Buffer.concat(answer.parts) };
    case 'list': {
      const rows = answer.items.flatMap((item) => [item.keyHash, item.fingerprint, u48(item.originRevision)]);
      return { ...empty, kind: RangeAnswer_Kind.KIND_LIST, rows: Buffer.concat(rows) };
    }
  }
}

export function prefixAnswerFromWire({ kind, parts: said, rows }: wire.PrefixAnswer): PrefixAnswer {
  switch (kind) {
    case RangeAnswer_Kind.KIND_SAME:
      return { kind: 'same' };
    case RangeAnswer_Kind.KIND_SPLIT:
      if (said.length !== parts * fingerprintBytes)
        throw bad(`a prefix that is split into ${said.length} bytes, expected ${parts * fingerprintBytes}`);
      return { kind: 'split', parts: records(said, fingerprintBytes) };
    case RangeAnswer_Kind.KIND_LIST:
      if (rows.length % rowBytes !== 0 || rows.length > listMax * rowBytes)
        throw bad(`a list of ${rows.length} bytes: rows of ${rowBytes}, at most ${listMax}`);
      return { kind: 'list', items: records(rows, rowBytes).map(itemOf) };
    default:
      throw bad(`a reconcile answer of kind ${kind}, which there is not`);
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
