/** The reports of children to a node, in a memory store: their tables, and the node's own outbox. */

import { entryKey, parseEntryKey } from '../../../../core/entries/entry-keys.ts';
import { placementId } from '../../../../core/entries/placement-id.ts';
import type { UpsyncedAttributes } from '../../../../core/entries/up-attributes.ts';
import { checkReporter } from '../../../../core/entries/up-check.ts';
import type { AppliedChange } from '../../../../core/feed/feed.ts';
import { FeedProducer } from '../../../../core/feed/producer.ts';
import { canonicalBytes } from '../../../../core/object/canonical.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { formatKey, type ObjectKey, parseKey } from '../../../../core/object/key.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { text } from '../../../../core/store/bytes.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import type { Transaction } from '../../../../core/store/store.ts';
import { dropUpsynced, passUpsynced } from '../../../../relay/gather/upsynced.ts';
import { type Mailbox, Mailboxes } from '../../../../relay/mailbox/mailboxes.ts';

export const source = 'center.retail';
export const report: ObjectKey = parseKey('wgpolicyk8s.io/policyreports/shop/till');
export const pod: ObjectKey = parseKey('/pods/shop/web-1');

export interface ChildReport {
  readonly key: string;
  /** Absent: the report is withdrawn. */
  readonly attributes?: object;
  readonly body?: Uint8Array;
  /** An origin revision, which a child may not give. */
  readonly claims?: number;
}

export function wholeObject(key: ObjectKey, more: object = {}): KubeObject {
  const group = key.group === '' ? '' : `${key.group}/`;
  const [version, kind] = key.group === '' ? ['v1', 'Pod'] : ['v1alpha2', 'PolicyReport'];
  return {
    apiVersion: `${group}${version}`,
    kind,
    metadata: { name: key.name, namespace: key.namespace, uid: 'u' },
    ...more,
  };
}

export function upsynced(
  path: string,
  key: ObjectKey,
  more: { source?: string; object?: object } & object = {},
): ChildReport {
  const { source: of = source, object, ...attributes } = more;
  return {
    key: entryKey.upsynced(of, path, key),
    attributes: { refs: ['compliance'], namespaced: true, returnTo: 'Parent', ...attributes },
    body: canonicalBytes(wholeObject(key, object)),
  };
}

export function associated(key: ObjectKey): ChildReport {
  const attributes = { owner: 'apps/deployments/shop/web', namespaced: true, refs: ['p'] };
  return { key: entryKey.associated(source, key), attributes, body: canonicalBytes(wholeObject(key)) };
}

export function state(of: string, key: ObjectKey, attributes: object, status?: object): ChildReport {
  const base = { desired: 1, applied: true, available: true };
  const body = status ? text(JSON.stringify(status)) : new Uint8Array(0);
  return { key: entryKey.state(of, key), attributes: { ...base, ...attributes }, body };
}

export class ReportedBench {
  readonly store = new MemoryStore();
  readonly mailboxes: Mailboxes;
  readonly outbox: FeedProducer;
  readonly #path: string;
  #revision = 0;

  constructor(path: string) {
    this.#path = path;
    const random = new SeededRandom(1);
    this.mailboxes = new Mailboxes(this.store, random, 'boot', path);
    this.outbox = this.store.write((t) => FeedProducer.open(t, { name: 'outbox', bootNonce: 'boot', random }));
  }

  child(name: string, role: 'agent' | 'relay'): Mailbox {
    return this.store.write((t) => this.mailboxes.ensure(t, name, role));
  }

  /** A report of a child, checked and passed on as the node does it. The child was asked for all objects that it reports. */
  report(child: string, ...reports: ChildReport[]): AppliedChange[] {
    return this.store.write((t) => {
      for (const one of reports) this.ask(t, child, one);
      const entries = reports.map(({ key, attributes, body = new Uint8Array(0), claims = 0 }) => {
        const revision = ++this.#revision;
        const content = attributes && { key, attributes: text(JSON.stringify(attributes)), body };
        return { keyHash: hash128(key), revision, originRevision: claims, ...(content ? { content } : {}) };
      });
      const changes = this.mailboxes.get(child)!.consumer.applyEntries(t, entries);
      for (const change of changes) checkReporter(this.#pathOf(child), change);
      const isOwn = (of: string) =>
        of === (this.#path === '' ? 'center.retail' : `${this.#path.replaceAll(':', '.')}.ops`);
      const reportedOf = (name: string) => this.mailboxes.get(name)?.reported;
      passUpsynced(t, { outbox: this.outbox, reportedOf, isOwn }, child, changes);
      return changes;
    });
  }

  /** Asks the child for what it reports. */
  ask(t: Transaction, child: string, { key, attributes }: ChildReport): void {
    const entry = parseEntryKey(key);
    if (entry?.type !== 'upsynced' || !attributes) return;
    const everything = { apiGroup: '*', resources: ['*'], returnTo: 'Center' };
    for (const name of (attributes as UpsyncedAttributes).refs) {
      const rules = entryKey.rules(placementId(entry.source, name));
      const body = text(JSON.stringify({ associated: [], upsync: [everything] }));
      this.mailboxes.get(child)!.producer.put(t, { key: rules, attributes: text('{}'), body }, 1);
    }
  }

  /** The child leaves for good. */
  leave(child: string): void {
    this.store.write((t) => {
      this.mailboxes.drop(t, child);
      dropUpsynced(t, this.outbox, this.#pathOf(child));
    });
  }

  /** An object in a child's mailbox. */
  send(child: string, of: string, key: ObjectKey, more: object = {}): void {
    const body = canonicalBytes(wholeObject(key, { ...more, metadata: { name: key.name, namespace: key.namespace } }));
    const attributes = text(JSON.stringify({ uid: 'above', created: 'c', generation: 1, refs: ['p'] }));
    this.store.write((t) =>
      this.mailboxes.get(child)!.producer.put(t, { key: entryKey.object(of, key), attributes, body }, ++this.#revision),
    );
  }

  /** Removes the object again. The child may have acknowledged everything at once, so that no row is left. */
  withdraw(child: string, of: string, key: ObjectKey): void {
    const { producer } = this.mailboxes.get(child)!;
    this.store.write((t) => producer.remove(t, hash128(entryKey.object(of, key)), ++this.#revision));
    this.store.write((t) => producer.acknowledge(t, producer.head(t)));
  }

  /** Keys that are passed on to the parent, sorted. */
  passed(): string[] {
    return this.store.read((reader) =>
      [...this.outbox.rows(reader)].map((row) => this.outbox.content(reader, row.content!).key).sort(),
    );
  }

  #pathOf(child: string): string {
    return this.#path === '' ? child : `${this.#path}:${child}`;
  }
}

/** The contents of a view, by key. */
export function shownBy(contents: {
  list(): Iterable<{ key: ObjectKey; body: Uint8Array }>;
}): Record<string, KubeObject> {
  return Object.fromEntries(
    [...contents.list()].map(({ key, body }) => [
      formatKey(key),
      JSON.parse(Buffer.from(body).toString()) as KubeObject,
    ]),
  );
}
