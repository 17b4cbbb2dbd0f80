/**
 * Does a write in the separate thread (body-thread.ts): the same verbs and checks as everywhere, over a storage with one object. The bytes that the verbs store
 * are the result. Admission that needs the space happens in the thread of the space (plain-kinds.ts).
 */
import { canonicalBytes, parseBody } from '../../object/canonical.ts';
import type { ObjectKey } from '../../object/key.ts';
import { systemClock } from '../../runtime/clock.ts';
import { systemRandom } from '../../runtime/random.ts';
import { builtinKinds } from '../builtin/builtin-kinds.ts';
import { customKind } from '../crd/custom-kind.ts';
import type { CustomResourceDefinition } from '../crd/definition.ts';
import type { CheckedKinds } from '../kinds/admission.ts';
import { fillingOf } from '../kinds/fillings.ts';
import { ownKinds } from '../kinds/kinds-of-space.ts';
import { type CheckedSpace, objectChecks } from '../kinds/object-checks.ts';
import { fieldManager } from '../managed-fields/field-manager.ts';
import type { Kind, Kinds, SpaceFacts } from '../space.ts';
import type { SpaceStorage, SpaceWriter, StoredObject } from '../storage.ts';
import { EmbeddedSpace } from '../verbs/embedded-space.ts';
import type { WriteRequest } from './requests.ts';
import type { ThreadStored, ThreadWrite, ThreadWritten } from './thread-write.ts';
import { verbs, type WriteTarget } from './writes.ts';
import { yamlToJson } from './yaml-body.ts';

/** Throws every error of the write. */
export async function writeInThread(write: ThreadWrite): Promise<ThreadWritten> {
  const { key, version, subresource, facts } = write;
  const fixed = [...builtinKinds(), ...ownKinds(facts.type)];
  const kind = kindOf(write, fixed);
  const storage = new OneObject(write.live);
  const named: CheckedKinds = { ...only(kind), all: () => [...fixed, ...write.customKinds] };
  const space = new EmbeddedSpace({
    name: 'thread',
    storage,
    kinds: only(kind),
    clock: systemClock,
    random: systemRandom,
    fields: fieldManager,
    admissions: [],
    checks: objectChecks(checkedBy(facts), named, storage),
    ...fillingOf(facts.type),
  });
  try {
    const target = { space, kind, version, key, subresource };
    const { status, headers = {}, body } = await verbs[write.method](requestOf(write), target);
    const { changed } = storage;
    if (!changed) return { status, headers, body };
    const isShown = changed.bytes !== undefined && isShownAsStored(target);
    const stored = isShown ? changed : { ...changed, shown: canonicalBytes(parseBody(body)) };
    return { status, headers, body: new Uint8Array(), stored };
  } catch (error) {
    if (error instanceof Elsewhere) return 'elsewhere';
    throw error;
  }
}

function checkedBy({ bounds, services, ...facts }: SpaceFacts): CheckedSpace {
  return { ...facts, bounds: () => bounds, ...(services ? { services: () => services } : {}) };
}

/** Whether the answer has the object as it is stored. */
function isShownAsStored({ kind, version, subresource }: WriteTarget): boolean {
  return subresource !== 'scale' && !kind.storedAs && (kind.storesAsWritten || version === kind.storageVersion);
}

class Elsewhere extends Error {}

function goElsewhere(): never {
  throw new Elsewhere();
}

function requestOf({ method, query, headers, body, user }: ThreadWrite): WriteRequest {
  return {
    method,
    query: new URLSearchParams(query),
    headers,
    user,
    // The thread of the space has authorized the request.
    alsoMay: () => {},
    body: async () => Buffer.from(body.buffer, body.byteOffset, body.byteLength),
    readLongYaml: async (text) => yamlToJson(text),
  };
}

/** Compiling a large schema takes longer than a write. More definitions than these are seldom in use for large objects. */
const compiledMax = 8;
const compiled = new Map<string, { readonly revision: number; readonly kind: Kind }>();

function kindOf({ key, definition }: ThreadWrite, fixed: readonly Kind[]): Kind {
  if (!definition) return fixed.find(({ group, resource }) => group === key.group && resource === key.resource)!;
  const parsed = parseBody(definition.body) as CustomResourceDefinition;
  const uid = String(parsed.metadata.uid);
  const known = compiled.get(uid);
  const kind = known?.revision === definition.revision ? known.kind : customKind(parsed);
  compiled.delete(uid);
  compiled.set(uid, { revision: definition.revision, kind });
  for (const [oldest] of compiled) if (compiled.size > compiledMax) compiled.delete(oldest);
  return kind;
}

function only(kind: Kind): Kinds {
  return {
    byResource: ({ group, resource }) => (group === kind.group && resource === kind.resource ? kind : undefined),
    byKind: (group, version, name) =>
      group === kind.group && name === kind.kind && kind.versions.includes(version) ? kind : undefined,
    all: () => [kind],
    generation: 1,
  };
}

/** The storage of one write. The namespace of the object and every other object are not here: the thread of the space checks what depends on them. */
class OneObject implements SpaceStorage {
  readonly readOnly = false;
  changed: ThreadStored | undefined;
  #object: StoredObject | undefined;
  #revision: number;

  constructor(live: StoredObject | undefined) {
    this.#object = live;
    this.#revision = live?.revision ?? 0;
  }

  revision(): number {
    return this.#revision;
  }

  get({ namespace, name }: ObjectKey): StoredObject | undefined {
    return this.#object?.key.namespace === namespace && this.#object.key.name === name ? this.#object : undefined;
  }

  write<T>(fn: (writer: SpaceWriter) => T): T {
    return fn({
      get: (key) => this.get(key),
      put: (key, bytes) => {
        this.changed = { key, bytes };
        this.#revision += 1;
        this.#object = { key, revision: this.#revision, body: bytes };
        return this.#object;
      },
      remove: (key) => {
        this.changed = { key, bytes: undefined };
        const removed = this.#object;
        this.#object = undefined;
        return removed;
      },
    });
  }

  flushed(): Promise<void> {
    return Promise.resolve();
  }

  scan = goElsewhere;
  visit = goElsewhere;
  count = goElsewhere;
  pageEnd = goElsewhere;
  resources = goElsewhere;

  eventsSince(): 'expired' {
    return 'expired';
  }

  subscribe(): () => void {
    return () => {};
  }
}
