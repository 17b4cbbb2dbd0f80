/**
 * The renderings of this node: which objects of which agents it customizes, which values each rendering read, and which renderings failed. The store has one
 * row for each agent and object. So after a start the node knows which objects a change of a Location or a Customizer concerns, and which renderings have
 * failed. The values that the renderings read are in memory only. After a start, the first change of a Location looks at all objects of the agent again. This
 * costs at most one evaluation for each distinct set of values; to store the values would cost a write for each rendering.
 */

import type { DestinationFacts, FailureReason } from '../../core/customize/customizer.ts';
import { type ReadObservation, stillHolds } from '../../core/customize/reads.ts';
import { parseEntryKey } from '../../core/entries/entry-keys.ts';
import { type PlacementId, placementId, splitPlacementId } from '../../core/entries/placement-id.ts';
import { hash128 } from '../../core/object/hash.ts';
import { formatGroupResource } from '../../core/object/key.ts';
import { asBuffer, asText, concat, prefixRange, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import { type Failure, smallestFailures } from '../../core/summary/partial.ts';
import { atChild, contributionTopic } from '../work/topics.ts';

/** The content of a row. */
export interface Customized {
  /** The key of the object's entry. */
  readonly key: string;
  /** `namespace/name` of each Customizer, in the order in which they are used. */
  readonly customizers: readonly string[];
  readonly failure?: {
    readonly reason: FailureReason;
    readonly message: string;
    /** The names of the placements that want the object. */
    readonly refs: readonly string[];
  };
}

interface StoredRendering {
  readonly row: Customized;
  readonly json: string;
  /** The values that the rendering read. Undefined after a start. */
  trace: readonly ReadObservation[] | undefined;
}

const nul = Buffer.of(0);

export class Renderings {
  readonly #byChild = new Map<string, Map<string, StoredRendering>>();
  /** Keyed by `source namespace/name` of a Customizer: the keys of the objects that use it, each with the number of children that have the object. */
  readonly #users = new Map<string, Map<string, number>>();
  /** Failures, keyed by agent and object. They are few, and every report reads them. */
  readonly #failing = new Map<string, Map<string, Customized>>();

  load(reader: Reader): void {
    const prefix = prefixOf('customized');
    for (const [key, value] of reader.scan(prefixRange(prefix))) {
      const bytes = asBuffer(key.subarray(prefix.length));
      const end = bytes.indexOf(0);
      const json = asText(value);
      this.#learn(bytes.subarray(0, end).toString(), bytes.subarray(end + 1).toString('hex'), {
        row: JSON.parse(json) as Customized,
        json,
        trace: undefined,
      });
    }
  }

  set(t: Transaction, child: string, keyHash: Uint8Array, row: Customized, trace: readonly ReadObservation[]): void {
    const hexKey = asBuffer(keyHash).toString('hex');
    const before = this.#byChild.get(child)?.get(hexKey);
    const json = JSON.stringify(row);
    if (before?.json === json) {
      before.trace = trace;
      return;
    }
    t.put(rowKey(child, keyHash), text(json));
    if (before) {
      this.#unlearn(child, hexKey, before);
      announceFailure(t, child, before.row);
    }
    this.#learn(child, hexKey, { row, json, trace });
    announceFailure(t, child, row);
  }

  forget(t: Transaction, child: string, keyHash: Uint8Array): void {
    const hexKey = asBuffer(keyHash).toString('hex');
    const before = this.#byChild.get(child)?.get(hexKey);
    if (!before) return;
    t.remove(rowKey(child, keyHash));
    this.#unlearn(child, hexKey, before);
    announceFailure(t, child, before.row);
  }

  forgetChild(t: Transaction, child: string): void {
    for (const hexKey of [...(this.#byChild.get(child)?.keys() ?? [])])
      this.forget(t, child, Buffer.from(hexKey, 'hex'));
  }

  /** Returns the objects that are customized for the child, also objects that can't be made at present. */
  *ofChild(child: string): Generator<{ readonly keyHash: Uint8Array; readonly key: string }> {
    for (const [hexKey, { row }] of this.#byChild.get(child) ?? [])
      yield { keyHash: Buffer.from(hexKey, 'hex'), key: row.key };
  }

  /**
   * Returns the objects of the child whose renderings read a value that has changed. After a start, it is not known which values a rendering read; then the
   * object is returned too.
   */
  *outdated(
    child: string,
    factsOf: (row: Customized) => DestinationFacts | undefined,
  ): Generator<[keyHash: Uint8Array, key: string]> {
    for (const [hexKey, { row, trace }] of this.#byChild.get(child) ?? []) {
      const facts = factsOf(row);
      if (!trace || !facts || !stillHolds(facts, trace)) yield [Buffer.from(hexKey, 'hex'), row.key];
    }
  }

  /** Returns the keys of this node's objects that use a Customizer of a source. */
  usersOf(source: string, customizer: string): Iterable<string> {
    return this.#users.get(`${source} ${customizer}`)?.keys() ?? [];
  }

  /** Returns the key hashes of the objects of one child that use the Customizer. */
  *madeWith(source: string, customizer: string, child: string): Generator<Uint8Array> {
    const ofChild = this.#byChild.get(child);
    for (const key of ofChild ? this.usersOf(source, customizer) : []) {
      const keyHash = hash128(key);
      if (ofChild?.has(asBuffer(keyHash).toString('hex'))) yield keyHash;
    }
  }

  /** Returns the objects of a placement that could not be made for a child: the sample for the placement's summary. `path` is the path of the child. */
  failures(id: PlacementId, child: string, path: string): readonly Failure[] {
    const { source, name } = splitPlacementId(id);
    const found: Failure[] = [];
    for (const { key, failure } of this.#failing.get(child)?.values() ?? []) {
      const entry = parseEntryKey(key);
      if (entry?.type !== 'object' || entry.source !== source || !failure?.refs.includes(name)) continue;
      const { namespace, name: object } = entry.object;
      const named = namespace === '' ? object : `${namespace}/${object}`;
      const { reason, message } = failure;
      found.push({ path, object: `${formatGroupResource(entry.object)} ${named}`, reason, message });
    }
    return smallestFailures(found);
  }

  #learn(child: string, hexKey: string, rendering: StoredRendering): void {
    const { row } = rendering;
    inner(this.#byChild, child).set(hexKey, rendering);
    for (const customizer of row.customizers) {
      const users = inner(this.#users, userKey(row, customizer));
      users.set(row.key, (users.get(row.key) ?? 0) + 1);
    }
    if (row.failure) inner(this.#failing, child).set(hexKey, row);
  }

  #unlearn(child: string, hexKey: string, { row }: StoredRendering): void {
    remove(this.#byChild, child, hexKey);
    for (const customizer of row.customizers) {
      const name = userKey(row, customizer);
      const count = this.#users.get(name)?.get(row.key) ?? 0;
      if (count > 1) this.#users.get(name)!.set(row.key, count - 1);
      else remove(this.#users, name, row.key);
    }
    if (row.failure) remove(this.#failing, child, hexKey);
  }
}

/** Announces that a failure was added or removed. The failures of a child are part of the sums of the placements that want the object. */
function announceFailure(t: Transaction, child: string, { key, failure }: Customized): void {
  const entry = failure && parseEntryKey(key);
  if (entry?.type !== 'object') return;
  for (const name of failure?.refs ?? [])
    t.announce(contributionTopic, atChild(placementId(entry.source, name), child));
}

function userKey({ key }: Customized, customizer: string): string {
  const entry = parseEntryKey(key);
  return `${entry?.type === 'object' ? entry.source : ''} ${customizer}`;
}

function rowKey(child: string, keyHash: Uint8Array): Uint8Array {
  return concat(prefixOf('customized'), text(child), nul, keyHash);
}

function inner<V>(maps: Map<string, Map<string, V>>, key: string): Map<string, V> {
  const found = maps.get(key) ?? new Map<string, V>();
  maps.set(key, found);
  return found;
}

function remove<V>(maps: Map<string, Map<string, V>>, key: string, at: string): void {
  const found = maps.get(key);
  found?.delete(at);
  if (found?.size === 0) maps.delete(key);
}
