/**
 * Writes the summaries: as partials to the parent, as StatusSummaries into the own workload space, and into the read-only space of a source above. Each summary
 * has its turn at most once a second (relay/gather/status/reporter.ts). It is then written as it is at that moment, and only if it has changed.
 */

import { placementResource } from '../../../core/apiserver/kinds/edge-placement.ts';
import type { Space } from '../../../core/apiserver/space.ts';
import { entryKey } from '../../../core/entries/entry-keys.ts';
import { type PlacementId, splitPlacementId } from '../../../core/entries/placement-id.ts';
import type { Producer } from '../../../core/feed/feed.ts';
import { canonicalBytes, stableStringify } from '../../../core/object/canonical.ts';
import { timestamp } from '../../../core/object/conditions.ts';
import { hash128 } from '../../../core/object/hash.ts';
import type { ObjectKey } from '../../../core/object/key.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import { isTerminating } from '../../../core/object/terminating.ts';
import type { Clock } from '../../../core/runtime/clock.ts';
import { text } from '../../../core/store/bytes.ts';
import type { Reader, Store } from '../../../core/store/store.ts';
import type { Partial } from '../../../core/summary/partial.ts';
import { encodeUserPartial } from '../../../core/summary/user-partial-wire.ts';
import type { Summaries } from './summaries.ts';
import { type SummaryContent, summaryContent, summaryName, summaryObject, summaryResource } from './summary-object.ts';

export interface SummaryWriterPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly summaries: Summaries;
  readonly outbox: Producer;
  ownSpace(source: string): Space | undefined;
  /** Returns every own workload space. */
  ownSpaces(): Iterable<Space>;
  /** Returns the built-in summary of a placement. */
  builtIn(reader: Reader, id: PlacementId): Partial | undefined;
  /** Returns the number of destinations of a placement at or below a child. */
  expected(id: PlacementId, child: string): number;
}

export interface SummaryId {
  readonly id: PlacementId;
  readonly name: string;
}

interface WrittenSummary {
  /** The summary as text, without its time. */
  readonly content: string;
  readonly key: ObjectKey;
  /** For a source above: the object as its read-only space shows it. */
  readonly body: Uint8Array;
}

export class SummaryWriter {
  readonly #ports: SummaryWriterPorts;
  /** Summaries of sources above, keyed by source and then by name of the StatusSummary. */
  readonly #shown = new Map<string, Map<string, WrittenSummary>>();

  constructor(ports: SummaryWriterPorts) {
    this.#ports = ports;
  }

  /** Returns the objects of read-only spaces that have changed. */
  write(ids: readonly SummaryId[]): { source: string; key: ObjectKey }[] {
    const changed: { source: string; key: ObjectKey }[] = [];
    for (const { id, name } of ids) {
      // While its rows are being read, the summary would look empty, so it is not written.
      if (this.#ports.summaries.isLoading(id, name)) continue;
      const { source } = splitPlacementId(id);
      const space = this.#ports.ownSpace(source);
      if (space) this.#writeOwn(space, id, name);
      else if (this.#writeUp(id, name)) changed.push({ source, key: keyOf(id, name) });
    }
    return changed;
  }

  /** Returns the StatusSummaries of a source above. */
  shown(source: string): Iterable<{ readonly key: ObjectKey; readonly body: Uint8Array }> {
    return this.#shown.get(source)?.values() ?? [];
  }

  shownOne(source: string, name: string): Uint8Array | undefined {
    return this.#shown.get(source)?.get(name)?.body;
  }

  /**
   * Deletes StatusSummaries in own spaces that an earlier run of the process wrote and that no placement asks for any more. Call it when all placements are
   * known.
   */
  sweep(): void {
    for (const space of this.#ports.ownSpaces()) {
      for (const stored of space.storage.scan(summaryResource)) this.#deleteUnwanted(space, space.parse(stored));
    }
  }

  #deleteUnwanted(space: Space, object: KubeObject): void {
    const isWanted = [...this.#ports.summaries.all()].some(
      ({ id, name }) =>
        this.#ports.ownSpace(splitPlacementId(id).source) === space &&
        summaryName(splitPlacementId(id).name, name) === object.metadata.name,
    );
    if (!isWanted) space.delete({ ...summaryResource, name: object.metadata.name! });
  }

  // ------------------------------------------------------------------------------------------------- own spaces

  #writeOwn(space: Space, id: PlacementId, name: string): void {
    const content = this.#content(id, name);
    const key = keyOf(id, name);
    const before = space.get(key);
    if (!content) {
      if (before) space.delete(key);
      return;
    }
    const owner = space.get({ ...placementResource, namespace: '', name: content.placement });
    if (!owner || isTerminating(owner)) return;
    if (before && contentText(before) === stableStringify(content)) return;
    const object = summaryObject(content, timestamp(this.#ports.clock.wallMs()));
    const { name: ownerName, uid } = owner.metadata;
    const ownerReferences = [
      { apiVersion: owner.apiVersion, kind: owner.kind, name: ownerName!, uid: uid!, controller: true },
    ];
    const metadata = { ...(before?.metadata ?? {}), ...object.metadata, ownerReferences };
    if (before) space.update({ ...object, metadata });
    else space.create({ ...object, metadata });
  }

  // --------------------------------------------------------------------------------------------- sources above

  #writeUp(id: PlacementId, name: string): boolean {
    const { store, outbox, summaries, expected } = this.#ports;
    const { source } = splitPlacementId(id);
    const summary = summaries.summary(id, name);
    const entry = entryKey.summary(id, name);
    if (!summary) {
      store.write((t) => outbox.remove(t, hash128(entry), 0));
      return this.#shown.get(source)?.delete(keyOf(id, name).name) ?? false;
    }
    const body = encodeUserPartial(summary.total((child) => expected(id, child)));
    store.write((t) => outbox.put(t, { key: entry, attributes: text('{}'), body }, 0));
    return this.#show(source, id, name);
  }

  #show(source: string, id: PlacementId, name: string): boolean {
    const content = this.#content(id, name);
    if (!content) return false;
    const key = keyOf(id, name);
    const shown = this.#shown.get(source) ?? new Map<string, WrittenSummary>();
    this.#shown.set(source, shown);
    const contentJson = stableStringify(content);
    if (shown.get(key.name)?.content === contentJson) return false;
    const object = summaryObject(content, timestamp(this.#ports.clock.wallMs()));
    shown.set(key.name, { content: contentJson, key, body: canonicalBytes(object) });
    return true;
  }

  #content(id: PlacementId, name: string): SummaryContent | undefined {
    const { summaries, store, builtIn, expected } = this.#ports;
    const summary = summaries.summary(id, name);
    if (!summary) return undefined;
    const partial = summary.total((child) => expected(id, child));
    const placement = splitPlacementId(id).name;
    return store.read((reader) =>
      summaryContent(placement, name, summary.summarizer, partial, builtIn(reader, id), this.#ports.clock.wallMs()),
    );
  }
}

function keyOf(id: PlacementId, summarizer: string): ObjectKey {
  return { ...summaryResource, name: summaryName(splitPlacementId(id).name, summarizer) };
}

/** Returns the part of a StatusSummary that `summaryContent` made, as text. */
function contentText({
  apiVersion: _version,
  kind: _kind,
  metadata: _metadata,
  observedTime: _time,
  ...content
}: KubeObject): string {
  return stableStringify(content);
}
