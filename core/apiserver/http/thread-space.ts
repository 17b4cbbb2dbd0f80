/**
 * Does a write in the separate thread (body-thread.ts): the same verbs as everywhere, over a storage with one object. The bytes that the verbs store are the
 * result. Admission happens in the thread of the space (plain-kinds.ts).
 */
import { parseBody } from '../../object/canonical.ts';
import type { ObjectKey } from '../../object/key.ts';
import { systemClock } from '../../runtime/clock.ts';
import { systemRandom } from '../../runtime/random.ts';
import { builtinKinds } from '../builtin/builtin-kinds.ts';
import { customKind } from '../crd/custom-kind.ts';
import type { CustomResourceDefinition } from '../crd/definition.ts';
import { fillings } from '../kinds/fillings.ts';
import { fieldManager } from '../managed-fields/field-manager.ts';
import type { Kind, Kinds } from '../space.ts';
import type { SpaceStorage, SpaceWriter, StoredObject } from '../storage.ts';
import { EmbeddedSpace } from '../verbs/embedded-space.ts';
import type { ApiRequest } from './requests.ts';
import type { ThreadWrite, ThreadWritten } from './thread-write.ts';
import { verbs } from './writes.ts';
import { yamlToJson } from './yaml-body.ts';

/** Throws every error of the write. */
export async function writeInThread(write: ThreadWrite): Promise<ThreadWritten> {
  const { key, version, subresource, fills } = write;
  const kind = kindOf(write);
  const storage = new OneObject(write.live);
  const space = new EmbeddedSpace({
    name: 'thread',
    storage,
    kinds: only(kind),
    clock: systemClock,
    random: systemRandom,
    fields: fieldManager,
    admissions: [],
    ...(fills ? { filling: fillings[fills] } : {}),
  });
  try {
    const target = { space, kind, version, key, subresource };
    const { status, headers = {}, body } = await verbs[write.method](requestOf(write), target);
    return { status, headers, body, ...(storage.put ? { stored: storage.put } : {}) };
  } catch (error) {
    if (error instanceof Elsewhere) return 'elsewhere';
    throw error;
  }
}

class Elsewhere extends Error {}

function goElsewhere(): never {
  throw new Elsewhere();
}

function requestOf({ method, query, headers, body }: ThreadWrite): ApiRequest {
  return {
    method,
    path: '',
    query: new URLSearchParams(query),
    headers,
    // The thread of the space has authorized the request. Only admission asks for the user.
    user: { name: '', groups: [] },
    alsoMay: () => {},
    body: async () => Buffer.from(body.buffer, body.byteOffset, body.byteLength),
    readLongYaml: async (text) => yamlToJson(text),
  };
}

/** Compiling a large schema takes longer than a write. More definitions than these are seldom in use for large objects. */
const compiledMax = 8;
const compiled = new Map<string, { readonly revision: number; readonly kind: Kind }>();

function kindOf({ key, definition }: ThreadWrite): Kind {
  if (!definition)
    return builtinKinds().find(({ group, resource }) => group === key.group && resource === key.resource)!;
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
  put: { readonly key: ObjectKey; readonly bytes: Uint8Array } | undefined;
  readonly #live: StoredObject | undefined;

  constructor(live: StoredObject | undefined) {
    this.#live = live;
  }

  revision(): number {
    return this.#live?.revision ?? 0;
  }

  get({ namespace, name }: ObjectKey): StoredObject | undefined {
    return this.#live?.key.namespace === namespace && this.#live.key.name === name ? this.#live : undefined;
  }

  write<T>(fn: (writer: SpaceWriter) => T): T {
    return fn({
      get: (key) => this.get(key),
      put: (key, bytes) => {
        this.put = { key, bytes };
        return { key, revision: this.revision(), body: bytes };
      },
      // An update may remove the last finalizer of a deleted object.
      remove: goElsewhere,
    });
  }

  flushed(): Promise<void> {
    return Promise.resolve();
  }

  scan(): StoredObject[] {
    return [];
  }

  visit(): void {}

  count(): number {
    return 0;
  }

  pageEnd(): undefined {
    return undefined;
  }

  resources(): [] {
    return [];
  }

  eventsSince(): 'expired' {
    return 'expired';
  }

  subscribe(): () => void {
    return () => {};
  }
}
