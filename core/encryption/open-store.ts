/** Opens the store of a node as its configuration says: clear or sealed. The one file of this room that puts files, keys and stores together. */
import { statSync } from 'node:fs';
import type { Clock } from '../runtime/clock.ts';
import type { BanyanError } from '../runtime/errors.ts';
import type { Logger } from '../runtime/logger.ts';
import { makeAllPrivate } from '../runtime/private-files.ts';
import type { Random } from '../runtime/random.ts';
import { isFresh, markSealed, openFormatted } from '../store/format.ts';
import { prefixOf } from '../store/keyspace.ts';
import { LmdbStore } from '../store/lmdb/lmdb-store.ts';
import type { Store } from '../store/store.ts';
import type { EncryptionConfig } from './encryption-config.ts';
import { readKeys } from './read-keys.ts';
import { Rekeying, type RekeyingPorts } from './rekeying.ts';
import { rewriteStore } from './rewrite.ts';
import { SealedStore } from './sealed-store.ts';
import { sealedValues } from './sealed-values.ts';
import { Sealer } from './sealer.ts';
import { type SealingPlan, sealingPlan, type Wanted } from './sealing-plan.ts';
import {
  putSealingRecord,
  readSealingRecord,
  type SealingRecord,
  wholeRecord,
  withFirstKey,
} from './sealing-record.ts';

export interface StoreOptions {
  readonly directory: string;
  readonly encryption: EncryptionConfig | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  failed?(error: BanyanError): void;
}

const storeIdBytes = 16;

/**
 * Opens the store, and writes it anew first if encryption was turned on or off. Throws BadRequest for keys that can't be read or do not fit the store, and has
 * changed nothing then. Otherwise as LmdbStore.open and openFormatted.
 */
export async function openNodeStore(options: StoreOptions): Promise<Store> {
  const { encryption, clock } = options;
  // Keys first: a mistake in them is known before the store is touched.
  const changedKeys = encryption && keyWatch(encryption);
  const wanted = encryption && { resources: encryption.resources, keys: readKeys(encryption) };
  const inner = openInner(options);
  makeAllPrivate(options.directory);
  const plan = await endedOnError(inner, () => {
    openFormatted(inner, clock);
    return planOf(options, inner, wanted);
  });
  if (plan.act === 'open-clear') return inner;
  if (plan.act === 'rewrite') {
    await endedOnError(inner, () => rewrite(options, inner, wanted!, plan));
    await inner[Symbol.asyncDispose]();
    const rewritten = openInner(options);
    const record = rewritten.read(readSealingRecord);
    return record ? sealed(options, rewritten, wanted!, changedKeys!, record) : rewritten;
  }
  return sealed(options, inner, wanted!, changedKeys!, plan.act === 'begin' ? undefined : plan.record);
}

function planOf({ directory }: StoreOptions, inner: Store, wanted: Wanted | undefined): SealingPlan {
  const { record, isEmpty } = inner.read((reader) => ({ record: readSealingRecord(reader), isEmpty: isFresh(reader) }));
  return sealingPlan(record, isEmpty, wanted, directory);
}

async function endedOnError<T>(store: Store, act: () => T | Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    await store[Symbol.asyncDispose]();
    throw error;
  }
}

function openInner({ directory, failed, log }: StoreOptions): LmdbStore {
  return LmdbStore.open({ directory, ...(failed ? { failed } : {}) }, log);
}

/** `record`: undefined for a new store. */
function sealed(
  options: StoreOptions,
  inner: Store,
  { resources, keys }: Wanted,
  changedKeys: RekeyingPorts['changedKeys'],
  record?: SealingRecord,
): Store {
  const { random, clock, log } = options;
  const storeId = storeIdOf(record, random);
  const first = keys[0]!.id;
  if (!record || record.keys[0] !== first) {
    inner.write((t) => {
      if (!record) markSealed(t, true);
      putSealingRecord(t, record ? withFirstKey(record, first) : wholeRecord(storeId, resources, first));
    });
  }
  const sealer = new Sealer(storeId, keys, random);
  const rekeying = new Rekeying({ store: inner, sealer, clock, log, changedKeys });
  rekeying.start();
  return new EndedTogether(inner, sealer, resources, rekeying);
}

function storeIdOf(record: SealingRecord | undefined, random: Random): Uint8Array {
  return record ? Buffer.from(record.storeId, 'hex') : random.bytes(storeIdBytes);
}

async function rewrite(
  { directory, log, random }: StoreOptions,
  inner: Store,
  { keys, resources }: Wanted,
  plan: SealingPlan & { readonly act: 'rewrite' },
): Promise<void> {
  log.info({ directory }, `the store is written anew: ${plan.why}`);
  const { record } = plan;
  const storeId = storeIdOf(record, random);
  const sealer = new Sealer(storeId, keys, random);
  await rewriteStore({
    directory,
    logger: log,
    from: record ? new SealedStore(inner, sealer, sealedValues(record.resources)) : inner,
    seal: (to) => (plan.sealed ? new SealedStore(to, sealer, sealedValues(resources)) : to),
    finish: (to) =>
      to.write((t) => {
        markSealed(t, plan.sealed);
        if (plan.sealed) putSealingRecord(t, wholeRecord(storeId, resources, keys[0]!.id));
        else t.remove(prefixOf('sealing'));
      }),
  });
}

/** A sealed store that ends its rekeying before it closes. */
class EndedTogether extends SealedStore {
  readonly #rekeying: Rekeying;

  constructor(inner: Store, sealer: Sealer, resources: readonly string[], rekeying: Rekeying) {
    super(inner, sealer, sealedValues(resources));
    this.#rekeying = rekeying;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.#rekeying[Symbol.asyncDispose]();
    await super[Symbol.asyncDispose]();
  }
}

/** The output of a program is read at a start only: a program that asks a person or a service must not run every two seconds. */
function keyWatch({ keyFile }: EncryptionConfig): RekeyingPorts['changedKeys'] {
  if (keyFile === undefined) return () => undefined;
  const stateOf = () => {
    const state = statSync(keyFile, { throwIfNoEntry: false });
    return state && `${state.mtimeMs} ${state.size} ${state.ino}`;
  };
  let seen = stateOf();
  return () => {
    const state = stateOf();
    if (state === seen) return undefined;
    const keys = readKeys({ keyFile });
    seen = state;
    return keys;
  };
}
